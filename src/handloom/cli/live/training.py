"""A run of training as `learn` and `resume` show it: while it runs, and what came of it.

On a terminal it is a few lines that change, elsewhere a line per evaluation and at least every ten seconds.
"""

import sys
import time
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from handloom.cli.live.progress import PAUSE, REFRESH, duration, screen
from handloom.cli.options import print_json

if TYPE_CHECKING:
    from handloom.cli.seed_runs import Open
    from handloom.learn.training import Report, Training, Watch

SHOWN, WIDE = 5, 60  # samples; characters of the bar


def reopener(steps: int | None, device: str | None, engine: str | None) -> "Open":
    """A function that opens an existing run, to train it further."""
    from handloom.learn.api import opened
    from handloom.runs.job import best_device

    return lambda path: opened(path, steps, device or best_device(), engine)


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
        print_json(training.to_json())
    else:
        print(training.sentence())
    if training.stop:
        print(f"stopped at step {training.where.step:,}; handloom resume {folder.path} continues", file=sys.stderr)
        return 130
    if training.where.step < training.settings.steps or training.began == training.where.step:
        why = "by --until or --patience" if training.is_over() else "already done"
        print(f"ended at step {training.where.step:,}, {why}; handloom resume --steps N trains more", file=sys.stderr)
    return 0


def run_and_show(training: "Training", tensorboard: bool) -> None:
    """Run it, and show its progress."""
    folder, data = training.folder, training.data
    assert folder is not None
    with TrainingView(str(folder.path), str(training.choice), str(data), data.loss_of) as view:
        training.watch = both(view, board_of(folder.path)) if tensorboard else view
        training.run()


class TrainingView:
    """`with TrainingView("runs/x", "native", "90 strings") as view:` and call view(report) after every step. The loss
    it shows is the mean since the last evaluation, as in metrics.jsonl."""

    def __init__(self, title: str, engine: str, data: str, loss_of: str = "held out") -> None:
        self.title, self.engine, self.data, self.loss_of = title, engine, data, loss_of
        self.live: Any = None
        self.next = time.monotonic()
        self.first: tuple[int, float] | None = None  # step and seconds at which this view started
        self.evaluated: Report | None = None

    def __enter__(self) -> "TrainingView":
        print(f"data: {self.data}", f"engine: {self.engine}", sep="\n", file=sys.stderr, flush=True)
        self.live = screen()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self.live is not None:
            self.live.stop()

    def __call__(self, report: "Report") -> None:
        if self.first is None:
            self.first = report.step, report.seconds
        if report.evaluation is not None:
            self.evaluated = report
        now = time.monotonic()
        if now < self.next and report.evaluation is None:
            return
        self.next = now + (REFRESH if self.live is not None else PAUSE)
        if self.live is not None:
            self.live.update(self.picture(report), refresh=True)
        else:
            print(self.line(report), file=sys.stderr, flush=True)

    def pace(self, report: "Report") -> list[str]:
        """Steps per second since this view started and the time left, once they can be estimated."""
        assert self.first is not None
        done, seconds = report.step - self.first[0], report.seconds - self.first[1]
        if done <= 0 or seconds <= 0.0:
            return []
        return [f"{done / seconds:.1f} per second", f"{duration((report.steps - report.step) * seconds / done)} left"]

    def line(self, report: "Report") -> str:
        step, rest = f"step {report.step:,} of {report.steps:,}", [f"loss {report.loss:.4f}", *self.pace(report)]
        if report.evaluation is not None:
            return f"{step}: {self.measures(report)}; {', '.join(rest)}"
        return ", ".join([step, *rest])

    def measures(self, report: "Report") -> str:
        """The results of an evaluation."""
        return f"{self.loss_of} {report.held_out:.4f}, {report.evaluation}"

    def picture(self, report: "Report") -> Any:
        from rich.console import Group
        from rich.text import Text

        done = WIDE * report.step // max(1, report.steps)
        parts: list[Any] = [
            Text("  ".join([self.title, f"step {report.step:,} of {report.steps:,}", *self.pace(report)])),
            Text("━" * done, style="green") + Text("━" * (WIDE - done), style="dim"),
            Text(f"loss {report.loss:.4f}"),
        ]
        if (seen := self.evaluated) is not None and (e := seen.evaluation) is not None:
            parts += [Text(f"at step {seen.step:,}: {self.measures(seen)}")]
            parts += [Text(f"  {sample[:100]}", style="dim") for sample in e.samples[:SHOWN]]
        return Group(*parts)
