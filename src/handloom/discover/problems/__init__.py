"""The problems that come with handloom, a file each: what is forbidden, another way to check it, the best known values.

    >>> from handloom.discover.problems.isosceles import isosceles
    >>> isosceles(n=16).best_known
    28

What is forbidden, and a score, are compiled by the search and run as plain Python by the verifier: whole numbers, loops
and comparisons, nothing else. `check` is written another way, so that a slip in the one is found by the other.
"""

import functools
import inspect
from collections.abc import Callable
from typing import Any

from handloom.core import HandloomError
from handloom.core.errors import shown
from handloom.discover.problem import Problem
from handloom.tasks.naming import parameters

Make = Callable[..., Problem]


def sized(least: int, most: int) -> Callable[[Make], Make]:
    """For a function that makes a problem: refuses sizes out of range, and lets the range be known."""

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
    """The parameter that says how large a problem is: n, or else the first whole number."""
    whole = [key for key, parameter in parameters(make.__name__, make).items() if parameter.kind is int]
    return "n" if "n" in whole else next(iter(whole), None)


def within(what: str, value: Any, least: int, most: int) -> None:
    """Refuses what is not a whole number in the range."""
    if type(value) is not int or not least <= value <= most:
        raise HandloomError(f"{what}={shown(value)} must be a whole number from {least:,} to {most:,}")
