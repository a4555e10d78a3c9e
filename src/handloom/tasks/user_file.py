"""What a user has written: a Python file that defines `task`, or `problem`. The file is run, as its user wants.

What it defines may be the thing itself, or a function that makes it, with parameters that have defaults. It may import
Python files that lie beside it. Two files may each have a `helper.py` of their own: what is beside a file is loaded for
it alone.
"""

import ast
import functools
import importlib
import os
import re
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
    """What a file must define: under which name, of which kinds, and these in words."""

    name: str
    kinds: tuple[type, ...]
    words: str

    def __str__(self) -> str:
        return (
            f"define {self.name}, {self.words}, or a function {self.name}() that makes one, "
            f"as examples/{self.name}.py does"
        )


def python_file(name: str) -> tuple[Path, str] | None:
    """Of `my_task.py:n=12` the file and the parameters, if there is that file."""
    python = re.fullmatch(r"(.+?\.py)(?::(.*))?", name, re.DOTALL)
    return (Path(python[1]), python[2] or "") if python and os.path.isfile(python[1]) else None


def defined(path: Path, wanted: Wanted, parameters: bool) -> Callable[..., Any]:
    """Runs the file. Gives a function that makes what is wanted; what goes wrong in it is said in one line."""
    module = ModuleType(path.stem)
    module.__file__ = str(path)
    try:
        with importing_beside(path):
            exec(compile(path.read_bytes(), str(path), "exec"), module.__dict__)
    except (Exception, SystemExit) as error:
        raise HandloomError(told_in_file(path, error)) from error
    found = vars(module).get(wanted.name)
    if isinstance(found, wanted.kinds):
        if parameters:
            raise HandloomError(f"{path}: its {wanted.name} takes no parameters; make it a function to have some")
        return lambda: found
    if not callable(found):
        raise HandloomError(f"{path}: there is no {wanted.name} in it; {wanted}")
    return guarded(path, wanted, found)


def guarded(path: Path, wanted: Wanted, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, with its errors told as ours and what it gives looked at."""

    @functools.wraps(function)
    def make(**values: Any) -> Any:
        try:
            with importing_beside(path):
                made = function(**values)
        except (Exception, SystemExit) as error:
            raise HandloomError(told_in_file(path, error)) from error
        if not isinstance(made, wanted.kinds):
            raise HandloomError(f"{path}: {wanted.name}() gave {shown(made)}; it must give {wanted.words}")
        return made

    return make


def files_beside(path: Path) -> list[Path]:
    """The Python files in its folder that a file imports, and those that these import, relative to the folder. Of a
    package all files count."""
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
    """The modules that a file's import statements name, without what is behind a dot."""
    try:
        nodes = list(ast.walk(ast.parse(path.read_bytes())))
    except (OSError, ValueError, SyntaxError, RecursionError):
        return set()  # it will be told when the file is run
    plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    from_them = {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom) and not node.level}
    return {name.partition(".")[0] for name in plain | from_them}


@contextmanager
def importing_beside(path: Path) -> Iterator[None]:
    """While a file runs: what it imports is looked for beside it first, as Python does for a program, and loaded anew.
    Afterwards there is nothing left of it but what the file itself holds."""
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


def told_in_file(path: Path, error: BaseException) -> str:
    """What went wrong, in one line: the file, the line of it where it happened, and what Python says."""
    if isinstance(error, SyntaxError) and error.filename == str(path):
        line, says = error.lineno, error.msg
    else:
        places = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
        line, says = (places[-1] if places else None), " ".join(str(error).split())
    kind = "" if isinstance(error, HandloomError) else f"{type(error).__name__}: "
    return f"{path}{f', line {line}' if line else ''}: {kind}{says[:200]}"
