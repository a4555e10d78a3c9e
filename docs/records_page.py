"""The records of docs/records, one file per problem, and the tables of records.md, which are made from them.

    python docs/records_page.py                     # the tables
    python docs/records_page.py mine.sqlite …       # before that, what these stores have that is better

A table stands in the page between `<!-- table of isosceles -->` and `<!-- end -->`. A record enters a file only if the
verifier accepts it.
"""

import json
import re
import sys
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from handloom.discover.catalogue import problem_named
from handloom.discover.problem import Problem, verdict
from handloom.discover.records import Store, select
from handloom.discover.records.exporting import as_objects

PAGE = Path(__file__).parent / "records.md"
FOLDER = PAGE.parent / "records"
TABLE = re.compile(r"<!-- table of ([\w-]+) -->\n.*?<!-- end -->", re.DOTALL)

Row = dict[str, Any]


def main(stores: Sequence[str]) -> None:
    page = PAGE.read_text("utf-8")
    for store in stores:
        opened = Store.open(store, create=False)
        for row in as_objects(opened, select(opened, None, 1)):
            if family(row) in TABLE.findall(page):
                put_in(row)
    PAGE.write_text(with_tables(page), "utf-8")


# Files


def family(row: Row) -> str:
    """The problem without its size, which names the file."""
    name: str = row["problem"].partition(":")[0]
    return name


def rows_of(name: str) -> list[Row]:
    path = FOLDER / f"{name}.json"
    found: list[Row] = json.loads(path.read_text("utf-8")) if path.exists() else []
    return found


def put_in(new: Row) -> None:
    """A record into its file, if it is better than the one there; a proof that is new, beside it."""
    rows = {row["problem"]: row for row in rows_of(family(new))}
    old = rows.get(new["problem"])
    problem = problem_named(new["problem"])
    if verdict(problem, problem.space.read(new["construction"])).score != new["score"]:
        raise SystemExit(f"{new['problem']}: not as good as the store says")
    kept = old if old and old["score"] >= new["score"] else without_times(new)
    rows[new["problem"]] = kept | ({"proof": new["proof"]} if new.get("optimal") else {})
    lines = map(json.dumps, sorted(rows.values(), key=lambda row: numbers(row["problem"])))
    (FOLDER / f"{family(new)}.json").write_text("[\n" + ",\n".join(lines) + "\n]\n", "utf-8")


def without_times(row: Row) -> Row:
    """What of a record is true anywhere."""
    origin = {key: row["origin"][key] for key in ("how", "symmetry") if row["origin"].get(key)}
    return {key: row[key] for key in ("problem", "score", "construction")} | {"origin": origin}


def numbers(problem: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", problem.partition(":")[2])]


# Tables


def with_tables(page: str) -> str:
    return TABLE.sub(lambda mark: f"<!-- table of {mark[1]} -->\n{table(mark[1])}\n<!-- end -->", page)


def table(name: str) -> str:
    """The records of a problem as Markdown, with the sources of what is best known."""
    rows = rows_of(name)
    problems = [problem_named(row["problem"]) for row in rows]
    key, what = rows[0]["problem"].partition(":")[2].partition("=")[0], counted(problems[0])
    lines = [f"| {key} | {what} | best known | how found | proof |", "| --- | --- | --- | --- | --- |"]
    lines += [line(row, problem) for row, problem in zip(rows, problems, strict=True)]
    return "\n".join(lines) + "\n\n" + "\n".join(sources(key, problems)) + "\n"


def counted(problem: Problem) -> str:
    return (
        "permanent"
        if "permanent" in problem.about
        else "score"
        if problem.score
        else "edges"
        if problem.space.kind == "graph"
        else "points"
    )


def line(row: Row, problem: Problem) -> str:
    known = "" if problem.best_known is None else f"{problem.best_known:,}"
    score = f"**{row['score']:,}**" if problem.best_known is not None and row["score"] > problem.best_known else None
    proof = "optimal" if row.get("proof", {}).get("bound") == row["score"] else ""
    cells = [*map(str, numbers(row["problem"])), score or f"{row['score']:,}", known, how(row), proof]
    return f"| {' | '.join(cells)} |"


def how(row: Row) -> str:
    return row["origin"].get("symmetry") or row["origin"]["how"]


def sources(key: str, problems: Sequence[Problem]) -> Iterator[str]:
    """One line per source of best known values, with its sizes."""
    yield "Best known:\n"
    known = [problem for problem in problems if problem.best_known is not None]
    for source, some in groupby(known, key=lambda problem: problem.source):
        sizes = [numbers(str(problem))[0] for problem in some]
        spread = f"{sizes[0]}" if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
        yield f"- {key} = {spread}: {source}"


if __name__ == "__main__":
    main(sys.argv[1:])
