"""The control: is it the transformer that helps? The same problem with it and without it, at equal CPU time.

Both run with the same seeds, one after the other, each until the process has used the given CPU time, of all its
threads. The mean difference comes with its standard error and with the probability of one as large by chance: of all
ways to exchange with and without within the seeds, the share whose mean is at least as far from 0.
"""

import os
import statistics
import tempfile
import time
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any

from handloom.core import HandloomError
from handloom.discover.catalogue import problem_named
from handloom.discover.loop.plan import Plan
from handloom.discover.loop.setup import Setup, Watch, ignore
from handloom.discover.loop.start import Discovery
from handloom.discover.loop.state import State
from handloom.discover.problem import Number, Problem
from handloom.discover.records.store import Store

MOST_SIGNS = 14  # seeds up to which all 2^seeds ways to exchange are tried; more would take seconds


@dataclass(frozen=True)
class Trial:
    """One run of the comparison."""

    seed: int
    model: bool
    best: Number | None
    reached: float | None  # seconds until the best was found
    by_model: bool  # whether it came from a proposal of the model
    generations: int
    cpu: float  # seconds of all threads together


@dataclass(frozen=True)
class Comparison:
    """All trials, and what they show."""

    problem: str
    seconds: float
    trials: tuple[Trial, ...]
    minimise: bool = False  # whether scores are to be small

    def bests(self, model: bool) -> list[Number]:
        return [trial.best or 0 for trial in self.trials if trial.model == model]

    @property
    def differences(self) -> list[Number]:
        """With the model minus without it, one number per seed; where scores are to be small, the other way round."""
        sign = -1 if self.minimise else 1
        return [sign * (a - b) for a, b in zip(self.bests(True), self.bests(False), strict=True)]

    @property
    def error(self) -> float | None:
        """The standard error of the mean difference; None if all differences are equal, which says nothing about how
        much they vary."""
        return float(statistics.stdev(self.differences) / len(self.differences) ** 0.5) or None

    @property
    def chance(self) -> float:
        return chance(self.differences)

    def to_json(self) -> dict[str, Any]:
        return {
            "problem": self.problem,
            "seconds": self.seconds,
            "with": self.bests(True),
            "without": self.bests(False),
            "difference": statistics.fmean(self.differences),
            "error": self.error,
            "chance": self.chance,
            "trials": [asdict(trial) for trial in self.trials],
        }

    def __str__(self) -> str:
        lines = [f"{self.problem}, {self.seconds:g} s of all cores each:"]
        for model, word in ((True, "with the model"), (False, "search alone")):
            bests = self.bests(model)
            lines.append(f"  {word:15} {' '.join(map(str, bests)):30}  mean {statistics.fmean(bests):.2f}")
        by_model, seeds = sum(trial.by_model for trial in self.trials), len(self.differences)
        even = f"with each of {seeds} seeds, too few to tell the uncertainty"
        error = even if self.error is None else f"± {self.error:.2f} (standard error of {seeds} seeds)"
        lines.append(
            f"  difference {statistics.fmean(self.differences):+.2f} {error}; one as large"
            f" by chance: {self.chance:.0%}; the model led to the best in {by_model} of {seeds} runs"
        )
        return "\n".join(lines)


def chance(differences: list[Number]) -> float:
    """The probability of a mean as far from 0 if with and without are exchanged at random; exact up to 14 seeds.

    >>> chance([1, 1, 1, 1])
    0.125
    """
    seen = abs(sum(differences)) * (1 - 1e-9)
    ways = list(product((1, -1), repeat=min(MOST_SIGNS, len(differences))))
    signs = [way * (len(differences) // len(way) + 1) for way in ways]
    return statistics.fmean(abs(sum(s * d for s, d in zip(way, differences, strict=False))) >= seen for way in signs)


def compare(
    problem: str | Problem,
    seconds: float,
    seeds: int,
    choices: dict[str, Any],
    watch: Watch = ignore,
) -> Comparison:
    """Both ways with each of the seeds; `seconds` are of a machine with all its cores at work."""
    if seeds < 2:
        raise HandloomError(f"seeds={seeds}: an uncertainty needs 2 seeds or more")
    known = problem_named(problem) if isinstance(problem, str) else problem
    order = [(seed, model) for seed in range(seeds) for model in ((True, False) if seed % 2 else (False, True))]
    trials = [
        trial(known, Plan.from_json(choices | {"seed": seed, "model": model}), seconds, watch) for seed, model in order
    ]
    ordered = tuple(sorted(trials, key=lambda one: (one.seed, not one.model)))
    return Comparison(known.name, seconds, ordered, known.minimise)


def cpu_clock() -> float:
    """CPU time of all threads, in seconds of all cores."""
    return time.process_time() / (os.cpu_count() or 1)


def trial(problem: Problem, plan: Plan, seconds: float, watch: Watch) -> Trial:
    """One run, with a store of its own, so that nothing is known before."""
    with tempfile.TemporaryDirectory() as folder:
        store = Store.open(Path(folder) / "records.sqlite")
        setup = Setup(problem=problem, plan=plan, store=store, seconds=seconds, now=cpu_clock, watch=watch)
        run = Discovery(setup, State.new(setup)).run()
    if run.halted:  # a run that was cut short cannot be compared
        raise KeyboardInterrupt
    best = run.best
    return Trial(
        seed=plan.seed,
        model=plan.model,
        best=best.score if best else None,
        reached=best.origin.get("seconds") if best else None,
        by_model=best is not None and best.origin["how"] == "model",
        generations=run.generation,
        cpu=round(run.elapsed() * (os.cpu_count() or 1), 1),
    )
