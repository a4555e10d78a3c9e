"""handloom compile: the transformer of a program of the language."""

from pathlib import Path
from typing import Annotated

import typer

from handloom.cli.live.progress import SlowProgress
from handloom.cli.options import JsonOption, print_json


def compile(
    program: Annotated[
        str,
        typer.Argument(
            metavar="FILE.py[:NAME]", help="A Python file, and its program, if it has several.", show_default=False
        ),
    ],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The model file (.safetensors); default: NAME.safetensors.")
    ] = None,
    samples: Annotated[
        int | None,
        typer.Option(help="Certify on this many inputs; default: a proof for all, or running all, or 10,000."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Compile a program into a transformer, prove or check that it is right, and write its model file.

    The file is run. Exit code 1, and no model file, if the transformer is wrong.

    \b
    handloom compile reverse.py
    handloom compile programs.py:sort -o sort.safetensors
    """
    from handloom.core import count, save
    from handloom.core.files import MODEL_FILE, check_place, check_suffix
    from handloom.tasks import certify
    from handloom.write.compiler import compile as compiled
    from handloom.write.compiler import cost_of
    from handloom.write.compiler.user_programs import find_program

    if output:
        check_place(output)
        check_suffix(output, "a model file", MODEL_FILE)
    found = find_program(program)
    path = output or Path(found.name + MODEL_FILE)
    model = compiled(found)
    with SlowProgress("inputs tried") as progress:
        certificate = certify(model, samples=samples, progress=progress)
    if certificate.right:
        save(model, path)
    sizes = count(model)
    if as_json:
        print_json(
            {"file": str(path) if certificate.right else None, "total": sizes.total, "nonzero": sizes.nonzero}
            | {"layers": model.config.layers, "width": model.config.d_model, "certificate": certificate.to_json()}
        )
    else:
        print(f"{path if certificate.right else 'not written'}: {model}, {sizes.nonzero:,} of them not 0")
        print(cost_of(model))
        print(certificate)
    raise typer.Exit(0 if certificate.right else 1)
