"""handloom curves: how runs went."""

from pathlib import Path
from typing import Annotated

import typer


def curves(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN…", help="Folders of runs.", show_default=False)],
    output: Annotated[Path, typer.Option("-o", "--output", help="The picture: .png, .svg or .pdf.")] = Path(
        "curves.png"
    ),
) -> None:
    """Draw success and loss over the steps, a line for each run.

    \b
    handloom curves runs/strings-1 runs/strings-2 -o curves.svg
    """
    from handloom.learn.folder import Folder
    from handloom.view.curves import draw_curves

    print(draw_curves({str(run): Folder.old(run).lines() for run in runs}, output))
