"""handloom records: list, draw, export, verify and import the constructions that were found."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from handloom.cli.live.progress import SlowProgress
from handloom.cli.options import JsonOption, print_json, refuse_options

if TYPE_CHECKING:
    from handloom.discover.records import Record, Store

ProblemArgument = Annotated[
    str | None,
    typer.Argument(metavar="PROBLEM", help="Only its records: isosceles:n=16, isosceles, my_problem.py."),
]
StoreOption = Annotated[Path, typer.Option("--store", help="The file of records.")]
PICTURES, EXPORTS = (".png", ".svg", ".pdf", ".tex"), (".json", ".txt", ".g6", ".sage")


def records(
    problem: ProblemArgument = None,
    store: StoreOption = Path("records.sqlite"),
    everything: Annotated[
        bool, typer.Option("--all", help="All records, as of one PROBLEM; by default the best per problem.")
    ] = False,
    best: Annotated[
        int | None, typer.Option("--best", metavar="N", help="The N best per problem.", min=1, max=10**9)
    ] = None,
    draw: Annotated[
        Path | None,
        typer.Option("--draw", help="Draw the best to a .png, .svg, .pdf or .tex (TikZ) file, or each into a folder."),
    ] = None,
    export: Annotated[
        Path | None,
        typer.Option("--export", help="Write them to a .json, .txt, .g6 (graph6) or .sage file; - is standard output."),
    ] = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Verify all again; exit code 1 if any is not right.")
    ] = False,
    file: Annotated[
        Path | None,
        typer.Option("--import", help="Verify and keep the constructions in a .json, .txt, .g6 or .sage file."),
    ] = None,
    source: Annotated[
        str | None, typer.Option("--source", metavar="TEXT", help="Where what is imported is published: a paper.")
    ] = None,
    page: Annotated[
        Path | None, typer.Option("--page", help="Write a page (.html), with published constructions beside ours.")
    ] = None,
    table: Annotated[
        Path | None, typer.Option("--table", help="Write the best of each size as a .csv, .tex or .b.txt (OEIS) file.")
    ] = None,
    unproved: Annotated[
        bool, typer.Option("--unproved", help="In a .b.txt, take values that are not proved as terms too.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """List the best constructions found; draw, export or verify them, or import others.

    A file to import has records as they are exported, or only a construction: as JSON a list of elements or a word; as
    text a picture of a grid with rows of 0 1 or . #, an adjacency matrix, or one element per line; as graph6 one graph
    per line; as Sage lists and graphs.

    \b
    handloom records
    handloom records isosceles:n=16 --best 3 --draw best.svg
    handloom records 'isosceles:n=6..16' --table table.tex
    handloom records --all --export records.json
    handloom records four-cycle-free:n=20 --export best.g6
    handloom records no-three-in-line:n=10 --import by_hand.txt
    handloom records isosceles:n=16 --import theirs.txt --source "A paper, 2025"
    handloom records isosceles --page records.html
    handloom records my_problem.py --verify
    """
    from handloom.core import HandloomError
    from handloom.discover.records import Store, select

    if file is not None:
        others = {"--all": everything, "--best": best, "--draw": draw, "--export": export, "--verify": verify}
        refuse_options(others | {"--page": page, "--table": table, "--unproved": unproved}, "--import only imports")
        import_and_show(file, Store.open(store), problem, source, as_json)
        return
    if source is not None:
        raise HandloomError("--source is for what is imported; name the file with --import")
    refuse_options({"--all": everything and best}, f"--best {best} limits what is listed")
    refuse_options({"--unproved": unproved and not is_b_file(table)}, "it is for --table with a .b.txt file")
    check_ending(page, (".html", ".htm"))
    check_ending(draw, ("", *PICTURES))
    check_ending(export, ("-", *EXPORTS))
    check_table(table)
    opened = Store.open(store, create=False)
    chosen = select(opened, problem, best or (None if everything or verify or problem is not None else 1))
    beside = sys.stderr if str(export) == "-" else sys.stdout  # standard output has the export alone
    if verify:
        verify_and_show(opened, chosen, problem, as_json, beside)
    done = [*draw_all(chosen, problem, draw)] if draw is not None else []
    if page is not None:
        done.append(write_page(opened, problem, page))
    if table is not None:
        done += write_rows(opened, problem, table, unproved)
    if export is not None:
        done += export_all(opened, chosen, problem, export)
    if not (verify or draw or export or table or page) or (as_json and not verify and str(export) != "-"):
        show(opened, chosen, problem, as_json)
    elif done and not as_json:
        print("\n".join(done), file=beside)


def is_b_file(path: Path | None) -> bool:
    from handloom.discover.records.size_table import B_FILE

    return path is not None and path.name.lower().endswith(B_FILE)


def check_table(path: Path | None) -> None:
    """Raise an error at once if a table could not be written to this file."""
    from handloom.discover.records.size_table import check_table_name

    if path is not None:
        check_table_name(path)


def check_ending(path: Path | None, endings: tuple[str, ...]) -> None:
    from handloom.core import HandloomError

    if path is not None and str(path) not in endings and path.suffix.lower() not in endings:
        known = ", ".join(ending or "a folder" for ending in endings)
        raise HandloomError(f"{path}: not a name for the output (expected {known}); choose another")


def show(store: "Store", chosen: "list[Record]", asked: str | None, as_json: bool) -> None:
    from handloom.discover.records.exporting import as_objects, best_known_of
    from handloom.discover.records.proofs import proof_of
    from handloom.discover.records.sources import sources_of

    if as_json:
        print_json(as_objects(store, chosen, asked))
    elif chosen:
        proofs = {record.problem: proof_of(store, record.problem) for record in chosen}
        print_table(chosen, best_known_of(store, chosen, asked), proofs, sources_of(store))
    else:
        print(f"no such records in {store.path} yet")


def print_table(
    chosen: "list[Record]", known: dict[str, Any], proofs: dict[str, Any], sources: dict[int, list[str]]
) -> None:
    from rich.console import Console
    from rich.table import Column, Table

    from handloom.discover.records.proofs import proved

    longest = max(len(record.problem) for record in chosen)
    first = Column("problem", overflow="fold", min_width=min(longest, 24))
    score, best_known = (Column(name, justify="right", overflow="fold") for name in ("score", "best known"))
    when = Column("when", min_width=len("2026-01-01"), no_wrap=True)
    number = Column("record", justify="right", min_width=len("record"), no_wrap=True)
    table = Table(first, score, best_known, Column("how found", overflow="fold"), when, number, box=None)
    for record in chosen:
        known_value = "" if known[record.problem] is None else str(known[record.problem])
        name = record.problem if record.problem.isprintable() else repr(record.problem)
        told = [how_found(record.origin), *sources.get(record.id, []), proved(proofs[record.problem], record.score)]
        how = "; ".join(filter(None, told))
        table.add_row(name, str(record.score), known_value, how, record.found[:10], str(record.id))
    Console(highlight=False, markup=False).print(table)


def how_found(origin: dict[str, Any]) -> str:
    """How a record was found, in a few words."""
    parts = [str(origin.get("how", "?")), origin.get("symmetry"), origin.get("file")]
    if origin.get("generation"):
        parts.append(f"generation {origin['generation']}")
    return ", ".join(ascii(part)[1:-1] if not str(part).isprintable() else str(part) for part in parts if part)


def verify_and_show(store: "Store", chosen: "list[Record]", asked: str | None, as_json: bool, out: TextIO) -> None:
    from handloom.core import HandloomError
    from handloom.discover.records import verify
    from handloom.discover.records.exporting import as_objects

    with SlowProgress("records verified") as progress:
        checked = verify(store, chosen, asked, progress)
    if as_json:
        objects = as_objects(store, chosen, asked)
        verdicts = [{"verified": one.right, "reason": one.reason or one.unknown} for one in checked]
        print_json([record | verdict for record, verdict in zip(objects, verdicts, strict=True)])
    else:
        print(f"{sum(one.right for one in checked)} of {len(chosen)} records verified again and right", file=out)
    wrong = [one for one in checked if one.reason]
    for one in wrong:
        print(f"WRONG: {one.record.problem}, {one.reason}", file=sys.stderr)
    if wrong:
        raise typer.Exit(1)
    if unknown := next((one.unknown for one in checked if one.unknown), None):
        raise HandloomError(f"not all could be verified: {unknown}")


def draw_all(chosen: "list[Record]", asked: str | None, path: Path) -> Iterator[str]:
    """Draw the best to a file, or each into a folder; the names of the files."""
    from handloom.core import HandloomError
    from handloom.discover.records.selection import problem_of
    from handloom.view.svg.constructions import draw_construction

    one = path.suffix.lower() in PICTURES
    if not chosen:
        raise HandloomError(f"there are no records to draw to {path}")
    if one and len({record.problem for record in chosen}) > 1:
        raise HandloomError(f"{path} is one picture, and there are records of several problems; name one, or a folder")
    drawn = chosen[:1] if one else chosen
    problems = {name: problem_of(name, asked) for name in dict.fromkeys(record.problem for record in drawn)}
    if not one:
        make_folder(path)
    with SlowProgress("records drawn") as progress:
        for i, record in enumerate(drawn):
            progress(i, len(drawn))
            problem = problems[record.problem]
            words = "-".join(re.findall(r"[A-Za-z0-9]+", record.problem))
            place = path if one else path / f"{words[:100]}-score-{record.score}-record-{record.id}.png"
            draw_construction(
                problem.space, problem.space.read(record.construction), place, f"{record.problem}: {record.score}"
            )
            yield str(place)


def make_folder(path: Path) -> None:
    from handloom.core import HandloomError

    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise HandloomError(
            f"cannot make the folder {path}: {error.strerror}; give a .png, .svg, .pdf or .tex, or a folder"
        ) from error


def export_all(store: "Store", chosen: "list[Record]", asked: str | None, path: Path) -> list[str]:
    """Write them to a file; the line that says so."""
    from handloom.discover.records.exporting import as_file_text, export_records

    if str(path) == "-":
        print(as_file_text(store, chosen, asked=asked), end="")
        return []
    export_records(store, chosen, path, asked)
    return [f"{path}: {len(chosen)} record{'s' * (len(chosen) != 1)}"]


def write_rows(store: "Store", asked: str | None, path: Path, unproved: bool) -> list[str]:
    """Write the table; the line that says so."""
    from handloom.discover.records.selection import name_with_file
    from handloom.discover.records.size_table import B_FILE, table_rows, terms_of, write_table

    rows = table_rows(store, asked)
    write_table(rows, path, unproved)
    if not path.name.lower().endswith(B_FILE) or (terms := len(terms_of(rows, unproved))) == len(rows):
        return [f"{path}: {len(rows)} row{'s' * (len(rows) != 1)}"]
    first = next(row.problem for row in rows if row.status != "optimal")
    prove = f"handloom prove {name_with_file(first, asked)} may prove one; " if can_be_proved(first, asked) else ""
    told = f"proved terms: {terms}, values in comments: {len(rows) - terms}"
    return [f"{path}: {told}; {prove}--unproved makes them terms"]


def can_be_proved(name: str, asked: str | None) -> bool:
    """Whether `handloom prove` takes a problem."""
    from handloom.core import HandloomError
    from handloom.discover.proof.bounding import check_suitable
    from handloom.discover.records.selection import problem_of

    try:
        check_suitable(problem_of(name, asked))
    except HandloomError:
        return False
    return True


def write_page(store: "Store", asked: str | None, path: Path) -> str:
    from handloom.view.pages.record_list import write_records_page

    return str(write_records_page(store, asked, path))


def import_and_show(file: Path, store: "Store", asked: str | None, source: str | None, as_json: bool) -> None:
    from handloom.core import HandloomError
    from handloom.discover.records import import_constructions
    from handloom.discover.records.exporting import as_objects

    with SlowProgress("constructions verified") as progress:
        imported = import_constructions(file, store, asked, progress, source)
    if as_json:
        print_json(as_objects(store, imported.new, asked))
    elif imported.new or imported.existing:
        kept = "" if source is None else f"; their source is {source}"
        print(f"{store.path}: kept {summary(imported.new)}; {imported.existing} there already{kept}")
    if refused := imported.refused:
        raise HandloomError(f"{file}: {len(refused)} of {imported.count} refused; {refused[0]}")


def summary(new: "list[Record]") -> str:
    first = ", ".join(f"{record.problem} with score {record.score} (record {record.id})" for record in new[:5])
    return f"{len(new)}: {first}{', …' if len(new) > 5 else ''}" if new else "nothing new"
