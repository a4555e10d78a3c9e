"""The problems by name, with parameters: `isosceles:n=16`, or a user's own file, `my_problem.py:n=12`.

    >>> problem = problem_named("isosceles", n=10)
    >>> problem.name, problem.best_known, problem.smaller[0]().name
    ('isosceles:n=10', 18, 'isosceles:n=9')

A file defines `problem`, a Problem or a function that makes one (examples/problem.py).
"""

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from handloom.core import HandloomError
from handloom.core.errors import shown
from handloom.core.finding import nearest
from handloom.discover.problem import Problem
from handloom.tasks import naming
from handloom.tasks.naming import given, python_file
from handloom.tasks.naming import parameters as parameters_of
from handloom.tasks.user_file import Wanted, defined

Make = Callable[..., Problem]


class Entry(naming.Entry):
    package = "handloom.discover.problems"


PROBLEMS = {
    "isosceles": Entry("points in a grid with no isosceles triangle", "isosceles:isosceles"),
    "squares": Entry("points in a grid, no four the corners of a square", "squares:squares"),
    "no-three-in-line": Entry("points in a grid, no three in line", "no_three_in_line:no_three_in_line"),
    "four-cycle-free": Entry("graphs without cycles of four", "four_cycle_free:four_cycle_free"),
    "triangle-free": Entry("graphs without triangles", "triangle_free:triangle_free"),
    "cap-set": Entry("points modulo 3, no three on a line", "cap_set:cap_set"),
    "sidon": Entry("numbers with all sums of two different, Golomb rulers", "sidon:sidon"),
    "no-five-on-a-sphere": Entry(
        "points in a cube, no five on a sphere or a plane", "no_five_on_a_sphere:no_five_on_a_sphere"
    ),
    "words": Entry("words that avoid a pattern such as xx or xyxyx", "words:words"),
    "progressions": Entry("colourings without progressions of one colour", "progressions:progressions"),
    "permanent-312": Entry("0/1 matrices of large permanent without 312", "permanent_312:permanent_312"),
}
USERS = Wanted("problem", (Problem,), "a Problem")


def problem_named(name: str | Path, **parameters: Any) -> Problem:
    """A problem by its name or from a file. Parameters may be part of the name."""
    name = str(name)
    known, _, text = name.partition(":")
    if known in PROBLEMS:
        make = PROBLEMS[known].make
        return sized_problem(known, make, given(known, make, text, parameters))
    if file := python_file(name):
        path, text = file
        make = defined(path, USERS, bool(text or parameters))
        return sized_problem(path.stem, make, given(str(path), make, text, parameters))
    if Path(name).is_file():
        raise HandloomError(f"{name} is not a Python file (expected one that defines a problem); name a .py file")
    near = nearest(known, PROBLEMS)
    hint = f"did you mean {near}?" if near else f"there are {', '.join(PROBLEMS)}, or name a file"
    raise HandloomError(f"no problem and no file {shown(known)}; {hint}")


def sizes_named(names: Sequence[str]) -> dict[str, Problem]:
    """Several sizes of one problem by their names. A file is run once for all, so that they share their rules, and
    these are compiled once."""
    file = python_file(names[0])
    if file is None:
        return {name: problem_named(name) for name in names}
    make, path = defined(file[0], USERS, True), file[0]
    texts = {name: (python_file(name) or file)[1] for name in names}
    return {name: sized_problem(path.stem, make, given(str(path), make, text, {})) for name, text in texts.items()}


def sized_problem(name: str, make: Make, values: Mapping[str, Any]) -> Problem:
    """The problem with its full name, and functions that make its smaller sizes."""
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
    """The largest first. A size that a user's function does not accept raises an error when it is made."""
    size = size_parameter(make)
    if size is None or values[size] is None:
        return []
    least = vars(make).get("least", 1)
    return [partial(sized_problem, name, make, {**values, size: k}) for k in range(values[size] - 1, least - 1, -1)]


# For the files of problems/


def sized(least: int, most: int) -> Callable[[Make], Make]:
    """A decorator for a function that makes a problem: sizes out of range raise an error; `least` becomes known."""

    def mark(make: Make) -> Make:
        name, size = make.__name__.replace("_", "-"), size_parameter(make)

        @functools.wraps(make)
        def checked(*values: Any, **named: Any) -> Problem:
            given = inspect.signature(make).bind(*values, **named)
            given.apply_defaults()
            within(f"{name}: {size}", given.arguments[str(size)], least, most)
            return make(*values, **named)

        vars(checked)["least"] = least
        return checked

    return mark


def size_parameter(make: Make) -> str | None:
    """The parameter for the size of a problem: n, or else the first whole number."""
    whole = [key for key, parameter in parameters_of(make.__name__, make).items() if parameter.kind is int]
    return "n" if "n" in whole else next(iter(whole), None)


def within(what: str, value: Any, least: int, most: int) -> None:
    """Raise an error for anything but a whole number in the range."""
    if type(value) is not int or not least <= value <= most:
        raise HandloomError(f"{what}={shown(value)} must be a whole number from {least:,} to {most:,}")
