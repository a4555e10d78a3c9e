"""The training loop: steps, evaluations, checkpoints.

A `Training` holds a run and does nothing when it is made. `begin` chooses the engine and makes the weights, `restore`
does so from the folder's last checkpoint, and `run` trains. Resuming is exact, as if the run had never stopped: the
seed, the step's number, the weights and AdamW's moments decide all that a step does.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from handloom.core import HandloomError
from handloom.core.arrays import Array, Arrays
from handloom.core.registry import offered
from handloom.core.seeds import Use, generator
from handloom.learn.data import Data, Strings, fresh_strings, rows_of_step
from handloom.learn.evaluation import Evaluation, Examiner, seed_at
from handloom.learn.learner import Learner
from handloom.learn.processes import Processes
from handloom.learn.settings import Settings
from handloom.learn.stepper import Choice, Stepper, Trainer
from handloom.runs.folder import Folder
from handloom.runs.job import Clock, interrupts
from handloom.tasks.task import Learnable

if TYPE_CHECKING:
    from handloom.learn.cell_learner import CellLearner


@dataclass
class Where:
    """The position of a run; with the weights and the moments, all that resuming needs."""

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
    """The progress of a run."""

    step: int
    steps: int
    seconds: float
    loss: float  # the mean since the last evaluation, in nats per token
    held_out: float | None = None  # or, if nothing is held out, the loss on the training set
    evaluation: Evaluation | None = None


Watch = Callable[[Report], None]
Kept = Callable[[int, Path], None]  # a step, and the file that keeps the model of it


@dataclass(repr=False)
class Training:
    """One run: a task, its dataset, a learner (network and vocabulary), settings, and optionally a folder."""

    task: Learnable
    data: Data
    learner: "Learner | CellLearner"
    settings: Settings
    folder: Folder | None = None
    device: str = "cpu"
    engine: str = "auto"  # as asked for
    watch: Watch = lambda report: None
    kept: Kept = lambda step, file: None
    where: Where = field(default_factory=Where)
    evaluation: Evaluation | None = None
    held_out_loss: float | None = None
    measured: int = -1  # the step of these two
    halted: bool = False  # this process was told to stop after the current step
    stop: bool = False  # one of the processes was, and all know it
    began: int = 0  # the step at which this process began
    stepper: Stepper | None = None  # made by `begin`
    lines: list[dict[str, Any]] | None = None  # of metrics: those before it was resumed, and since; None: not begun

    def begin(self, saved: Arrays | None = None, before: str | None = None) -> "Training":
        """Choose the engine and make the weights, those of a checkpoint if it is `saved`; `before` is the engine that
        trained so far."""
        self.learner.check(self.data.strings)
        self.stepper = Stepper.begin(self.learner, self.settings, self.engine, self.device, saved, before)
        self.settings, self.began = self.stepper.settings, self.where.step
        return self

    def restore(self, before: str) -> "Training":
        """Begin from the folder's last checkpoint, or from the start if the run was killed before its first."""
        assert self.folder is not None
        saved = self.folder.checkpoint()
        if saved is None:
            return self.begin(None, before)
        self.where = Where(**saved[1])
        last = self.where.step - self.is_due()  # an evaluation that is due is made again, and so is its line
        self.lines = [line for line in self.folder.lines() if line["step"] <= last]
        return self.begin(saved[0], before)

    @property
    def begun(self) -> Stepper:
        if self.stepper is None:
            raise HandloomError(f"{self!r} has no weights yet; call begin() or run() first")
        return self.stepper

    @property
    def trainer(self) -> Trainer:
        return self.begun.trainer

    @property
    def choice(self) -> Choice:
        return self.begun.choice

    @property
    def processes(self) -> Processes:
        return self.begun.processes

    @property
    def strings(self) -> Strings:
        return self.data.train

    @property
    def held_out(self) -> Strings:
        return self.data.held_out

    @cached_property
    def examiner(self) -> Examiner:
        return Examiner(self.task, self.strings, known=not self.data.fresh)

    def __repr__(self) -> str:
        parts = [str(self.folder.path)] if self.folder else []
        parts += [f"step {self.where.step:,} of {self.settings.steps:,}"]
        if self.evaluation is not None:
            parts += [f"held-out loss {self.held_out_loss:.4f}", str(self.evaluation)]
        return f"<Training: {', '.join(parts)}>"

    def to_json(self) -> dict[str, Any]:
        """The result of a run that has a folder, as JSON values."""
        assert self.folder is not None
        assert self.evaluation is not None
        return {
            "run": str(self.folder.path),
            "steps": self.where.step,
            "measured": self.measured,
            "loss": self.held_out_loss,
            **self.evaluation.to_json(),
            "data": self.data.to_json(),
            "seconds": round(self.where.seconds, 1),
            "engine": self.choice.name,
        }

    def sentence(self) -> str:
        """The same in one line."""
        assert self.folder is not None
        before = f"; at step {self.measured:,}:" if self.measured < self.where.step else ","
        loss = f"{self.data.loss_of.replace(' ', '-')} loss {self.held_out_loss:.4f}"
        return f"{self.folder.path}: {self.where.step:,} steps{before} {loss}, {self.evaluation}"

    def _repr_html_(self) -> str | None:
        """What a notebook shows."""
        return offered("html")(self)

    def run(self) -> "Training":
        """Train to the last step, or until told to stop. The run is saved at every evaluation and when it ends."""
        if self.stepper is None:
            if self.folder and self.folder.position():
                raise HandloomError(f"{self.folder.path} holds a run that has begun; resume it")
            self.begin()
        with interrupts(self.halt):
            self.train()
        if self.evaluation is None:
            self.measure()
        return self

    def train(self) -> None:
        """The loop. Trained weights are saved before anything else is done with them, since that may fail."""
        settings, where, clock = self.settings, self.where, Clock(self.where.seconds)
        if self.folder and self.lines is not None and self.processes.first:
            self.folder.rewrite(self.lines)
        self.lines = self.lines or []
        if not where.step:
            self.save()
        while True:
            if settings.keep and where.step and where.step % settings.keep == 0:
                self.save_numbered()
            if self.is_due():
                self.evaluate()
                self.save_checkpoint()
            if where.step >= settings.steps or self.stop or self.is_over():
                return
            stops = [(where.step // n + 1) * n for n in (settings.every, settings.keep) if n]
            self.step_to(min(settings.steps, *stops), clock)
            self.save()

    def is_due(self) -> bool:
        """Whether an evaluation is due at this step, and has not been made."""
        step, settings = self.where.step, self.settings
        return self.where.counted > 0 and (step % settings.every == 0 or step == settings.steps)

    def halt(self) -> None:
        self.halted = True

    def step_to(self, goal: int, clock: Clock) -> None:
        """Steps up to the goal, or until one of the processes is told to stop."""
        settings, where = self.settings, self.where
        while where.step < goal:
            self.stop = self.begun.any_of_us(self.halted)
            if self.stop:
                return
            loss, tokens = self.begun.step(where.step, *self.batch(where.step))
            where.step += 1
            where.losses += loss
            where.counted += 1
            where.tokens += tokens
            where.seconds = clock.elapsed()
            self.report(Report(where.step, settings.steps, where.seconds, self.mean_loss()))

    def batch(self, step: int) -> tuple[Strings, Array, np.random.Generator]:
        """The strings of a step's batch, its rows in them, and the generator for whatever else the step draws."""
        settings = self.settings
        if not settings.fresh:
            return self.strings, *rows_of_step(self.strings, settings.batch, settings.seed, step)
        rng = generator(settings.seed, Use.BATCHES, step)
        strings = fresh_strings(self.task, self.data, settings.batch, rng)
        return strings, np.arange(len(strings)), rng

    def mean_loss(self) -> float:
        """The mean loss of the steps since the last evaluation, each before its change."""
        return self.where.losses / max(1, self.where.counted)

    def report(self, report: Report) -> None:
        """Call `watch`. If that fails, as on a closed terminal, the run ends; but it is saved first."""
        try:
            self.watch(report)
        except BaseException:
            self.save()
            raise

    def evaluate(self) -> None:
        """Measure, save the best model, append a line to the metrics, report."""
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
        assert self.lines is not None
        self.lines.append(line)
        if self.folder and self.processes.first:
            self.folder.append(line)
            if better:
                self.learner.save(self.model(), self.folder.path / "best.safetensors")
        self.report(
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
        """These two, or the error, which all processes must know."""
        engine = "torch" if self.engine == "torch" or self.device != "cpu" else "auto"
        seed = seed_at(self.settings.seed, self.where.step)
        sampler = self.learner.sampler(self.trainer.arrays(), self.examiner.lengths, seed, engine)
        try:
            evaluation = self.examiner.examine(sampler, self.settings.samples, seed)
            return self.trainer.loss(self.data.measured), evaluation
        except HandloomError as error:
            return error

    def is_over(self) -> bool:
        """Whether a condition to stop early holds: `patience` or `until`."""
        settings = self.settings
        if settings.patience and self.where.since_best >= settings.patience:
            return True
        return bool(settings.until) and self.where.success >= settings.until

    def model(self) -> Any:
        """The current model."""
        notes = {"made": "trained", "steps": self.where.step, "seed": self.settings.seed}
        return self.learner.model(self.trainer.arrays(), notes | self.examiner.decode_notes())

    def save_numbered(self) -> None:
        """The model of this step, in a file of its own."""
        if self.folder and self.processes.first:
            file = self.folder.path / f"model-{self.where.step}.safetensors"
            self.learner.save(self.model(), file)
            self.kept(self.where.step, file)

    def save(self) -> None:
        """A checkpoint, and the current model."""
        self.save_checkpoint()
        if self.folder and self.processes.first:
            self.learner.save(self.model(), self.folder.path / "model.safetensors")

    def save_checkpoint(self) -> None:
        if self.folder and self.processes.first:
            self.folder.write_checkpoint(self.begun.packed(), dict(vars(self.where)))
