"""The native engine against makemore and against the processor, in one run.

    git clone https://github.com/karpathy/makemore
    python benchmarks/native.py makemore/makemore.py                everything, about 20 minutes
    python benchmarks/native.py --only speed                        what needs no makemore

Against makemore as in learn.py: same model, same strings, both sides in turn, and the median of the rounds' ratios.
Against the processor: the operations per second that a step needs, without padding and masked scores, as a share of
what PyTorch reaches on matrices of 1024 × 1024, measured in turn with the steps. Also two threads against one.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from handloom.core import Config
from handloom.learn.data import Strings, rows_of_step
from handloom.learn.learner import Transformer
from handloom.learn.native_trainer import NativeTrainer
from handloom.learn.settings import Settings
from learn import CASES, load_makemore, memory, run_case, time_to_success

SIZES = {  # shortest, longest, vocabulary, d_model, layers, heads
    "makemore's, strings of 30 to 40": (30, 40, 3, 64, 4, 4),
    "makemore's, strings of 50 to 200": (50, 200, 3, 64, 4, 4),
    "d_model 128, 6 layers": (30, 40, 3, 128, 6, 8),
    "d_model 256, 4 layers": (30, 40, 3, 256, 4, 8),
    "vocabulary 100": (30, 40, 100, 64, 4, 4),
    "strings of 512": (512, 512, 3, 64, 4, 4),
}
SECONDS = 0.5  # per measurement


class Steps:
    """Trains a model of a given size on random strings."""

    def __init__(self, shortest: int, longest: int, vocab: int, d_model: int, layers: int, heads: int) -> None:
        rng = np.random.default_rng(0)
        lengths = rng.integers(shortest, longest + 1, 500)
        self.strings = Strings.of([([0], rng.integers(0, vocab, n).tolist()) for n in lengths])
        self.config = Config(
            vocab=vocab,
            block=longest,
            d_model=d_model,
            layers=layers,
            heads=heads,
            d_head=d_model // heads,
            d_ff=4 * d_model,
            tied=False,
        )
        self.trainer = NativeTrainer(self.config, Transformer(self.config).start(0), Settings())
        self.steps = 0

    def speed(self) -> float:
        """Operations per second."""
        began, done = time.perf_counter(), 0.0
        while (spent := time.perf_counter() - began) < SECONDS:
            rows, rng = rows_of_step(self.strings, 32, 0, self.steps)
            self.trainer.step(self.strings, rows, rng, 5e-4)
            self.steps += 1
            done += self.operations(rows)
        return done / spent

    def operations(self, rows: np.ndarray[Any, Any]) -> float:
        """Operations of a step: in the forward two per token and weight of a matrix, and those of q · k and pattern · v
        for the keys that a query sees; in the backward twice as many."""
        c, T = self.config, (self.strings.lengths[rows] - 1).astype(float)
        forward = T * (12 * c.d_model**2 * c.layers + c.d_model * c.vocab) + c.layers * c.d_model * T * (T + 1)
        return float(6 * forward.sum())


def matrix_speed() -> float:
    """Operations per second of PyTorch's product of two large matrices, measured for as long as the steps."""
    a = torch.randn(1024, 1024)
    a @ a
    began, done = time.perf_counter(), 0
    while (spent := time.perf_counter() - began) < SECONDS:
        a @ a
        done += 2 * 1024**3
    return done / spent


def share_of_the_processor(rounds: int) -> None:
    for name, sizes in SIZES.items():
        steps = Steps(*sizes)
        steps.speed()
        pairs = [(steps.speed(), matrix_speed()) for _ in range(rounds)]
        shares = [ours / whole for ours, whole in pairs]
        print(
            f"{name}: {statistics.median(shares):.0%} of the matrix speed (rounds: {min(shares):.0%} to "
            f"{max(shares):.0%}); at best {max(a for a, _ in pairs) / 1e9:.0f} of {max(b for _, b in pairs) / 1e9:.0f} "
            f"GFLOP/s",
            flush=True,
        )


def with_threads(count: int, name: str) -> Steps:
    os.environ["OMP_NUM_THREADS"] = str(count)
    try:
        return Steps(*SIZES[name])
    finally:
        del os.environ["OMP_NUM_THREADS"]


def scaling(rounds: int) -> None:
    for name in list(SIZES)[:2]:
        one, two = with_threads(1, name), with_threads(2, name)
        ratios = [two.speed() / one.speed() for _ in range(rounds)]
        span = f"{min(ratios):.2f} to {max(ratios):.2f}"
        print(f"{name}: two threads {statistics.median(ratios):.2f} times one (rounds: {span})", flush=True)


def import_time() -> None:
    """The time to import the engine and load its library in a new process that has already imported NumPy."""
    code = (
        "import numpy, time; t = time.perf_counter(); from handloom.core import native; native.library(); "
        "print(time.perf_counter() - t)"
    )
    best = min(float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(5))
    print(f"import of the engine: {best:.3f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("makemore", type=Path, nargs="?", help="makemore.py of a checkout")
    parser.add_argument("--only", choices=["speed", *CASES, "time", "memory"])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--samples", type=int, default=1000)
    given = parser.parse_args()
    if given.only in (None, "memory"):
        memory("native")  # first, before this process has children of its own
    if given.only in (None, "speed"):
        import_time()
        share_of_the_processor(given.rounds)
        scaling(given.rounds)
    if given.makemore is None:
        return
    makemore = load_makemore(given.makemore)
    for name in CASES:
        if given.only in (None, name):
            run_case(makemore, name, given.rounds, given.samples, "native")
    if given.only in (None, "time"):
        time_to_success(makemore, "native")


if __name__ == "__main__":
    main()
