"""handloom curves: success and loss of runs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Iterator


def curves(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN…", help="Run folders, or folders of runs.", show_default=False),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="The picture: .png, .svg or .pdf.")] = Path(
        "curves.png"
    ),
) -> None:
    """Draw success and loss over the steps, one line per run; the runs of `learn --seeds` are one line, their mean, in
    a band from the least to the largest.

    \b
    handloom curves runs/strings-1 runs/strings-2 -o curves.svg
    handloom curves runs
    """
    from handloom.core import HandloomError
    from handloom.view.figures.curves import draw_curves

    found = dict(pair for run in runs for pair in curves_in(run))
    if not found:
        raise HandloomError(f"{runs[0]} has no run that has been evaluated; handloom learn makes one")
    print(draw_curves(found, output))


def curves_in(path: Path) -> "Iterator[tuple[str, list[list[dict[str, Any]]]]]":
    """The curves in a folder, by name: a run, the runs of several seeds, or all runs in it. A run that is named must
    have curves; one that is only found in a folder is otherwise left out, with a line on standard error."""
    import sys

    from handloom.core import HandloomError
    from handloom.core.files import what_is
    from handloom.runs.folder import Folder
    from handloom.runs.listing import read_run, run_folders, seed_folders

    if what_is(path) != "folder" or what_is(path / "run.json") == "file":
        yield str(path), [Folder.open(path).lines()]
        return
    groups: dict[Path, list[list[dict[str, Any]]]] = {}
    for folder in run_folders(path):
        seeds = folder in seed_folders(folder.parent)
        try:
            about, lines = read_run(folder), Folder.open(folder).lines()
        except HandloomError as error:
            print(f"left out: {error}", file=sys.stderr)
            continue
        if about.kind != "learn" or about.damaged or not lines:
            why = about.damaged or ("it is a run of discover" if lines else "it has not been evaluated yet")
            print(f"left out: {folder}: {why}", file=sys.stderr)
            continue
        groups.setdefault(folder.parent if seeds else folder, []).append(lines)
    yield from ((str(name), several) for name, several in groups.items())
