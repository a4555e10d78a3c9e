"""handloom write precision: how many entries a lookup table of some width holds."""

from pathlib import Path
from typing import Annotated

import typer

from handloom.cli.live.progress import SlowProgress
from handloom.cli.options import JsonOption, print_json


def precision(
    output: Annotated[Path, typer.Option("-o", "--output", help="The figure: .png, .svg or .pdf.")] = Path(
        "precision.png"
    ),
    quick: Annotated[bool, typer.Option("--quick", help="Try only a few small tables.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of the random tables.", min=0)] = 0,
    as_json: JsonOption = False,
) -> None:
    """Draw the share of right entries of a lookup table against the width of the model (the book's figure 3.8).

    It tries 10, 100 and 1,000 entries over 10, 100 and 1,000 tokens, ten runs each, which takes minutes.

    \b
    handloom write precision -o precision.svg
    handloom write precision --quick
    """
    from dataclasses import asdict

    from handloom.core.files import check_place
    from handloom.lab.lookup_figure import draw_precision
    from handloom.lab.lookup_precision import QUICK, evaluate
    from handloom.view.figures.figure import check_format

    check_place(output)
    check_format(output)
    with SlowProgress("tables tried") as progress:
        results = evaluate(**(QUICK if quick else {}), seed=seed, progress=progress)
    draw_precision(results, output)
    if as_json:
        print_json([asdict(result) for result in results])
        return
    for result in results:
        mean = sum(result.runs) / len(result.runs)
        print(f"{result.entries:>5,} entries, {result.vocab:>5,} tokens, {result.dims + 3:>2} wide: {mean:.1%}")
    print(output)
