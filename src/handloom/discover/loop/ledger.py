"""The ledger of a run: its pool, and its records, each verified exactly before it is kept, with where it came from.

Which records are the run's, and how it came to each, is written to records.jsonl in its folder at once: a construction
that another run has stored before is this run's too, with an origin of its own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from handloom.core import HandloomError
from handloom.discover.loop.executors import Attempt, Outcome, Stop
from handloom.discover.loop.pool import Pool
from handloom.discover.problem import Number, Problem
from handloom.discover.records.store import NotLegal, Record, Store, key_of, wrong
from handloom.discover.search.canonical import form_of
from handloom.discover.search.greedy import greedy
from handloom.discover.search.symmetry import NONE
from handloom.discover.spaces import Construction
from handloom.runs.folder import Folder

RECORDS = "records.jsonl"
TIES = 20  # records of the best score that a run keeps


class Ledger:
    """What a run has found."""

    def __init__(self, problem: Problem, store: Store, keep: int, seed: int) -> None:
        store.check_same(problem)
        self.problem, self.store, self.seed = problem, store, seed
        self.pool = Pool(keep, form_of(problem))
        self.folder: Path | None = None  # of the run
        self.records: list[Record] = []
        self.best: Record | None = None
        self.best_under: dict[str, Number] = {}

    @property
    def score(self) -> Number | None:
        return self.best.score if self.best else None

    def begin_with_something(self, stop: Stop) -> None:
        """A construction that plain Python finds at once, so that there is one however short the time."""
        if self.best is None:
            construction = greedy(self.problem, self.seed, stop)
            self.record(construction, self.pool.canonical(construction), self.origin("greedy", None, 0, 0.0))

    def take(self, outcome: Outcome, attempt: Attempt, how: str, generation: int, seconds: float) -> None:
        """What came of an attempt into the pool; and into the store, if it is as good as the best."""
        found, symmetry = outcome.found, outcome.symmetry
        self.best_under[symmetry] = max(found.score, self.best_under.get(symmetry, found.score))
        member = self.pool.add(found.construction, found.score, generation)
        ties = sum(record.score == found.score for record in self.records)
        if member is None or (self.best is not None and (found.score < self.best.score or ties >= TIES)):
            return
        origin = self.origin(how, None if symmetry == NONE else symmetry, generation, seconds)
        origin |= {"search_seed": attempt.seed, "steps": found.steps}  # with its start all that it takes to repeat it
        if attempt.start is not None:
            origin |= self.started(attempt.start, outcome, "model" if how == "model" else "pool")
        self.record(found.construction, member.construction, origin)

    def origin(self, how: str, symmetry: str | None, generation: int, seconds: float) -> dict[str, Any]:
        return {
            "how": how,
            "symmetry": symmetry,
            "seed": self.seed,
            "run": str(self.folder) if self.folder else None,
            "generation": generation,
            "seconds": round(seconds, 2),
            "start": None,
            "parent": None,
        }

    def started(self, start: Construction, outcome: Outcome, source: str) -> dict[str, Any]:
        """What a search began with, for the origin of what it found; the parent is the record of it, if it is one."""
        shown = self.problem.space.shown(start)
        told = {"from": source, "score": outcome.before, "legal": outcome.legal, "construction": shown}
        return {"start": told, "parent": self.number_of(start)}

    def number_of(self, construction: Construction) -> int | None:
        """Of the record of this run that has this construction, if there is one."""
        key = key_of(self.problem, self.pool.canonical(construction))
        return next((record.id for record in self.records if record.key == key), None)

    def record(self, construction: Construction, key: Construction, origin: dict[str, Any]) -> None:
        """Verify and store; one that is in the store already is this run's all the same."""
        try:
            added = self.store.add(self.problem, construction, origin, key)
        except NotLegal as error:
            raise HandloomError(
                f"the search and the verifier do not agree, so nothing was kept: {error};"
                " what a check refuses must be forbidden, or worth less by the score"
            ) from error
        new = added or self.there_already(key, origin)
        if all(new.id != record.id for record in self.records):
            self.records.append(new)
            if self.folder is not None:
                Folder(self.folder).append({"key": new.key, "origin": new.origin}, RECORDS)
        if self.best is None or new.score > self.best.score:
            self.best = new

    def there_already(self, key: Construction, origin: dict[str, Any]) -> Record:
        """The record of a construction that is in the store, as this run has found it."""
        old = self.store.find(self.problem, key)
        if reason := wrong(self.problem, old):
            raise HandloomError(
                f"{self.store.path} has been tampered with ({reason});"
                " verify its records to see what else is wrong, or name another store"
            )
        return replace(old, origin=origin, parent=origin["parent"])

    def to_json(self) -> dict[str, Any]:
        return {
            "best_under": self.best_under,
            "pool": self.pool.to_json(),
        }

    def restore(self, saved: dict[str, Any]) -> None:
        self.best_under = saved["best_under"]
        self.pool.restore(saved["pool"])

    def own(self, lines: Sequence[Mapping[str, Any]]) -> None:
        """The records of a run that goes on, by the lines of its records.jsonl; and those that the store says are this
        run's, for it may have been killed before it wrote the line."""
        kept = {record.key: record for record in self.store.records(self.problem.name)}
        known = {line["key"]: dict(line["origin"]) for line in lines if line["key"] in kept}
        here = {key: one.origin for key, one in kept.items() if one.origin.get("run") == str(self.folder)}
        self.records = [replace(kept[key], origin=origin) for key, origin in (here | known).items()]
        self.records = [self.with_parent(record) for record in self.records]
        self.best = max(self.records, key=lambda record: record.score, default=None)

    def with_parent(self, record: Record) -> Record:
        """A record with the number that its parent has in this store, which may be another than it was found with."""
        origin = record.origin
        if origin.get("start") is None or origin["parent"] is None:
            return replace(record, parent=None)
        parent = self.number_of(self.problem.space.read(origin["start"]["construction"]))
        return replace(record, origin=origin | {"parent": parent}, parent=parent)
