"""handloom read MODEL: what a person wants to know first of a model."""

from pathlib import Path
from typing import Annotated

import typer

from handloom.cli.live.progress import SlowProgress
from handloom.cli.options import JsonOption, ModelArgument, print_json
from handloom.cli.read.output import MethodOption, OnOption, PairsOption, SeedOption, TaskOption


def overview(
    model: ModelArgument,
    on: OnOption = None,
    task: TaskOption = None,
    pairs: PairsOption = None,
    seed: SeedOption = 0,
    method: MethodOption = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Write a page with pictures to this file (.html).", show_default=False),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """What to know first of a model: its heads by name, its circuit, and the largest paths to an answer.

    The page also has the model computing, what a method finds of the circuit, a patching grid, and of a run trained
    with --keep the film of its heads. The word overview may be left out.

    \b
    handloom read search
    handloom read search --on "1 2 3 4 1 2 3" -o search.html
    handloom read runs/addition-1
    """
    from handloom.core.files import check_place, check_suffix, write_atomically
    from handloom.read.close_look import METHOD, close_look
    from handloom.read.overview import overview as look_over
    from handloom.read.user_methods import method_of
    from handloom.view.pages.reading import overview_page

    if output:
        check_place(output)
        check_suffix(output, "a page", ".html", ".htm")
    chosen = method_of(method or METHOD)
    with SlowProgress("cutting edges") as progress:
        found = look_over(model, on, task, pairs, seed, progress)
    if output:
        look = close_look(model, task, chosen, pairs, seed)
        write_atomically(output, overview_page(found, look).encode())
    if as_json:
        print_json(found.to_json())
    else:
        print(output or found)
