"""The workers of Ray (https://docs.ray.io): this machine's processes, or those of a cluster.

    handloom discover isosceles:n=32 --minutes 30 --on ray
    RAY_ADDRESS=10.0.0.1:6379 handloom discover isosceles:n=32 --minutes 30 --on ray

A task of one CPU makes some attempts, one after the other, since a task costs the head as much as a short search costs
a worker (docs/scale.md). The problem is sent once, with its functions; each worker makes the tables and compiles for
itself, and keeps them. When a worker is lost (killed, out of memory, its machine gone), its task is made again. The
model's samples are drawn by the workers too. Training, the pool and the store stay in this process.

With RAY_ADDRESS that cluster is used; handloom must be installed on it. Otherwise a cluster is started on this machine,
and shut down at the end.
"""

import os
import socket
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import lru_cache
from importlib import import_module
from typing import Any

from handloom.core import HandloomError, Model
from handloom.core.errors import one_line
from handloom.discover.loop.executors import Executor, Lost, value_or_raise
from handloom.discover.model.proposer import Part, draw_part
from handloom.discover.problem import Problem
from handloom.discover.search.attempts import Attempt, Outcome, Searches
from handloom.discover.search.result import Stop, never_stop

TRIES = 3  # to make an attempt whose workers are lost
TASKS = 4  # per worker, into which attempts are divided if there are enough
AHEAD = 3  # tasks per worker, running or sent ahead, so that none waits for the next
WAIT = 0.05  # seconds between two calls of `stop`
PATIENCE = 10.0  # seconds without a result after which the cluster is asked whether it has workers at all
REACHABLE = 5.0  # seconds for the address of a cluster to answer
# By default Ray prints to standard output that a worker died, logs what was cancelled, and gives its workers a lower
# priority than everything else on the machine.
DEFAULTS = {"RAY_DEDUP_LOGS_SKIP_REGEX": ".", "RAY_IGNORE_UNHANDLED_ERRORS": "1", "RAY_worker_niceness": "0"}


def on_ray(problem: Problem, symmetries: Sequence[str]) -> Executor:
    """The workers of the cluster that this process is connected to; if it is to none, connect."""
    with ExitStack() as stack:
        stack.enter_context(environment(DEFAULTS))
        ray = import_ray()
        if not ray.is_initialized():
            connect(ray)
            stack.callback(ray.shutdown)
        return RayWorkers(ray, problem, symmetries, stack)


@contextmanager
def environment(defaults: dict[str, str]) -> Iterator[None]:
    """Variables that the user has not set, for the block only; Ray reads them when imported, started and at work."""
    added = {name: value for name, value in defaults.items() if name not in os.environ}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)


def import_ray() -> Any:
    try:
        with environment(DEFAULTS):
            return import_module("ray")
    except ImportError as error:
        raise HandloomError(
            "the workers of Ray need ray, which is not installed: pip install 'handloom[cluster]'"
        ) from error


def connect(ray: Any) -> None:
    """Connect to the cluster that RAY_ADDRESS names, else to a new one of this machine's cores."""
    address = os.environ.get("RAY_ADDRESS") or "local"
    here = {"include_dashboard": False} if address == "local" else {}
    try:
        reach(address)
        ray.init(address, log_to_driver=False, logging_level="ERROR", **here)
    except Exception as error:
        raise HandloomError(
            f"no Ray at RAY_ADDRESS={address}: {one_line(error)}; start it with ray start --head, or unset RAY_ADDRESS"
        ) from error


