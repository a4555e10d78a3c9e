"""handloom run: let a model go on from a text."""

from typing import Annotated

import typer

from handloom.cli.arguments import (
    FormatOption,
    JsonOption,
    ModelArgument,
    SeedOption,
    TopK,
    TopP,
    find_model,
    print_json,
)
from handloom.cli.live.progress import Slowly

Inputs = Annotated[list[str] | None, typer.Argument(metavar="INPUT…", help="Texts to go on from; none: the empty one.")]


def run(
    model: ModelArgument,
    inputs: Inputs = None,
    steps: Annotated[
        int | None,
        typer.Option(
            help="At most this many new tokens (beyond the block the window slides); default: as its notes say, "
            "or until the block is full."
        ),
    ] = None,
    stop: Annotated[
        list[str] | None, typer.Option(help="Stop at this token; may be given again; default: <eos>.")
    ] = None,
    temperature: Annotated[float, typer.Option(help="0 takes the likeliest token; above it tokens are drawn.")] = 0.0,
    top_k: TopK = None,
    top_p: TopP = None,
    format: FormatOption = None,
    seed: SeedOption = 0,
    engine: Annotated[
        str, typer.Option(help="reference (NumPy, float64), torch, native (C++, float32), or auto: the fastest.")
    ] = "reference",
    unchecked: Annotated[
        bool, typer.Option("--unchecked", help="Take any input, also what the model's task does not.")
    ] = False,
    specials: Annotated[bool, typer.Option("--specials", help="Show special tokens such as <eos> too.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Let a model go on from each INPUT; one line of output each.

    \b
    handloom run hello
    handloom run hello:message="Good morning" --specials
    handloom run my.safetensors "6 2 12 0" "3 1 2" --temperature 0.8 --seed 7
    handloom run my.safetensors "6 2" --temperature 1 --format "[0-9 ]+ 0"
    """
    from handloom.core.decoding import continue_texts

    chosen = find_model(model)
    with Slowly("decoding") as progress:
        texts = continue_texts(
            chosen,
            inputs or [""],
            specials=specials,
            unchecked=unchecked,
            steps=steps,
            stop=stop or None,
            temperature=temperature,
            top_k=top_k,
            top_p=top_p,
            seed=seed,
            format=format,
            engine=engine,
            progress=progress,
        )
    if as_json:
        print_json({"output": texts})
    else:
        print("\n".join(texts))
