"""handloom records: the constructions that were found; listed, drawn, exported, verified again, and brought in."""

import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from handloom.cli.arguments import JsonOption, print_json
from handloom.cli.live.progress import Slowly

if TYPE_CHECKING:
    from handloom.discover.problem import Problem
    from handloom.discover.records.store import Record, Store
    from handloom.discover.spaces import Construction

    Brought = tuple[Problem, Construction, dict[str, Any]]  # what is to be kept, and its origin

ProblemArgument = Annotated[
    str | None,
    typer.Argument(metavar="PROBLEM", help="Only its records: isosceles:n=16, isosceles, my_problem.py."),
]
StoreOption = Annotated[Path, typer.Option("--store", help="The file of records.")]
PICTURES, EXPORTS = (".png", ".svg"), (".json", ".txt")


def records(
    problem: ProblemArgument = None,
    store: StoreOption = Path("records.sqlite"),
    everything: Annotated[bool, typer.Option("--all", help="All records, not the best of each problem.")] = False,
    best: Annotated[
        int | None, typer.Option("--best", metavar="N", help="The N best of each problem.", min=1, max=10**9)
    ] = None,
    draw: Annotated[
        Path | None, typer.Option("--draw", help="Draw the best to a .png or .svg file; or each, into a folder.")
    ] = None,
    export: Annotated[
        Path | None, typer.Option("--export", help="Write them to a .json or .txt file; - is standard output.")
    ] = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Verify all again; exit code 1 if one is not right.")
    ] = False,
    bring: Annotated[
        Path | None, typer.Option("--import", help="Verify and keep the constructions in a .json or text file.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the best constructions found, draw, export or verify them, or bring in others.

    A file to import has records as they are exported, or only a construction: as JSON a list of elements or a word; as
    text a picture of a grid with rows of 0 1 or . #, or an element a line.

    \b
    handloom records
    handloom records isosceles:n=16 --best 3 --draw best.svg
    handloom records --all --export records.json
    handloom records no-three-in-line:n=10 --import by_hand.txt
    handloom records my_problem.py --verify
    """
    from handloom.discover.records.store import Store

    if bring is not None:
        bring_in(bring, store, problem, as_json)
        return
    check_ending(draw, ("", *PICTURES))
    check_ending(export, ("-", *EXPORTS))
    opened = Store.open(store, create=False)
    chosen = choose(opened, problem, best, everything or verify or problem is not None)
    if verify:
        verify_again(opened, chosen, problem, as_json)
    done = [*draw_all(chosen, problem, draw)] if draw is not None else []
    if export is not None:
        done += export_all(opened, chosen, problem, export)
    if not (verify or draw or export) or (as_json and not verify and str(export) != "-"):
        show(opened, chosen, problem, as_json)
    elif done and not as_json:
        print("\n".join(done))


def check_ending(path: Path | None, endings: tuple[str, ...]) -> None:
    from handloom.core import HandloomError

    if path is not None and str(path) not in endings and path.suffix.lower() not in endings:
        known = ", ".join(ending or "a folder" for ending in endings)
        raise HandloomError(f"{path} is not a name for what is written; it must be or end in one of {known}")


def choose(store: "Store", asked: str | None, best: int | None, everything: bool) -> "list[Record]":
    """The records that a command is about, problem by problem."""
    limit = best or (None if everything else 1)
    return [record for name in names(store, asked) for record in store.records(name, limit=limit)]


def names(store: "Store", asked: str | None) -> list[str]:
    """The full names of the problems asked for, those with smaller numbers first."""
    from handloom.discover.catalogue import problem_named

    stored = [name for name in store.problems() if asked is None or is_asked(name, asked)]
    if not stored and asked is not None:
        return [problem_named(asked).name]
    return sorted(stored, key=in_natural_order)


def is_asked(name: str, asked: str) -> bool:
    """Whether a problem is the one asked for, or one of them: isosceles is isosceles:n=16, own.py is own:n=3."""
    return name == asked or name.partition(":")[0] == (Path(asked).stem if asked.endswith(".py") else asked)


def in_natural_order(name: str) -> list[Any]:
    """n=9 before n=10."""
    return [int(part) if i % 2 else part for i, part in enumerate(re.split(r"([0-9]{1,18})", name))]


def problem_of(name: str, asked: str | None) -> "Problem":
    """The problem of a record. A user's file is run only if the user has named it, not because a store names it."""
    from handloom.core import HandloomError
    from handloom.discover.catalogue import PROBLEMS, problem_named

    known, _, parameters = name.partition(":")
    if asked is not None and (file := re.match(r".+?\.py(?=:|$)", asked)):
        return problem_named(f"{file[0]}:{parameters}" if parameters else file[0])
    if known not in PROBLEMS:
        raise HandloomError(f"{name} is not a problem of handloom's own; name its file: handloom records {known}.py")
    return problem_named(name)


def problem_or_none(name: str, asked: str | None) -> "Problem | None":
    from handloom.core import HandloomError

    try:
        return problem_of(name, asked)
    except HandloomError:
        return None


def show(store: "Store", chosen: "list[Record]", asked: str | None, as_json: bool) -> None:
    if as_json:
        print_json(as_objects(store, chosen, asked))
    elif chosen:
        print_table(store, chosen, asked)
    else:
        print(f"no such records in {store.path} yet")


def as_objects(store: "Store", chosen: "list[Record]", asked: str | None) -> list[dict[str, Any]]:
    """Records for JSON, with the best known values of their problems."""
    from handloom.discover.records.exchange import as_object

    known = best_known_of(store, chosen, asked)
    return [as_object(record) | {"best_known": known[record.problem]} for record in chosen]


def best_known_of(store: "Store", chosen: "list[Record]", asked: str | None) -> dict[str, Any]:
    """As the problems say; of one in a file that the user has not named, as it said when it was last added to."""
    problems = {name: problem_or_none(name, asked) for name in {record.problem for record in chosen}}
    return {name: one.best_known if one else store.best_known(name) for name, one in problems.items()}


def print_table(store: "Store", chosen: "list[Record]", asked: str | None) -> None:
    from rich.console import Console
    from rich.table import Column, Table

    longest = max(len(record.problem) for record in chosen)
    first = Column("problem", overflow="fold", min_width=min(longest, 24))
    score, best_known, number = (
        Column(name, justify="right", overflow="fold") for name in ("score", "best known", "record")
    )
    table = Table(first, score, best_known, Column("how found", overflow="fold"), "when", number, box=None)
    known = best_known_of(store, chosen, asked)
    for record in chosen:
        known_value = "" if known[record.problem] is None else str(known[record.problem])
        name = record.problem if record.problem.isprintable() else repr(record.problem)
        table.add_row(name, str(record.score), known_value, how_found(record.origin), record.found[:10], str(record.id))
    Console(highlight=False, markup=False).print(table)


def how_found(origin: dict[str, Any]) -> str:
    """An origin in a few words."""
    parts = [str(origin.get("how", "?")), origin.get("symmetry"), origin.get("file")]
    if origin.get("generation"):
        parts.append(f"generation {origin['generation']}")
    return ", ".join(ascii(part)[1:-1] if not str(part).isprintable() else str(part) for part in parts if part)


def verify_again(store: "Store", chosen: "list[Record]", asked: str | None, as_json: bool) -> None:
    """Each record by its problem, in plain Python, and the file as a whole."""
    from handloom.core import HandloomError
    from handloom.discover.records.exchange import as_object

    store.check_whole()
    reasons, unknown = reasons_against(chosen, asked)
    bad = [record for record in chosen if reasons.get(record.id)]
    if as_json:
        told = {record.id: unknown.get(record.problem) or reasons[record.id] for record in chosen}
        print_json([as_object(r) | {"verified": told[r.id] is None, "reason": told[r.id]} for r in chosen])
    else:
        print(f"{len(reasons) - len(bad)} of {len(chosen)} records verified again and right")
    for record in bad:
        print(f"WRONG: {record.problem}, {reasons[record.id]}", file=sys.stderr)
    if bad:
        raise typer.Exit(1)
    if unknown:
        raise HandloomError(f"not all could be verified: {next(iter(unknown.values()))}")


def reasons_against(chosen: "list[Record]", asked: str | None) -> tuple[dict[int, str | None], dict[str, str]]:
    """By the record's number what is wrong with it, if anything; by the problem's name why it cannot be had."""
    from handloom.core import HandloomError
    from handloom.discover.records.store import wrong

    reasons: dict[int, str | None] = {}
    unknown: dict[str, str] = {}
    with Slowly("records verified") as progress:
        for name, some in by_problem(chosen):
            try:
                problem = problem_of(name, asked)
            except HandloomError as error:
                unknown[name] = str(error)
                continue
            for record in some:
                progress(len(reasons), len(chosen))
                reasons[record.id] = wrong(problem, record)
    return reasons, unknown


def by_problem(chosen: "list[Record]") -> "Iterable[tuple[str, list[Record]]]":
    from itertools import groupby

    return ((name, list(some)) for name, some in groupby(chosen, lambda record: record.problem))


def draw_all(chosen: "list[Record]", asked: str | None, path: Path) -> Iterator[str]:
    """One picture in a file, or one of each in a folder; what was drawn."""
    from handloom.core import HandloomError
    from handloom.view.svg.constructions import draw

    one = path.suffix.lower() in PICTURES
    if not chosen:
        raise HandloomError(f"there are no records to draw to {path}")
    if one and len({record.problem for record in chosen}) > 1:
        raise HandloomError(f"{path} is one picture, and there are records of several problems; name one, or a folder")
    if not one:
        make_folder(path)
    with Slowly("records drawn") as progress:
        for i, record in enumerate(chosen[:1] if one else chosen):
            progress(i, len(chosen))
            problem = problem_of(record.problem, asked)
            words = "-".join(re.findall(r"[A-Za-z0-9]+", record.problem))
            place = path if one else path / f"{words[:100]}-score-{record.score}-record-{record.id}.png"
            draw(problem.space, problem.space.read(record.construction), place, f"{record.problem}: {record.score}")
            yield str(place)


def make_folder(path: Path) -> None:
    from handloom.core import HandloomError

    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise HandloomError(
            f"cannot make the folder {path}: {error.strerror}; give a .png, a .svg or a folder"
        ) from error


def export_all(store: "Store", chosen: "list[Record]", asked: str | None, path: Path) -> list[str]:
    """Write them; what is to be said of it."""
    import json

    from handloom.core.files import write_atomically
    from handloom.discover.records.exchange import as_paragraph

    if path.suffix.lower() == ".txt":
        problems = {name: problem_or_none(name, asked) for name, _ in by_problem(chosen)}
        spaces = {name: problem.space if problem else None for name, problem in problems.items()}
        text = "\n".join(as_paragraph(record, spaces[record.problem]) for record in chosen)
    else:
        text = "[\n" + ",\n".join(map(json.dumps, as_objects(store, chosen, asked))) + "\n]\n"
    if str(path) == "-":
        print(text, end="")
        return []
    write_atomically(path, text.encode())
    return [f"{path}: {len(chosen)} records"]


def bring_in(path: Path, store: Path, asked: str | None, as_json: bool) -> None:
    """Keep what a file has, if it is legal. Nothing is kept of a file that cannot be read to its end."""
    from handloom.core import HandloomError
    from handloom.discover.records.exchange import as_object
    from handloom.discover.records.store import NotLegal, Store
    from handloom.discover.search.canonical import form_of

    brought = brought_by(path, asked)
    opened = Store.open(store)
    form = {problem.name: form_of(problem) for problem, _, _ in brought}
    for problem in {problem.name: problem for problem, _, _ in brought}.values():
        opened.check_same(problem)
    kept, refused = [], []
    with Slowly("constructions verified") as progress:
        for i, (problem, construction, origin) in enumerate(brought):
            progress(i, len(brought))
            try:
                kept.append(opened.add(problem, construction, origin, form[problem.name](construction)))
            except NotLegal as error:
                refused.append(f"number {i + 1}, of {error}")
    new = [record for record in kept if record is not None]
    if as_json:
        print_json([as_object(record) for record in new])
    elif kept:
        print(f"{opened.path}: kept {told(new)}; {len(kept) - len(new)} there already")
    if refused:
        raise HandloomError(f"{path}: {len(refused)} of {len(brought)} refused; {refused[0]}")


def told(new: "list[Record]") -> str:
    first = ", ".join(f"{record.problem} with score {record.score} (record {record.id})" for record in new[:5])
    return f"{len(new)}: {first}{', …' if len(new) > 5 else ''}" if new else "nothing new"


def brought_by(path: Path, asked: str | None) -> "list[Brought]":
    """The constructions in a file, each with its problem: the one asked for, or what the file says."""
    from handloom.core import HandloomError
    from handloom.discover.catalogue import problem_named
    from handloom.discover.records.exchange import constructions, written_in

    given = None if asked is None else problem_named(asked)
    brought: list[Brought] = []
    for written in written_in(path):
        name = written.problem or (given.name if given else None)
        if name is None:
            raise HandloomError(f"{path} names no problem; name it: handloom records PROBLEM --import {path}")
        if given and name != given.name and not is_asked(name, str(asked)):
            raise HandloomError(f"{path} has records of {name}, not of {given.name}; name that problem")
        problem = given if given and name == given.name else problem_of(name, asked)
        try:
            found = constructions(problem.space, written)
        except HandloomError as error:
            raise HandloomError(f"{path}, number {len(brought) + 1}: {error}") from error
        origin = {"how": "import", "symmetry": None, "seed": 0, "run": None, "generation": 0, "parent": None}
        brought += [(problem, c, origin | {"file": path.name, "said": written.origin}) for c in found]
    if not brought:
        raise HandloomError(f"there is no construction in {path}")
    return brought
