"""Running experiments: one process for each seed, as many at a time as there are cores, one thread each.

    conclude("hopfield", seeds=3)               # in processes of their own
    conclude(module, seeds=range(2), workers=0) # in this one: for tests

Small networks train faster as several processes than as one on several cores, and a result does not depend on how many
cores there are. A conclusion is there as soon as its last seed is.
"""

import multiprocessing
import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any

from handloom.core.callbacks import Progress
from handloom.lab import one_thread
from handloom.lab.catalogue import experiment, extras
from handloom.lab.experiment import SEEDS, Conclusion, Finding, Lab
from handloom.lab.one_thread import begin_worker

PAUSE = 0.2  # seconds between looks at the progress
PARTS = 1000  # of a run, in which progress is counted


@dataclass(frozen=True)
class Ran:
    """A finding, and the CPU seconds it took."""

    finding: Finding
    seconds: float


def run_seed(module: Any, lab: Lab) -> Ran:
    """One seed of an experiment, here."""
    began = time.process_time()
    with extras():
        finding = module.run(lab)
    return Ran(finding, time.process_time() - began)


def conclude(
    which: str | ModuleType, seeds: int | Sequence[int] = SEEDS, quick: bool = True, workers: int | None = None
) -> Conclusion:
    """The conclusion of one experiment. With workers=0 all seeds run in this process, one after the other."""
    numbers = range(seeds) if isinstance(seeds, int) else seeds
    if workers == 0 or not isinstance(which, str):
        module = experiment(which) if isinstance(which, str) else which
        return joined(module, [run_seed(module, Lab(seed, quick)) for seed in numbers], numbers, quick)[0]
    return next(conclusions([which], numbers, quick, workers=workers))[0]


def conclusions(
    names: Sequence[str],
    seeds: Sequence[int],
    quick: bool,
    judge: str | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Iterator[tuple[Conclusion, Finding]]:
    """The conclusion of each experiment, and the finding of its first seed, in the order in which they are done."""
    jobs = [(name, seed) for name in names for seed in seeds]
    count = min(len(jobs), workers or os.cpu_count() or 1)
    done: dict[str, dict[int, Ran]] = {name: {} for name in names}
    with pool(count, len(jobs)) as (executor, parts):
        waiting: dict[Future[Ran], tuple[str, int]] = {
            executor.submit(in_worker, name, i, seed, quick, judge): (name, seed) for i, (name, seed) in enumerate(jobs)
        }
        while waiting:
            finished, _ = wait(waiting, PAUSE, FIRST_COMPLETED)
            if progress:
                progress(round(100 * sum(parts) / (PARTS * len(jobs))), 100)
            for future in finished:
                name, seed = waiting.pop(future)
                done[name][seed] = future.result()
                if len(done[name]) == len(seeds):
                    yield joined(experiment(name), [done[name][seed] for seed in seeds], seeds, quick)


def joined(module: Any, ran: Sequence[Ran], seeds: Sequence[int], quick: bool) -> tuple[Conclusion, Finding]:
    findings, seconds = [one.finding for one in ran], sum(one.seconds for one in ran)
    return Conclusion.of(module.CLAIM, findings, seeds, seconds, quick), findings[0]


@contextmanager
def pool(workers: int, jobs: int) -> Iterator[tuple[ProcessPoolExecutor, Any]]:
    """Processes with one thread each, and an array in which each job counts its progress. Whatever ends the work early
    ends them."""
    spawn = multiprocessing.get_context("spawn")
    parts = spawn.Array("i", jobs, lock=False)
    executor = ProcessPoolExecutor(workers, spawn, begin_worker, (parts,))
    try:
        yield executor, parts
    except BaseException:
        for process in multiprocessing.active_children():
            process.terminate()
        raise
    finally:
        executor.shutdown(cancel_futures=True)


def in_worker(name: str, job: int, seed: int, quick: bool, judge: str | None) -> Ran:
    """One seed of an experiment, in a process of a pool."""
    ran = run_seed(experiment(name), Lab(seed, quick, judge, partial(note, job)))
    note(job, 1, 1)
    return ran


def note(job: int, done: int, most: int) -> None:
    one_thread.PROGRESS[job] = int(PARTS * min(1.0, done / max(1, most)))
