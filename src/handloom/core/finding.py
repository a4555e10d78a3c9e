"""A model by its name: a program with its parameters, or a model on disk.

    >>> find("hello:message=Good morning").model()
    'Good morning'

On disk a model is a model file, a .taotp file, or the folder of a run, which has a model file in it.
"""

import difflib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from handloom.core import files
from handloom.core.errors import HandloomError
from handloom.core.files import as_path, check_ordinary, what_is
from handloom.core.model import Model
from handloom.core.registry import offered

LAST = "model.safetensors"  # the newest model of a run


class FoundModel(NamedTuple):
    """A model and, if it was on disk, the folder it was found in, where a user's own task may be too."""

    model: Model
    folder: Path | None = None


def find(model: Model | str | os.PathLike[str]) -> FoundModel:
    """The model of that name. A Model stands for itself."""
    if isinstance(model, Model):
        return FoundModel(model)
    if is_program(model):
        return FoundModel(offered("program")(model))
    path = find_file(model)
    return FoundModel(load(path), path.parent)


def is_program(name: Any) -> bool:
    """Whether this is the name of a program, with or without parameters."""
    return isinstance(name, str) and name.partition(":")[0] in offered("programs")


def find_file(name: str | os.PathLike[str]) -> Path:
    """The file of a model that is on disk."""
    path = as_path(name)
    check_ordinary(path)
    if not str(name) or what_is(path) == "nothing":
        near = nearest(str(name), offered("programs"))
        hint = f"did you mean {near}?" if near else "name a model file, the folder of a run, or a program such as hello"
        raise HandloomError(f"{name or repr(name)}: no such file, and no program of that name; {hint}")
    return model_file(path)


def model_file(path: Path) -> Path:
    """The file itself, or for the folder of a run, its model."""
    if what_is(path) != "folder":
        return path
    if what_is(path / LAST) != "file":
        if what_is(path / "run.json") == "file":
            raise HandloomError(f"{path} is a run that has no model (expected a {LAST} in it); name another run")
        raise HandloomError(f"{path} is a folder without a {LAST} in it; name a model file or a run folder")
    return path / LAST


def load(path: str | os.PathLike[str]) -> Model:
    """A model on disk: a model file, a .taotp file, or the last model in the folder of a run. All of it is checked:
    names, shapes, dtypes, finite values, and that it is as it was saved."""
    file = model_file(as_path(path))
    model: Model = offered("load_taotp")(file) if file.suffix == ".taotp" else files.load_file(file)
    return model


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The name that was probably meant."""
    return next(iter(difflib.get_close_matches(name, names, n=1)), None)
