"""The loop: search, keep the best, learn from them, let the model say more, improve these by search, keep the best.

    discovery = Discovery(problem_named("isosceles:n=16"), Settings(), Store.open("records.sqlite"), seconds=60)
    discovery.run().best.score

The first generation is search alone. In every later one the model learns from the pool and says new constructions,
and a search begins with each of them; a part of the time search goes on by itself. Without a model (the control) it
begins with what the pool has instead. What is better than all before is verified exactly and stored at once.

All that a generation does follows from the settings and from the pool, so that a run without a limit of time can be
repeated, and one that was interrupted goes on from its last whole generation.
"""

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from handloom.core import HandloomError
from handloom.core.files import write_atomically
from handloom.discover.canonical import canonical
from handloom.discover.executors import Attempt, Executor, Outcome, Threads, Workshop
from handloom.discover.greedy import greedy
from handloom.discover.pool import Pool, statistics_of
from handloom.discover.problem import Number, Problem
from handloom.discover.progress import Progress, Stage
from handloom.discover.searches import names
from handloom.discover.settings import AUTO, Settings
from handloom.discover.spaces import Construction, Space
from handloom.discover.speaker import Speaker, reward_weights
from handloom.discover.store import NotLegal, Record, Store
from handloom.discover.symmetry import NONE, orbits, symmetries_of
from handloom.discover.tokens import Tokens, choose_kind
from handloom.learn.settings import Settings as LearnSettings
from handloom.learn.training import interrupts

ROUND = 40  # attempts after which it is looked at which symmetry does best
TIES = 20  # records of the best score that a run keeps
PLAIN = 4  # in a generation of the model, search alone makes a fourth of its attempts
HOTTEST = 2.0
TOLD = 0.1  # seconds between two words to whoever watches

Make = Callable[[Problem, Sequence[str]], Executor]
Sized = tuple[Space, Construction]


def on_threads(problem: Problem, symmetries: Sequence[str]) -> Executor:
    return Threads(Workshop(problem, symmetries))


