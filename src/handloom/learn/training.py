"""Training: from a task to a model.

`Training` is the loop: batches, steps, evaluations, checkpoints. It goes on from a checkpoint exactly as if it had
never stopped, for all that a step does follows from the seed, the step's number, the weights and AdamW's moments.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from handloom.core import HandloomError
from handloom.learn.batches import choose
from handloom.learn.data import Data
from handloom.learn.evaluation import Evaluation, Examiner, seed_at
from handloom.learn.learner import Learner
from handloom.learn.processes import Processes
from handloom.learn.settings import Settings
from handloom.learn.trainers import choose as choose_engine
from handloom.runs.folder import Folder
from handloom.runs.job import interrupts
from handloom.tasks.task import Learnable

if TYPE_CHECKING:
    from handloom.learn.cell_learner import CellLearner


@dataclass
class Where:
    """Where a run stands; with the weights and the moments it is all that is needed to go on."""

    step: int = 0
    losses: float = 0.0  # summed since the last evaluation
    counted: int = 0
    best: float = float("inf")  # held-out loss
    since_best: int = 0  # evaluations
    success: float = 0.0  # at the last of them
    seconds: float = 0.0
    tokens: int = 0


@dataclass(frozen=True)
class Report:
    """What one may want to see of a run that is under way."""

    step: int
    steps: int
    seconds: float
    loss: float  # the mean since the last evaluation, in nats per token
    held_out: float | None = None  # or, where nothing is held out, of what is trained on
    evaluation: Evaluation | None = None


Watch = Callable[[Report], None]


@dataclass(repr=False)
class Training:
    """One run: a task, a learner (network and vocabulary), settings, and optionally a folder to keep it in."""

    task: Learnable
    data: Data
    learner: "Learner | CellLearner"
    settings: Settings
    folder: Folder | None = None
    device: str = "cpu"
    engine: str = "auto"
    watch: Watch = lambda report: None
    where: Where = field(default_factory=Where)
    evaluation: Evaluation | None = None
    held_out_loss: float | None = None
    measured: int = -1  # the step of these two
    halted: bool = False  # told to end after the step that is under way
    stop: bool = False  # so is one of the processes, and all know it
    until_now: list[dict[str, Any]] | None = None  # of the metrics of a run that goes on, those up to its checkpoint

    def __post_init__(self) -> None:
        self.processes = Processes()
        self.choice = choose_engine(self.engine, self.learner, self.settings, self.device, self.processes)
        if not self.settings.lanes:
            self.settings = replace(self.settings, lanes=self.choice.lanes)
        settings = self.settings
        self.learner.check(self.data.strings)
        self.strings, self.held_out = self.data.train, self.data.held_out
        self.measured_on = self.data.measured
        self.examiner = Examiner(self.task, self.strings)
        arrays, moments = self.learner.start(settings), None
        if self.folder and (saved := self.folder.checkpoint()):
            arrays, moments = unpacked(saved[0])
            self.where = Where(**saved[1])
            last = self.where.step - self.is_due()  # of an evaluation that is to be made again the line is left out
            self.until_now = [line for line in self.folder.lines() if line["step"] <= last]
        self.began = self.where.step
        self.trainer = self.choice.make(arrays, settings, moments)

    def __repr__(self) -> str:
        parts = [str(self.folder.path)] if self.folder else []
        parts += [f"step {self.where.step:,} of {self.settings.steps:,}"]
        if self.evaluation is not None:
            parts += [f"held-out loss {self.held_out_loss:.4f}", str(self.evaluation)]
        return f"<Training: {', '.join(parts)}>"

    def run(self) -> "Training":
        """Train to the last step, or until told to stop; saved whenever it evaluates, and when it ends."""
        with interrupts(self.halt):
            self.run_on()
        if self.evaluation is None:
            self.measure()
        return self

    def run_on(self) -> None:
        """What was trained is saved before anything else is done with it, for that may fail."""
        settings, where = self.settings, self.where
        began = time.perf_counter() - where.seconds
        if self.folder and self.until_now is not None and self.processes.first:
            self.folder.rewrite(self.until_now)
        self.until_now = None
        if not where.step:
            self.save()
        while True:
            if settings.keep and where.step and where.step % settings.keep == 0:
                self.keep()
            if self.is_due():
                self.evaluate()
                self.save_checkpoint()
            if where.step >= settings.steps or self.stop or self.is_over():
                return
            stops = [(where.step // n + 1) * n for n in (settings.every, settings.keep) if n]
            with self.trainer.at_work():
                self.go_on(min(settings.steps, *stops), began)
            self.save()

    def is_due(self) -> bool:
        """Whether this is a step to evaluate at, and that has not been done."""
        step, settings = self.where.step, self.settings
        return self.where.counted > 0 and (step % settings.every == 0 or step == settings.steps)

    def halt(self) -> None:
        self.halted = True

    def is_to_stop(self) -> bool:
        self.stop = self.processes.any_of_us(self.halted, self.device)
        return self.stop

    def go_on(self, goal: int, began: float) -> None:
        """Steps up to the goal."""
        settings, where = self.settings, self.where
        while where.step < goal and not self.is_to_stop():
            rows, rng = choose(self.strings, settings.batch, settings.seed, where.step)
            loss, tokens = self.trainer.step(self.strings, rows, rng, settings.rate_at(where.step))
            if not np.isfinite(loss):
                raise HandloomError(
                    f"the loss is not a number at step {where.step}; begin again with a rate below {settings.rate:g}"
                )
            where.step += 1
            where.losses += loss
            where.counted += 1
            where.tokens += tokens
            where.seconds = time.perf_counter() - began
            self.tell(Report(where.step, settings.steps, where.seconds, self.mean_loss()))

    def mean_loss(self) -> float:
        """Of the steps since the last evaluation, each before its change."""
        return self.where.losses / max(1, self.where.counted)

    def tell(self, report: Report) -> None:
        """Let whoever watches know. That may fail, as on a terminal that has been closed, and then we end; but what was
        trained is saved."""
        try:
            self.watch(report)
        except BaseException:
            self.save()
            raise

    def evaluate(self) -> None:
        """Measure, keep what is best, write it all down."""
        where = self.where
        self.measure()
        assert self.evaluation is not None
        assert self.held_out_loss is not None
        better = self.held_out_loss < where.best
        where.best = min(where.best, self.held_out_loss)
        where.since_best = 0 if better else where.since_best + 1
        where.success = self.evaluation.success or 0.0
        line = {
            "step": where.step,
            "loss": self.mean_loss(),
            "held_out": self.held_out_loss,
            **self.evaluation.to_json(),
            "rate": self.settings.rate_at(where.step - 1),
            "tokens": where.tokens,
            "seconds": round(where.seconds, 3),
        }
        if not len(self.held_out):
            line |= {"held_out": None, "trained_on": self.held_out_loss}
        where.losses, where.counted = 0.0, 0
        if self.folder and self.processes.first:
            self.folder.append(line)
            if better:
                self.learner.save(self.model(), self.folder.path / "best.safetensors")
        self.tell(
            Report(where.step, self.settings.steps, where.seconds, line["loss"], self.held_out_loss, self.evaluation)
        )

    def measure(self) -> None:
        """The held-out loss, and the task's own measure of fresh samples: by the first process, for all."""
        found = self.processes.told(self.measurement() if self.processes.first else None)
        if isinstance(found, HandloomError):
            raise found
        self.held_out_loss, self.evaluation = found
        self.measured = self.where.step

    def measurement(self) -> tuple[float, Evaluation] | HandloomError:
        """These two, or why they could not be had, which all processes are to know."""
        engine = "torch" if self.engine == "torch" or self.device != "cpu" else "auto"
        seed = seed_at(self.settings.seed, self.where.step)
        say = self.learner.speaker(self.trainer.arrays(), self.examiner.lengths, seed, engine)
        try:
            evaluation = self.examiner.examine(say, self.settings.samples, seed)
            return self.trainer.loss(self.measured_on), evaluation
        except HandloomError as error:
            return error

    def is_over(self) -> bool:
        """Whether one of the conditions to stop early holds."""
        settings = self.settings
        if settings.patience and self.where.since_best >= settings.patience:
            return True
        return bool(settings.until) and self.where.success >= settings.until

    def model(self) -> Any:
        """The model as it is now."""
        notes = {"made": "trained", "steps": self.where.step, "seed": self.settings.seed}
        return self.learner.model(self.trainer.arrays(), notes | self.examiner.decode_notes())

    def keep(self) -> None:
        """The model as it is at this step, in a file of its own."""
        if self.folder and self.processes.first:
            self.learner.save(self.model(), self.folder.path / f"model-{self.where.step}.safetensors")

    def save(self) -> None:
        """A checkpoint, and the model."""
        self.save_checkpoint()
        if self.folder and self.processes.first:
            self.learner.save(self.model(), self.folder.path / "model.safetensors")

    def save_checkpoint(self) -> None:
        if self.folder and self.processes.first:
            arrays = {f"w.{name}": array for name, array in self.trainer.arrays().items()}
            self.folder.write_checkpoint(arrays | self.trainer.moments(), vars(replace(self.where)))


def unpacked(saved: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Weights and moments out of a checkpoint."""
    arrays = {name[2:]: array for name, array in saved.items() if name.startswith("w.")}
    return arrays, {name: array for name, array in saved.items() if not name.startswith("w.")}
