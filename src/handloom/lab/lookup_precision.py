"""How much of a random table the tied lookup construction holds, by its width: figure 3.8 of The Art of Transformer
Programming, and what the best sum of scores could hold (its exercise 9).

    results = evaluate(progress=print)          # minutes on all cores; evaluate(**QUICK) takes a second
    lookup_figure.draw(results, "precision.png")

Precision is computed from the tokens and matrices, which give what the built transformer outputs, as a test checks.
A run stops once every entry is right.
"""

import multiprocessing
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from handloom.core.arrays import Array
from handloom.core.callbacks import Progress
from handloom.core.checks import whole
from handloom.lab.one_thread import use_one_thread
from handloom.tasks.lookup import Table, random_table
from handloom.write.book.lookup import Adam, optimise, precision

QUICK: dict[str, Any] = {"entries": (10, 30), "vocabs": (10, 100), "dims": (2, 5, 10), "runs": 2}


@dataclass(frozen=True)
class Precision:
    """What part of a table with this number of entries and tokens came out right, in each of several runs. The model is
    `dims` + 3 wide."""

    entries: int
    vocab: int
    dims: int
    runs: tuple[float, ...]


def evaluate(
    entries: Sequence[int] = (10, 100, 1000),
    vocabs: Sequence[int] = (10, 100, 1000),
    dims: Sequence[int] = (2, 3, 4, 5, 7, 10, 15, 20, 25, 30, 37),
    runs: int = 10,
    length: int = 5,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress | None = None,
) -> list[Precision]:
    """The precision for every number of entries, of tokens and of dimensions, in `runs` runs, each with a table and a
    beginning of its own. All cores work on it; the result does not depend on their number. A script calls this under
    `if __name__ == "__main__":`, since the processes load the script again, and imports it there too: what they load
    of NumPy with the script, before `evaluate` can limit it, multiplies with as many threads as there are cores."""
    whole("evaluate: runs", runs, 1)
    cases = list(product(entries, vocabs, dims))
    jobs = {(case, run): (*case, length, 1000 * seed + run) for case in cases for run in range(runs)}
    found: dict[tuple[tuple[int, int, int], int], float] = {}
    with pool(workers) as executor:
        # the large ones first, so that no core is left with one at the end
        order = sorted(jobs, key=lambda job: -job[0][0] * job[0][1])
        waiting = {executor.submit(precision_of_run, *jobs[job]): job for job in order}
        for done in as_completed(waiting):
            found[waiting[done]] = done.result()
            if progress:
                progress(len(found), len(jobs))
    return [Precision(*case, tuple(found[case, run] for run in range(runs))) for case in cases]


def precision_of_run(entries: int, vocab: int, dims: int, length: int, seed: int) -> float:
    """The precision of one run."""
    table = random_table(entries, vocab, length, seed)
    return precision(table, *optimise(table, dims, seed, margin=0.0))


@contextmanager
def pool(workers: int | None) -> Iterator[ProcessPoolExecutor]:
    """Processes with one thread each for matrix products, if they have not loaded NumPy with the caller's script: as
    many threads as there are cores would only wait for each other."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=spawn, initializer=use_one_thread) as executor:
        yield executor
        executor.shutdown(cancel_futures=True)


def additive_scores(table: Table, count_right: bool = False, iterations: int = 1000) -> Array:
    """The scores (entries, tokens) of a table's keys under free weights: one for every position, token there and value,
    added up over positions. The construction's scores are such sums, whatever its dimensions, up to a positive factor
    for each key; so this is what more dimensions could lead to.

    The weights are those of the greatest likelihood (which has no local optima), or, with `count_right`, some that
    make the expected number of right values large (which has)."""
    (n, length), V = table.keys.shape, len(table.vocab)
    X = np.eye(V)[table.keys].reshape(n, length * V)
    Y = np.eye(V)[table.values]
    W = np.zeros((length * V, V))
    step = Adam(W)
    for t in range(iterations):
        scores: Array = X @ W
        p = np.exp(scores - scores.max(-1, keepdims=True))
        p /= p.sum(-1, keepdims=True)
        weight = (p * Y).sum(-1, keepdims=True) if count_right else 1.0
        W -= 0.1 * (1 - t / iterations) * step(X.T @ (weight * (p - Y)) / n)
    return scores