@dataclass
class Discovery:
    """One run."""

    problem: Problem
    settings: Settings
    store: Store
    folder: Path | None = None
    seconds: float | None = None  # the limit, by the clock
    generations: int | None = None
    until: Number | None = None  # the score at which to stop
    make: Make = on_threads
    clock: Callable[[], float] = time.monotonic
    watch: Callable[[Progress], None] = lambda progress: None
    generation: int = 0
    number: int = 0  # of attempts so far; their seeds follow from it
    steps: int = 0
    temperature: float = 0.0
    best: Record | None = None
    records: list[Record] = field(default_factory=list)
    lines: list[dict[str, Any]] = field(default_factory=list)
    turns: Counter[str] = field(default_factory=Counter)
    best_under: dict[str, Number] = field(default_factory=dict)
    smaller: list[Sized] = field(default_factory=list)
    speaker: Speaker | None = None
    tokens: Tokens | None = None
    halted: bool = False
    before: float = 0.0  # seconds of the run before it was resumed
    stage: Stage = "searching"
    told: float = 0.0  # when the watcher was last told
    loss: float | None = None

    began: float | None = None  # by the clock; when the run is made, unless told

    def __post_init__(self) -> None:
        self.since = self.clock() if self.began is None else self.began
        self.store.check_same(self.problem)
        self.symmetries = self.chosen_symmetries()
        self.pool = Pool(self.settings.keep, self.form())
        self.temperature = self.temperature or self.settings.temperature
        self.executor = self.make(self.problem, self.symmetries)

    def chosen_symmetries(self) -> list[str]:
        known, asked = names(self.problem), self.settings.symmetry
        if asked == AUTO:
            return known
        if asked not in known:
            raise HandloomError(f"{self.problem} has no symmetry {asked!r}; it has {', '.join(known)}, or auto for all")
        return [asked]

    def form(self) -> Callable[[Construction], Construction]:
        """From a construction to its canonical form."""
        space, maps = self.problem.space, [one for some in symmetries_of(self.problem).values() for one in some]
        group = None if space.kind == "graph" else orbits(space, "all", maps).group if maps else np.zeros((0, 0))
        return lambda construction: canonical(space, group, construction)

    # Time

    def elapsed(self) -> float:
        return self.before + self.clock() - self.since

    def over(self) -> bool:
        """Whether to stop, now, wherever we are."""
        return (
            self.halted
            or (self.seconds is not None and self.elapsed() >= self.seconds)
            or (self.until is not None and self.best is not None and self.best.score >= self.until)
        )

    def deadline(self) -> float | None:
        """By time.monotonic()."""
        return None if self.seconds is None else time.monotonic() + max(0.0, self.seconds - self.elapsed())

    def halt(self) -> None:
        self.halted = True

    # The run

    def run(self) -> "Discovery":
        """Until the time is over, the generations are done, the score is reached, or Ctrl-C."""
        with interrupts(self.halt):
            try:
                self.begin_with_something()
                while not self.over() and (self.generations is None or self.generation < self.generations):
                    self.one_generation()
            finally:
                self.executor.close()
        self.tell("done", 1.0)
        return self

    def begin_with_something(self) -> None:
        """A construction that plain Python finds at once, so that there is one however short the time."""
        if self.best is None:
            construction = greedy(self.problem, self.settings.seed)
            origin = {"how": "greedy", "symmetry": None, "seed": self.settings.seed, "generation": 0, "parent": None}
            self.record(construction, self.pool.canonical(construction), origin | {"run": self.run_name()})

    def run_name(self) -> str | None:
        return str(self.folder) if self.folder else None

    def one_generation(self) -> None:
        """Search, or the model; then write down what came of it."""
        first = not self.generation or len(self.pool.members) < 10
        line = self.by_search() if first or not self.settings.model else self.by_model()
        self.pool.trim()
        whole = not self.over() or self.until is not None
        line = {"generation": self.generation, "seconds": round(self.elapsed(), 3), "best": self.score()} | line
        self.lines.append(line)
        self.generation += 1
        self.save(line, whole)

    def by_search(self) -> dict[str, Any]:
        """A generation of search alone: from nothing, and later also from what the pool has."""
        if not self.generation and self.settings.model:
            self.search_smaller()
        scores = self.search_alone(self.settings.attempts, from_pool=self.generation > 0)
        return dict.fromkeys(("temperature", "loss", "illegal", "duplicates", "repaired", "legal")) | {
            "sampled": 0,
            "before": None,
            "after": None,
            "searched": statistics_of(scores),
        }

    def search_alone(self, count: int, from_pool: bool) -> list[Number]:
        """So many attempts in rounds; the scores."""
        scores: list[Number] = []
        for first in range(0, count, ROUND):
            attempts = [self.next_attempt(from_pool) for _ in range(min(ROUND, count - first))]
            for done, (_, outcome) in enumerate(self.outcomes(attempts)):
                self.take(outcome, "search")
                scores.append(outcome.found.score)
                self.tell("searching", (first + done) / count)
            if self.over():
                break
        return scores

    def next_attempt(self, from_pool: bool) -> Attempt:
        """Symmetries in turn, but every other time the one that did best; lengths by Luby's sequence for each."""
        seed = self.next_seed()
        if from_pool and self.number % 2:
            members = self.pool.best()
            chosen = members[int(np.random.default_rng(seed).integers(len(members)))]
            self.turns["any"] += 1
            return Attempt("any", seed, self.settings.steps * luby(self.turns["any"]), chosen.construction)
        leader = max(self.best_under, key=lambda name: self.best_under[name], default=NONE)
        turn = self.symmetries[self.number // 2 % len(self.symmetries)]
        symmetry = leader if self.number % 4 < 2 and leader in self.symmetries and len(self.best_under) > 1 else turn
        self.turns[symmetry] += 1
        return Attempt(symmetry, seed, self.settings.steps * luby(self.turns[symmetry]))

    def next_seed(self) -> int:
        self.number += 1
        return (self.settings.seed << 40) + self.number

    def outcomes(self, attempts: Sequence[Attempt]) -> Iterator[tuple[Attempt, Outcome]]:
        """Those attempts that could be made, with what came of them."""
        for attempt, outcome in zip(attempts, self.executor.outcomes(attempts, self.over), strict=False):
            if outcome is not None:
                self.steps += outcome.found.steps
                yield attempt, outcome

    def search_smaller(self) -> None:
        """The best of some smaller sizes, to learn from besides."""
        for build in self.problem.smaller[: self.settings.smaller]:
            problem = build()
            executor = self.make(problem, names(problem))
            count = max(ROUND, self.settings.attempts // 2)
            cycle = names(problem)
            tasks = [Attempt(cycle[i % len(cycle)], self.next_seed(), self.settings.steps) for i in range(count)]
            found = {o.found.construction: o.found.score for o in executor.outcomes(tasks, self.over) if o is not None}
            executor.close()
            best = max(found.values(), default=0)
            self.smaller += [(problem.space, one) for one, score in found.items() if score == best]

    # The model

    def by_model(self) -> dict[str, Any]:
        """A generation of the model: learn, say, improve."""
        self.learn()
        said = self.say()
        decoded = [self.tokens.decode(ids) for ids in said] if self.tokens else []
        starts = [one.construction for one in decoded if one.construction is not None]
        fresh = self.new_ones(starts)
        seeds = [self.next_seed() for _ in fresh]
        lengths = [self.settings.steps * luby(i + 1) for i in range(len(fresh))]
        attempts = [Attempt("any", *one) for one in zip(seeds, lengths, fresh, strict=True)]
        before, after, legal = list[Number](), list[Number](), 0
        for done, (_, outcome) in enumerate(self.outcomes(attempts)):
            self.take(outcome, "model")
            before.append(outcome.before or 0)
            after.append(outcome.found.score)
            legal += outcome.legal
            self.tell("improving", done / len(attempts))
        searched = self.search_alone(max(1, self.settings.attempts // PLAIN), from_pool=False)
        duplicates = 1 - len(fresh) / len(starts) if starts else 0.0
        line = {
            "temperature": self.temperature,
            "loss": self.loss,
            "sampled": len(said),
            "illegal": 1 - len(starts) / len(said) if said else None,
            "duplicates": duplicates,
            "repaired": sum(one.repaired for one in decoded) / len(said) if said else None,
            "legal": legal / len(before) if before else None,
            "before": statistics_of(before),
            "after": statistics_of(after),
            "searched": statistics_of(searched),
        }
        self.set_temperature(duplicates)
        return line

    def learn(self) -> None:
        """Some steps of training on the pool, half of them on what is newest in it."""
        members, settings = self.pool.best(), self.settings
        constructions = [member.construction for member in members]
        if self.speaker is None or self.tokens is None:
            self.begin_model(constructions)
        assert self.speaker is not None
        assert self.tokens is not None
        newest = np.array([member.generation == self.generation - 1 for member in members])
        weights = reward_weights([member.score for member in members], settings.feedback)
        if self.generation > 1 and newest.any() and not newest.all():
            weights = weights / weights[~newest].sum() * ~newest + weights / weights[newest].sum() * newest
        weights = np.concatenate([weights, np.full(len(self.smaller), weights.mean())])
        begun = self.speaker.step

        def report(step: int, loss: float) -> None:
            self.loss = loss
            self.tell("learning", (step - begun) / settings.learn)
            if self.over():
                raise Over

        try:
            strings = self.tokens.strings(constructions, self.smaller)
            self.loss = self.speaker.train(strings, settings.learn, self.deadline(), weights, report)
        except Over:
            pass

    def begin_model(self, constructions: Sequence[Construction]) -> None:
        settings, space = self.settings, self.problem.space
        kind = choose_kind(space, constructions) if settings.tokens == AUTO else settings.tokens
        spaces = list(dict.fromkeys([space, *(one for one, _ in self.smaller)]))
        self.tokens = Tokens.of(kind, spaces, constructions)
        learning = LearnSettings(seed=settings.seed, batch=settings.batch, rate=settings.rate)
        self.speaker = Speaker.of(
            self.tokens,
            about=str(self.problem),
            layers=settings.layers,
            heads=settings.heads,
            width=settings.width,
            settings=learning,
        )

    def say(self) -> list[list[int]]:
        self.tell("sampling", 0.0)
        if self.speaker is None or self.over():
            return []
        return self.speaker.say(self.settings.samples, self.temperature, self.generation, self.deadline())

    def new_ones(self, starts: Sequence[Construction]) -> list[Construction]:
        """Those that are not in the pool, each once."""
        forms = {self.pool.canonical(start): start for start in reversed(starts)}
        return [start for form, start in reversed(forms.items()) if form not in self.pool.members]

    def set_temperature(self, duplicates: float) -> None:
        """Warmer when the samples repeat, and back when they do not."""
        factor = 1.1 if duplicates > 0.5 else 0.95 if duplicates < 0.2 else 1.0
        self.temperature = min(HOTTEST, max(self.settings.temperature, self.temperature * factor))

    # Keeping

    def take(self, outcome: Outcome, how: str) -> None:
        """Into the pool; and into the store, if it is as good as the best."""
        found, symmetry = outcome.found, outcome.symmetry
        self.best_under[symmetry] = max(found.score, self.best_under.get(symmetry, found.score))
        member = self.pool.add(found.construction, found.score, self.generation)
        ties = sum(record.score == found.score for record in self.records)
        if member is None or (self.best is not None and (found.score < self.best.score or ties >= TIES)):
            return
        origin = {
            "how": how,
            "symmetry": None if symmetry == NONE else symmetry,
            "seed": self.settings.seed,
            "run": self.run_name(),
            "generation": self.generation,
            "seconds": round(self.elapsed(), 2),
            "parent": self.nearest_record(found.construction),
        }
        self.record(found.construction, member.construction, origin)

    def record(self, construction: Construction, key: Construction, origin: Mapping[str, Any]) -> None:
        """Verify and store; one that is in the store already is this run's all the same."""
        try:
            new = self.store.add(self.problem, construction, origin, key)
        except NotLegal as error:
            raise HandloomError(f"the search and the verifier do not agree, so nothing was kept: {error}") from error
        new = new or self.store.find(self.problem, key)
        self.records.append(new)
        if self.best is None or new.score > self.best.score:
            self.best = new

    def nearest_record(self, construction: Construction) -> int | None:
        """The record of this run that shares most elements with a construction: its parent in the family tree."""
        if not self.records or not self.problem.space.is_subset:
            return self.records[-1].id if self.records else None
        here = set(construction)
        shared = [len(here & set(self.problem.space.read(record.construction))) for record in self.records]
        return self.records[int(np.argmax(shared))].id

    def score(self) -> Number | None:
        return self.best.score if self.best else None

    def save(self, line: dict[str, Any], whole: bool) -> None:
        """The generation's line, and what is needed to go on; a generation that was cut short is made again."""
        if self.folder is None:
            return
        with open(self.folder / "metrics.jsonl", "a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        if not whole:
            return
        if self.speaker:
            self.speaker.save(self.folder)
        state = {
            "generation": self.generation,
            "number": self.number,
            "steps": self.steps,
            "temperature": self.temperature,
            "seconds": self.elapsed(),
            "turns": self.turns,
            "best_under": self.best_under,
            "records": [record.id for record in self.records],
            "smaller": [[space.sides, list(one)] for space, one in self.smaller],
            "tokens": self.tokens.to_json() if self.tokens else None,
            "pool": self.pool.to_json(),
        }
        write_atomically(self.folder / "state.json", json.dumps(state).encode())

    def tell(self, stage: Stage, done: float) -> None:
        """Let whoever watches know, a few times a second."""
        if stage == self.stage and time.monotonic() - self.told < TOLD:
            return
        self.stage, self.told = stage, time.monotonic()
        space = self.problem.space
        picture = (space, space.read(self.best.construction)) if self.best else None
        self.watch(
            Progress(
                problem=str(self.problem),
                stage=stage,
                seconds=self.elapsed(),
                limit=self.seconds,
                generation=self.generation,
                best=self.score(),
                best_known=self.problem.best_known,
                origin=self.best.origin if self.best else None,
                record_count=len(self.records),
                stage_done=done,
                loss=self.loss,
                lines=tuple(self.lines),
                steps=self.steps,
                picture=picture,
            )
        )


class Over(Exception):
    """The run is to stop, in the middle of training."""


def luby(i: int) -> int:
    """1, 1, 2, 1, 1, 2, 4, 1, …: how long to search, if it is not known how long is best (Luby, Sinclair, Zuckerman).

    >>> [luby(i) for i in range(1, 16)]
    [1, 1, 2, 1, 1, 2, 4, 1, 1, 2, 1, 1, 2, 4, 8]
    """
    k = i.bit_length()
    return 1 << (k - 1) if i == (1 << k) - 1 else luby(i - (1 << (k - 1)) + 1)
