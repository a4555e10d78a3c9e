"""What Numba compiles: our kernels, and a user's rules and scores with all functions that they call.

`compiled(problem, rule)` is test(xy, a, b, c, d, e): whether the elements with these indices are forbidden. Of the five
indices, those beyond the rule's number of elements are ignored. `xy` has one row per element, its coordinates.
"""

import re
import uuid
from collections.abc import Callable
from functools import lru_cache
from types import CellType, CodeType, FunctionType
from typing import Any, TypeVar

import numpy as np
from numba import njit
from numba.core.errors import NumbaError

from handloom.core import HandloomError
from handloom.core.arrays import Array
from handloom.discover.problem import Problem, Rule, arity
from handloom.discover.spaces import Space

Test = Callable[..., bool]
F = TypeVar("F", bound=Callable[..., Any])


def kernel(**options: bool) -> Callable[[F], F]:
    """njit without the wrappers for C, which take a third of the time to compile."""
    compile_with: Any = njit
    compiling = compile_with(nogil=True, no_cfunc_wrapper=True, **options)
    return lambda function: compiling(named_apart(function) if "<" in function.__qualname__ else function)


def int64_constant(value: int) -> Any:
    """A constant for kernels to pass on. A literal is a type of its own for Numba: whatever receives 0, 1 and a number
    that is computed is compiled three times."""
    return np.int64(value)


def named_apart(function: F) -> F:
    """The function with a name that no other has. Numba tells functions of one name apart by a number, which begins
    anew in each process: what two processes have compiled and kept could be taken for one another in a third."""
    function.__qualname__ = f"{function.__name__}_{uuid.uuid4().hex}"
    return function


def fast(function: Any, known: dict[int, Any] | None = None) -> Any:
    """A user's function for Numba, with the user's functions that it calls. An index out of range is an error."""
    known = {} if known is None else known
    if not isinstance(function, FunctionType) or (function.__module__ or "").partition(".")[0] in ("numpy", "numba"):
        return function
    if id(function) not in known:
        names = dict(function.__globals__)
        cells = tuple(CellType() for _ in function.__closure__ or ())
        copy = FunctionType(function.__code__, names, function.__name__, function.__defaults__, cells)
        known[id(function)] = njit(nogil=True, boundscheck=True)(named_apart(copy))
        names |= {name: fast(names[name], known) for name in names_in(function.__code__) if name in names}
        for cell, old in zip(cells, function.__closure__ or (), strict=True):
            cell.cell_contents = fast(old.cell_contents, known)
    return known[id(function)]


def numba_error(error: BaseException) -> str:
    """Numba's error for a function in one line, without colours and without the opening that all such errors share."""
    lines = re.sub(r"\x1b\[[0-9;]*m", "", str(error)).splitlines()
    return " ".join(" ".join(line for line in lines if "nopython" not in line).split())[:160]


def names_in(code: CodeType) -> set[str]:
    """The names that a function and the functions within it look up."""
    inner = [names_in(part) for part in code.co_consts if isinstance(part, CodeType)]
    return set(code.co_names).union(*inner)


CALLS: dict[int, Callable[[Any, Any], Callable[..., Any]]] = {
    1: lambda rule, at: lambda xy, a, b, c, d, e: rule(at(xy, a)),
    2: lambda rule, at: lambda xy, a, b, c, d, e: rule(at(xy, a), at(xy, b)),
    3: lambda rule, at: lambda xy, a, b, c, d, e: rule(at(xy, a), at(xy, b), at(xy, c)),
    4: lambda rule, at: lambda xy, a, b, c, d, e: rule(at(xy, a), at(xy, b), at(xy, c), at(xy, d)),
    5: lambda rule, at: lambda xy, a, b, c, d, e: rule(at(xy, a), at(xy, b), at(xy, c), at(xy, d), at(xy, e)),
}


def compiled(problem: Problem, rule: Rule) -> Test:
    """The rule for Numba; compiled once for all symmetries and sizes that share it."""
    from handloom.discover.search.kept import kept_code

    xy = coordinates(problem.space)
    test = for_width(rule, xy.shape[1] if isinstance(problem.space.arguments[0], tuple) else 0)
    try:
        kept_code(ask, test)(xy, *[min(i, len(xy) - 1) for i in range(5)])
    except (NumbaError, ValueError) as error:
        if not isinstance(error, NumbaError) and "Numba" not in str(error):  # raised by the rule itself
            raise
        raise HandloomError(
            f"{problem}: Numba cannot compile what is forbidden: {numba_error(error)}; use plain arithmetic"
        ) from error
    except ArithmeticError:  # for elements that are not distinct, which the search never passes
        pass
    return test


@kernel()
def ask(test: Test, xy: Array, a: int, b: int, c: int, d: int, e: int) -> bool:
    """Ask a rule once."""
    return test(xy, a, b, c, d, e)


@lru_cache(maxsize=64)
def for_width(rule: Rule, width: int) -> Test:
    call = CALLS[arity(rule)](fast(rule), njit(named_apart(element_reader(width))))
    test: Test = njit(nogil=True)(named_apart(call))
    return test


def element_reader(width: int) -> Callable[..., Any]:
    """From coordinates and an index to the element: a tuple of that width, or a number. It is written out because
    making a tuple of a row costs Numba several times as much as most rules do."""
    parts = "".join(f"xy[i, {k}], " for k in range(width))
    reader: Callable[..., Any] = eval(f"lambda xy, i: ({parts})" if width else "lambda xy, i: xy[i, 0]")
    return reader


def coordinates(space: Space) -> Array:
    """The elements, as rules receive them, as rows of whole numbers."""
    rows = [element if isinstance(element, tuple) else (element,) for element in space.arguments]
    try:
        xy = np.array(rows, np.int64)
    except (ValueError, TypeError, OverflowError) as error:
        raise HandloomError(
            "elements must be whole numbers, or tuples of the same length, for a rule to be compiled"
        ) from error
    return xy
