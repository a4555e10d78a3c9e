"""Who does the searching: this machine's threads, or the workers of Ray (ray_executor.py).

An Attempt says all that a search needs; what it gives is an Outcome. An executor makes attempts on all its workers and
hands over what comes of them in the order of the attempts, so that a run does not depend on how many workers there are.
"""

import os
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from handloom.core import HandloomError, Model
from handloom.discover.model.proposer import Part, draw_here
from handloom.discover.problem import Number, Problem
from handloom.discover.search.choice import OrbitSearch, Search, search_for
from handloom.discover.search.result import Found
from handloom.discover.search.symmetry import NONE
from handloom.discover.spaces import Construction

Stop = Callable[[], bool]

WHOLE = 0.7  # how much of a start must be whole orbits for its search to keep the symmetry


@dataclass(frozen=True)
class Attempt:
    """One search: under which symmetry, from what, for how long. Under `any`, that which the start has most of."""

    symmetry: str
    seed: int
    steps: int
    start: Construction | None = None


@dataclass(frozen=True)
class Outcome:
    """What came of an attempt; of one with a start also what of it was legal, before the search."""

    found: Found
    symmetry: str
    before: Number | None = None
    legal: bool = False  # whether the whole start was


class Lost(HandloomError):
    """The workers have gone. The run is as good as before, and can be resumed."""


class Executor(Protocol):
    workers: int

    def outcomes(self, attempts: Sequence[Attempt], stop: Stop) -> Iterator[Outcome | None]:
        """What comes of the attempts, in their order; None for one that cannot be made under its symmetry. It ends
        early if told to stop."""

    def draw(self, model: Model, parts: Sequence[Part], deadline: float | None) -> Iterator[list[list[int]]]:
        """What a model says, part by part, until the deadline."""

    def close(self) -> None: ...


class Workshop:
    """A problem's searches, each made when it is first asked for."""

    def __init__(self, problem: Problem, symmetries: Sequence[str]) -> None:
        self.problem, self.symmetries = problem, tuple(symmetries)
        self.searches: dict[str, Search | None] = {}
        self.lock = threading.Lock()

    def search(self, symmetry: str, stop: Stop) -> Search | None:
        if symmetry not in self.searches:  # those that are there already need not wait for one that is made
            with self.lock:
                if symmetry not in self.searches:
                    made = search_for(self.problem, symmetry, stop)
                    if made is None and stop():
                        return None
                    self.searches[symmetry] = made
        return self.searches[symmetry]

    def attempt(self, task: Attempt, stop: Stop) -> Outcome | None:
        plain = self.search(NONE, stop) if task.start is not None else None
        lost = task.symmetry == NONE and task.start is not None and not isinstance(plain, OrbitSearch)  # has no tables
        symmetry = self.nearest(task.start, stop) if task.symmetry == "any" or lost else task.symmetry
        found = self.search(symmetry, stop)
        if found is None:
            return None
        if task.start is None:
            return Outcome(found.run(task.seed, task.steps, None, stop), symmetry)
        if plain is None:
            return None
        before = plain.run(task.seed, 0, task.start, stop)
        after = found.run(task.seed, task.steps, task.start, stop)
        legal = tuple(sorted(before.construction)) == tuple(sorted(task.start))
        better = after if after.score >= before.score else before
        return Outcome(Found(better.construction, better.score, after.steps, after.note), symmetry, before.score, legal)

    def nearest(self, start: Construction | None, stop: Stop) -> str:
        """The symmetry that most of a start has, if it is much, or if without one there are no tables."""
        best, most = NONE, WHOLE if isinstance(self.search(NONE, stop), OrbitSearch) else 0.0
        for name in self.symmetries:
            known = self.search(name, stop) if name != NONE and start else None
            if isinstance(known, OrbitSearch) and (kept := known.kept(start or ())) > most:
                best, most = name, kept
        return best


class Threads:
    """This machine's cores. Searches are compiled and leave Python's lock alone, so threads are enough. They are
    daemons: a program need not wait for one that is compiling."""

    def __init__(self, workshop: Workshop, workers: int | None = None) -> None:
        self.workshop, self.workers = workshop, workers or os.cpu_count() or 1
        self.tasks: queue.SimpleQueue[Any] = queue.SimpleQueue()
        for _ in range(self.workers):
            threading.Thread(target=self.work, daemon=True).start()

    def work(self) -> None:
        while (job := self.tasks.get()) is not None:
            number, attempt, stop, done = job
            try:
                done.put((number, None if stop() else self.workshop.attempt(attempt, stop)))
            except BaseException as error:  # handed over, for who waits for it to raise
                done.put((number, error))

    def outcomes(self, attempts: Sequence[Attempt], stop: Stop) -> Iterator[Outcome | None]:
        done: queue.SimpleQueue[Any] = queue.SimpleQueue()
        for number, attempt in enumerate(attempts):
            self.tasks.put((number, attempt, stop, done))
        ready: dict[int, Any] = {}
        for number in range(len(attempts)):
            while number not in ready:
                if stop():
                    return
                try:
                    ready.update([done.get(timeout=0.1)])
                except queue.Empty:
                    continue
            yield raised(ready.pop(number))

    def draw(self, model: Model, parts: Sequence[Part], deadline: float | None) -> Iterator[list[list[int]]]:
        return draw_here(model, parts, deadline)  # the engine has threads of its own

    def close(self) -> None:
        for _ in range(self.workers):
            self.tasks.put(None)


def raised(result: Any) -> Any:
    """A result, or the error that is in its place."""
    if isinstance(result, HandloomError):
        raise result
    if isinstance(result, BaseException):
        raise HandloomError(
            f"a search failed: {type(result).__name__}: {' '.join(str(result).split())[:160]}"
        ) from result
    return result
