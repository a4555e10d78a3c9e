"""What a run has found: the pool, on which the model trains, and the records, each verified exactly and stored.

The run's records and how it found each are written to records.jsonl in its folder at once. A construction that another
run has stored before counts for this run too, with an origin of its own.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from handloom.core import HandloomError
from handloom.discover.loop.starts import Start
from handloom.discover.problem import Number, Problem, verdict
from handloom.discover.records.store import Find, NotLegal, Record, Store, key_of, wrong
from handloom.discover.search.attempts import Attempt, Outcome
from handloom.discover.search.canonical import form_of
from handloom.discover.search.greedy import greedy
from handloom.discover.search.result import Stop
from handloom.discover.search.symmetry import NONE
from handloom.discover.spaces import Construction
from handloom.runs import Folder

RECORDS = "records.jsonl"
TIES = 20  # records of the best score that a run keeps


@dataclass(frozen=True)
class Member:
    """A construction in its canonical form, its score, and the generation that found it; as it was found, and under
    which symmetry."""

    construction: Construction
    score: Number
    generation: int
    found: Construction = ()  # as it was found, which has the symmetry; () if that is the form
    symmetry: str = NONE

    @property
    def as_found(self) -> Construction:
        return self.found or self.construction


class Pool:
    """The best constructions, at most `keep`, each once; of equal ones the newest, so that the pool keeps changing."""

    def __init__(
        self,
        keep: int,
        canonical: Callable[[Construction], Construction],
        merit: Callable[[Number], Number] = lambda score: score,
    ) -> None:
        self.keep, self.canonical, self.merit = keep, canonical, merit
        self.members: dict[Construction, Member] = {}

    def add(self, construction: Construction, score: Number, generation: int, symmetry: str = NONE) -> Member | None:
        """The new member; None if the pool has it already."""
        form = self.canonical(construction)
        if form in self.members:
            return None
        found = construction if symmetry != NONE and construction != form else ()
        member = self.members[form] = Member(form, score, generation, found, symmetry)
        return member

    def least(self) -> Number | None:
        """The score that a construction needs to enter the pool; None while there is room."""
        best = self.best() if len(self.members) >= self.keep else []
        return best[-1].score if best else None

    def trim(self) -> None:
        """Keep only the best."""
        self.members = {member.construction: member for member in self.best()}

    def best(self) -> list[Member]:
        def rank(member: Member) -> tuple[Number, int]:
            return self.merit(member.score), member.generation

        return sorted(self.members.values(), key=rank, reverse=True)[: self.keep]

    def to_json(self) -> list[list[Any]]:
        return [
            [list(member.construction), member.score, member.generation, list(member.found), member.symmetry]
            for member in self.best()
        ]

    def restore(self, saved: Iterable[Sequence[Any]]) -> None:
        for construction, score, generation, *more in saved:  # earlier runs have three values
            form, (found, symmetry) = tuple(construction), more or ((), NONE)
            self.members[form] = Member(form, score, generation, tuple(found), symmetry)


class Ledger:
    """The pool and the records of one run."""

    def __init__(self, problem: Problem, store: Store, keep: int, seed: int, folder: Folder | None = None) -> None:
        store.check_same(problem)
        self.problem, self.store, self.seed, self.folder = problem, store, seed, folder
        self.pool = Pool(keep, form_of(problem), problem.merit)
        self.records: list[Record] = []
        self.best: Record | None = None
        self.best_under: dict[str, Number] = {}  # the best score under each symmetry
        self.given: dict[Construction, dict[str, Any]] = {}  # what searches start from, and what each is
        self.waiting: list[Find] = []  # as good as the best, to be stored together

    @property
    def score(self) -> Number | None:
        return self.best.score if self.best else None

    def add_greedy(self, stop: Stop) -> None:
        """Record a construction that plain Python finds at once, so that even the shortest run has one."""
        if self.best is None:
            construction = greedy(self.problem, self.seed, stop)
            origin = self.origin("greedy", None, 0, 0.0)
            self.waiting.append(Find(construction, origin, self.pool.canonical(construction)))
            self.settle()

    def add_starts(self, starts: Sequence[Start]) -> None:
        """Put what searches will start from into the pool, as far as it is legal; and record the best of it, unless
        the pool has better."""
        self.given = {start.construction: start.about for start in starts}
        added: list[tuple[Member, Start]] = []
        for start in starts:
            score = verdict(self.problem, start.construction).score
            member = None if score is None else self.pool.add(start.construction, score, 0)
            added += [(member, start)] if member is not None else []
        top = self.pool.best()[0].score if added else None
        for member, start in added:
            if member.score == top:
                origin = self.origin("start", None, 0, 0.0) | {"start": start.about}
                self.waiting.append(Find(start.construction, origin, member.construction))
        self.settle()

    def add(self, outcome: Outcome, attempt: Attempt, how: str, generation: int, seconds: float) -> Member | None:
        """Put the result of an attempt into the pool; if it is as good as the best, into the store too. Returns the new
        member of the pool."""
        result, symmetry = outcome.result, outcome.symmetry
        before = self.best_under.get(symmetry, result.score)
        self.best_under[symmetry] = max(result.score, before, key=self.problem.merit)
        if attempt.least is not None and self.problem.merit(result.score) < self.problem.merit(attempt.least):
            return None
        member = self.pool.add(result.construction, result.score, generation, symmetry)
        ties = sum(record.score == result.score for record in self.records) + len(self.waiting)
        if member is None or (self.best is not None and (self.best.exceeds(result.score) or ties >= TIES)):
            return member
        origin = self.origin(how, None if symmetry == NONE else symmetry, generation, seconds)
        origin |= {"search_seed": attempt.seed, "steps": result.steps}  # with its start, enough to repeat the search
        if attempt.start is not None:
            origin |= self.start_of(attempt.start, outcome, "pool" if how == "search" else how)
        self.waiting.append(Find(result.construction, origin, member.construction))
        if self.best is None or self.problem.merit(result.score) > self.problem.merit(self.best.score):
            self.settle()
        return member

    def origin(self, how: str, symmetry: str | None, generation: int, seconds: float) -> dict[str, Any]:
        return {
            "how": how,
            "symmetry": symmetry,
            "seed": self.seed,
            "run": str(self.folder.path) if self.folder else None,
            "generation": generation,
            "seconds": round(seconds, 2),
            "start": None,
            "parent": None,
        }

    def start_of(self, start: Construction, outcome: Outcome, source: str) -> dict[str, Any]:
        """What a search started from, for the origin of its result; the parent is the record of the start, if any."""
        shown = self.problem.space.shown(start)
        about = {"from": source, "score": outcome.before, "legal": outcome.legal, "construction": shown}
        about |= self.given.get(start, {})
        return {"start": about, "parent": self.number_of(start)}

    def number_of(self, construction: Construction) -> int | None:
        """The number of this run's record of a construction, if there is one."""
        key = key_of(self.problem, self.pool.canonical(construction))
        return next((record.id for record in self.records if record.key == key), None)

    def settle(self) -> None:
        """Verify and store what waits, in one transaction."""
        finds, self.waiting = self.waiting, []
        for find, added in zip(finds, self.store.add_all(self.problem, finds) if finds else [], strict=True):
            if isinstance(added, NotLegal):
                raise HandloomError(
                    f"the search and the verifier disagree, so nothing was stored: {added}; {self.remedy()}"
                ) from added
            self.keep(added or self.stored_before(find))

    def remedy(self) -> str:
        if self.problem.check is not None:
            return "forbid what `check` refuses, or give it a lower score"
        return "the rule or the score must give the same answer whenever it is asked the same"

    def keep(self, new: Record) -> None:
        """A record of the store becomes one of this run's."""
        if all(new.id != record.id for record in self.records):
            self.records.append(new)
            if self.folder is not None:
                self.folder.append({"key": new.key, "origin": new.origin}, RECORDS)
        if self.best is None or new.exceeds(self.best.score):
            self.best = new

    def stored_before(self, find: Find) -> Record:
        """The record of a construction that the store has already, with this run's origin."""
        old = self.store.find(self.problem, self.pool.canonical(find.construction) if find.key is None else find.key)
        if reason := wrong(self.problem, old):
            raise HandloomError(f"{self.store.path} has been tampered with ({reason}); verify it, or use another store")
        return replace(old, origin=dict(find.origin), parent=find.origin["parent"])

    def to_json(self) -> dict[str, Any]:
        return {"best_under": self.best_under, "pool": self.pool.to_json()}

    def restore(self, saved: Mapping[str, Any]) -> None:
        self.best_under = saved["best_under"]
        self.pool.restore(saved["pool"])

    def restore_records(self, lines: Sequence[Mapping[str, Any]]) -> None:
        """The records of a resumed run, by the lines of its records.jsonl; and those that the store gives to this run,
        which may have been killed before it wrote the line."""
        kept = {record.key: record for record in self.store.records(self.problem.name)}
        known = {line["key"]: dict(line["origin"]) for line in lines if line["key"] in kept}
        run = str(self.folder.path) if self.folder else None
        here = {key: one.origin for key, one in kept.items() if one.origin.get("run") == run}
        self.records = [replace(kept[key], origin=origin) for key, origin in (here | known).items()]
        self.records = [self.with_parent(record) for record in self.records]
        self.best = max(self.records, key=lambda record: self.problem.merit(record.score), default=None)

    def with_parent(self, record: Record) -> Record:
        """A record with its parent's number in this store, which need not be the number when it was found."""
        origin = record.origin
        if origin.get("start") is None or origin["parent"] is None:
            return replace(record, parent=None)
        parent = self.number_of(self.problem.space.read(origin["start"]["construction"]))
        return replace(record, origin=origin | {"parent": parent}, parent=parent)
