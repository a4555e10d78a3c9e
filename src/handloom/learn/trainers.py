"""Which engine trains: the native one where it can, torch for everything else. One small choice in one place.

A `Trainer` is the small interface behind which an engine trains. The loop in `training.py` does not know how it is
done, and what one trainer gives, weights and moments by name, another can go on with.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from handloom.core import HandloomError, native
from handloom.core.arrays import Array, Arrays
from handloom.core.errors import shown
from handloom.learn.batches import Strings
from handloom.learn.learner import Learner
from handloom.learn.processes import Processes
from handloom.learn.settings import Settings

if TYPE_CHECKING:
    from handloom.learn.cell_learner import CellLearner

ENGINES = ("auto", "native", "torch")


class Trainer(Protocol):
    """Weights that learn."""

    def step(self, strings: Strings, rows: Array, rng: np.random.Generator, rate: float) -> tuple[float, int]:
        """Learn from these rows; the mean loss a token, before, and how many tokens were learnt. A loss of NaN, and no
        change, if it is not a number. `rng` is for whatever the step draws."""

    def loss(self, strings: Strings) -> float:
        """The mean loss a token of all strings, without learning."""

    def at_work(self) -> AbstractContextManager[None]:
        """Around steps."""

    def arrays(self) -> Arrays:
        """All weights, as they are now."""

    def moments(self) -> Arrays:
        """What AdamW remembers: running means of gradients (m.…) and of their squares (v.…)."""


@dataclass(frozen=True)
class Choice:
    """An engine, why it is not the native one, and how many lanes it works with unless told."""

    name: str
    reason: str | None
    lanes: int
    make: Callable[[Arrays, Settings, Arrays | None], Trainer]

    def __str__(self) -> str:
        if self.name == "native":
            return f"native ({native.describe()})"
        return f"torch; the native one is not used: {self.reason}" if self.reason else "torch"


def choose(
    asked: str, learner: "Learner | CellLearner", settings: Settings, device: str, processes: Processes
) -> Choice:
    """The engine that is asked for, or with `auto` the fastest that can."""
    if asked not in ENGINES:
        raise HandloomError(f"no engine {shown(asked)} for training; there are {', '.join(ENGINES)}")
    reason = None if asked == "torch" else reason_against_native(learner, settings, device, processes)
    if asked == "native" and reason:
        raise HandloomError(f"the native engine cannot train this: {reason}; use torch, or auto")
    if asked == "torch" or reason:
        return by_torch(reason, learner, device, processes)
    return by_native(learner)


def reason_against_native(
    learner: "Learner | CellLearner", settings: Settings, device: str, processes: Processes
) -> str | None:
    if not isinstance(learner, Learner):
        return "it trains transformers only"
    if settings.dropout:
        return "it has no dropout"
    if learner.rank:
        return "it has no LoRA"
    if learner.transformer.frozen:
        return "it trains all weights, and this model keeps some as they are"
    if device != "cpu":
        return "it runs on the CPU"
    if processes.count > 1:
        return "it trains in one process"
    return native.reason_against(learner.transformer.config)


def by_native(learner: "Learner | CellLearner") -> Choice:
    assert isinstance(learner, Learner)
    config = learner.transformer.config

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
