"""The runs in a folder, at a glance, and what several of them have in common.

    for run in runs_in(Path("runs")):
        print(run.path, run.task, run.steps, run.loss, run.success)

A run is read from its run.json, the head of its checkpoint and the last line of its metrics: no model is loaded, so
hundreds are listed in a moment. What is damaged is listed too, with what is wrong.
"""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from handloom.core import HandloomError
from handloom.core.checks import is_number
from handloom.core.files import one_line, what_is
from handloom.learn.folder import COPIES, METRICS, Folder, unsealed

DEEP = 3  # folders in folders that are looked through
TAIL = 65_536  # bytes in which the last line of the metrics is looked for
SEED = "seed-"  # how the folders of one experiment with several seeds are called


@dataclass(frozen=True)
class Run:
    """What a run has come to. Of a run of learn: steps, the held-out loss (or that of what is trained on, if nothing is
    held out) and the success rate at its last evaluation; of a run of discover: generations and its best score."""

    path: Path
    kind: str = "learn"
    task: str | None = None  # None: it was made in Python
    steps: int | None = None
    goal: int | None = None  # how many steps it is to have
    loss: float | None = None
    success: float | None = None  # None for a text file, which has no rule
    best: float | None = None
    damaged: str | None = None  # what is wrong with it

    def to_json(self) -> dict[str, Any]:
        return {"run": str(self.path), **{k: v for k, v in vars(self).items() if k != "path"}}


def runs_in(folder: Path) -> list[Run]:
    """All runs in a folder and in its folders, by name; or the run that the folder itself is."""
    if what_is(folder) != "folder":
        raise HandloomError(f"{folder} is not a folder of runs; handloom learn makes some in runs/")
    return [read_run(path) for path in run_folders(folder)]


def run_folders(folder: Path, deep: int = DEEP) -> Iterator[Path]:
    if what_is(folder / "run.json") == "file":
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
    try:
        about = unsealed(json.loads((path / "run.json").read_text("utf-8")), Folder(path).copies())
        if not isinstance(about.get("settings"), dict):
            raise ValueError("run.json has no settings")
        last = last_line(path / METRICS)
        return read_discovery(path, about, last) if "problem" in about else read_learning(path, about, last)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        return Run(path, damaged=one_line(error))


def read_learning(path: Path, about: dict[str, Any], last: dict[str, Any]) -> Run:
    task = about["task"]
    has_rule = not (task or "").startswith(COPIES[0])
    loss = last.get("held_out") if last.get("held_out") is not None else last.get("trained_on")
    return Run(
        path,
        "learn",
        about.get("experiment") or about.get("given") or task,
        steps=step_of(path, last),
        goal=about["settings"].get("steps"),
        loss=number(loss),
        success=number(last.get("success")) if has_rule else None,
    )


def read_discovery(path: Path, about: dict[str, Any], last: dict[str, Any]) -> Run:
    steps = last["generation"] + 1 if last else 0
    return Run(path, "discover", about["problem"], steps, best=number(last.get("best")), loss=number(last.get("loss")))


def number(value: Any) -> float | None:
    return float(value) if is_number(value) else None


def step_of(path: Path, last: dict[str, Any]) -> int:
    """Where the last checkpoint stands, or before there is one, the last evaluation."""
    from safetensors import SafetensorError, safe_open

    checkpoint = path / "checkpoint.safetensors"
    if what_is(checkpoint) != "file":
        return int(last.get("step", 0))
    try:
        with safe_open(checkpoint, framework="numpy") as file:
            return int(json.loads((file.metadata() or {})["where"])["step"])
    except SafetensorError as error:
        raise ValueError(f"checkpoint.safetensors: {error}") from error


def last_line(path: Path) -> dict[str, Any]:
    """The last whole line of a file of JSON lines; nothing, if there is none."""
    if what_is(path) != "file":
        return {}
    with open(path, "rb") as file:
        file.seek(max(0, path.stat().st_size - TAIL))
        lines = file.read().splitlines()
    for line in reversed(lines):
        try:
            found = json.loads(line)
        except ValueError:
            continue  # cut off when the run was killed
        if isinstance(found, dict):
            return found
        raise ValueError(f"{path.name}: each line must be a JSON object")
    if lines:
        raise ValueError(f"{path.name} has no line that is JSON")
    return {}


@dataclass(frozen=True)
class Spread:
    """Several values of one thing: their mean, their standard deviation (of a sample), the least and the largest."""

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

    def told(self, form: str) -> str:
        give = "" if self.deviation is None else f" ± {self.deviation:{form}}"
        return f"{self.mean:{form}}{give} ({self.least:{form}} to {self.most:{form}})"


def spreads(runs: Sequence[Run]) -> dict[str, Spread]:
    """Of the loss and the success of several runs, as far as they have them."""
    found = {}
    for name in ("loss", "success"):
        values = [value for run in runs if (value := getattr(run, name)) is not None]
        if values:
            found[name] = Spread.of(values)
    return found
