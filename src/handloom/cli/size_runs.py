"""Several runs that differ only in their size: `handloom discover isosceles:n=6..16`, and its `--resume`.

Each size has a folder of its own within that of the sweep. At the end, or after Ctrl-C, comes the table of what the
store has for these sizes.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from handloom.cli.options import print_json

if TYPE_CHECKING:
    from handloom.cli.time_limit import Tell
    from handloom.discover.loop.start import Discovery
    from handloom.discover.loop.sweep import Sweep
    from handloom.discover.records.size_table import SizeRow


def run_sweep(
    asked: str | None,
    folder: Path | None,
    store: Path | None,
    out: Path | None,
    how: dict[str, Any],
    as_json: bool,
    tell: "Tell",
) -> None:
    """Begin a sweep of the sizes asked for, or resume the one in the folder, and show it."""
    from handloom.discover.loop.sweep import begin_sweep, reopen_sweep

    how = {key: value for key, value in how.items() if key != "began"}  # each size has its own time
    if asked is not None:
        sweep = begin_sweep(asked, how, store or "records.sqlite", out)
    else:
        assert folder is not None
        sweep = reopen_sweep(folder, store, **{key: value for key, value in how.items() if key != "start"})
    show_sweep(sweep, asked, as_json, tell)


def show_sweep(sweep: "Sweep", asked: str | None, as_json: bool, tell: "Tell") -> None:
    """Run all sizes that are left, say of each what it found, and print the table."""
    from handloom.cli.live.discovery import DiscoveryView
    from handloom.discover.records.size_table import table_rows
    from handloom.discover.records.store import Store
    from handloom.view.pages.discovery import run_page

    folder, left = sweep.folder.path, len(sweep.left)
    with sweep, DiscoveryView() as view:
        for number, run in enumerate(sweep.runs(view, teller(sweep, tell)), len(sweep.names) - left + 1):
            run_page(run)
            view.say(f"{number} of {len(sweep.names)}: {run.sentence()}")
    rows = table_rows(Store.open(sweep.store), sweep.asked)
    if as_json:
        print_json({"run": str(folder), "sizes": sweep.done, "table": [row.to_json() for row in rows]})
    elif rows:
        print_table(rows)
    if sweep.halted:
        print(f"stopped; handloom discover --resume {folder} continues", file=sys.stderr)
        raise typer.Exit(130)
    where = "" if str(sweep.store) == "records.sqlite" else f" --store {sweep.store}"
    name = asked or sweep.asked
    print(
        f"handloom records '{name}'{where} --table table.tex writes the table, as .csv, .tex or .b.txt; "
        f"the runs are in {folder}",
        file=sys.stderr,
    )


def teller(sweep: "Sweep", tell: "Tell") -> "Callable[[Discovery], None]":
    """Tell the parent process that another run begins, which has the time limit for itself."""

    def told(run: "Discovery") -> None:
        made = [str(one) for one in sweep.folder.made]
        tell(folder=str(sweep.folder.path), made=made, store=str(sweep.store), again=True)

    return told


def print_table(rows: "list[SizeRow]") -> None:
    """One line per size."""
    from rich.console import Console
    from rich.table import Column, Table

    from handloom.discover.records.size_table import headings, names_of
    from handloom.view.svg.charts import exact

    right = [Column(name, justify="right", no_wrap=True) for name in (*headings(rows), "best", "best known")]
    table = Table(*right, "proved", Column("how found", overflow="fold"), Column("record", justify="right"), box=None)
    for row in rows:
        known = "" if row.best_known is None else exact(row.best_known)
        table.add_row(*names_of(rows, row), exact(row.best), known, row.status, row.how, str(row.record))
    wide = None if sys.stdout.isatty() else 1000
    Console(highlight=False, markup=False, width=wide).print(table)
