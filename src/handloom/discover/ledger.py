"""The ledger of a run: its pool, and its records, each verified exactly before it is kept, with where it came from.

Which records are the run's, and how it came to each, is written to records.jsonl in its folder at once: a construction
that another run has stored before is this run's too, with an origin of its own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from handloom.core import HandloomError
from handloom.discover.canonical import form_of
from handloom.discover.executors import Outcome
from handloom.discover.greedy import greedy
from handloom.discover.pool import Pool
from handloom.discover.problem import Number, Problem
from handloom.discover.spaces import Construction
from handloom.discover.store import NotLegal, Record, Store, wrong
from handloom.discover.symmetry import NONE
from handloom.learn.folder import Folder

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

    def begin_with_something(self) -> None:
        """A construction that plain Python finds at once, so that there is one however short the time."""
        if self.best is None:
            construction = greedy(self.problem, self.seed)
            self.record(construction, self.pool.canonical(construction), self.origin("greedy", None, 0, 0.0))

    def take(self, outcome: Outcome, how: str, generation: int, seconds: float) -> None:
        """Into the pool; and into the store, if it is as good as the best."""
        found, symmetry = outcome.found, outcome.symmetry
        self.best_under[symmetry] = max(found.score, self.best_under.get(symmetry, found.score))
        member = self.pool.add(found.construction, found.score, generation)
        ties = sum(record.score == found.score for record in self.records)
        if member is None or (self.best is not None and (found.score < self.best.score or ties >= TIES)):
            return
        origin = self.origin(how, None if symmetry == NONE else symmetry, generation, seconds)
        origin["parent"] = self.nearest_record(found.construction)
        self.record(found.construction, member.construction, origin)

    def origin(self, how: str, symmetry: str | None, generation: int, seconds: float) -> dict[str, Any]:
        return {
            "how": how,
            "symmetry": symmetry,
            "seed": self.seed,
            "run": str(self.folder) if self.folder else None,
            "generation": generation,
            "seconds": round(seconds, 2),
            "parent": None,
        }

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
                " handloom records --verify tells what else is wrong, --store names another file"
            )
        return replace(old, origin=origin)

    def nearest_record(self, construction: Construction) -> int | None:
        """The record of this run that shares most elements with a construction: its parent in the family tree."""
        if not self.records or not self.problem.space.is_subset:
            return self.records[-1].id if self.records else None
        here = set(construction)
        shared = [len(here & set(self.problem.space.read(record.construction))) for record in self.records]
        return self.records[int(np.argmax(shared))].id

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
        self.best = max(self.records, key=lambda record: record.score, default=None)
