"""The repository's trained models (docs/read/models), to be seen beside random ones. An installed package has none, so
no check depends on them.

    for name, (model, rows) in trained_models(["sort-0"], rows=50).items(): ...
"""

from collections.abc import Sequence
from pathlib import Path

import handloom
from handloom.core import Model, load
from handloom.read import strings_for
from handloom.tasks import task_of

FOLDER = Path(handloom.__file__).parents[2] / "docs/read/models"


def trained_models(names: Sequence[str], rows: int, seed: int = 0) -> dict[str, tuple[Model, list[list[int]]]]:
    """By name, each model and some strings of its task; without those whose file is not there."""
    found = {}
    for name in names:
        if (path := FOLDER / f"{name}.safetensors").exists():
            model = load(path)
            found[name] = (model, strings_for(model, task_of(model), rows, seed))
    return found
