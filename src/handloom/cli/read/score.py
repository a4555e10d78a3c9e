"""handloom read score: how well methods find the true circuits of models."""

from typing import Annotated

import typer

from handloom.cli.live.progress import SlowProgress
from handloom.cli.options import JsonOption, print_json
from handloom.cli.read.output import SeedOption

FEW = ("min", "search", "lookup", "modular-sum", "compiled/reverse", "compiled/induction:n=15,letters=5")


def score(
    methods: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="METHOD…",
            help="Files with a method of your own (FILE.py or FILE.py:NAME), or methods by name; default: all of ours.",
            show_default=False,
        ),
    ] = None,
    on: Annotated[
        list[str] | None,
        typer.Option("--on", metavar="MODEL", help="A model; may be given several times.", show_default=False),
    ] = None,
    pairs: Annotated[
        int, typer.Option(help="Pairs of inputs for the truth, and as many for the methods.", min=2)
    ] = 128,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
) -> None:
    """Score methods that look for circuits against the truth, found by cutting every edge.

    A method is one function in a file, from a model and pairs of inputs to a number per edge:

    \b
        def my_method(model, pairs):
            return {("embed", "0.0.q"): 1.0}

    \b
    handloom read score my_method.py
    handloom read score shares flow eap-ig --on search --on runs/induction-1
    """
    from handloom.read.finders import METHODS
    from handloom.read.truth_scores import score_methods
    from handloom.read.user_methods import method_of

    chosen = [method_of(one) for one in methods] if methods else list(METHODS)
    with SlowProgress("models") as progress:
        table = score_methods(chosen, on or FEW, pairs, seed, progress)
    if as_json:
        print_json(table.to_json())
    else:
        print(table)
