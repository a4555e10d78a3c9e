"""Machine code of rules and scores, kept on disk beside that of our kernels, so that each is compiled once.

    marked = kept_code(mark_pairs, test)    # marked(xy, of, apart) is mark_pairs(test, xy, of, apart)

Numba keeps no code of a kernel that takes a function. Here a kernel is kept with the functions that it is given, under
a digest of everything that the code is made of: the bytecode of all functions that are called, their constants,
defaults, closures and the globals that they read. What has a part that cannot be digested is compiled in each run.
Code from several processes meets in one, so each function has a name of its own (`named_apart`).
"""

import hashlib
import inspect
import os
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numba
import numpy as np
from numba.core import caching
from numba.core.dispatcher import Dispatcher

from handloom.discover.search.compiling import kernel, names_in

OTHERS = ("numpy", "numba", "math", "builtins", "operator")  # modules whose versions say what is in them
MOST_FILES = 1_000  # of kept code; the oldest go
LARGE = 100_000  # bytes of an array, of which Numba may take the address
PLAIN = (int, float, complex, str, bytes, bool, type(None), type(...))


class NoDigest(Exception):
    """Something cannot be digested."""


Cache: Any = caching.FunctionCache
CacheFile: Any = caching.IndexDataCacheFile


class KeptByDigest(Cache):  # type: ignore[misc]
    """Numba's cache, with a file for each digest: two runs at once do not write into each other's."""

    def __init__(self, function: FunctionType, digest: str) -> None:
        super().__init__(function)
        locator = self._impl.locator
        self._cache_file = CacheFile(self._cache_path, f"rule-{digest}", locator.get_source_stamp())
        # Numba keeps no code with addresses in it. The only ones here are of the functions that are given: they are
        # called by what their types say, and the address is passed on but never read.
        self._impl.check_cachable = lambda made: not made.lifted

    def _index_key(self, signature: Any, codegen: Any) -> Any:
        return signature, codegen.magic_tuple()

    def load_overload(self, signature: Any, context: Any) -> Any:
        try:
            return super().load_overload(signature, context)
        except Exception:  # of a damaged file; then it is compiled anew
            return None

    def save_overload(self, signature: Any, data: Any) -> None:
        with suppress(Exception):  # of Numba's, for what it cannot write
            super().save_overload(signature, data)
            prune(Path(self._cache_path))


def prune(folder: Path) -> None:
    """Remove the oldest files of kept code, if there are too many."""
    ages = sorted((entry.stat().st_mtime, entry.path) for entry in os.scandir(folder) if entry.name[:5] == "rule-")
    for _, path in ages[:-MOST_FILES]:
        os.unlink(path)


@lru_cache(maxsize=256)
def kept_code(inner: Any, *functions: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel with the functions that it takes first."""
    rest = inspect.getfullargspec(inner.py_func).args[len(functions) :]
    given = [f"function_{number}" for number in range(len(functions))]
    # Numba takes the address of a function that is passed on among *rest, so the call is written out
    text = f"lambda {', '.join(rest)}: inner({', '.join([*given, *rest])})"
    call = eval(
        compile(text, __file__, "eval"),
        {"__name__": __name__, "inner": inner, **dict(zip(given, functions, strict=True))},
    )
    whole: Any = kernel()(call)
    with suppress(NoDigest, RuntimeError):  # Numba's where there is no place for a cache
        whole._cache = KeptByDigest(call, digest_of(whole))
    return whole


def digest_of(value: Any) -> str:
    """The same for the same code; an error, if it has parts of which that is not known."""
    parts: list[str] = [numba.__version__, np.__version__]
    collect(value, parts, {})
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]


def collect(value: Any, parts: list[str], seen: dict[int, int]) -> None:
    """Append everything that a value is made of."""
    if isinstance(value, PLAIN):
        parts.append(f"{type(value).__name__} {value!r}")
    elif id(value) in seen:
        parts.append(f"number {seen[id(value)]}")
    elif isinstance(value, Dispatcher | FunctionType | CodeType):
        seen[id(value)] = len(seen)
        collect_code(value, parts, seen)
    elif isinstance(value, tuple | frozenset):
        parts.append(f"{type(value).__qualname__} {len(value)}")
        for part in value if isinstance(value, tuple) else sorted(value, key=repr):
            collect(part, parts, seen)
    elif isinstance(value, np.ndarray | np.generic) and value.dtype != object and value.nbytes < LARGE:
        parts.append(f"{value.dtype} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}")
    elif known_by_name(value):
        parts.append(f"{getattr(value, '__module__', '')} {getattr(value, '__qualname__', repr(value))}")
    else:
        raise NoDigest


def collect_code(value: Any, parts: list[str], seen: dict[int, int]) -> None:
    """The parts of a function, compiled or not, or of its code."""
    if isinstance(value, Dispatcher):
        parts.append(f"compiled {sorted(value.targetoptions.items())}")
        collect(value.py_func, parts, seen)
    elif isinstance(value, CodeType):
        flags = value.co_flags, value.co_argcount, value.co_kwonlyargcount, value.co_posonlyargcount
        parts.append(f"code {flags} {value.co_code.hex()} {value.co_names} {value.co_varnames} {value.co_freevars}")
        collect(value.co_consts, parts, seen)
    elif (value.__module__ or "").partition(".")[0] in OTHERS:
        parts.append(f"function {value.__module__} {value.__qualname__}")
    else:
        collect(value.__code__, parts, seen)
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        named = {name: value.__globals__[name] for name in names_in(value.__code__) if name in value.__globals__}
        read = [value.__defaults__ or (), tuple(cells), *chain_of(named)]
        for part in read:
            collect(part, parts, seen)


def chain_of(named: dict[str, Any]) -> list[Any]:
    """Names with what they stand for, in the order of the names."""
    return [part for name in sorted(named) for part in (name, named[name])]


def known_by_name(value: Any) -> bool:
    """Whether its name and the versions of NumPy and Numba say what it is: modules, types and functions of theirs."""
    if isinstance(value, ModuleType):
        return value.__name__.partition(".")[0] in OTHERS
    if isinstance(value, type | BuiltinFunctionType | np.ufunc):
        home = getattr(value, "__module__", None) or "numpy"
        return home.partition(".")[0] in (*OTHERS, "handloom")
    return False
