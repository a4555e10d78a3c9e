"""Several runs that differ only in their seed: `handloom learn TASK --seeds 5`, and its `handloom resume`.

Each has a folder of its own, made before the first run trains, so that whatever ends the command, all can be resumed.
"""

import shutil
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from handloom.cli.options import print_json

if TYPE_CHECKING:
    from handloom.learn.training import Training
    from handloom.runs.listing import Run

Prepare = Callable[[int], "Training"]  # from a seed
Open = Callable[[Path], AbstractContextManager["Training"]]  # from a run's folder, locked meanwhile


def begin_all(
    seeds: list[int], prepare: Prepare, path: Path | None, name: str, called: str, more: dict[str, str]
) -> Path:
    """A folder with a run for each seed, none of them trained yet."""
    from handloom.learn.api import in_new_folder
    from handloom.runs.folder import Folder
    from handloom.runs.listing import SEED, seed_folders

    check_alone()
    training = prepare(seeds[0])
    parent = Folder.create(path, called)
    try:
        for seed in seeds:
            training = training if seed == seeds[0] else prepare(seed)
            with in_new_folder(training, parent.path / f"{SEED}{seed}", name, more=more):
                training.save()
    except BaseException:  # none of them has been trained yet
        for folder in seed_folders(parent.path):
            shutil.rmtree(folder)
        parent.remove()
        raise
    return parent.path


def check_alone() -> None:
    from handloom.core import HandloomError
    from handloom.learn.processes import Processes

    if Processes().count > 1:
        raise HandloomError("several seeds are trained one after the other in one process; start without torchrun")


def train_all(parent: Path, opened: Open, tensorboard: bool, as_json: bool) -> int:
    """Train the unfinished runs one after the other, and show the results of all; returns the exit code."""
    from handloom.cli.live.training import run_and_show
    from handloom.runs.listing import read_run, seed_folders

    check_alone()
    folders = seed_folders(parent)
    for number, path in enumerate(folders, 1):
        with opened(path) as training:
            over = training.where.step >= training.settings.steps or training.is_over()
            if over and not training.is_due():
                print(f"{path}: done, at step {training.where.step:,}", file=sys.stderr)
                continue
            print(f"{path}: run {number} of {len(folders)}", file=sys.stderr)
            run_and_show(training, tensorboard)
        if training.stop:
            show(parent, [read_run(path) for path in folders[:number]], as_json)
            print(f"stopped in {path}; handloom resume {parent} resumes all unfinished runs", file=sys.stderr)
            return 130
    show(parent, [read_run(path) for path in folders], as_json)
    return 0


def show(parent: Path, runs: list["Run"], as_json: bool) -> None:
    """Print one line per run, and their mean and spread."""
    from handloom.runs.listing import spreads

    found = spreads(runs)
    if as_json:
        whole = {"run": str(parent), "steps": sum(run.steps or 0 for run in runs)}
        whole |= {name: found[name].mean if name in found else None for name in ("loss", "success")}
        print_json(whole | {"spread": {n: vars(s) for n, s in found.items()}, "runs": [run.to_json() for run in runs]})
        return
    for run in runs:
        loss = "" if run.loss is None else f", loss {run.loss:.4f}"
        success = "" if run.success is None else f", {run.success:.1%} right"
        print(f"{run.path}: {run.steps or 0:,} steps{loss}{success}")
    parts = [f"loss {found['loss'].text('.4f')}"] if "loss" in found else []
    parts += [f"right {found['success'].text('.1%')}"] if "success" in found else []
    measured = sum(run.loss is not None for run in runs)
    if parts:
        print(f"{parent}: mean ± standard deviation of {measured} runs (least to most): {', '.join(parts)}")
