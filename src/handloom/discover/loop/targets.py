"""Time to target: the CPU seconds until a run reaches a score, for each of several seeds.

    with begin_targets("isosceles:n=16", 28, seeds=10, how={"seconds": 60.0}) as targets:
        for trial in targets.run(watch=print):
            print(trial.seed, trial.cpu)
    write_drawing(target_curve(targets.result), Path("curve.svg"))    # of view/

Each seed has a store of its own, so that nothing is known before; a limit of time is of CPU time too. What is compiled
is compiled before the first seed, and so counts for none. The folder has targets.json, with the trials so far: resumed,
the seed that was cut short begins again.
"""

import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from handloom.core import HandloomError
from handloom.core.files import what_is
from handloom.discover.catalogue import problem_named
from handloom.discover.loop.plan import Plan
from handloom.discover.loop.setup import Setup, Watch, ignore
from handloom.discover.loop.start import Discovery, PathText
from handloom.discover.loop.state import State, reached
from handloom.discover.loop.sweep import copied, from_here
from handloom.discover.problem import Number, Problem
from handloom.discover.records.store import Store
from handloom.runs import Folder
from handloom.runs.folder import damaged

TARGETS = "targets.json"
WARM = {"attempts": 8, "steps": 200, "model": False}  # a run that has everything compiled


@dataclass(frozen=True)
class SeedTime:
    """One seed: the CPU seconds that it took, whether the score was reached, and the best score."""

    seed: int
    reached: bool
    cpu: float
    seconds: float  # of a clock on the wall
    best: Number | None


@dataclass(frozen=True)
class TimesToTarget:
    """The trials of a problem and a score."""

    problem: str
    target: Number
    limit: float | None  # CPU seconds of each seed
    trials: tuple[SeedTime, ...] = ()

    @property
    def times(self) -> list[float]:
        """The CPU seconds of the seeds that reached the score, in ascending order."""
        return sorted(trial.cpu for trial in self.trials if trial.reached)

    @property
    def curve(self) -> list[tuple[float, float]]:
        """After how many CPU seconds which share of all seeds had reached it."""
        return [(cpu, (i + 1) / len(self.trials)) for i, cpu in enumerate(self.times)]

    @property
    def median(self) -> float | None:
        """CPU seconds by which half of the seeds had reached it; None if fewer did."""
        return next((cpu for cpu, share in self.curve if share >= 0.5), None)

    def to_json(self) -> dict[str, Any]:
        return {
            "problem": self.problem,
            "target": self.target,
            "limit": self.limit,
            "reached": len(self.times),
            "median": self.median,
            "curve": self.curve,
            "trials": [asdict(trial) for trial in self.trials],
        }

    def __str__(self) -> str:
        count, reached = len(self.trials), len(self.times)
        half = "" if self.median is None else f"; half of them within {self.median:.3g} CPU seconds"
        most = f", the slowest in {self.times[-1]:.3g}" if reached else ""
        return f"{self.problem}: {self.target} reached with {reached} of {count} seeds{half}{most}"


@dataclass
class Targets:
    """The trials of several seeds, done and still to do."""

    folder: Folder
    asked: str
    target: Number
    seeds: int
    how: dict[str, Any]  # seconds, and the choices of a plan
    trials: list[SeedTime] = field(default_factory=list)
    halted: bool = False  # by Ctrl-C

    def __enter__(self) -> "Targets":
        return self

    def __exit__(self, *error: object) -> None:
        self.folder.release()

    @property
    def result(self) -> TimesToTarget:
        return TimesToTarget(problem_named(self.asked).name, self.target, self.how.get("seconds"), tuple(self.trials))

    def run(self, watch: Watch = ignore) -> Iterator[SeedTime]:
        """Run the seeds that are left."""
        problem, known = problem_named(self.asked), {trial.seed for trial in self.trials}
        choices = {key: value for key, value in self.how.items() if key != "seconds"}
        left = [seed for seed in range(self.seeds) if seed not in known]
        if left and trial_of(problem, Plan.from_json(choices | WARM), None, None, ignore) is None:
            self.halted = True
        for seed in left:
            if self.halted:
                return
            plan = Plan.from_json(choices | {"seed": seed})
            trial = trial_of(problem, plan, self.target, self.how.get("seconds"), watch)
            if trial is None:
                self.halted = True
                return
            self.trials.append(trial)
            self.save()
            yield trial

    def save(self) -> None:
        values = {"asked": self.kept_name, "seeds": self.seeds, "how": self.how, **self.result.to_json()}
        self.folder.write_json(TARGETS, values)

    @property
    def kept_name(self) -> str:
        """The problem's name as it is found from the folder."""
        inside = f"{self.folder.path}/"
        return self.asked.removeprefix(inside)


def trial_of(
    problem: Problem, plan: Plan, target: Number | None, seconds: float | None, watch: Watch
) -> SeedTime | None:
    """One run until the target, with a store of its own; None if Ctrl-C ended it. Without a target, one generation."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        store = Store.open(Path(folder) / "records.sqlite")
        setup = Setup(
            problem=problem,
            plan=plan,
            store=store,
            seconds=seconds,
            generations=1 if target is None else None,
            until=target,
            now=time.process_time,
            watch=watch,
        )
        run = Discovery(setup, State.new(setup)).run()
    if run.halted:
        return None
    best = run.best.score if run.best else None
    return SeedTime(
        plan.seed, reached(setup, run.state), round(run.elapsed(), 3), round(time.monotonic() - began, 3), best
    )


def begin_targets(
    asked: str, target: Number, seeds: int, how: Mapping[str, Any], folder: PathText | None = None
) -> Targets:
    """New trials, not yet started; `how` has a limit in seconds for each, if any, and the choices of a plan."""
    if seeds < 1:
        raise HandloomError(f"seeds={seeds}: nothing to run (expected 1 or more); give more")
    choices = {key: value for key, value in how.items() if key != "seconds"}
    if "seed" in choices:
        raise HandloomError(f"seed={choices['seed']}: the seeds are 0 to {seeds - 1}; leave it out")
    Plan.from_json(choices)
    problem_named(asked)
    made = Folder.create(None if folder is None else Path(folder), asked)
    try:
        targets = Targets(made, from_here(made.path, copied(made, asked)), int_if_whole(target), seeds, dict(how))
        targets.save()
    except BaseException:
        made.remove()
        raise
    return targets


def int_if_whole(target: Number) -> Number:
    return int(target) if float(target).is_integer() else target


def is_targets(folder: Path) -> bool:
    return what_is(folder / TARGETS) == "file"


def reopen_targets(folder: PathText) -> Targets:
    """Trials as they were left, not yet started."""
    kept = Folder(Path(folder))
    kept.hold()
    about = kept.read_json(TARGETS)
    try:
        trials = [SeedTime(**trial) for trial in about["trials"]]
        asked = from_here(kept.path, about["asked"])
        return Targets(kept, asked, about["target"], about["seeds"], about["how"], trials)
    except (KeyError, TypeError) as error:
        raise damaged(kept.path / TARGETS, f"{error}") from error
