"""One run of `discover` on many workers, simulated: who is busy, and who waits for whom.

    python benchmarks/scale.py --simulate     # the table of docs/scale.md, from what was measured

A run has one head, which sends tasks, collects outcomes and keeps the pool and the records, one after the other; one
store, which the head waits for; one learner, for which the workers wait; and workers, each with one task at work and
two sent ahead, so that none waits for a message. This is a discrete-event simulation with exponential searches.

    >>> times = Times(search=1.0, head=0.001, store=0.05, learning=0.0, stored=0.0)
    >>> found = simulate(times, workers=10, tasks=400, generations=20, seed=0)
    >>> bool(0.8 < found.working < 1.0)  # a generation ends with its last search
    True
    >>> bool(simulate(replace(times, head=1.0), workers=10, tasks=400, generations=5, seed=0).head > 0.99)
    True
"""

import heapq
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

__all__ = ["Found", "Times", "replace", "simulate", "table"]

AHEAD = 3  # tasks per worker that are sent, as in ray_executor.py


@dataclass(frozen=True)
class Times:
    """Seconds of one machine, as measured by scale.py."""

    search: float  # a search, at the worker; the mean of an exponential distribution
    head: float  # to send a task, collect its outcome and put it into the pool
    store: float  # a transaction of the store
    learning: float  # training and sampling, once per generation; the workers wait
    stored: float  # transactions per task
    together: int = 1  # searches in one task


class Found(NamedTuple):
    """The shares of the time in which each was busy, and the tasks per second."""

    working: float
    head: float
    store: float
    learner: float
    tasks: float


def simulate(times: Times, workers: int, tasks: int, generations: int, seed: int) -> Found:
    """Generations of that many tasks each, after each of which the model trains."""
    rng = np.random.default_rng(seed)
    now = searched = headed = stored = 0.0
    for _ in range(generations):
        lengths = rng.gamma(times.together, times.search, tasks)
        writes = rng.random(tasks) < times.stored
        end, waited = one_generation(times, lengths, writes, workers)
        searched, headed, stored = searched + lengths.sum(), headed + tasks * times.head, stored + waited
        now += end + times.learning
    return Found(
        searched / (now * workers),
        headed / now,
        stored / now,
        generations * times.learning / now,
        tasks * generations / now,
    )


def one_generation(times: Times, lengths: np.ndarray, writes: np.ndarray, workers: int) -> tuple[float, float]:
    """When its last outcome is kept, and how long the head waited for the store. Half of the head's time for a task is
    to send it, half to keep its outcome; an outcome makes room for the next task."""
    half, count = times.head / 2, len(lengths)
    free = [0.0] * workers  # when each worker can begin another task
    done: list[tuple[float, int]] = []  # outcomes on their way to the head
    head = waited = 0.0
    sent = 0
    while sent < count or done:
        room = sent < count and len(done) < AHEAD * workers
        if room and (not done or done[0][0] > head):
            head += half
            begun = max(head, heapq.heappop(free))
            heapq.heappush(free, begun + lengths[sent])
            heapq.heappush(done, (begun + lengths[sent], sent))
            sent += 1
            continue
        came, number = heapq.heappop(done)
        write = times.store if writes[number] else 0.0
        head = max(head, came) + half + write
        waited += write
    return head, waited


def table(times: dict[str, Times], counts: tuple[int, ...], tasks: int, seed: int = 0) -> list[str]:
    """Rows of Markdown: for each kind of run and number of workers, who is busy for how much of the time."""
    rows = []
    for name, one in times.items():
        for workers in counts:
            found = simulate(one, workers, tasks, 20, seed)
            shares = " | ".join(f"{share:.0%}".replace("%", " %") for share in found[:4])
            rows.append(f"| {name} | {workers:,} | {found.tasks * one.together:,.0f} | {shares} |")
    return rows
