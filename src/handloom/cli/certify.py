"""handloom certify: check whether a model is right on every input of its task."""

from typing import Annotated

import typer

from handloom.cli.live.progress import SlowProgress
from handloom.cli.options import JsonOption, ModelArgument, print_json


def certify(
    model: ModelArgument,
    task: Annotated[
        str | None,
        typer.Option(help="A task with questions, such as gcd, or a program's; default: the one in the model's notes."),
    ] = None,
    dtype: Annotated[str | None, typer.Option(help="float32 or float64; default: the model's own.")] = None,
    samples: Annotated[
        int | None, typer.Option(help="Try this many inputs; default: all, or 10,000 where all would take too long.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Try all inputs, however long it takes.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of the random inputs.", min=0)] = 0,
    as_json: JsonOption = False,
) -> None:
    """Check a model against the oracle of its task: on all inputs, by proof, or on samples. Exit code 1 if it is wrong.

    \b
    handloom certify min:n=5
    handloom certify addition:digits=10
    handloom certify my.safetensors --task min:n=5 --dtype float32
    handloom certify runs/addition-1 --samples 1000
    """
    from handloom.tasks import certify as check

    with SlowProgress("certifying") as progress:
        certificate = check(model, task, dtype, samples, everything, seed, progress)
    if as_json:
        print_json(certificate.to_json())
    else:
        print(certificate)
    raise typer.Exit(0 if certificate.right else 1)
