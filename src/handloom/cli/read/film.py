"""handloom read film: how the attention of every head changed while a model was trained."""

from typing import Annotated

import typer

from handloom.cli.live.progress import SlowProgress
from handloom.cli.options import JsonOption
from handloom.cli.read.output import PictureOption, SeedOption, check_picture, tell


def film(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The folder of a run.", show_default=False)],
    on: Annotated[
        str | None, typer.Option("--on", metavar="INPUT", help="One input; default: the mean of many of its task.")
    ] = None,
    seed: SeedOption = 0,
    output: PictureOption = None,
    as_json: JsonOption = False,
) -> None:
    """The attention of every head at every checkpoint of a run, one row per checkpoint.

    A run has checkpoints if it was trained with --keep.

    \b
    handloom read film runs/strings-1 -o film.svg
    handloom read film runs/induction-1 --on abcab
    """
    from handloom.read import film_strip
    from handloom.view.head_pictures import film_strip_drawing

    check_picture(output)
    with SlowProgress("checkpoints") as progress:
        found = film_strip(run, on, seed=seed, progress=progress)
    tell(found, as_json, output, lambda: film_strip_drawing(found), f"{run}: attention over the steps")
