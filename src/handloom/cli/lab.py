"""handloom lab: what the literature claims, as experiments that can fail."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from handloom.cli.live.progress import SlowProgress, duration
from handloom.cli.options import JsonOption, print_json, refuse_options

PAGE_ENDINGS, PICTURE_ENDINGS = (".html", ".htm"), (".svg", ".png", ".pdf")
WITHOUT_RUN = ("repeated", "not testable")  # groups of the table
RECORDS, RECORDED = Path("docs/lab"), 3  # the folder of records, and the seeds of one


def lab(
    name: Annotated[str | None, typer.Argument(help="The experiment; without one, all claims are listed.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Run every experiment.")] = False,
    group: Annotated[str | None, typer.Option(help="Run those of a group: exact, learned or games.")] = None,
    missing: Annotated[bool, typer.Option("--missing", help="Only those that have no record yet.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="In seconds; the default.")] = False,
    full: Annotated[bool, typer.Option("--full", help="In minutes, and keep the record.")] = False,
    seeds: Annotated[int, typer.Option(help="Seeds; a record takes 3.", min=1)] = RECORDED,
    judge: Annotated[
        str | None,
        typer.Option(help="Of backgammon: gnubg, pubeval's weights or a record (.json).", show_default=False),
    ] = None,
    records: Annotated[Path, typer.Option(help="The folder of records.")] = RECORDS,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="A page (.html), or the picture (.svg, .png, .pdf).", show_default=False),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Try a claim of the literature: holds, holds in part, does not hold, says nothing, or open.

    Without a name it lists all claims: what was said, what was found, the verdict.

    \b
    handloom lab
    handloom lab hopfield -o hopfield.html
    handloom lab --all --quick
    """
    several = everything or missing or group is not None
    runs_nothing = {"--quick": quick, "--full": full, "--judge": judge, "--output": output}
    runs_nothing |= {"--seeds": seeds != RECORDED, "--records": records != RECORDS}
    if name is None and not several:
        refuse_options(runs_nothing, "without a name or --all the claims are listed (expected an experiment)")
        list_claims(as_json)
        return
    refuse_options({"--quick and --full": quick and full}, "they are two sizes (expected one of them)")
    if name is not None:
        refuse_options({"--all": everything, "--group": group, "--missing": missing}, f"{name} is one experiment")
        if row := row_without_run(name):
            refuse_options(runs_nothing, f"{name} has no run of minutes ({row['verdict']})")
            print_json(row) if as_json else print(f"{told(row)}\n{row['verdict']}{instead(row)}")
            return
    names = chosen(name, group, records if missing else None)
    if "backgammon" not in names:
        refuse_options({"--judge": judge}, "only backgammon has judges")
    check_output(output, len(names))
    if full and seeds < RECORDED:
        print(f"no record will be kept: that takes {RECORDED} seeds or more", file=sys.stderr)
    elif full and records.exists():
        check_records(records)
    run_all(names, seeds, full, judge, records, output, as_json)


def list_claims(as_json: bool) -> None:
    from handloom.lab.table import stored_rows, summary

    rows = stored_rows()
    if as_json:
        keys = ("name", "group", "claim", "said", "found", "checks", "verdict", "seconds", "why")
        print_json([{key: row.get(key) for key in keys} for row in rows])
        return
    from rich.console import Console
    from rich.table import Column, Table

    listed = Table(Column("experiment", no_wrap=True), "verdict", Column("s", justify="right"), "claim", box=None)
    for row in rows:
        seconds = "" if "seconds" not in row else f"{row['seconds']:.0f}"
        listed.add_row(row["name"], row["verdict"], seconds, told(row))
    Console(highlight=False).print(listed, markup=False)
    print(summary(rows))


