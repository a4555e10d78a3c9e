"""The loop: search, keep the best, learn from them, let the model say more, improve these by search, keep the best.

    discovery = Discovery(problem_named("isosceles:n=16"), Settings(), Store.open("records.sqlite"), seconds=60)
    discovery.run().best.score

The first generation is search alone. In every later one the model learns from the pool and says new constructions,
and a search begins with each of them; a part of the time search goes on by itself. Without a model (the control) it
begins with what the pool has instead. What is better than all before is verified exactly and stored at once.

All that a generation does follows from the settings and from the pool, so that a run without a limit of time can be
repeated, and one that was interrupted goes on from its last whole generation.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from handloom.core import HandloomError
from handloom.core.errors import shown
from handloom.discover.loop.executors import Attempt, Executor, Lost, Outcome, Threads, Workshop
from handloom.discover.loop.ledger import Ledger
from handloom.discover.loop.pool import statistics_of
from handloom.discover.loop.progress import Progress, Stage
from handloom.discover.loop.settings import AUTO, Settings
from handloom.discover.model.turn import Apprentice
from handloom.discover.problem import Number, Problem
from handloom.discover.records.store import Record, Store
from handloom.discover.search.choice import names
from handloom.discover.search.symmetry import NONE
from handloom.discover.spaces import Construction
from handloom.runs.folder import Folder, Lock
from handloom.runs.job import check_device, interrupts

ROUND = 40  # attempts after which it is looked at which symmetry does best
PLAIN = 4  # in a generation of the model, search alone makes a fourth of its attempts
TRIES = 4  # searches after which a symmetry may be left alone,
NEAR = 0.9  # if it has not led to this share of the best score
FEWEST = 10  # constructions to learn from
TOLD = 0.1  # seconds between two words to whoever watches

Make = Callable[[Problem, Sequence[str]], Executor]
Line = dict[str, Any]  # of metrics.jsonl


def on_threads(problem: Problem, symmetries: Sequence[str]) -> Executor:
    return Threads(Workshop(problem, symmetries))


@dataclass
class Discovery:
    """One run."""

    problem: Problem
    settings: Settings
    store: Store
    folder: Path | None = None
    made: Sequence[Path] = ()  # folders, for this one
    lock: Lock | None = None  # on it
    seconds: float | None = None  # the limit, by the clock
    generations: int | None = None
    until: Number | None = None  # the score at which to stop
    make: Make = on_threads
    device: str = "cpu"  # where the model learns
    clock: Callable[[], float] = time.monotonic
    began: float | None = None  # by the clock; when the run is made, unless told
    watch: Callable[[Progress], None] = lambda progress: None
    generation: int = 0
    number: int = 0  # of attempts so far; their seeds follow from it
    steps: int = 0
    before: float = 0.0  # seconds of the run before it was resumed
    turns: Counter[str] = field(default_factory=Counter)  # how often each symmetry was searched
    lines: list[Line] = field(default_factory=list)
    halted: bool = False
    told: tuple[Stage, float] = ("done", 0.0)  # what the watcher was last told, and when
    stage_done: float = 0.0  # and how far that was
    prepared: bool = False  # whether there are searches that run

    def __post_init__(self) -> None:
        check_device(self.device)
        known, asked = names(self.problem), self.settings.symmetry
        if asked not in (AUTO, *known):
            raise HandloomError(f"{self.problem} has no symmetry {shown(asked)}; it has {', '.join(known)}, or auto")
        self.symmetries = known if asked == AUTO else [asked]
        self.ledger = Ledger(self.problem, self.store, self.settings.keep, self.settings.seed)
        self.apprentice = Apprentice(self.problem, self.settings, self.device)
        self.executor = self.make(self.problem, self.symmetries)
        self.since = self.clock() if self.began is None else self.began

    @property
    def best(self) -> Record | None:
        return self.ledger.best

    @property
    def records(self) -> list[Record]:
        return self.ledger.records

    # Time

    def elapsed(self) -> float:
        return self.before + self.clock() - self.since

    def over(self) -> bool:
        """Whether to stop, now, wherever we are."""
        late = self.seconds is not None and self.elapsed() >= self.seconds
        return self.halted or late or self.reached()

    def reached(self) -> bool:
        score = self.ledger.score
        return self.until is not None and score is not None and score >= self.until

    def deadline(self) -> float | None:
        """By time.monotonic()."""
        return None if self.seconds is None else time.monotonic() + max(0.0, self.seconds - self.elapsed())

    def halt(self) -> None:
        self.halted = True

    # The run

    def run(self) -> "Discovery":
        """Until the time is over, the generations are done, the score is reached, or Ctrl-C."""
        self.ledger.folder = self.folder
        with interrupts(self.halt):
            try:
                self.ledger.begin_with_something(self.over)
                self.tell("preparing", 0.0)
                while not self.over() and (self.generations is None or self.generation < self.generations):
                    self.one_generation()
            except HandloomError as error:
                began = isinstance(error, Lost) or self.records or self.lines
                if self.folder and not began:
                    Folder(self.folder, self.made).remove()  # of a run that never began nothing is left
                raise
            finally:
                self.executor.close()
                if self.lock:
                    self.lock.release()
        self.tell("done", 1.0)
        return self

    def one_generation(self) -> None:
        """Search, or the model; then write down what came of it."""
        few = len(self.ledger.pool.members) < FEWEST
        line = self.by_search() if few or not self.generation or not self.settings.model else self.by_model()
        self.ledger.pool.trim()
        at = {"generation": self.generation, "seconds": round(self.elapsed(), 3), "best": self.ledger.score}
        self.lines.append(at | line)
        self.generation += 1
        self.save()

    def by_search(self) -> Line:
        """A generation of search alone: from nothing, and later also from what the pool has."""
        if not self.generation and self.settings.model:
            self.search_smaller()
        scores = self.search_alone(self.settings.attempts, from_pool=self.generation > 0)
        nothing = ("temperature", "loss", "illegal", "duplicates", "repaired", "legal", "before", "after")
        return dict.fromkeys(nothing) | {"sampled": 0, "searched": statistics_of(scores)}

    def by_model(self) -> Line:
        """A generation of the model: learn, say, improve; and some search."""
        apprentice, pool = self.apprentice, self.ledger.pool
        apprentice.learn(pool.best(), self.generation - 1, self.deadline(), self.while_learning, self.over)
        self.tell("sampling", 0.0)
        said = [] if self.over() else apprentice.say(self.generation, self.deadline(), self.executor.draw)
        starts = [one.construction for one in said if one.construction is not None]
        fresh, again = self.new_ones(starts)
        improved = self.improve(fresh)
        searched = self.search_alone(max(1, self.settings.attempts // PLAIN), from_pool=False)
        duplicates = 1 - len(fresh) / len(starts) if starts else 0.0
        line = {
            "temperature": apprentice.temperature,
            "loss": apprentice.loss,
            "sampled": len(said),
            "illegal": share(len(said) - len(starts), len(said)),
            "duplicates": duplicates,
            "repaired": share(sum(one.repaired for one in said), len(said)),
            "legal": share(len(again) + sum(outcome.legal for outcome in improved), len(again) + len(improved)),
            "before": statistics_of([*again, *(outcome.before or 0 for outcome in improved)]),
            "after": statistics_of([outcome.found.score for outcome in improved]),
            "searched": statistics_of(searched),
        }
        apprentice.set_temperature(duplicates)
        return line

    def while_learning(self, done: float) -> None:
        self.tell("learning", done)

    def new_ones(self, starts: Sequence[Construction]) -> tuple[list[Construction], list[Number]]:
        """Those that are not in the pool, each once; of those that are, the scores."""
        pool = self.ledger.pool
        forms = [pool.canonical(start) for start in starts]
        fresh = {form: start for form, start in zip(forms, starts, strict=True) if form not in pool.members}
        return list(fresh.values()), [pool.members[form].score for form in forms if form in pool.members]

    def improve(self, starts: Sequence[Construction]) -> list[Outcome]:
        """A search from each."""
        lengths = [self.settings.steps * luby(i + 1) for i in range(len(starts))]
        attempts = [Attempt("any", self.next_seed(), *one) for one in zip(lengths, starts, strict=True)]
        return [outcome for outcome, _ in self.outcomes(attempts, "model", "improving")]

    def search_alone(self, count: int, from_pool: bool) -> list[Number]:
        """So many attempts in rounds; the scores."""
        scores: list[Number] = []
        for first in range(0, count, ROUND):
            attempts = [self.next_attempt(from_pool) for _ in range(min(ROUND, count - first))]
            done = ((first + i) / count for i in range(ROUND))
            found = self.outcomes(attempts, "search", "searching", done)
            scores += [outcome.found.score for outcome, _ in found]
            if self.over():
                break
        return scores

    def next_attempt(self, from_pool: bool) -> Attempt:
        """Symmetries in turn, but every other time one that did best, or one from the pool; lengths by Luby's
        sequence for each."""
        seed = self.next_seed()
        if from_pool and self.number % 2 and self.ledger.pool.members:
            members = self.ledger.pool.best()
            chosen = members[int(np.random.default_rng(seed).integers(len(members)))]
            kept = "any" if self.number % 4 == 1 else NONE  # its symmetry, or else what breaks it
            return Attempt(kept, seed, self.length("pool"), chosen.construction)
        some = self.abreast(1.0 if self.number % 4 < 2 else NEAR) or self.symmetries
        symmetry = some[self.number // 4 % len(some)]
        return Attempt(symmetry, seed, self.length(symmetry))

    def abreast(self, share: float) -> list[str]:
        """The symmetries under which so large a share of the best score was reached, or that have hardly been tried,
        unless it is the best that are asked for."""
        best_under = {name: self.ledger.best_under.get(name, 0) for name in self.symmetries}
        enough = share * max(best_under.values())
        new = [name for name in self.symmetries if share < 1.0 and self.turns[name] < TRIES]
        return [name for name, best in best_under.items() if best >= enough > 0 or name in new]

    def length(self, what: str) -> int:
        self.turns[what] += 1
        return self.settings.steps * luby(self.turns[what])

    def next_seed(self) -> int:
        self.number += 1
        return (self.settings.seed << 40) + self.number

    def outcomes(
        self, attempts: Sequence[Attempt], how: str, stage: Stage, done: Iterator[float] | None = None
    ) -> Iterator[tuple[Outcome, int]]:
        """What came of those attempts that could be made; it is taken into the ledger."""
        shares = done or (i / len(attempts) for i in range(len(attempts)))
        for i, outcome in enumerate(self.executor.outcomes(attempts, self.over_while(stage))):
            self.prepared |= outcome is not None
            self.tell(self.now(stage), next(shares))
            if outcome is not None:
                self.steps += outcome.found.steps
                self.ledger.take(outcome, attempts[i], how, self.generation, self.elapsed())
                yield outcome, i

    def over_while(self, stage: Stage) -> Callable[[], bool]:
        """Whether to stop; whoever waits asks it often, and so tells how it stands."""
        here, self.stage_done = threading.get_ident(), 0.0

        def over() -> bool:
            if threading.get_ident() == here:  # workers ask too
                self.tell(self.now(stage), self.stage_done)
            return self.over()

        return over

    def now(self, stage: Stage) -> Stage:
        """Before a first search has ended, what takes long is to compile it and to make its tables."""
        return stage if self.prepared else "preparing"

    def search_smaller(self) -> None:
        """The best of some smaller sizes, to learn from besides."""
        for build in self.problem.smaller[: self.settings.smaller]:
            problem = build()
            symmetries = names(problem)
            executor, count = self.make(problem, symmetries), max(ROUND, self.settings.attempts // 2)
            turns = [symmetries[i % len(symmetries)] for i in range(count)]
            attempts = [Attempt(turn, self.next_seed(), self.settings.steps) for turn in turns]
            made = [outcome.found for outcome in executor.outcomes(attempts, self.over_while("searching")) if outcome]
            executor.close()
            best = max((found.score for found in made), default=0)
            kept = dict.fromkeys(found.construction for found in made if found.score == best)
            self.apprentice.smaller += [(problem.space, construction) for construction in kept]

    # Keeping

    def save(self) -> None:
        """The generation's line, and what is needed to go on; a generation that was cut short is made again."""
        if self.folder is None:
            return
        Folder(self.folder).append(self.lines[-1])
        if self.over() and not self.reached():
            return
        if self.apprentice.proposer:
            self.apprentice.proposer.save(self.folder)
        state = {
            "generation": self.generation,
            "number": self.number,
            "steps": self.steps,
            "seconds": self.elapsed(),
            "turns": self.turns,
            "ledger": self.ledger.to_json(),
            "apprentice": self.apprentice.to_json(),
        }
        Folder(self.folder).write_json("state.json", state)

    def tell(self, stage: Stage, done: float) -> None:
        """Let whoever watches know, a few times a second."""
        if stage == self.told[0] and time.monotonic() - self.told[1] < TOLD:
            return
        self.told, self.stage_done = (stage, time.monotonic()), done
        best, space = self.best, self.problem.space
        self.watch(
            Progress(
                problem=str(self.problem),
                stage=stage,
                seconds=self.elapsed(),
                limit=self.seconds,
                generation=self.generation,
                best=self.ledger.score,
                best_known=self.problem.best_known,
                origin=best.origin if best else None,
                record_count=len(self.records),
                stage_done=done,
                loss=self.apprentice.loss,
                lines=tuple(self.lines),
                steps=self.steps,
                picture=(space, space.read(best.construction)) if best else None,
            )
        )


def share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def luby(i: int) -> int:
    """1, 1, 2, 1, 1, 2, 4, 1, …: how long to search, if it is not known how long is best (Luby, Sinclair, Zuckerman).

    >>> [luby(i) for i in range(1, 16)]
    [1, 1, 2, 1, 1, 2, 4, 1, 1, 2, 1, 1, 2, 4, 8]
    """
    k = i.bit_length()
    return 1 << (k - 1) if i == (1 << k) - 1 else luby(i - (1 << (k - 1)) + 1)
