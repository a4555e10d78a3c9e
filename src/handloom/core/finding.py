"""A model by its name: a program with its parameters, or a model on disk.

    >>> find("hello:message=Good morning").model()
    'Good morning'

On disk a model is a model file, a .taotp file, the folder of a run, which has a model file in it, or a folder as
Hugging Face saves a model, which has a config.json.
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
CONFIG = "config.json"  # of a folder of another tool
CHECKPOINTS = (".pt", ".pth", ".bin", ".ckpt")  # of other tools


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
    return FoundModel(load(path), path if what_is(path) == "folder" else path.parent)


def is_program(name: Any) -> bool:
    """Whether this is the name of a program, with or without parameters."""
    return isinstance(name, str) and name.partition(":")[0] in offered("programs")


def find_file(name: str | os.PathLike[str]) -> Path:
    """The file of a model that is on disk, or the folder that another tool saved it in."""
    path = as_path(name)
    check_ordinary(path)
    if not str(name) or what_is(path) == "nothing":
        near = nearest(str(name), offered("programs"))
        hint = f"did you mean {near}?" if near else "name a model file, a folder with one, or a program such as hello"
        raise HandloomError(f"{name or repr(name)}: no such file, and no program of that name; {hint}")
    return model_file(path)


def model_file(path: Path) -> Path:
    """The file itself, or for the folder of a run, its model. The folder of another tool stands for itself."""
    if what_is(path) != "folder" or what_is(path / CONFIG) == "file":
        return path
    if what_is(path / LAST) != "file":
        if what_is(path / "run.json") == "file":
            raise HandloomError(f"{path} is a run that has no model (expected a {LAST} in it); name another run")
        raise HandloomError(f"{path} is a folder without a {LAST} in it; name a model file or a run folder")
    return path / LAST


def load(path: str | os.PathLike[str]) -> Model:
    """A model on disk: a model file, a .taotp file, the last model in the folder of a run, or a folder with a
    config.json, as Hugging Face saves a model. All of it is checked: names, shapes, dtypes, finite values, and that a
    model file is as it was saved."""
    file = model_file(as_path(path))
    if file.suffix in CHECKPOINTS and what_is(file) == "file":
        raise HandloomError(
            f"{file} is a checkpoint of another tool (expected a model file); make it one with import_model",
            ("import", ""),
        )
    reader = {".taotp": "load_taotp"}.get(file.suffix) if what_is(file) != "folder" else "load_folder"
    model: Model = offered(reader)(file) if reader else files.load_file(file)
    return model


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The name that was probably meant."""
    return next(iter(difflib.get_close_matches(name, names, n=1)), None)
