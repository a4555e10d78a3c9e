"""Who published a construction: sources of records, such as a paper, kept beside them in the store.

    keep_source(store, record, "Wagner, Transformers and Makemore, 2025")
    sources_of(store)       # {12: ["Wagner, Transformers and Makemore, 2025"]}

A source belongs to a record whoever found it: a construction that the search found too, in this form or another, keeps
the origin that it has.
"""

from dataclasses import dataclass
from typing import Any

from handloom.core import HandloomError
from handloom.core.errors import shown
from handloom.discover.records.store import Record, Store

TABLE = (
    "CREATE TABLE IF NOT EXISTS sources"
    " (record INTEGER REFERENCES records (id), source TEXT, PRIMARY KEY (record, source))"
)  # old stores lack it
LONGEST = 300


@dataclass(frozen=True)
class Published:
    """A record that somebody has published."""

    record: Record
    source: str


def checked_source(source: Any) -> str:
    """The source, if it is a line of text that can be shown."""
    if not isinstance(source, str) or not source.strip() or not source.isprintable() or len(source) > LONGEST:
        raise HandloomError(
            f"{shown(source)} is not a source (expected a line of up to {LONGEST} letters); name a paper"
        )
    return source.strip()


def keep_source(store: Store, record: Record, source: str) -> None:
    """Keep that a record is published there."""
    with store.connected() as connection:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(TABLE)
        connection.execute("INSERT OR IGNORE INTO sources VALUES (?, ?)", (record.id, checked_source(source)))
        connection.execute("COMMIT")


def sources_of(store: Store) -> dict[int, list[str]]:
    """The sources of all records that have any, by the numbers of these."""
    if not store.rows("SELECT 1 FROM sqlite_master WHERE name = 'sources'"):
        return {}
    found: dict[int, list[str]] = {}
    for record, source in store.rows("SELECT record, source FROM sources ORDER BY record, source"):
        if isinstance(source, str):
            found.setdefault(record, []).append(source)
    return found


def published(store: Store, problem: str) -> list[Published]:
    """The published records of a problem, the best first."""
    if not (sources := sources_of(store)):
        return []
    return [Published(one, source) for one in store.records(problem) for source in sources.get(one.id, [])]
