"""handloom runs: list runs and what they have reached."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from handloom.cli.options import JsonOption, print_json

if TYPE_CHECKING:
    from handloom.runs.listing import Run


def runs(
    folder: Annotated[Path, typer.Argument(metavar="[FOLDER]", help="Where to look.", show_default=False)] = Path(
        "runs"
    ),
    as_json: JsonOption = False,
) -> None:
    """List the runs in a folder, of learn and of discover; by default in runs/.

    Loss and success are those of the last evaluation: the held-out loss, in nats per token, and the share of samples
    that are right. A run of discover shows generations instead of steps, and its best score.

    \b
    handloom runs
    handloom runs runs/strings-1 --json
    """
    import sys

    from rich.console import Console
    from rich.table import Column, Table

    from handloom.runs.listing import runs_in

    found = runs_in(folder)
    if as_json:
        print_json([run.to_json() for run in found])
        return
    if not found:
        print(f"no runs in {folder}; start one with handloom learn", file=sys.stderr)
        return
    right = [Column(name, justify="right", no_wrap=True) for name in ("steps", "loss", "success")]
    table = Table(Column("run", overflow="fold"), "kind", Column("task", overflow="fold"), *right, box=None)
    for run in found:
        if run.steps is not None:  # of a damaged run, as far as it can be read
            table.add_row(*cells(run))
    wide = None if sys.stdout.isatty() else 1000  # one line per run
    Console(highlight=False, markup=False, width=wide).print(table)
    for run in found:
        if run.damaged:
            print(f"{run.path}: {run.damaged}")


def cells(run: "Run") -> list[str]:
    """A run as a row of the table."""
    steps = "" if run.steps is None else f"{run.steps:,}"
    steps += f" of {run.goal:,}" if run.goal is not None and run.goal != run.steps else ""
    loss = "" if run.loss is None else f"{run.loss:.4f}"
    success = "" if run.success is None else f"{run.success:.1%}"
    return [
        str(run.path),
        run.kind,
        run.task or "(defined in Python)",
        steps,
        loss,
        success if run.best is None else f"best {run.best:g}",
    ]
