"""Methods of one's own that look for circuits: one function in a Python file, `FILE.py` or `FILE.py:NAME`."""

import functools
import os
import re
from inspect import isfunction
from pathlib import Path
from typing import Any

from handloom.core import HandloomError
from handloom.core.errors import in_users_code, shown
from handloom.core.finding import nearest
from handloom.read.finders import METHODS, Method
from handloom.tasks.user_file import run_file


def method_of(name: str) -> str | Method:
    """A method of ours by its name, or the function in a file. The file is run."""
    found = re.fullmatch(r"(.+?\.py)(?::(.*))?", name, re.DOTALL)
    if not found:
        if name in METHODS:
            return name
        near = nearest(name, METHODS)
        hint = f"did you mean {near}?" if near else f"name a file FILE.py, or one of {', '.join(METHODS)}"
        raise HandloomError(f"{shown(name)} is no method; {hint}")
    path, wanted = Path(found[1]), found[2]
    if not os.path.isfile(path):
        raise HandloomError(f"{path}: no such file; name a Python file with a method in it")
    return function_of(path, wanted)


def function_of(path: Path, wanted: str | None) -> Method:
    """The one function that a file defines, or the one of a name."""
    own = {
        name: one
        for name, one in run_file(path).items()
        if isfunction(one) and one.__code__.co_filename == str(path) and not name.startswith("_")
    }
    if wanted is None and len(own) != 1:
        have = f"it has {', '.join(own)}; name one, as in {path}:{min(own)}" if own else "define one"
        raise HandloomError(f"{path}: expected one function of a model and pairs of inputs; {have}")
    if wanted is not None and wanted not in own:
        raise HandloomError(f"{path}: there is no function {shown(wanted)} in it; it has {', '.join(own) or 'none'}")
    function = own[wanted] if wanted is not None else next(iter(own.values()))

    @functools.wraps(function)
    def method(model: Any, pairs: Any) -> Any:
        with in_users_code(str(path)):
            return function(model, pairs)

    return method
