"""Beyond one machine: searches, samples and records per second on Ray workers and in one store, and what saturates.

    python benchmarks/scale.py              # measures for some minutes, and updates docs/scale/measured.json
    python benchmarks/scale.py --simulate   # the tables of docs/scale.md, from what was measured

Needs the extras discover and cluster. `search` are searches of a run, several to a task; `empty` are tasks that do
nothing, which shows what a task costs the head. With more workers than cores only that and the store say something.

Other programs on the machine only make a number worse. So each is the best of some rounds, and of those in the file
from earlier runs: on another machine, remove the file first.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from handloom.discover.catalogue import problem_named
from handloom.discover.loop.ledger import Ledger
from handloom.discover.loop.model_turn import drawing_on
from handloom.discover.loop.ray_executor import Tasks, import_ray, on_ray
from handloom.discover.model.codec import Codec
from handloom.discover.model.proposer import Proposer
from handloom.discover.problem import Problem
from handloom.discover.records.store import Store
from handloom.discover.search.attempts import Attempt, Searches
from handloom.discover.search.result import never_stop
from handloom.discover.search.symmetry import NONE
from handloom.learn.settings import Settings
from scale_simulation import Times, table

MEASURED = Path(__file__).parents[1] / "docs/scale/measured.json"
PROBLEM, STEPS = "isosceles:n=24", 4_000  # the steps are those of a plan's short search
COUNTS = (1, 2, 4, 8)
ROUNDS = 3  # of each rate the best is kept: other programs only make it smaller
BATCH = 20
WRITER = """
import sys, time
from handloom.discover import Problem, word
from handloom.discover.records.store import Find, Store
place, first, count, batch = sys.argv[1], *map(int, sys.argv[2:])
problem = Problem(word(20), score=lambda letters: int(letters.sum()), name="bits")
store = Store.open(place, patience=600)
finds = [Find(tuple(int(bit) for bit in f"{i:020b}"), {"how": "search"}) for i in range(first, first + count)]
print(flush=True); input()
for i in range(0, count, batch):
    store.add_all(problem, finds[i:i + batch])
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--simulate", action="store_true", help="only the tables, from what was measured last")
    parser.add_argument("--only", choices=PARTS, help="measure one part, and keep what was measured of the others")
    asked = parser.parse_args()
    found = json.loads(MEASURED.read_text()) if MEASURED.exists() else {}
    for part in () if asked.simulate else (asked.only,) if asked.only else PARTS:
        found |= {"cores": os.cpu_count(), "problem": PROBLEM, "steps": STEPS, "batch": BATCH}
        found |= {name: better(one, found.get(name)) for name, one in PARTS[part]().items()}
        MEASURED.parent.mkdir(exist_ok=True)
        MEASURED.write_text(json.dumps(found, indent=1) + "\n")
    print("\n".join([*measured(found), "", *simulated(found)]))


def better(new: Any, old: Any) -> Any:
    """The better of two measurements: of rates, which are in tables, the larger one; of seconds the smaller.

    >>> better({"search": 3.0, "empty": 10.0}, {"search": 2.0, "empty": 20.0}), better(0.5, 0.25), better(0.5, None)
    ({'search': 3.0, 'empty': 20.0}, 0.25, 0.5)
    """
    if old is None:
        return new
    return {key: max(new[key], old[key]) for key in new} if isinstance(new, dict) else min(new, old)


def on_ray_workers() -> dict[str, Any]:
    found = {}
    for workers in COUNTS:
        with cluster(workers):
            found[f"ray {workers}"] = on_workers(problem_named(PROBLEM), workers)
        print(f"{workers} workers: {found[f'ray {workers}']}", flush=True)
    return found


def in_one_store() -> dict[str, Any]:
    found = {}
    for writers in COUNTS:
        found[f"writers {writers}"] = {str(batch): best_of(records_per_second, writers, batch) for batch in (1, BATCH)}
        print(f"{writers} writers: {found[f'writers {writers}']}", flush=True)
    return found


def service_times() -> dict[str, Any]:
    """CPU seconds of one search and of one outcome put into the pool; seconds of a step of training."""
    problem = problem_named(PROBLEM)
    searches = Searches(problem, [NONE])
    searches.attempt(Attempt(NONE, 0, 10))
    tasks = [Attempt(NONE, seed, STEPS) for seed in range(40)]
    outcomes: list[Any] = [searches.attempt(task) for task in tasks]
    found = {"search": min(cpu_seconds(lambda: [searches.attempt(task) for task in tasks]) for _ in range(ROUNDS)) / 40}
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger(problem, Store.open(f"{folder}/records.sqlite"), keep=500, seed=0)
        ledger.pool.add(outcomes[0].result.construction, 0, 0)
        add = lambda: [ledger.pool.add(one.result.construction, one.result.score, 0) for one in outcomes]  # noqa: E731
        found["pool"] = cpu_seconds(add) / len(tasks)
    proposer, strings = proposer_for(problem, [one.result.construction for one in outcomes])
    proposer.train(strings, 5)
    return found | {"training step": 1 / best_of(training_steps, proposer, strings)}


def training_steps(proposer: Proposer, strings: Any, count: int = 60) -> float:
    began = time.monotonic()
    proposer.train(strings, count)
    return count / (time.monotonic() - began)


def proposer_for(problem: Problem, constructions: list[Any]) -> tuple[Proposer, Any]:
    codec = Codec.of("sparse", [problem.space], constructions)
    return Proposer.of(codec, settings=Settings(rate=1e-3)), codec.strings(constructions, [])


