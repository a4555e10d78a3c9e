"""A Proposer: a transformer that trains on constructions and then proposes more.

    >>> from handloom.discover.spaces import grid
    >>> from handloom.discover.model.codec import Codec
    >>> tokens = Codec.of("cells", grid(2, 2))
    >>> proposer = Proposer.of(tokens, layers=1, width=16)
    >>> loss = proposer.train(tokens.strings([(0, 3), (1, 2)]), steps=100)
    >>> sorted({tokens.decode(ids).construction for ids in proposer.propose(20, temperature=0.5)})
    [(0, 3), (1, 2)]

It steps as `learn` does (learn/stepper.py), on the fastest engine, but not once: it can be given other constructions at
any time and trains further, with AdamW's moments. The seed, the number of the step, the weights and the strings decide
all that a step does, so that a Proposer that was saved and loaded trains exactly as if it had not been.
"""

import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from handloom.core import HandloomError, Model, generate, save
from handloom.core.arrays import Array, Arrays
from handloom.core.checks import is_number, whole
from handloom.core.errors import shown
from handloom.core.seeds import Elsewhere, Use, generator
from handloom.discover.model.codec import Codec
from handloom.learn.data import Strings, rows_of_step
from handloom.learn.learner import Learner, Transformer, config_for
from handloom.learn.settings import Settings
from handloom.learn.stepper import Stepper
from handloom.runs.folder import Folder
from handloom.tasks.of_model import PROBLEM

TRAINED_AT_ONCE = 8192  # tokens per step, at most (but one string), so that a step is over soon
STRINGS_AT_ONCE = 100  # strings generated together, at most, so that there is a part for each of many workers
GENERATED_AT_ONCE = 32_768  # tokens of the strings generated together, at most