def told(row: dict[str, Any]) -> str:
    """What is claimed, and what was found, or why it is not tried."""
    if "why" in row:
        return f"{row['claim']}\n→ {row['why']}"
    said = "" if row["claim"].endswith(row["said"]) else f" ({row['said']})"
    return row["claim"] + said + (f"\n→ {row['found']}" if row["found"] else "")


def row_without_run(name: str) -> dict[str, Any] | None:
    """The row of a claim that cannot be tested, or whose experiment takes hours and was run once."""
    from handloom.lab.table import stored_rows

    return next((row for row in stored_rows() if row["name"] == name and row["group"] in WITHOUT_RUN), None)


def instead(row: dict[str, Any]) -> str:
    """What to run in place of a claim without a run."""
    if "why" in row:
        return f"; in its place: {row['instead']}" if row["instead"] else ""
    if row["name"] == "isosceles":
        return "; run it again, in minutes, with: python -m handloom.lab.wagner"
    return f"; it took {duration(row['seconds'])}; run it again with: handloom learn {row['name']}"


def chosen(name: str | None, group: str | None, records: Path | None) -> list[str]:
    """The experiments to run; with a folder of records only those that it lacks."""
    from handloom.core import HandloomError
    from handloom.lab.catalogue import experiment, experiment_names

    if name is not None:
        experiment(name)  # raises an error for a name that is none
        return [name]
    if records is not None and not records.is_dir():
        raise HandloomError(f"--missing: {records} is not a folder (expected one of records); name another, or --all")
    names = [one for one in experiment_names(group) if records is None or not (records / f"{one}.json").exists()]
    if not names:
        raise HandloomError(f"every experiment has a record in {records}; leave out --missing")
    return names


def check_output(output: Path | None, count: int) -> None:
    """Raise an error at once if the output could not be written."""
    if output is None:
        return
    from handloom.core.files import check_place, check_suffix

    check_place(output)
    if count == 1:
        check_suffix(output, "a page or a picture", *PAGE_ENDINGS, *PICTURE_ENDINGS)
    else:
        check_suffix(output, "a page", *PAGE_ENDINGS)


def check_records(folder: Path) -> None:
    """Raise an error at once if no record could be written."""
    from handloom.core import HandloomError
    from handloom.core.files import check_place

    if not folder.is_dir():
        raise HandloomError(f"{folder} is not a folder (expected one for records); name another with --records")
    check_place(folder / "record.json")


def run_all(
    names: Sequence[str],
    seeds: int,
    full: bool,
    judge: str | None,
    records: Path,
    output: Path | None,
    as_json: bool,
) -> None:
    from handloom.lab.catalogue import experiment
    from handloom.lab.keeping import keep
    from handloom.lab.running import conclusions

    found: list[tuple[Any, Any]] = []
    with SlowProgress("percent done") as progress:
        for one, first in conclusions(names, range(seeds), not full, judge, progress=progress):
            panels = experiment(one.claim.name).picture(one.series)
            found.append((one, panels))
            kept = keep(one, panels, first, records) if full and seeds >= RECORDED else None
            if not as_json:
                print(one if len(names) == 1 else f"{one.claim.name:<20} {one.verdict:<14} {one.found}", flush=True)
                if kept and len(names) == 1:
                    print(kept)
    write_output(found, output)
    if as_json:
        listed = [one.to_json() for one, _ in found]
        print_json(listed[0] if len(names) == 1 else listed)
    elif len(names) > 1:
        print(f"{len(found)} experiments, {duration(sum(one.seconds for one, _ in found))} of CPU time")
    if output and not as_json:
        print(output)


def write_output(found: Sequence[tuple[Any, Any]], output: Path | None) -> None:
    if output is None:
        return
    if output.suffix.lower() in PAGE_ENDINGS:
        from handloom.core.files import write_atomically
        from handloom.lab.lab_page import conclusions_page

        write_atomically(output, conclusions_page(found).encode())
    else:
        from handloom.view.figures.panels import draw_panels

        draw_panels(found[0][1], output)
