"""The listing of runs: what each has reached, and the mean and spread of several.

    for run in runs_in(Path("runs")):
        print(run.path, run.task, run.steps, run.loss, run.success)

A run is read from its run.json, the head of its checkpoint and the last line of its metrics. No model is loaded, so
hundreds are listed in a moment. Damaged runs are listed too, with what is wrong.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from handloom.core import HandloomError
from handloom.core.checks import is_number
from handloom.core.errors import one_line, shown
from handloom.core.files import what_is
from handloom.runs.folder import ABOUT, STRINGS_COPY, Folder

DEEP = 3  # levels of folders that are searched for runs
SEED = "seed-"  # prefix of the folders of one experiment with several seeds


@dataclass(frozen=True)
class Run:
    """What a run has reached. A run of learn: steps, and at its last evaluation the held-out loss (or that of the
    training set, if nothing is held out) and the success rate. A run of discover: generations and its best score."""

    path: Path
    kind: str = "learn"
    task: str | None = None  # None: it was defined in Python
    steps: int | None = None
    goal: int | None = None  # steps it is meant to take
    loss: float | None = None
    success: float | None = None  # None for a text file: it has no rule
    best: float | None = None
    damaged: str | None = None  # what is wrong with it; it may still have the values of an earlier line

    def to_json(self) -> dict[str, Any]:
        return {"run": str(self.path), **{k: v for k, v in vars(self).items() if k != "path"}}


def runs_in(folder: Path) -> list[Run]:
    """All runs in a folder and its subfolders, by name; or the run that the folder itself is."""
    if what_is(folder) != "folder":
        text = f"{folder} is not a folder of runs (expected an existing folder); train a model first"
        raise HandloomError(text, ("train", str(folder)))
    return [read_run(path) for path in run_folders(folder)]


def run_folders(folder: Path, deep: int = DEEP) -> Iterator[Path]:
    if what_is(folder / ABOUT) == "file":
        yield folder
    elif deep:
        try:
            inside = sorted((path for path in folder.iterdir() if path.is_dir()), key=by_number)
        except OSError:
            return
        for path in inside:
            yield from run_folders(path, deep - 1)


def by_number(path: Path) -> tuple[str, int, str]:
    """strings-2 before strings-10."""
    name, _, number = path.name.rpartition("-")
    return (name, int(number), "") if number.isdecimal() else (path.name, 0, "")


def seed_folders(folder: Path) -> list[Path]:
    """The runs of one experiment with several seeds, if the folder is one."""
    return [path for path in run_folders(folder, 1) if path.parent == folder and path.name.startswith(SEED)]


def read_run(path: Path) -> Run:
    """What a run has reached, or what is wrong with it."""
    folder = Folder(path)
    try:
        about, (last, problem) = folder.about(needed=["settings"]), folder.last_line()
        if about["kind"] not in KINDS:
            raise HandloomError(f"{ABOUT}: no kind of run {shown(about['kind'])} (expected {' or '.join(KINDS)})")
        return replace(KINDS[about["kind"]](folder, about, last), damaged=problem and problem.removeprefix(f"{path}/"))
    except HandloomError as error:
        return Run(path, damaged=str(error).removeprefix(f"{path}/"))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        return Run(path, damaged=f"{ABOUT} or metrics.jsonl is damaged: {one_line(error)}")


def of_learn(folder: Folder, about: dict[str, Any], last: dict[str, Any]) -> Run:
    task, position = about["task"], folder.position()
    has_rule = not (task or "").startswith(STRINGS_COPY)
    loss = last.get("held_out") if last.get("held_out") is not None else last.get("trained_on")
    return Run(
        folder.path,
        "learn",
        about.get("experiment") or about.get("given") or task,
        steps=int(position["step"] if position else last.get("step", 0)),
        goal=about["settings"].get("steps"),
        loss=number(loss),
        success=number(last.get("success")) if has_rule else None,
    )


def of_discover(folder: Folder, about: dict[str, Any], last: dict[str, Any]) -> Run:
    generations = last["generation"] + 1 if last else 0
    best, loss = number(last.get("best")), number(last.get("loss"))
    return Run(folder.path, "discover", about["problem"], generations, best=best, loss=loss)


KINDS: dict[str, Callable[[Folder, dict[str, Any], dict[str, Any]], Run]] = {"learn": of_learn, "discover": of_discover}


def number(value: Any) -> float | None:
    return float(value) if is_number(value) else None


@dataclass(frozen=True)
class Spread:
    """Several values of one quantity: mean, standard deviation (of a sample), least and largest."""

    mean: float
    deviation: float | None  # None for one value
    least: float
    most: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        mean = math.fsum(values) / len(values)
        squares = math.fsum((value - mean) ** 2 for value in values)
        deviation = math.sqrt(squares / (len(values) - 1)) if len(values) > 1 else None
        return cls(mean, deviation, min(values), max(values))

    def text(self, form: str) -> str:
        give = "" if self.deviation is None else f" ± {self.deviation:{form}}"
        return f"{self.mean:{form}}{give} ({self.least:{form}} to {self.most:{form}})"


def spreads(runs: Sequence[Run]) -> dict[str, Spread]:
    """The spread of the loss and of the success of several runs, of those that have them."""
    found = {}
    for name in ("loss", "success"):
        values = [value for run in runs if (value := getattr(run, name)) is not None]
        if values:
            found[name] = Spread.of(values)
    return found
