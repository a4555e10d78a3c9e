"""handloom read heads: what each head looks at."""

from typing import Annotated

import typer

from handloom.cli.options import JsonOption, ModelArgument
from handloom.cli.read.output import PictureOption, SeedOption, check_picture, tell


def heads(
    model: ModelArgument,
    rows: Annotated[int, typer.Option(help="Rows to score on, of each kind.", min=1)] = 64,
    seed: SeedOption = 0,
    output: PictureOption = None,
    as_json: JsonOption = False,
) -> None:
    """Name the heads of a model by what they look at, with a score above chance.

    Names come from rows of random tokens that repeat; or, where a task's inputs have a format, from these. A score of
    1 is all of a head's attention, 0 is what even attention would give.

    \b
    handloom read heads search
    handloom read heads runs/induction-1 -o heads.svg
    """
    from handloom.read import heads as name_heads
    from handloom.view.head_pictures import heads_drawing

    check_picture(output)
    found = name_heads(model, count=rows, seed=seed)
    tell(found, as_json, output, lambda: heads_drawing(found), f"Heads of {model}")
