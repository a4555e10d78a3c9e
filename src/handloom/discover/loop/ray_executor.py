"""The searching done by the workers of Ray (https://docs.ray.io): this machine's processes, or those of a cluster.

    handloom discover isosceles:n=32 --minutes 30 --on ray
    RAY_ADDRESS=10.0.0.1:6379 handloom discover isosceles:n=32 --minutes 30 --on ray

Each attempt is a task of one CPU. The problem travels once, its functions with it; each worker makes the tables and
compiles for itself, and keeps that. A worker that is lost (killed, out of memory, its machine gone) loses the attempt
it was at, which is made again. What the model says is drawn by the workers too. Training, the pool and the store stay
here.

With RAY_ADDRESS the cluster there is used; handloom must be installed on it. Otherwise a cluster is started on this
machine, and ended again.
"""

import os
import socket
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from importlib import import_module
from typing import Any

from handloom.core import HandloomError, Model
from handloom.core.files import one_line
from handloom.discover.loop.executors import Attempt, Executor, Lost, Outcome, Stop, Workshop, raised
from handloom.discover.model.proposer import Part, drawn
from handloom.discover.problem import Problem
from handloom.discover.search.conflicts import never_stop

TRIES = 3  # to make an attempt whose workers are lost
AHEAD = 3  # tasks that a worker has or will have next; its successor must be there when one ends
WAIT = 0.05  # seconds between two looks at whether to stop
PATIENCE = 10.0  # seconds without a result, after which it is asked whether there are workers at all
# Unless told before it is imported, Ray prints to standard output that a worker died, logs what was cancelled, and
# gives its workers less of the machine than whatever else runs on it.
CHOICES = {"RAY_DEDUP_LOGS_SKIP_REGEX": ".", "RAY_IGNORE_UNHANDLED_ERRORS": "1", "RAY_worker_niceness": "0"}


def on_ray(problem: Problem, symmetries: Sequence[str]) -> Executor:
    """The workers of the cluster that this process is connected to, after it is."""
    ray = imported()
    started = not ray.is_initialized()
    if started:
        connect(ray)
    try:
        return RayWorkers(ray, problem, symmetries, started)
    except BaseException:
        if started:
            ray.shutdown()
        raise


def imported() -> Any:
    for name, value in CHOICES.items():
        os.environ.setdefault(name, value)
    try:
        return import_module("ray")
    except ImportError as error:
        raise HandloomError("on=ray needs Ray, which is not installed: pip install 'handloom[cluster]'") from error


def connect(ray: Any) -> None:
    """To the cluster that RAY_ADDRESS names, else to one of this machine's cores."""
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
    """Raises if nobody listens at an address such as 10.0.0.1:6379; Ray itself would try for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), timeout=5).close()


class RayWorkers:
    """As many workers as the cluster has CPUs. Who started the cluster ends it."""

    def __init__(self, ray: Any, problem: Problem, symmetries: Sequence[str], started: bool) -> None:
        self.ray, self.started = ray, started
        self.heard = time.monotonic()  # when something last came
        self.workers = max(1, int(ray.cluster_resources().get("CPU", 1)))
        self.symmetries = tuple(symmetries)
        self.task = ray.remote(num_cpus=1, max_retries=0)(work)
        self.drawing = ray.remote(num_cpus=1, max_retries=0)(drawn)
        try:
            self.problem = ray.put(problem)
        except Exception as error:
            raise HandloomError(
                f"{problem}: its functions cannot be sent to the workers of Ray: {one_line(error.__cause__ or error)}"
            ) from error

    def outcomes(self, attempts: Sequence[Attempt], stop: Stop) -> Iterator[Outcome | None]:
        # the problem within a list, since Ray would unpack it for every task anew
        yield from self.made(
            lambda number: self.task.remote([self.problem], self.symmetries, attempts[number]), len(attempts), stop
        )

    def draw(self, model: Model, parts: Sequence[Part], deadline: float | None) -> Iterator[list[list[int]]]:
        """Each part by a worker, with the engine that is fastest there."""
        sent = self.ray.put(model)
        late = never_stop if deadline is None else lambda: time.monotonic() >= deadline
        yield from self.made(lambda number: self.drawing.remote(sent, parts[number]), len(parts), late)

    def made(self, send: Callable[[int], Any], count: int, stop: Stop) -> Iterator[Any]:
        """What comes of so many tasks, in their order; `send` sends one."""
        waiting, lost = deque(range(count)), Counter[int]()
        running: dict[Any, int] = {}  # from the reference of a result that will be to the number of the task
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
                yield raised(ready.pop(number))
        except (self.ray.exceptions.RayError, ConnectionError) as error:
            raise Lost(f"the cluster of Ray is lost: {one_line(error)}") from error
        finally:
            with suppress(self.ray.exceptions.RayError, ConnectionError):
                for result in running:
                    self.ray.cancel(result, force=True)

    def collect(self, running: dict[Any, int], ready: dict[int, Any], waiting: deque[int], lost: Counter[int]) -> None:
        """What has come by now; those attempts wait again that were lost with their workers."""
        done, _ = self.ray.wait(list(running), num_returns=1, timeout=WAIT)
        self.check_workers(bool(done))
        for result in done:
            number = running.pop(result)
            try:
                ready[number] = self.ray.get(result)
            except self.ray.exceptions.RayTaskError as error:  # the worker could not even begin
                ready[number] = error.cause
            except self.ray.exceptions.RayError as error:
                lost[number] += 1
                if lost[number] == TRIES:
                    raise Lost(
                        f"{TRIES} workers of Ray were lost at one search (out of memory?): {one_line(error)}"
                    ) from error
                waiting.appendleft(number)

    def check_workers(self, heard: bool) -> None:
        """Raises if the nodes that had workers have gone; Ray itself would wait for others for ever."""
        if heard or time.monotonic() - self.heard < PATIENCE:
            self.heard = time.monotonic() if heard else self.heard
            return
        self.heard = time.monotonic()
        if self.ray.cluster_resources().get("CPU", 0) < 1:
            raise Lost("the cluster of Ray has no workers any more: their nodes are lost; add others to it")

    def close(self) -> None:
        if self.started:
            self.started = False
            self.ray.shutdown()


# In the workers


def work(problem: list[Any], symmetries: tuple[str, ...], attempt: Attempt) -> Outcome | HandloomError | None:
    """What comes of an attempt, or what went wrong in one line: an error of a user's own kind may not travel."""
    try:
        try:
            return workshop(problem[0], symmetries).attempt(attempt, never_stop)
        except Exception as error:
            return raised(error)
    except HandloomError as error:
        return HandloomError(str(error))


@lru_cache(maxsize=2)  # the problem, and the smaller one that is looked at before it
def workshop(problem: Any, symmetries: tuple[str, ...]) -> Workshop:
    """The workshop of this process."""
    return Workshop(imported().get(problem), symmetries)
