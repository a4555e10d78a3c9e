"""handloom page: a model that stays alive in one HTML file, alone or beside another."""

from pathlib import Path
from typing import Annotated

import typer

from handloom.cli.options import JsonOption, ModelArgument, print_json


def page(
    model: ModelArgument,
    output: Annotated[Path, typer.Option("-o", "--output", help="The page to write (.html).", show_default=False)],
    beside: Annotated[
        str | None, typer.Argument(help="A second model, shown beside the first on the same input.", show_default=False)
    ] = None,
    on: Annotated[
        str | None, typer.Option(help="The input to show first; default: one of the model's task.", show_default=False)
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Write a page in which a model computes: type an input, change a weight, take a head out. It works offline.

    lesson/NAME is a lesson of the studio, with all models that it shows.

    \b
    handloom page addition --on 865+230= -o addition.html
    handloom page runs/13-22-1 -o rule.html
    handloom page search runs/induction-1 -o both.html
    handloom page lesson/addition -o addition.html
    """
    from handloom.core.files import check_place, check_suffix
    from handloom.studio.lessons.exported import LESSON, lesson_page
    from handloom.view.pages import live

    check_suffix(check_place(output), "a page", *live.ENDINGS)  # before the work, not after it
    made = lesson_page(model.removeprefix(LESSON)) if model.startswith(LESSON) else live.page(model, on, beside)
    written = made.save(output)
    if as_json:
        print_json({"file": str(written), "bytes": written.stat().st_size})
    else:
        print(written)
