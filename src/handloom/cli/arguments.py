"""What several commands take and give: the MODEL argument, and JSON."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from handloom.core import Model

MODEL_HELP = "A model file, a run folder, or a program's name with its parameters: hello, hello:message=Hi."
ModelArgument = Annotated[str, typer.Argument(metavar="MODEL", help=MODEL_HELP, show_default=False)]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON value and nothing else.")]


def find_model(name: str) -> "Model":
    """The model a MODEL argument stands for: what is on disk first, then a program of that name."""
    from handloom.core import HandloomError, load
    from handloom.write import PROGRAMS, program

    path = Path(name)
    if path.is_dir():
        if not (path / "model.safetensors").is_file():
            raise HandloomError(
                f"{name} is a folder without a model.safetensors in it; name a model file or a run folder"
            )
        return load(path / "model.safetensors")
    if path.is_file() or path.suffix == ".safetensors":
        return load(path)
    if name.partition(":")[0] not in PROGRAMS and ("." in path.name or path.is_absolute()):
        raise HandloomError(
            f"{name}: no such file, and no program of that name; `handloom write list` shows the programs"
        )
    return program(name)


def print_json(value: Any) -> None:
    print(json.dumps(value, ensure_ascii=False))
