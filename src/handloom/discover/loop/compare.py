"""A fair trial: does the transformer help? The same problem with it and with what it must beat, at equal CPU time.

    model       proposals of the transformer
    none        search alone, which also starts from the pool
    random      proposals of random elements                    the nulls (model/nulls.py): the same loop,
    marginals   proposals as frequent as in the pool            and nothing but the proposals differs
    redrawn     constructions of the pool, a fifth drawn again

All run with the same seeds, one after the other, each until the process has used the given CPU time, of all its
threads. For each arm the mean difference comes with its standard error and with an exact probability by chance: of all
ways to exchange the model and the arm within the seeds, the share whose mean difference is at least as large. The model
helps only if that is at most 5 % for every arm.
"""

import os
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any

from handloom.core import HandloomError
from handloom.discover.catalogue import problem_named
from handloom.discover.loop.plan import MODEL_ITSELF, PROPOSALS, Plan
from handloom.discover.loop.setup import Setup, Watch, ignore
from handloom.discover.loop.start import Discovery
from handloom.discover.loop.state import State
from handloom.discover.problem import Number, Problem
from handloom.discover.records.store import Store

MOST_SIGNS = 14  # seeds up to which all 2^seeds ways to exchange are tried; more would take seconds
RARE = 0.05  # the probability by chance at which a difference counts
ENOUGH = 5  # seeds with which a difference can be that rare
ARMS = {
    MODEL_ITSELF: "with the model",
    "none": "search alone",
    "random": "random starts",
    "marginals": "the pool's marginals",
    "redrawn": "the pool, a fifth redrawn",
}


@dataclass(frozen=True)
class Trial:
    """One run of the comparison."""

    seed: int
    arm: str
    best: Number | None
    reached: float | None  # seconds until the best was found
    by_proposal: bool  # whether it came from a proposal
    generations: int
    cpu: float  # seconds of all threads together
    held_out: float | None = None  # the model's loss on constructions that it was not trained on,
    marginals: float | None = None  # and that of the pool's marginals, in nats per construction


@dataclass(frozen=True)
class Difference:
    """The model less another arm, one number per seed; where scores are to be small, the other way round."""

    arm: str
    differences: tuple[Number, ...]

    @property
    def mean(self) -> float:
        return statistics.fmean(self.differences)

    @property
    def error(self) -> float | None:
        """The standard error of the mean; None if all differences are equal, which says nothing about how much they
        vary."""
        return float(statistics.stdev(self.differences) / len(self.differences) ** 0.5) or None

    @property
    def chance(self) -> float:
        return chance(self.differences)

    def to_json(self) -> dict[str, Any]:
        return {"differences": list(self.differences), "mean": self.mean, "error": self.error, "chance": self.chance}


