"""Training on fresh data, step by step: a loop that one can look into. Labels may be at every place.

    >>> from handloom.core import Config
    >>> def draw(rng):  # after each token, say the one before it
    ...     inputs = rng.integers(0, 4, (32, 8))
    ...     targets = inputs[:, [0, *range(7)]]
    ...     targets[:, 0] = NOTHING
    ...     return inputs, targets
    >>> config = Config(vocab=4, block=8, d_model=16, layers=1, heads=1, d_head=16)
    >>> for step in steps(config, draw, Settings(steps=150, rate=1e-2)):
    ...     pass
    >>> step.number, step.loss < 0.5, step.model().config.layers
    (150, True, 1)

`draw` makes the batch of a step from a generator that the seed and the step's number decide. So a run can resume at any
step, and every engine has the same batches. The native engine trains whatever it can, torch the rest.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatch
from typing import TYPE_CHECKING, Any

import numpy as np

from handloom.core import Config, HandloomError, Model, Vocab
from handloom.core.arrays import Array, Arrays
from handloom.core.params import shapes
from handloom.core.seeds import Use, generator
from handloom.learn.data import NOTHING, Strings
from handloom.learn.learner import Learner, Network, Transformer
from handloom.learn.reparametrised import Form, Reparametrised
from handloom.learn.settings import Settings
from handloom.learn.stepper import Stepper

if TYPE_CHECKING:
    from handloom.learn.cell_learner import CellLearner

Draw = Callable[[np.random.Generator], Strings | tuple[Array, Array]]
DEFAULTS = Settings()


@dataclass(frozen=True)
class TrainingStep:
    """A step that was made: its number, counted from 1, and the mean loss per predicted token of its batch, before the
    change. The rest is the state after it, and must be taken before the next step is made."""

    number: int
    loss: float
    stepper: Stepper

    def model(self) -> Any:
        """The model."""
        notes = {"made": "trained", "steps": self.number, "seed": self.stepper.settings.seed}
        return self.stepper.learner.model(self.arrays(), notes)

    def arrays(self) -> Arrays:
        """The weights as they are trained."""
        self.check_current()
        return self.stepper.trainer.arrays()

    def saved(self) -> Arrays:
        """Weights and moments: `steps(…, saved=…)` resumes from them as if it had never stopped."""
        self.check_current()
        return self.stepper.packed()

    def check_current(self) -> None:
        if (now := self.stepper.trainer.steps) != self.number:
            raise HandloomError(f"step {self.number} is over, training is at {now}; ask each step before the next one")


@dataclass
class AnyNetwork:
    """The learner of a Network that is no transformer: it is trained, and has weights, but there is no Model of it."""

    network: Network
    vocab: Any = None
    masked = False
    notes: dict[str, Any] = field(default_factory=dict)

    def check(self, strings: Strings) -> None: ...

    def start(self, settings: Settings) -> Arrays:
        return self.network.start(settings.seed)

    def model(self, arrays: Arrays, notes: dict[str, Any]) -> Model:
        kind = type(self.network).__name__
        raise HandloomError(f"model(): a {kind} is no transformer, so there is no Model of it; take arrays()")


def steps(
    network: "Config | Model | Network | Learner | CellLearner",
    draw: Draw,
    settings: Settings = DEFAULTS,
    *,
    vocab: Vocab | None = None,
    frozen: Iterable[str] = (),
    form: Form | None = None,
    engine: str = "auto",
    device: str = "cpu",
    saved: Arrays | None = None,
) -> Iterator[TrainingStep]:
    """Train on what `draw` makes of a generator: a pair of arrays, inputs and targets (B, T), where a target of −1 is
    not predicted; or Strings. `network` is a Config, a Model to train further, or any Network. The tokens are numbers,
    if no `vocab` is given. `frozen` names weights that are not trained, as in "*.W_Q"; those of a Config are zero.
    `form` is what it is trained in, if not in its own weights, as LowRank(8); `forms.py` has others. `saved` is from
    `TrainingStep.saved`. Of the settings, those of batches, evaluations and folders have no effect."""
    learner = learner_of(network, vocab, tuple(frozen), form)
    stepper = Stepper.begin(learner, settings, engine, device, saved)

    def loop() -> Iterator[TrainingStep]:
        for number in range(stepper.trainer.steps, settings.steps):
            rng = generator(settings.seed, Use.BATCHES, number)
            strings = strings_of(draw(rng), learner)
            loss, _ = stepper.step(number, strings, np.arange(len(strings)), rng)
            yield TrainingStep(number + 1, loss, stepper)

    return loop()


def learner_of(network: Any, vocab: Vocab | None, frozen: tuple[str, ...], form: Form | None) -> Any:
    """What `steps` trains."""
    if isinstance(network, Config | Model):
        config = network if isinstance(network, Config) else network.config
        transformer = Transformer(config, names_like(frozen, [name for name, _ in shapes(config)]))
        trained = Reparametrised(transformer, form) if form else transformer
        if isinstance(network, Model):
            return Learner(trained, network.vocab, network)
        return Learner(trained, vocab or Vocab.numbers(config.vocab))
    if frozen or form:
        raise HandloomError("frozen and form are for a Config or a Model; a network has its own: leave them out")
    if isinstance(network, Transformer | Reparametrised):
        return Learner(network, vocab or Vocab.numbers(network.config.vocab))
    return network if hasattr(network, "network") else AnyNetwork(network, vocab)


def names_like(patterns: tuple[str, ...], names: list[str]) -> frozenset[str]:
    """The names that match one of the patterns, each of which must match one."""
    for pattern in patterns:
        if not any(fnmatch(name, pattern) for name in names):
            raise HandloomError(f"frozen: no weights are called {pattern!r} (expected some of {', '.join(names)})")
    return frozenset(name for name in names if any(fnmatch(name, pattern) for pattern in patterns))


def strings_of(drawn: Any, learner: Any) -> Strings:
    """A batch as Strings, which the learner can read."""
    strings = drawn if isinstance(drawn, Strings) else Strings.labelled(*drawn)
    if not len(strings) or not strings.predicted(np.arange(len(strings))):
        raise HandloomError("draw: no token of this batch is predicted (expected at least one target)")
    most = len(learner.vocab) if learner.vocab is not None else np.inf
    least = [(strings.ids, 0)] + ([(strings.targets, NOTHING)] if strings.targets is not None else [])
    for array, low in least:
        if array.min() < low or array.max() >= most:
            raise HandloomError(f"draw: token {array.max()} or {array.min()} is not in the vocabulary of {most}")
    learner.check(strings)
    return strings