@dataclass
class Proposer:
    """A transformer and its position in training; `train` and `propose` can be called in any order."""

    stepper: Stepper
    prompt: list[int]  # how every proposal begins
    step: int = 0  # steps made
    longest: int = 0  # tokens of the longest string trained on

    @classmethod
    def of(
        cls,
        tokens: Codec,
        *,
        about: str = "",
        layers: int = 4,
        heads: int = 4,
        width: int = 64,
        settings: Settings | None = None,
        engine: str = "auto",
        device: str = "cpu",
    ) -> "Proposer":
        """A new one for constructions in these tokens; `about` names the problem, for the model's notes. It uses these
        settings: batch, rate, schedule, warmup, decay, betas, clip, dropout and seed."""
        sizes = {"layers": layers, "heads": heads, "d_model": width}
        config = config_for(len(tokens.vocab), tokens.most - 1, sizes)
        notes = {"made": "trained", "tokens": tokens.kind} | ({"task": PROBLEM + about} if about else {})
        learner = Learner(Transformer(config), tokens.vocab, notes=notes)
        return cls(Stepper.begin(learner, settings or Settings(), engine, device), list(tokens.prompt))

    @property
    def engine(self) -> str:
        return self.stepper.choice.name

    def train(
        self,
        strings: Strings,
        steps: int,
        deadline: float | None = None,
        weights: Sequence[float] | Array | None = None,
        report: Callable[[int, float], None] = lambda step, loss: None,
        stop: Callable[[], bool] = lambda: False,
    ) -> float | None:
        """Train on rows of these strings, drawn by their weights, for `steps` steps, until told to stop, or until the
        deadline (by time.monotonic) would be passed. Returns the mean loss, None if there was no time for a step.
        `report` is called with the number of every step and its loss."""
        if not len(strings):
            raise HandloomError("there are no constructions to train on")
        self.stepper.learner.check(strings)
        self.longest = max(self.longest, int(strings.lengths.max()))
        rows_of, losses, needed = self.batches(strings, weights), list[float](), 0.0
        while len(losses) < steps and not self.stepper.any_of_us(stop() or is_late(deadline, needed)):
            began = time.monotonic()
            losses.append(self.stepper.step(self.step, strings, *rows_of(self.step))[0])
            self.step += 1
            needed = time.monotonic() - began  # the next step will take as long
            report(self.step, losses[-1])
        return math.fsum(losses) / len(losses) if losses else None

    def batches(
        self, strings: Strings, weights: Sequence[float] | Array | None
    ) -> Callable[[int], tuple[Array, np.random.Generator]]:
        """The rows of a step by its number, and the generator for whatever else it draws."""
        settings = self.stepper.settings
        count = max(1, min(settings.batch, TRAINED_AT_ONCE // int(strings.lengths.max())))
        if weights is None:
            return lambda step: rows_of_step(strings, count, settings.seed, step)
        passed = running_share(weights, len(strings))

        def by_weight(step: int) -> tuple[Array, np.random.Generator]:
            rng = generator(settings.seed, Use.BATCHES, step)
            return np.searchsorted(passed, rng.random(count), side="right"), rng

        return by_weight

    def propose(
        self,
        count: int,
        temperature: float = 1.0,
        seed: int = 0,
        deadline: float | None = None,
        draw: "Draw | None" = None,
        at_once: int = GENERATED_AT_ONCE,
        model: Model | None = None,
    ) -> list[list[int]]:
        """`count` strings, sampled at that temperature; fewer if the deadline comes first. They end with <end>, or when
        they are a quarter and 8 tokens longer than any string trained on, or as long as the block allows. `draw`
        generates them in parts, of `at_once` tokens at most, elsewhere. By default they are of the model as it is
        now."""
        model, longest = model or self.model(), self.most_tokens()
        size = max(1, min(STRINGS_AT_ONCE, at_once // longest))
        parts = [
            Part(tuple(self.prompt), min(size, count - first), longest, temperature, part_seed, self.stepper.device)
            for first in range(0, whole("count", count, 0), size)
            for part_seed in [int(generator(seed, Elsewhere.PROPOSALS, first).integers(2**62))]
        ]
        drawn = (draw or draw_here)(model, parts, deadline)
        return [[*self.prompt[1:], *row] for new in drawn for row in new]

    def most_tokens(self) -> int:
        """Of a proposal."""
        assert isinstance(self.stepper.learner, Learner)
        most = self.stepper.learner.config.block + 1
        return min(most, self.longest + self.longest // 4 + 8) if self.longest else most

    def model(self) -> Model:
        """The current model."""
        notes = {"steps": self.step, "seed": self.stepper.settings.seed}
        model = self.stepper.learner.model(self.stepper.trainer.arrays(), notes)
        assert isinstance(model, Model)
        return model

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write model.safetensors, and checkpoint.safetensors to load from, into an existing folder."""
        if self.stepper.processes.first:
            save(self.model(), Path(folder) / "model.safetensors")
            Folder(Path(folder)).write_checkpoint(*self.packed())

    def packed(self) -> tuple[Arrays, dict[str, Any]]:
        """All that training further needs."""
        where = {
            "step": self.step,
            "longest": self.longest,
            "prompt": self.prompt,
            "engine": self.engine,
            "device": self.stepper.device,
            "learner": self.stepper.learner.to_json(),
            "settings": self.stepper.settings.to_json(),
        }
        return self.stepper.packed(), where

    @classmethod
    def load(cls, folder: str | os.PathLike[str], device: str | None = None) -> "Proposer":
        """The Proposer that was last saved in a folder."""
        saved = Folder(Path(folder)).checkpoint()
        if saved is None:
            raise HandloomError(f"{shown(str(folder))} has no checkpoint of a model that trains on constructions")
        try:
            return cls.unpacked(*saved, device)
        except (KeyError, TypeError) as error:
            raise HandloomError(f"{shown(str(folder))}: its checkpoint is not of this kind ({error})") from error

    @classmethod
    def unpacked(cls, arrays: Arrays, where: dict[str, Any], device: str | None = None) -> "Proposer":
        learner, settings = Learner.from_json(where["learner"]), Settings.from_json(where["settings"])
        before, device = where["engine"], device or where["device"]
        asked = "auto" if before == "native" else before  # if native is not available here, torch trains further
        stepper = Stepper.begin(learner, settings, asked, device, arrays, before)
        return cls(stepper, where["prompt"], where["step"], where["longest"])


def is_late(deadline: float | None, needed: float) -> bool:
    """Whether something that takes `needed` seconds would end after the deadline."""
    return deadline is not None and time.monotonic() + needed >= deadline


@dataclass(frozen=True)
class Part:
    """Strings that are generated together."""

    prompt: tuple[int, ...]
    count: int
    longest: int  # with the prompt
    temperature: float
    seed: int
    device: str = "cpu"


Draw = Callable[[Model, Sequence[Part], float | None], Iterator[list[list[int]]]]


def draw_here(model: Model, parts: Sequence[Part], deadline: float | None) -> Iterator[list[list[int]]]:
    """Generate the new tokens of all parts here, part by part, until the deadline."""
    for part in parts:
        new = draw_part(model, part, deadline)
        if new is None:
            return
        yield new


def draw_part(model: Model, part: Part, deadline: float | None = None) -> list[list[int]] | None:
    """The new tokens of the strings of a part; None if the deadline comes first."""

    def watch(done: int, most: int) -> None:
        if deadline is not None and time.monotonic() >= deadline:
            raise Late

    try:
        watch(0, 0)
        return generate(
            model,
            [list(part.prompt)] * part.count,
            steps=part.longest - len(part.prompt),
            temperature=part.temperature,
            seed=part.seed,
            engine="torch" if part.device != "cpu" else "auto",
            progress=watch,
        )
    except Late:
        return None


class Late(Exception):
    """The deadline has come."""


def running_share(weights: Sequence[float] | Array, count: int) -> Array:
    """The share of the weights up to each row: a uniform number falls on a row by its weight. It ends at 1."""
    array = np.asarray(weights, np.float64)
    if array.shape != (count,) or not np.isfinite(array).all() or (array < 0).any() or not array.sum() > 0:
        raise HandloomError(f"weights={shown(weights)} must be {count} numbers of 0 or more, not all of them 0")
    passed = np.cumsum(array)
    return passed / passed[-1]


def reward_weights(scores: Sequence[float] | Array, sharpness: float = 1.0) -> Array:
    """The weight of each construction by its score: e^sharpness times as much per standard deviation. All weights are
    equal at sharpness 0, or if all scores are.

    >>> reward_weights([16, 16, 18, 18], 0.5).round(3).tolist()
    [0.368, 0.368, 1.0, 1.0]
    """
    if not is_number(sharpness) or sharpness < 0.0:
        raise HandloomError(f"sharpness={shown(sharpness)} must be a number of 0 or more")
    array = np.asarray(scores, np.float64)
    spread = float(array.std()) or 1.0
    weights: Array = np.exp(sharpness * (array - array.max()) / spread)
    return weights