def reach(address: str) -> None:
    """Raise an error if nobody listens at an address such as 10.0.0.1:6379; Ray itself would try for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), timeout=REACHABLE).close()


class RayWorkers:
    """One worker per CPU of the cluster."""

    def __init__(self, ray: Any, problem: Problem, symmetries: Sequence[str], stack: ExitStack) -> None:
        self.tasks, self.symmetries = Tasks(ray), tuple(symmetries)
        self.workers = self.tasks.workers
        self.send = ray.remote(num_cpus=1, max_retries=0)(make_attempts)
        try:
            self.problem = ray.put(problem)
        except Exception as error:
            raise HandloomError(
                f"{problem}: its functions cannot be sent to the workers of Ray: {one_line(error.__cause__ or error)}"
            ) from error
        self.at_close = stack.pop_all()

    def outcomes(self, attempts: Sequence[Attempt], stop: Stop) -> Iterator[Outcome | None]:
        size = max(1, len(attempts) // (TASKS * self.workers))
        parts = [attempts[first : first + size] for first in range(0, len(attempts), size)]
        # the problem within a list, because Ray would unpack it for every task anew
        made = self.tasks.results(
            lambda number: self.send.remote([self.problem], self.symmetries, parts[number]), len(parts), stop
        )
        for outcomes in made:
            yield from map(value_or_raise, outcomes)

    def close(self) -> None:
        self.at_close.close()


def draw_on_ray(model: Model, parts: Sequence[Part], deadline: float | None) -> Iterator[list[list[int]]]:
    """The samples of each part drawn by a worker of the connected cluster, with the engine that is fastest there."""
    ray = import_ray()
    sent, send = ray.put(model), ray.remote(num_cpus=1, max_retries=0)(draw_part)
    late = never_stop if deadline is None else lambda: time.monotonic() >= deadline
    yield from Tasks(ray).results(lambda number: send.remote(sent, parts[number]), len(parts), late)


class Tasks:
    """Tasks on the cluster, whose results come back in order, whichever workers are lost."""

    def __init__(self, ray: Any) -> None:
        self.ray = ray
        self.heard = time.monotonic()  # when the last result came
        self.workers = max(1, int(ray.cluster_resources().get("CPU", 1)))

    def results(self, send: Callable[[int], Any], count: int, stop: Stop) -> Iterator[Any]:
        """The results of that many tasks, in their order; `send` sends the task of a number."""
        waiting, lost = deque(range(count)), Counter[int]()
        running: dict[Any, int] = {}  # from the reference of a future result to the number of its task
        ready: dict[int, Any] = {}
        self.heard = time.monotonic()
        try:
            for number in range(count):
                while number not in ready:
                    if stop():
                        return
                    while waiting and len(running) < AHEAD * self.workers:
                        sent = waiting.popleft()
                        running[send(sent)] = sent
                    self.collect(running, ready, waiting, lost)
                yield value_or_raise(ready.pop(number))
        except (self.ray.exceptions.RayError, ConnectionError) as error:
            raise Lost(f"the cluster of Ray is lost: {one_line(error)}") from error
        finally:
            with suppress(self.ray.exceptions.RayError, ConnectionError):
                for result in running:
                    self.ray.cancel(result, force=True)

    def collect(self, running: dict[Any, int], ready: dict[int, Any], waiting: deque[int], lost: Counter[int]) -> None:
        """Collect the results that have come; tasks that were lost with their workers wait again."""
        done, _ = self.ray.wait(list(running), num_returns=1, timeout=WAIT)
        self.check_workers(bool(done))
        for result in done:
            number = running.pop(result)
            try:
                ready[number] = self.ray.get(result)
            except self.ray.exceptions.RayTaskError as error:  # the worker could not even start
                ready[number] = error.cause
            except self.ray.exceptions.RayError as error:
                lost[number] += 1
                if lost[number] == TRIES:
                    raise Lost(
                        f"{TRIES} workers of Ray were lost at one search (out of memory?): {one_line(error)}"
                    ) from error
                waiting.appendleft(number)

    def check_workers(self, heard: bool) -> None:
        """Raise an error if the nodes with workers are gone; Ray itself would wait for others for ever."""
        if heard or time.monotonic() - self.heard < PATIENCE:
            self.heard = time.monotonic() if heard else self.heard
            return
        self.heard = time.monotonic()
        if self.ray.cluster_resources().get("CPU", 0) < 1:
            raise Lost("the cluster of Ray has no workers any more: their nodes are lost; add others to it")


# In the workers


def make_attempts(
    problem: list[Any], symmetries: tuple[str, ...], attempts: Sequence[Attempt]
) -> list[Outcome | HandloomError | None]:
    return [make_attempt(problem, symmetries, attempt) for attempt in attempts]


def make_attempt(problem: list[Any], symmetries: tuple[str, ...], attempt: Attempt) -> Outcome | HandloomError | None:
    """The outcome of an attempt, or its error in one line: an exception of a user's own class may not be sent."""
    try:
        try:
            return searches_of(problem[0], symmetries).attempt(attempt)
        except Exception as error:
            return value_or_raise(error)
    except HandloomError as error:
        return HandloomError(str(error))


@lru_cache(maxsize=2)  # the problem, and the smaller size that is searched before it
def searches_of(problem: Any, symmetries: tuple[str, ...]) -> Searches:
    """The searches of this process."""
    return Searches(import_ray().get(problem), symmetries)
