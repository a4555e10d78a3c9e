"""What a search may start from, besides nothing: constructions of a file, records of the store, or a smaller size.

    starts_from(problem, ["mine.txt"], store)      # the constructions of a file, legal or not
    starts_from(problem, ["records"], store)       # the best records of this problem
    starts_from(problem, ["12"], store)            # record 12
    starts_from(problem, ["smaller"], store)       # the best of the next smaller size that has records, embedded

Every other search of the first generation starts from one of them, in turn. Those that are legal are in the pool from
the beginning. What each is, is in the origin of whatever is found from it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from handloom.core import HandloomError
from handloom.core.errors import shown
from handloom.core.files import what_is
from handloom.discover.embedding import embedded
from handloom.discover.problem import Problem
from handloom.discover.records.exchange import constructions_in
from handloom.discover.records.store import Record, Store
from handloom.discover.spaces import Construction

RECORDS, SMALLER = "records", "smaller"
MOST_RECORDS, MOST_STARTS = 20, 200


@dataclass(frozen=True)
class Start:
    """A construction that searches start from, and what it is, for the origin of what they find."""

    construction: Construction
    about: dict[str, Any] = field(default_factory=dict)  # `from`: file, records or smaller; and which

    def to_json(self) -> list[Any]:
        return [list(self.construction), self.about]

    @classmethod
    def from_json(cls, saved: Any) -> "Start":
        construction, about = saved
        return cls(tuple(construction), dict(about))


def starts_from(problem: Problem, what: Sequence[str], store: Store) -> list[Start]:
    """The starts that are asked for, each once."""
    found = {start.construction: start for one in what for start in starts_of(problem, str(one), store)}
    return list(found.values())[:MOST_STARTS]


def starts_of(problem: Problem, what: str, store: Store) -> list[Start]:
    """Those of one word: records, smaller, the number of a record, or the name of a file."""
    if what == RECORDS:
        if not (best := best_of(store, problem.name)):
            raise HandloomError(f"{store.path} has no records of {problem} to start from; find one first")
        return [of_record(problem, record) for record in best]
    if what == SMALLER:
        if not (found := list(smaller_starts(problem, store))):
            raise HandloomError(f"{store.path} has no records of a smaller size of {problem}; find one first")
        return found
    if what.isdecimal() and what_is(Path(what)) == "nothing":
        return [of_record(problem, numbered(problem, int(what), store))]
    about = {"from": "file", "file": Path(what).name}
    return [Start(one, about) for one in constructions_in(Path(what), problem.space)]


def best_of(store: Store, name: str) -> list[Record]:
    """The records with the best score, at most MOST_RECORDS."""
    records = store.records(name, limit=MOST_RECORDS)
    return [record for record in records if record.score == records[0].score]


def of_record(problem: Problem, record: Record) -> Start:
    return Start(problem.space.read(record.construction), {"from": RECORDS, "record": record.id})


def numbered(problem: Problem, number: int, store: Store) -> Record:
    record = next((one for one in store.records(problem.name) if one.id == number), None)
    if record is None:
        raise HandloomError(f"{store.path} has no record {shown(number)} of {problem}; list its records")
    return record


def smaller_starts(problem: Problem, store: Store) -> Iterator[Start]:
    """The best records of the next smaller size that has any, in every way in which they are embedded."""
    there = set(store.problems())
    for make in problem.smaller:
        small = make()
        if small.name not in there:
            continue
        for record in best_of(store, small.name):
            about = {"from": SMALLER, "problem": small.name, "record": record.id}
            for one in embedded(small.space, small.space.read(record.construction), problem.space):
                yield Start(one, about)
        return
