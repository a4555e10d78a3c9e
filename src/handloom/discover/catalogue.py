"""The problems by name, with parameters: `isosceles:n=16`, or a user's own file, `my_problem.py:n=12`.

    >>> problem = problem_named("isosceles", n=10)
    >>> problem.name, problem.best_known, problem.smaller[0]().name
    ('isosceles:n=10', 18, 'isosceles:n=9')

A file defines `problem`, a Problem or a function that makes one (examples/problem.py).
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from handloom.core import HandloomError
from handloom.core.errors import shown
from handloom.core.finding import nearest
from handloom.discover.problem import Problem
from handloom.discover.problems import Make, size_parameter
from handloom.tasks import naming
from handloom.tasks.naming import given
from handloom.tasks.naming import parameters as parameters_of
from handloom.tasks.user_file import Wanted, defined, python_file


class Entry(naming.Entry):
    package = "handloom.discover.problems"


PROBLEMS = {
    "isosceles": Entry("points of a grid without isosceles triangles", "isosceles:isosceles"),
    "no-three-in-line": Entry("points of a grid, no three in line", "no_three_in_line:no_three_in_line"),
    "four-cycle-free": Entry("graphs without cycles of four", "four_cycle_free:four_cycle_free"),
    "triangle-free": Entry("graphs without triangles", "triangle_free:triangle_free"),
    "cap-set": Entry("points modulo 3, no three on a line", "cap_set:cap_set"),
    "sidon": Entry("numbers with all sums of two different, Golomb rulers", "sidon:sidon"),
    "no-five-on-a-sphere": Entry(
        "points of a cube, no five on a sphere or a plane", "no_five_on_a_sphere:no_five_on_a_sphere"
    ),
    "words": Entry("words that avoid a pattern such as xx or xyxyx", "words:words"),
    "progressions": Entry("colourings without progressions of one colour", "progressions:progressions"),
    "permanent-312": Entry("0/1 matrices of large permanent without 312", "permanent_312:permanent_312"),
}
USERS = Wanted("problem", (Problem,), "a Problem")


def problem_named(name: str | Path, **parameters: Any) -> Problem:
    """A problem by its name or from a file. Parameters may stand in the name."""
    name = str(name)
    known, _, text = name.partition(":")
    if known in PROBLEMS:
        make = PROBLEMS[known].make
        return sized_problem(known, make, given(known, make, text, parameters))
    if file := python_file(name):
        path, text = file
        make = defined(path, USERS, bool(text or parameters))
        return sized_problem(path.stem, make, given(str(path), make, text, parameters))
    near = nearest(known, PROBLEMS)
    hint = f"did you mean {near}?" if near else f"there are {', '.join(PROBLEMS)}, or give a file"
    raise HandloomError(f"no problem and no file {shown(known)}; {hint}")


def sized_problem(name: str, make: Make, values: Mapping[str, Any]) -> Problem:
    """The problem, with its full name, and the same for the smaller sizes, which are made when they are called."""
    problem = make(**values)
    found = parameters_of(name, make)
    all_values = {key: values.get(key, parameter.default) for key, parameter in found.items()}
    written = ",".join(f"{key}={value}" for key, value in all_values.items() if value is not None)
    return replace(
        problem,
        name=f"{name}:{written}" if written else name,
        smaller=problem.smaller or tuple(smaller_ones(name, make, all_values)),
    )


def smaller_ones(name: str, make: Make, values: Mapping[str, Any]) -> list[Callable[[], Problem]]:
    """The largest first. What a user's function does not take raises when it is called."""
    size = size_parameter(make)
    if size is None or values[size] is None:
        return []
    least = vars(make).get("least", 1)
    return [partial(sized_problem, name, make, {**values, size: k}) for k in range(values[size] - 1, least - 1, -1)]
