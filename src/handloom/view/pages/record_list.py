"""The records of a store as one page: a table of the best, their drawings, and published constructions beside them.

    write_records_page(store, "isosceles", Path("records.html"))

A problem whose file is not given has no drawings: no file is run because a store names it.
"""

import re
from collections.abc import Sequence
from pathlib import Path

from handloom.core.files import write_atomically
from handloom.discover.problem import Problem
from handloom.discover.records.selection import Asked, problem_names, problem_or_none
from handloom.discover.records.size_table import SizeRow, headings, names_of, table_rows
from handloom.discover.records.sources import Published, published
from handloom.discover.records.store import Record, Store
from handloom.view.pages.discovery import against, construction_card, is_wide
from handloom.view.pages.published import beside_published
from handloom.view.pages.skeleton import line as text
from handloom.view.pages.skeleton import skeleton, table
from handloom.view.svg.charts import exact

SHOWN = 4  # records of each problem


def write_records_page(store: Store, asked: Asked, out: Path) -> Path:
    """Write the page, all or nothing."""
    write_atomically(out, records_page(store, asked).encode())
    return out


def records_page(store: Store, asked: Asked = None) -> str:
    """The page as text."""
    rows = table_rows(store, asked)
    parts = [part(store, name, problem_or_none(name, asked)) for name in problem_names(store, asked)]
    title = f"Records of {asked}" if asked is not None else "Records"
    head = f'<header><p class="eyebrow">handloom records</p><h1>{text(title)}</h1></header>'
    return skeleton(title, "\n".join([head, overview(rows), *parts]), ["enlarge.js"], wide=True)


def overview(rows: Sequence[SizeRow]) -> str:
    """The best of each problem, if there are several."""
    if not rows:
        return "<p>There are no such records.</p>"
    heads = [*headings(rows), "best", "best known", "proved", "how found"]
    cells = [[*names_of(rows, row), *values(row)] for row in rows]
    return table([heads, *cells], "answer")


def values(row: SizeRow) -> list[str]:
    known = "" if row.best_known is None else exact(row.best_known)
    return [exact(row.best), known, row.status, row.how]


def part(store: Store, name: str, problem: Problem | None) -> str:
    """A problem: its best records, drawn, or beside published ones."""
    records = store.records(name)
    if not records:
        return ""
    known = store.best_known(name) if problem is None else problem.best_known
    look, words = against(records[0].score, known)
    about = f"<p>{text(problem.about)}</p>" if problem is not None and problem.about else ""
    found = published(store, name)
    shown = beside(problem, records, found) if found else cards(problem, records)
    place = "-".join(re.findall(r"[A-Za-z0-9]+", name))
    return f'<h2 id="{place}">{text(name)}</h2>{about}<p><span class="badge {look}">{words}</span></p>{shown}'


def cards(problem: Problem | None, records: Sequence[Record]) -> str:
    """The best records, drawn."""
    if problem is None:
        return "<p>Name the file of the problem to see them drawn.</p>"
    drawn = "".join(
        construction_card(problem, record) for record in records[:SHOWN] if record.score == records[0].score
    )
    return f'<div class="cards{" across" * is_wide(problem)}">{drawn}</div>'


def beside(problem: Problem | None, records: Sequence[Record], found: Sequence[Published]) -> str:
    """Our best beside what is published; a record that was only imported is not ours."""
    ours = next((one for one in records if one.origin.get("how") != "import"), None)
    return beside_published(problem, ours, found, problem is not None and is_wide(problem), 3)