@dataclass(frozen=True)
class Comparison:
    """All trials, and what they show."""

    problem: str
    seconds: float
    trials: tuple[Trial, ...]
    minimise: bool = False  # whether scores are to be small

    def bests(self, arm: str) -> list[Number]:
        return [trial.best or 0 for trial in self.trials if trial.arm == arm]

    @property
    def seeds(self) -> int:
        return len(self.bests(MODEL_ITSELF))

    @property
    def against(self) -> list[Difference]:
        sign = -1 if self.minimise else 1
        model = self.bests(MODEL_ITSELF)
        return [
            Difference(arm, tuple(sign * (a - b) for a, b in zip(model, self.bests(arm), strict=True)))
            for arm in dict.fromkeys(trial.arm for trial in self.trials)
            if arm != MODEL_ITSELF
        ]

    @property
    def helps(self) -> bool | None:
        """Whether the model beats every other arm; None if there are too few seeds for any result to show it."""
        if 0.5**self.seeds > RARE:
            return None
        return all(one.chance <= RARE for one in self.against)

    def to_json(self) -> dict[str, Any]:
        return {
            "problem": self.problem,
            "seconds": self.seconds,
            "arms": {arm: self.bests(arm) for arm in dict.fromkeys(trial.arm for trial in self.trials)},
            "against": {one.arm: one.to_json() for one in self.against},
            "helps": self.helps,
            "trials": [asdict(trial) for trial in self.trials],
        }

    def __str__(self) -> str:
        lines = [f"{self.problem}, {self.seconds:g} s of all cores each, {self.seeds} seeds:"]
        against = {one.arm: one for one in self.against}
        for arm in dict.fromkeys(trial.arm for trial in self.trials):
            bests = self.bests(arm)
            words = f"  {ARMS[arm]:25} {' '.join(map(str, bests)):{5 * self.seeds}}  mean {statistics.fmean(bests):.2f}"
            lines.append(words + (f"  {beside(against[arm])}" if arm in against else ""))
        return "\n".join([*lines, *self.learned(), self.sentence()])

    def learned(self) -> list[str]:
        """Whether the model learned more of the pool than the frequency of each cell."""
        both = [(one.held_out, one.marginals) for one in self.trials if one.held_out and one.marginals]
        if not both:
            return []
        model, marginals = (statistics.fmean(values) for values in zip(*both, strict=True))
        return [f"  on held-out constructions the model's loss is {model:.1f} nats, the marginals' {marginals:.1f}"]

    def sentence(self) -> str:
        if self.helps is None:
            return f"  {self.seeds} seeds are too few to show whether the model helps; it takes {ENOUGH}"
        if self.helps:
            return "  the model helps: it is better than each of the others"
        names = [ARMS[one.arm] for one in self.against if one.chance > RARE]
        return f"  the model does not help: it is not shown to be better than {', '.join(names)}"


def beside(one: Difference) -> str:
    """The difference from an arm, for a line of the table."""
    error = "" if one.error is None else f" ± {one.error:.2f}"
    return f"model {one.mean:+.2f}{error}, as much by chance: {one.chance:.0%}"


def chance(differences: Sequence[Number]) -> float:
    """The probability of a mean as large if the two are exchanged at random; exact up to 14 seeds.

    >>> chance([1, 1, 1, 1])
    0.0625
    """
    seen = sum(differences) - 1e-9 * sum(map(abs, differences))
    ways = list(product((1, -1), repeat=min(MOST_SIGNS, len(differences))))
    signs = [way * (len(differences) // len(way) + 1) for way in ways]
    return statistics.fmean(sum(s * d for s, d in zip(way, differences, strict=False)) >= seen for way in signs)


def compare(
    problem: str | Problem,
    seconds: float,
    seeds: int,
    choices: dict[str, Any],
    watch: Watch = ignore,
) -> Comparison:
    """All arms with each of the seeds; `seconds` are of a machine with all its cores at work."""
    if seeds < 2:
        raise HandloomError(f"seeds={seeds}: an uncertainty needs 2 seeds or more")
    known = problem_named(problem) if isinstance(problem, str) else problem
    arms = list(ARMS)
    order = [(seed, arm) for seed in range(seeds) for arm in arms[seed % len(arms) :] + arms[: seed % len(arms)]]
    trials = [trial(known, plan_of(arm, seed, choices), seconds, watch) for seed, arm in order]
    ordered = tuple(sorted(trials, key=lambda one: (one.seed, arms.index(one.arm))))
    return Comparison(known.name, seconds, ordered, known.minimise)


def plan_of(arm: str, seed: int, choices: dict[str, Any]) -> Plan:
    alone = {"model": False} if arm == "none" else {"proposals": arm}
    return Plan.from_json(choices | {"seed": seed} | alone)


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
    best, model = run.best, run.state.model
    return Trial(
        seed=plan.seed,
        arm=plan.proposals if plan.model else "none",
        best=best.score if best else None,
        reached=best.origin.get("seconds") if best else None,
        by_proposal=best is not None and best.origin["how"] in PROPOSALS,
        generations=run.generation,
        cpu=round(run.elapsed() * (os.cpu_count() or 1), 1),
        held_out=model.held_out,
        marginals=model.marginals,
    )
