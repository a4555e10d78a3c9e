"""A run of training as `learn` and `resume` show it: while it runs, and what came of it."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from handloom.cli.arguments import print_json

if TYPE_CHECKING:
    from handloom.cli.seed_runs import Open
    from handloom.learn.training import Report, Training, Watch


def reopener(steps: int | None, device: str | None, engine: str | None) -> "Open":
    """A function that opens an existing run, to train it further."""
    from handloom.learn.api import opened

    return lambda path: opened(path, steps, device or best_device(), engine)


GPUS = ("/dev/nvidiactl", "/dev/dxg", "/dev/kfd")  # made by the drivers of NVIDIA, Windows, AMD


def best_device() -> str:
    """cuda if torch finds a GPU. torch, which takes a second to load, is asked only where a driver is installed."""
    if not any(Path(path).exists() for path in GPUS):
        return "cpu"
    try:
        import torch
    except ModuleNotFoundError:
        return "cpu"
    return "cuda" if torch.cuda.is_available() else "cpu"


def board_of(path: Path) -> "Watch":
    from handloom.learn.tensorboard import board

    return board(path)


def both(one: "Watch", other: "Watch") -> "Watch":
    def watch(report: "Report") -> None:
        one(report)
        other(report)

    return watch


def run_and_report(training: "Training", tensorboard: bool, as_json: bool) -> int:
    """Run it, and in the first process show it and its result; the command's exit code."""
    if not training.processes.first:
        training.run()
        return 0
    run_and_show(training, tensorboard)
    folder = training.folder
    assert folder is not None
    if as_json:
        print_json(result_of(training))
    else:
        print(sentence_of(training))
    if training.stop:
        print(f"stopped at step {training.where.step:,}; handloom resume {folder.path} continues", file=sys.stderr)
        return 130
    if training.where.step < training.settings.steps or training.began == training.where.step:
        why = "by --until or --patience" if training.is_over() else "already done"
        print(f"ended at step {training.where.step:,}, {why}; handloom resume --steps N trains more", file=sys.stderr)
    return 0


def run_and_show(training: "Training", tensorboard: bool) -> None:
    """Run it, and show its progress."""
    from handloom.cli.live.training import TrainingView

    folder, data = training.folder, training.data
    assert folder is not None
    with TrainingView(str(folder.path), str(training.choice), str(data), data.loss_of) as view:
        training.watch = both(view, board_of(folder.path)) if tensorboard else view
        training.run()


def result_of(training: "Training") -> dict[str, Any]:
    """The result of a run, for --json."""
    assert training.folder is not None
    assert training.evaluation is not None
    return {
        "run": str(training.folder.path),
        "steps": training.where.step,
        "measured": training.measured,
        "loss": training.held_out_loss,
        **training.evaluation.to_json(),
        "data": training.data.to_json(),
        "seconds": round(training.where.seconds, 1),
        "engine": training.choice.name,
    }


def sentence_of(training: "Training") -> str:
    """The result of a run in one line."""
    assert training.folder is not None
    before = f"; at step {training.measured:,}:" if training.measured < training.where.step else ","
    loss = f"{training.data.loss_of.replace(' ', '-')} loss {training.held_out_loss:.4f}"
    return f"{training.folder.path}: {training.where.step:,} steps{before} {loss}, {training.evaluation}"
