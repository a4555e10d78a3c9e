"""The board of Discover: a problem as a page draws it, what a construction is worth at each click, and keeping it.

A page names elements as people write them. Nothing that it says is believed: a score is that of the problem's own
verifier, and only what it finds legal becomes a record.
"""

from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from importlib.util import find_spec
from itertools import combinations, product
from math import comb
from pathlib import Path
from typing import Any

from handloom.core import HandloomError
from handloom.core.errors import in_users_code, shown
from handloom.discover.catalogue import PROBLEMS, USERS, problem_named
from handloom.discover.problem import Problem, arity, call_rule, verdict
from handloom.discover.records.importing import import_one
from handloom.discover.records.origin import came_from, started_from
from handloom.discover.records.store import Record, Store
from handloom.discover.spaces import Construction, Space
from handloom.studio.desk import Studio
from handloom.studio.models import text_of
from handloom.tasks.naming import parameters, python_file
from handloom.tasks.user_file import defined
from handloom.view.svg.constructions import Nest

STORE = "records.sqlite"
SHOWN = 12  # forbidden sets that are shown, of more
MOST_TRIED = 2_000_000  # sets of elements that are tried for it
MOST_RECORDS = 24
MOST_DRAWN = 12_000  # elements of a board


def open_problem(studio: Studio, body: dict[str, Any]) -> dict[str, Any]:
    """A problem, its board, and its best records."""
    problem = problem_in(studio, text_of(body, "problem"))
    return {
        "problem": problem.name,
        "about": problem.about,
        "best_known": problem.best_known,
        "minimise": problem.minimise,
        "source": problem.source,
        "forbids": bool(problem.rules or problem.sets or problem.required or problem.required_maps or problem.check),
        "space": board_of(problem.space),
        "records": records_of(studio, problem),
    }


def problem_in(studio: Studio, name: str) -> Problem:
    """The problem of that name. A Python file is run only if the command line named it."""
    if name.partition(":")[0] in PROBLEMS:
        return made(name, 0.0)
    path = Path((python_file(name) or (Path(name), ""))[0])
    if path.suffix == ".py" and not studio.runs_python(path):
        raise HandloomError(f"{shown(name)} is a Python file that the command line did not name; name it there")
    return made(name, path.stat().st_mtime if path.is_file() else 0.0)


@lru_cache(8)
def made(name: str, changed: float) -> Problem:
    """A problem, made once for many clicks, and again when its file has changed."""
    return problem_named(name)


def own_problems(studio: Studio) -> list[dict[str, Any]]:
    """The problems in Python files that the command line named, with their parameters. Other files define tasks."""
    found = []
    for name in studio.given:
        path = Path((python_file(name) or (Path(), ""))[0])
        with suppress(HandloomError):
            asked = parameters(path.stem, defined(path, USERS, False)) if path.is_file() else {}
            fields = [{"name": key, "kind": one.kind.__name__, "default": one.default} for key, one in asked.items()]
            found += [{"name": str(path), "about": "your own", "parameters": fields}] if path.is_file() else []
    return found


# How it is drawn


def board_of(space: Space) -> dict[str, Any]:
    """A space as a page draws it: its elements, and of a grid the cell of each."""
    if len(space.elements) > MOST_DRAWN or space.kind == "matrix":
        return {"kind": space.kind, "length": space.length, "elements": None, "wanted": space.wanted}
    elements = [space.written(one) for one in space.elements]
    about = {"kind": space.kind, "length": space.length, "elements": elements, "sides": list(space.sides)}
    return about | (cells_of(space.sides) if space.kind in ("grid", "group") and len(space.sides) > 1 else {})


def cells_of(sides: tuple[int, ...]) -> dict[str, Any]:
    """The row and the column of each point of a grid, or of grids in a grid, and the frames around these."""
    nest = Nest(sides)
    outer = [*product(*map(range, sides[:-2]))]
    return {
        "size": list(nest.size),
        "places": [list(nest.place(point)) for point in product(*map(range, sides))],
        "frames": [[*nest.place((*one, 0, 0)), *sides[-2:]] for one in outer],
    }


def records_of(studio: Studio, problem: Problem) -> list[dict[str, Any]]:
    """The best records of a problem in the studio's store."""
    return [of_record(one) for one in store_of(studio).records(problem.name, limit=MOST_RECORDS)]


def of_record(record: Record) -> dict[str, Any]:
    words = [came_from(record.origin), started_from(record.origin)]
    return {
        "record": record.id,
        "score": record.score,
        "construction": record.construction,
        "found": record.found,
        "origin": ", ".join(filter(None, words)),
    }


def store_of(studio: Studio) -> Store:
    return Store.open(studio.folder / STORE)


# What it is worth


def score(studio: Studio, body: dict[str, Any]) -> dict[str, Any]:
    """The score of a construction, or why it is not legal and the elements that are to blame, as indices."""
    problem, construction = drawn(studio, body)
    value, reason = verdict(problem, construction)
    with in_users_code(str(problem)):
        blamed = [] if reason is None else forbidden_in(problem, construction)
    return {
        "score": value,
        "legal": reason is None,
        "reason": reason,
        "offending": blamed[:SHOWN],
        "more": len(blamed) > SHOWN,
        "chosen": len(construction) if problem.space.is_subset else None,
    }


def drawn(studio: Studio, body: dict[str, Any]) -> tuple[Problem, Construction]:
    problem = problem_in(studio, text_of(body, "problem"))
    return problem, problem.space.read(body.get("construction"))


def forbidden_in(problem: Problem, construction: Construction) -> list[list[int]]:
    """The forbidden sets within a construction, as indices: the smallest first, and one more than are shown."""
    found: list[list[int]] = []
    for one in sorted(tried(problem, construction), key=len):
        if one not in found:
            found.append(one)
    return found


def tried(problem: Problem, construction: Construction) -> Iterator[list[int]]:
    """Of each rule, of the listed sets, and of the required ones, as many as are shown and one more."""
    arguments, there = problem.space.arguments, set(construction)
    for rule in problem.rules:
        size, count = arity(rule), 0
        if comb(len(construction), size) > MOST_TRIED:
            continue
        for some in combinations(construction, size):
            if call_rule(problem, rule, [arguments[i] for i in some]):
                yield [*some]
                count += 1
                if count > SHOWN:
                    break
    index = problem.space.index
    rows, needed = (
        (sorted({index[one] for one in some}) for some in sets) for sets in (problem.sets, problem.required)
    )
    listed = (row for row in rows if there.issuperset(row))
    unmet = (row for row in needed if there.isdisjoint(row))
    for broken in (listed, unmet):
        yield from (row for row, _ in zip(broken, range(SHOWN + 1), strict=False))


# Keeping it


def keep(studio: Studio, body: dict[str, Any]) -> dict[str, Any]:
    """A construction as a record, verified. One that is not legal, or that the store has, raises an error."""
    problem, construction = drawn(studio, body)
    if not find_spec("numba"):
        raise HandloomError("keeping needs numba, which is not installed: pip install 'handloom[discover]'")
    record = import_one(problem, construction, store_of(studio), "the studio's board")
    return {"record": of_record(record), "records": records_of(studio, problem)}
