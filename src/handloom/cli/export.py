"""handloom export: a model for other tools."""

from pathlib import Path
from typing import Annotated

import typer

from handloom.cli.options import JsonOption, ModelArgument, print_json


def export(
    model: ModelArgument,
    output: Annotated[
        Path,
        typer.Option("-o", "--output", help="The folder, or the .onnx or .taotp file, to write.", show_default=False),
    ],
    to: Annotated[
        str | None,
        typer.Option(
            help="gpt2 (a folder that transformers opens), onnx or taotp; default: what the output's name says."
        ),
    ] = None,
    dtype: Annotated[
        str | None,
        typer.Option(help="float32 or float64; default: gpt2 has float32 if logits are close in it, onnx float32."),
    ] = None,
    want: Annotated[
        list[str] | None,
        typer.Option(metavar="SITE", help="A site that becomes an output of an ONNX file, such as 0.pattern or '*.z'."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Write a model for other tools, checked: transformers and TransformerLens, ONNX, or text.

    \b
    handloom export addition:digits=3 --to gpt2 -o adder/
    handloom export runs/addition-1 -o m/
    handloom export addition -o adder.onnx --want 0.pattern
    handloom export m.safetensors -o m.taotp
    """
    from handloom.share import export as write

    exported = write(model, output, to, dtype, want or ())
    if as_json:
        print_json(exported.to_json())
    else:
        print(exported)
