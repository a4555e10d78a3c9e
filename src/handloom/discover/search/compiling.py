"""What Numba makes of functions: of a user's with all that they call, and of ours without what takes it long."""

import re
from collections.abc import Callable
from types import CellType, CodeType, FunctionType
from typing import Any, TypeVar

from numba import njit

F = TypeVar("F", bound=Callable[..., Any])


def kernel(**options: bool) -> Callable[[F], F]:
    """njit, without the wrappers for C, which would take a third of the time to compile."""
    compile_with: Any = njit
    return compile_with(nogil=True, no_cfunc_wrapper=True, **options)


def fast(function: Any, known: dict[int, Any] | None = None) -> Any:
    """A function for Numba, with the functions of the user's that it calls. An index out of range is an error."""
    known = {} if known is None else known
    if not isinstance(function, FunctionType) or (function.__module__ or "").partition(".")[0] in ("numpy", "numba"):
        return function
    if id(function) not in known:
        names = dict(function.__globals__)
        cells = tuple(CellType() for _ in function.__closure__ or ())
        copy = FunctionType(function.__code__, names, function.__name__, function.__defaults__, cells)
        known[id(function)] = njit(nogil=True, boundscheck=True)(copy)
        names |= {name: fast(names[name], known) for name in names_in(function.__code__) if name in names}
        for cell, old in zip(cells, function.__closure__ or (), strict=True):
            cell.cell_contents = fast(old.cell_contents, known)
    return known[id(function)]


def numba_says(error: BaseException) -> str:
    """What Numba has against a function, in one line, without its colours and what every such message begins with."""
    lines = re.sub(r"\x1b\[[0-9;]*m", "", str(error)).splitlines()
    return " ".join(" ".join(line for line in lines if "nopython" not in line).split())[:160]


def names_in(code: CodeType) -> set[str]:
    """The names that a function looks up, and those within it."""
    inner = [names_in(part) for part in code.co_consts if isinstance(part, CodeType)]
    return set(code.co_names).union(*inner)
