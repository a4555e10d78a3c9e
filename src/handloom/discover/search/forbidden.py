"""What is forbidden, compiled: a user's rule as a function of the indices of elements, for Numba.

`compiled(problem, rule)` is test(xy, a, b, c, d, e): whether the elements with these indices are forbidden; of the five
those that the rule does not take are ignored. `xy` has the elements' coordinates, a row each.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numba import njit
from numba.core.errors import NumbaError

from handloom.core import HandloomError
from handloom.core.arrays import Array
from handloom.discover.problem import Problem, Rule, arity
from handloom.discover.search.compiling import fast, numba_says
from handloom.discover.spaces import Space

Test = Callable[..., bool]

CALLS: dict[int, Callable[[Any, Any], Callable[..., Any]]] = {
    1: lambda rule, at: lambda xy, a, b, c, d, e: rule(at(xy, a)),
    2: lambda rule, at: lambda xy, a, b, c, d, e: rule(at(xy, a), at(xy, b)),
    3: lambda rule, at: lambda xy, a, b, c, d, e: rule(at(xy, a), at(xy, b), at(xy, c)),
    4: lambda rule, at: lambda xy, a, b, c, d, e: rule(at(xy, a), at(xy, b), at(xy, c), at(xy, d)),
    5: lambda rule, at: lambda xy, a, b, c, d, e: rule(at(xy, a), at(xy, b), at(xy, c), at(xy, d), at(xy, e)),
}


def compiled(problem: Problem, rule: Rule) -> Test:
    """The rule for Numba; compiled once for all symmetries and sizes that have it."""
    xy = coordinates(problem.space)
    test = for_width(rule, xy.shape[1] if isinstance(problem.space.elements[0], tuple) else 0)
    try:
        test(xy, *[min(i, len(xy) - 1) for i in range(5)])
    except (NumbaError, ValueError) as error:
        if not isinstance(error, NumbaError) and "Numba" not in str(error):  # it is the rule's own
            raise
        raise HandloomError(
            f"{problem}: Numba cannot compile what is forbidden; use plain arithmetic: {numba_says(error)}"
        ) from error
    except ArithmeticError:  # of elements that are not distinct; the search never asks for these
        pass
    return test


@lru_cache(maxsize=64)
def for_width(rule: Rule, width: int) -> Test:
    test: Test = njit(nogil=True)(CALLS[arity(rule)](fast(rule), njit(element_reader(width))))
    return test


def element_reader(width: int) -> Callable[..., Any]:
    """From coordinates and an index to the element: a tuple so wide, or a number. It is written out, since to make a
    tuple of a row costs Numba several times as much as most rules do."""
    parts = "".join(f"xy[i, {k}], " for k in range(width))
    reader: Callable[..., Any] = eval(f"lambda xy, i: ({parts})" if width else "lambda xy, i: xy[i, 0]")
    return reader


def coordinates(space: Space) -> Array:
    """The elements as rows of whole numbers."""
    rows = [element if isinstance(element, tuple) else (element,) for element in space.elements]
    try:
        xy = np.array(rows, np.int64)
    except (ValueError, TypeError, OverflowError) as error:
        raise HandloomError(
            "elements must be whole numbers, or tuples of as many each, for a rule to be compiled"
        ) from error
    return xy
