"""handloom run: continue texts with a model."""

from typing import Annotated, Any

import typer

from handloom.cli.live.progress import SlowProgress
from handloom.cli.options import JsonOption, ModelArgument, decoding, find_model, print_json, takes

Inputs = Annotated[
    list[str] | None, typer.Argument(metavar="INPUT…", help="Texts to continue; by default one empty text.")
]


@takes(decoding)
def run(
    model: ModelArgument,
    inputs: Inputs = None,
    steps: Annotated[
        int | None,
        typer.Option(
            help="Up to this many new tokens (beyond the block the window slides); default: as the model's notes "
            "say, or until the block is full."
        ),
    ] = None,
    stop: Annotated[list[str] | None, typer.Option(help="Stop at this token; may be repeated; default: <eos>.")] = None,
    temperature: Annotated[float, typer.Option(help="0 takes the likeliest token; above 0 tokens are drawn.")] = 0.0,
    engine: Annotated[
        str | None,
        typer.Option(
            help="reference (NumPy, float64), torch, native (C++, float32), or auto: the fastest; default: reference, "
            "for a large model torch."
        ),
    ] = None,
    unchecked: Annotated[
        bool, typer.Option("--unchecked", help="Accept any input, even one that the model's task does not take.")
    ] = False,
    specials: Annotated[bool, typer.Option("--specials", help="Also show special tokens such as <eos>.")] = False,
    as_json: JsonOption = False,
    **choices: Any,
) -> None:
    """Continue each INPUT with a model; one line of output per input.

    \b
    handloom run hello
    handloom run hello:message="Good morning" --specials
    handloom run my.safetensors "6 2 12 0" "3 1 2" --temperature 0.8 --seed 7
    handloom run my.safetensors "6 2" --temperature 1 --format "[0-9 ]+ 0"
    """
    from handloom.core.decoding import continue_texts

    chosen = find_model(model)
    how = {"steps": steps, "stop": stop or None, "temperature": temperature, "engine": engine}
    with SlowProgress("decoding") as progress:
        texts = continue_texts(
            chosen, inputs or [""], specials=specials, unchecked=unchecked, progress=progress, **how, **choices
        )
    if as_json:
        print_json({"output": texts})
    else:
        print("\n".join(texts))
