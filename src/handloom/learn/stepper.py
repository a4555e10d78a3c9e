"""One step of training, on the fastest engine that can: the native one, or torch for everything else.

A `Trainer` is the small interface behind which an engine trains. What one trainer saves, weights and moments by name,
another can resume from. A `Stepper` chooses the engine once and makes its trainer; the loops of `learn` and of
`discover` both step with it.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import isfinite
from typing import TYPE_CHECKING, Protocol

import numpy as np

from handloom.core import HandloomError, native
from handloom.core.arrays import Array, Arrays
from handloom.core.errors import shown
from handloom.learn.data import Strings
from handloom.learn.learner import Learner
from handloom.learn.processes import Processes
from handloom.learn.reparametrised import Reparametrised
from handloom.learn.settings import Settings

if TYPE_CHECKING:
    from handloom.learn.cell_learner import CellLearner

ENGINES = ("auto", "native", "torch")
WEIGHT = "w."  # prefix of the weights' names in a checkpoint


class Trainer(Protocol):
    """Weights that are trained."""

    steps: int  # made so far, also before the run was resumed

    def step(self, strings: Strings, rows: Array, rng: np.random.Generator, rate: float) -> tuple[float, int]:
        """Train on these rows; returns the mean loss per token, before the change, and the number of tokens. If the
        loss is not finite, returns NaN and changes nothing. `rng` is for whatever the step draws."""

    def loss(self, strings: Strings) -> float:
        """The mean loss per token of all strings, without training."""

    def arrays(self) -> Arrays:
        """The current weights, all of them."""

    def moments(self) -> Arrays:
        """The state of AdamW: running means of gradients (m.…) and of their squares (v.…)."""


@dataclass(frozen=True)
class Choice:
    """An engine, why it is not the native one, and its default number of lanes."""

    name: str
    reason: str | None
    lanes: int
    make: Callable[[Arrays, Settings, Arrays | None], Trainer]

    def __str__(self) -> str:
        if self.name == "native":
            return f"native ({native.describe()})"
        return f"torch (native is not used: {self.reason})" if self.reason else "torch"


@dataclass(frozen=True)
class Stepper:
    """A learner, the engine chosen for it, and the trainer that holds the weights."""

    learner: "Learner | CellLearner"
    settings: Settings  # with the number of lanes in use
    choice: Choice
    trainer: Trainer
    processes: Processes
    device: str

    @classmethod
    def begin(
        cls,
        learner: "Learner | CellLearner",
        settings: Settings,
        engine: str = "auto",
        device: str = "cpu",
        saved: Arrays | None = None,
        before: str | None = None,
    ) -> "Stepper":
        """Choose the engine, and start with the weights and moments `saved`, if given, or else with the learner's.
        `before` is the engine that trained so far: another one chooses the number of lanes anew."""
        processes = Processes()
        choice = choose(engine, learner, settings, device, processes)
        lanes = settings.lanes if before in (None, choice.name) else 0
        settings = replace(settings, lanes=lanes or choice.lanes)
        arrays, moments = (learner.start(settings), None) if saved is None else unpacked(saved)
        return cls(learner, settings, choice, choice.make(arrays, settings, moments), processes, device)

    def step(self, number: int, strings: Strings, rows: Array, rng: np.random.Generator) -> tuple[float, int]:
        """Make the step of that number, counted from 0, on these rows; returns the mean loss per token, before the
        change, and the number of tokens."""
        loss, tokens = self.trainer.step(strings, rows, rng, self.settings.rate_at(number))
        if not isfinite(loss):
            rate = self.settings.rate
            text = f"the loss is not a number at step {number}; start again with a rate below {rate:g}"
            raise HandloomError(text, ("lower rate", ""))
        return loss, tokens

    def packed(self) -> Arrays:
        """Weights and moments, for a checkpoint."""
        weights = {WEIGHT + name: array for name, array in self.trainer.arrays().items()}
        return weights | self.trainer.moments()

    def any_of_us(self, flag: bool) -> bool:
        """Whether the flag is set in one of the processes."""
        return self.processes.any_of_us(flag, self.device)


def unpacked(saved: Arrays) -> tuple[Arrays, Arrays]:
    """The weights and the moments of a checkpoint."""
    weights = {name.removeprefix(WEIGHT): array for name, array in saved.items() if name.startswith(WEIGHT)}
    return weights, {name: array for name, array in saved.items() if not name.startswith(WEIGHT)}


def choose(
    asked: str, learner: "Learner | CellLearner", settings: Settings, device: str, processes: Processes
) -> Choice:
    """The engine of that name, or with `auto` the fastest that can train this."""
    if asked not in ENGINES:
        raise HandloomError(f"no engine {shown(asked)} for training (expected one of {', '.join(ENGINES)})")
    reason = None if asked == "torch" else reason_against_native(learner, settings, device, processes)
    if asked == "native" and reason:
        text = f"the native engine cannot train this: {reason}; use torch, or auto"
        raise HandloomError(text, ("other engine", ""))
    if asked == "torch" or reason:
        return by_torch(reason, learner, device, processes)
    return by_native(learner)


def reason_against_native(
    learner: "Learner | CellLearner", settings: Settings, device: str, processes: Processes
) -> str | None:
    """Why the native engine cannot train this; None if it can."""
    if not isinstance(learner, Learner):
        return "it trains transformers only"
    if settings.dropout:
        return "it has no dropout"
    if isinstance(learner.network, Reparametrised):
        return "it has no LoRA and trains in no other form"
    if learner.network.frozen:
        return "it trains all weights, and this model has frozen ones"
    if device != "cpu":
        return "it runs on the CPU"
    if processes.count > 1:
        return "it trains in one process"
    return native.reason_against(learner.config)


def by_native(learner: "Learner | CellLearner") -> Choice:
    assert isinstance(learner, Learner)
    config = learner.config

    def make(arrays: Arrays, settings: Settings, moments: Arrays | None) -> Trainer:
        from handloom.learn.native_trainer import NativeTrainer

        return NativeTrainer(config, arrays, settings, moments)

    return Choice("native", None, native.lanes(config), make)


def by_torch(reason: str | None, learner: "Learner | CellLearner", device: str, processes: Processes) -> Choice:
    try:
        from handloom.learn.torch_trainer import TorchTrainer, cores
    except ModuleNotFoundError as error:
        why = f" (the native engine cannot: {reason})" if reason else ""
        raise HandloomError(
            f"training needs {error.name}, which is not installed: pip install 'handloom[learn]'{why}"
        ) from error
    vocab = learner.vocab if learner.masked else None

    def make(arrays: Arrays, settings: Settings, moments: Arrays | None) -> Trainer:
        return TorchTrainer(learner.network, arrays, settings, moments, device, processes, vocab)

    return Choice("torch", reason, cores(device), make)
