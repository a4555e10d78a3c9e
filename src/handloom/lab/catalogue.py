"""The experiments by name. Each is a module of `exact`, `learned` or `games` that has a CLAIM; its name is the file's.

>>> "hopfield" in experiment_names()
True
>>> experiment("hopfield").CLAIM.number
'0.138 d'
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import Any

from handloom.core import HandloomError
from handloom.core.errors import shown
from handloom.core.finding import nearest

GROUPS = ("exact", "learned", "games")


@cache
def experiment_names(group: str | None = None) -> dict[str, str]:
    """The modules by the names of their experiments, of one group or of all."""
    if group is not None and group not in GROUPS:
        raise HandloomError(f"no group {shown(group)} of experiments (expected one of {', '.join(GROUPS)})")
    found = {}
    for room in GROUPS if group is None else (group,):
        for path in sorted(files(f"handloom.lab.{room}").iterdir(), key=lambda path: path.name):
            if path.name.endswith(".py") and "\nCLAIM = Claim(" in path.read_text("utf-8"):
                found[path.name.removesuffix(".py").replace("_", "-")] = f"handloom.lab.{room}.{path.name[:-3]}"
    return found


def experiment(name: str) -> Any:
    """The module of an experiment."""
    modules = experiment_names()
    if name not in modules:
        hint = f"did you mean {near}?" if (near := nearest(name, modules)) else "`handloom lab` lists them"
        raise HandloomError(f"no experiment {shown(name)}; {hint}")
    with extras():
        return import_module(modules[name])


@contextmanager
def extras() -> Iterator[None]:
    """Say what to install if an experiment needs more than is there."""
    try:
        yield
    except ModuleNotFoundError as error:
        extra = {"torch": "learn", "numba": "discover", "matplotlib": "view"}.get((error.name or "").partition(".")[0])
        if extra is None:
            raise
        text = f"this experiment needs {error.name}, which is not installed: pip install 'handloom[{extra}]'"
        raise HandloomError(text) from error
