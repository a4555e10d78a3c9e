"""A user's Python file that defines `task`, or `problem`. The file is run, as its user wants.

It may define the thing itself, or a function that makes it, with parameters that have defaults. It may import Python
files beside it. Two files may each have a `helper.py` of their own: modules beside a file are loaded for it alone.
"""

import ast
import functools
import importlib
import linecache
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from handloom.core import HandloomError
from handloom.core.errors import shown


@dataclass(frozen=True)
class Wanted:
    """What a file must define: its name, its kinds, and these in words."""

    name: str
    kinds: tuple[type, ...]
    words: str

    def __str__(self) -> str:
        return (
            f"define {self.name}, {self.words}, or a function {self.name}() that makes one, "
            f"as examples/{self.name}.py does"
        )


def defined(path: Path, wanted: Wanted, parameters: bool) -> Callable[..., Any]:
    """Run the file; a function that makes what is wanted. All errors in the file become a HandloomError of one line."""
    found = run_file(path).get(wanted.name)
    if isinstance(found, wanted.kinds):
        if parameters:
            raise HandloomError(f"{path}: its {wanted.name} takes no parameters; make it a function to have some")
        return lambda: found
    if not callable(found):
        raise HandloomError(f"{path}: there is no {wanted.name} in it; {wanted}")
    return guarded(path, wanted, found)


def run_file(path: Path) -> dict[str, Any]:
    """Run the file; the names that it defines. All errors in it become a HandloomError of one line."""
    module = ModuleType(path.stem)
    module.__file__ = str(path)
    linecache.checkcache(str(path))  # messages show its lines as they are now
    with errors_in(path), importing_beside(path):
        exec(compile(path.read_bytes(), str(path), "exec"), module.__dict__)
    return vars(module)


def guarded(path: Path, wanted: Wanted, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, with its errors as a HandloomError and its result checked."""

    @functools.wraps(function)
    def make(**values: Any) -> Any:
        with errors_in(path), importing_beside(path):
            made = function(**values)
        if not isinstance(made, wanted.kinds):
            raise HandloomError(f"{path}: {wanted.name}() gave {shown(made)}; it must give {wanted.words}")
        return made

    return make


def files_beside(path: Path) -> list[Path]:
    """The Python files in its folder that a file imports, and those that these import, relative to the folder. All
    files of an imported package count."""
    folder, found, waiting = path.parent, set[Path](), [path]
    while waiting:
        for name in imported_names(waiting.pop()):
            package = (folder / name / "__init__.py").is_file()
            files = sorted((folder / name).rglob("*.py")) if package else [folder / f"{name}.py"]
            new = {file for file in files if file.is_file()} - found - {path}
            found |= new
            waiting += new
    return sorted(file.relative_to(folder) for file in found)


def imported_names(path: Path) -> set[str]:
    """The modules that a file's import statements name, up to the first dot."""
    try:
        nodes = list(ast.walk(ast.parse(path.read_bytes())))
    except (OSError, ValueError, SyntaxError, RecursionError):
        return set()  # the error comes when the file is run
    plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    from_them = {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom) and not node.level}
    return {name.partition(".")[0] for name in plain | from_them}


@contextmanager
def importing_beside(path: Path) -> Iterator[None]:
    """While a file runs, its imports are looked for beside it first, as Python does for a program, and loaded anew.
    Afterwards none of these modules stays imported, except in the file itself."""
    own = {file.parts[0].removesuffix(".py") for file in files_beside(path)}
    if not own:
        yield
        return

    def take_out() -> dict[str, ModuleType]:
        return {name: sys.modules.pop(name) for name in list(sys.modules) if name.partition(".")[0] in own}

    folder, others, silent = str(path.parent.absolute()), take_out(), sys.dont_write_bytecode
    sys.path.insert(0, folder)
    sys.dont_write_bytecode = True  # no __pycache__ in the folder of a run
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.path.remove(folder)
        sys.dont_write_bytecode = silent
        take_out()
        sys.modules.update(others)


@contextmanager
def errors_in(path: Path) -> Iterator[None]:
    """Around running a user's file: any error in it, an exit too, becomes a HandloomError."""
    try:
        yield
    except (Exception, SystemExit) as error:
        raise HandloomError(located(path, error)) from error


def located(path: Path, error: BaseException) -> str:
    """An error in one line: the file, the line where it occurred, and Python's message."""
    if isinstance(error, HandloomError) and str(error).startswith(f"{path.name}, line "):
        return str(error)  # it names its line itself
    if isinstance(error, SyntaxError) and error.filename == str(path):
        line, message = error.lineno, error.msg
    else:
        places = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
        line, message = (places[-1] if places else None), " ".join(str(error).split())
    kind = "" if isinstance(error, HandloomError) else f"{type(error).__name__}: "
    return f"{path}{f', line {line}' if line else ''}: {kind}{message[:200]}"
