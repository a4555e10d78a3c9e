"""Who makes the attempts: this machine's threads, or the workers of Ray (ray_executor.py).

An executor makes attempts on all its workers and returns their outcomes in the order of the attempts, so that a run
does not depend on the number of workers.
"""

import os
import queue
import threading
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from handloom.core import HandloomError
from handloom.discover.problem import Problem
from handloom.discover.search.attempts import Attempt, Outcome, Searches
from handloom.discover.search.result import Stop

WORKERS = ("threads", "ray")
WAIT = 0.1  # seconds between two calls of `stop` while waiting: soon enough for a user


class Lost(HandloomError):
    """The workers are lost. The run is whole, and can be resumed."""


class Executor(Protocol):
    workers: int

    def outcomes(self, attempts: Sequence[Attempt], stop: Stop) -> Iterator[Outcome | None]:
        """The outcomes of the attempts, in their order; None for one without a search under its symmetry. It ends
        early if `stop` says so."""

    def close(self) -> None: ...


def executor_for(on: str, problem: Problem, symmetries: Sequence[str]) -> Executor:
    """Start the workers of that name for a problem."""
    if on == "ray":
        from handloom.discover.loop.ray_executor import on_ray

        return on_ray(problem, symmetries)
    return Threads(Searches(problem, symmetries))


class Threads:
    """This machine's cores. Compiled searches release Python's lock, so threads are enough. They are daemons: a program
    need not wait for one that is compiling."""

    def __init__(self, searches: Searches, workers: int | None = None) -> None:
        self.searches, self.workers = searches, workers or os.cpu_count() or 1
        self.tasks: queue.SimpleQueue[Any] = queue.SimpleQueue()
        for _ in range(self.workers):
            threading.Thread(target=self.work, daemon=True).start()

    def work(self) -> None:
        while (task := self.tasks.get()) is not None:
            number, attempt, stop, done = task
            try:
                done.put((number, None if stop() else self.searches.attempt(attempt, stop)))
            except BaseException as error:  # raised again in the thread that waits for the outcome
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
                    ready.update([done.get(timeout=WAIT)])
                except queue.Empty:
                    continue
            yield value_or_raise(ready.pop(number))

    def close(self) -> None:
        for _ in range(self.workers):
            self.tasks.put(None)


def value_or_raise(result: Any) -> Any:
    """A worker's result; if it is an error, raise it."""
    if isinstance(result, HandloomError):
        raise result
    if isinstance(result, BaseException):
        raise HandloomError(
            f"a search failed: {type(result).__name__}: {' '.join(str(result).split())[:160]}"
        ) from result
    return result