@contextmanager
def cluster(workers: int) -> Iterator[None]:
    ray = import_ray()
    ray.init("local", num_cpus=workers, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    try:
        yield
    finally:
        ray.shutdown()


def on_workers(problem: Problem, workers: int) -> dict[str, float]:
    """Searches, empty tasks and samples per second."""
    executor = on_ray(problem, [NONE])
    rate_of(executor, 4 * workers, 10)  # every worker makes its tables
    found = {
        "search": best_of(rate_of, executor, 800, STEPS),
        "empty": best_of(empty_tasks, 1_000),
    }
    outcomes = executor.outcomes([Attempt(NONE, seed, 500) for seed in range(20)], never_stop)
    proposer, strings = proposer_for(problem, [one.result.construction for one in outcomes if one])
    proposer.train(strings, 2)
    proposer.propose(64 * workers, draw=drawing_on("ray"), at_once=2_000)
    found["samples"] = best_of(samples_per_second, proposer)
    executor.close()
    return found


def samples_per_second(proposer: Proposer, count: int = 2_000) -> float:
    began = time.monotonic()
    proposer.propose(count, seed=1, draw=drawing_on("ray"), at_once=count)
    return count / (time.monotonic() - began)


def best_of(rate: Callable[..., float], *what: Any) -> float:
    return max(rate(*what) for _ in range(ROUNDS))


def empty_tasks(count: int) -> float:
    ray = import_ray()
    send = ray.remote(num_cpus=1, max_retries=0)(nothing)
    began = time.monotonic()
    list(Tasks(ray).results(lambda _: send.remote(), count, never_stop))
    return count / (time.monotonic() - began)


def nothing() -> None:
    pass


def rate_of(executor: Any, count: int, steps: int) -> float:
    began = time.monotonic()
    list(executor.outcomes([Attempt(NONE, seed, steps) for seed in range(count)], never_stop))
    return count / (time.monotonic() - began)


def records_per_second(writers: int, batch: int, count: int = 200) -> float:
    """Records stored by that many programs at once in one store, in transactions of that size."""
    with tempfile.TemporaryDirectory() as folder:
        place = f"{folder}/records.sqlite"
        commands = [
            [sys.executable, "-c", WRITER, place, str(i * count), str(count), str(batch)] for i in range(writers)
        ]
        programs = [subprocess.Popen(one, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for one in commands]
        for program in programs:
            assert program.stdout is not None
            program.stdout.readline()
        began = time.monotonic()
        for program in programs:
            assert program.stdin is not None
            print(file=program.stdin, flush=True)
        failed = sum(program.wait() for program in programs)
        took = time.monotonic() - began
        if failed:
            raise SystemExit("a writer failed")
        assert len(Store.open(place).records()) == writers * count
        return writers * count / took


def measured(found: dict[str, Any]) -> list[str]:
    """The rates with 1, 2, 4 and 8 workers or writers."""
    rows = {
        f"workers: searches of {STEPS:,} steps, several to a task": ("ray", "search"),
        "workers: tasks that do nothing": ("ray", "empty"),
        "workers: samples of the model": ("ray", "samples"),
        "writers: records stored one by one": ("writers", "1"),
        "writers: records stored by twenties": ("writers", str(BATCH)),
    }
    cells = {name: [f"{found[f'{who} {count}'][what]:,.0f}" for count in COUNTS] for name, (who, what) in rows.items()}
    head = ["| per second | 1 | 2 | 4 | 8 |", "| --- | --: | --: | --: | --: |"]
    return head + [f"| {name} | {' | '.join(row)} |" for name, row in cells.items()]


def simulated(found: dict[str, Any]) -> list[str]:
    """Runs in rounds of 40 searches, as now, and in larger ones; with and without the model; one search to a task, and
    ten."""
    task = 1 / max(found[f"ray {workers}"]["empty"] for workers in COUNTS)
    store, search, pool = 1 / found["writers 1"]["1"], found["search"], found["pool"]
    learning = 300 * found["training step"] + 300 / found["ray 1"]["samples"]
    one = Times(search, task + pool, store, 0.0, stored=0.02)
    ten = Times(search, task + 10 * pool, store, 0.0, stored=0.2, together=10)
    head = "| run | workers | searches per second | workers busy | head | store | learner |"
    counts = (10, 100, 1_000)
    together = replace(ten, store=store / 20)
    runs = {
        "rounds of 40": (one, 40),
        "rounds of 40,000": (one, 40_000),
        "ten searches to a task": (ten, 4_000),
        "and stored together": (together, 4_000),
        "and searches ten times as long": (replace(together, search=10 * search), 4_000),
        "with the model, generations of 400": (replace(one, learning=learning), 400),
        "with the model, 40,000, ten to a task": (replace(together, learning=learning), 4_000),
    }
    rows = [row for name, (times, tasks) in runs.items() for row in table({name: times}, counts, tasks)]
    return [head, "| --- | --: | --: | --: | --: | --: | --: |", *rows]


PARTS: dict[str, Callable[[], dict[str, Any]]] = {
    "times": service_times,
    "workers": on_ray_workers,
    "writers": in_one_store,
}


def cpu_seconds(what: Callable[[], Any]) -> float:
    began = time.process_time()
    what()
    return time.process_time() - began


if __name__ == "__main__":
    main()
