"""handloom write build: the model file of a program."""

from pathlib import Path
from typing import Annotated

import typer

from handloom.cli.options import JsonOption, print_json


def build(
    program: Annotated[
        str,
        typer.Argument(metavar="PROGRAM", help="A program with its parameters: hello, min:n=5.", show_default=False),
    ],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="The model file, .safetensors or .taotp; default: NAME.safetensors."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Write a program's model file, or its weights as editable text (.taotp).

    \b
    handloom write build hello -o hello.safetensors
    handloom write build min:n=5 -o min.taotp
    """
    from handloom.core import save
    from handloom.core.files import MODEL_FILE, check_place, check_suffix
    from handloom.write import program as written
    from handloom.write.taotp import save_taotp

    path = output or Path(program.partition(":")[0].replace("/", "-") + MODEL_FILE)
    if output:
        check_place(path)
        check_suffix(path, "a model file", MODEL_FILE, ".taotp")
    model = written(program)
    if path.suffix == ".taotp":
        save_taotp(model, path)
    else:
        save(model, path)
    if as_json:
        print_json({"file": str(path)})
    else:
        print(f"{path}: {model}")
