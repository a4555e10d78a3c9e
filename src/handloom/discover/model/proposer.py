"""A Speaker: a transformer that learns from constructions and then says more of them.

    >>> from handloom.discover.spaces import grid
    >>> from handloom.discover.model.codec import Tokens
    >>> tokens = Tokens.of("cells", grid(2, 2))
    >>> speaker = Speaker.of(tokens, layers=1, width=16)
    >>> loss = speaker.train(tokens.strings([(0, 3), (1, 2)]), steps=100)
    >>> sorted({tokens.decode(said).construction for said in speaker.say(20, temperature=0.5)})
    [(0, 3), (1, 2)]

It trains as `learn` does, by the fastest engine there is, but not once: it can be given other constructions at any
time and goes on from where it is, AdamW's moments included. All that a step does follows from the seed, the number of
the step, the weights and the strings, so that one that was saved and loaded goes on exactly as if it had not been.
"""

import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from handloom.core import HandloomError, Model, generate, save
from handloom.core.arrays import Array, Arrays
from handloom.core.checks import is_number, whole
from handloom.core.errors import shown
from handloom.core.seeds import Use, derived, generator
from handloom.discover.model.codec import Tokens
from handloom.learn.batches import Strings, choose
from handloom.learn.beginnings import config_for
from handloom.learn.learner import Learner
from handloom.learn.network import Transformer
from handloom.learn.processes import Processes
from handloom.learn.settings import Settings
from handloom.learn.trainers import choose as choose_engine
from handloom.learn.training import unpacked
from handloom.runs.folder import Folder
from handloom.tasks.of_model import PROBLEM

LEARNT_AT_ONCE = 8192  # tokens of a step, at most (but one string), so that it is over soon
STRINGS_AT_ONCE = 100  # that are drawn together, at most, so that there is a part for each of many workers
SAID_AT_ONCE = 32_768  # tokens of the strings that are drawn together, at most


class Speaker:
    """A transformer, what it has learnt, and how far it is; `say` and `train` can be called in any order."""

    def __init__(
        self,
        learner: Learner,
        settings: Settings,
        prompt: Sequence[int],
        engine: str = "auto",
        device: str = "cpu",
        step: int = 0,
        longest: int = 0,
        saved: Arrays | None = None,
    ) -> None:
        self.learner, self.prompt, self.device, self.processes = learner, list(prompt), device, Processes()
        choice = choose_engine(engine, learner, settings, device, self.processes)
        self.engine, self.settings = choice.name, replace(settings, lanes=settings.lanes or choice.lanes)
        self.step = step
        self.longest = longest  # string that was learnt from
        arrays, moments = unpacked(saved) if saved else (learner.start(settings), None)
        self.trainer = choice.make(arrays, self.settings, moments)

    @classmethod
    def of(
        cls,
        tokens: Tokens,
        *,
        about: str = "",
        layers: int = 4,
        heads: int = 4,
        width: int = 64,
        settings: Settings | None = None,
        engine: str = "auto",
        device: str = "cpu",
    ) -> "Speaker":
        """A new one for constructions that are written so; `about` says of what, for the model's notes. Of the
        settings batch, rate, schedule, warmup, decay, betas, clip, dropout and seed count."""
        sizes = {"layers": layers, "heads": heads, "d_model": width}
        config = config_for(len(tokens.vocab), tokens.most - 1, sizes)
        notes = {"made": "trained", "tokens": tokens.kind} | ({"task": PROBLEM + about} if about else {})
        learner = Learner(Transformer(config), tokens.vocab, notes=notes)
        return cls(learner, settings or Settings(), tokens.prompt, engine, device)

    def train(
        self,
        strings: Strings,
        steps: int,
        deadline: float | None = None,
        weights: Sequence[float] | Array | None = None,
        report: Callable[[int, float], None] = lambda step, loss: None,
        stop: Callable[[], bool] = lambda: False,
    ) -> float | None:
        """Learn from rows of these strings, drawn by their weights, for so many steps, until told to stop, or until the
        deadline (by time.monotonic) would be passed; the mean loss, None if there was no time for a step. `report` is
        told the number of every step and its loss."""
        if not len(strings):
            raise HandloomError("there are no constructions to learn from")
        self.learner.check(strings)
        self.longest = max(self.longest, int(strings.lengths.max()))
        rows_of, losses, needed = self.batches(strings, weights), list[float](), 0.0
        with self.trainer.at_work():
            while len(losses) < steps and not self.processes.any_of_us(
                stop() or is_late(deadline, needed), self.device
            ):
                began = time.monotonic()
                losses.append(self.learn(strings, *rows_of(self.step)))
                needed = time.monotonic() - began  # the next step will take as long
                report(self.step, losses[-1])
        return math.fsum(losses) / len(losses) if losses else None

    def learn(self, strings: Strings, rows: Array, rng: np.random.Generator) -> float:
        """One step."""
        loss, _ = self.trainer.step(strings, rows, rng, self.settings.rate_at(self.step))
        if not math.isfinite(loss):
            rate = self.settings.rate
            raise HandloomError(f"the loss is not a number at step {self.step}; begin again with a rate below {rate:g}")
        self.step += 1
        return loss

    def batches(
        self, strings: Strings, weights: Sequence[float] | Array | None
    ) -> Callable[[int], tuple[Array, np.random.Generator]]:
        """The rows of a step by its number, and the generator for whatever else it draws."""
        count = max(1, min(self.settings.batch, LEARNT_AT_ONCE // int(strings.lengths.max())))
        if weights is None:
            return lambda step: choose(strings, count, self.settings.seed, step)
        passed = running_share(weights, len(strings))

        def by_weight(step: int) -> tuple[Array, np.random.Generator]:
            rng = generator(self.settings.seed, Use.BATCHES, step)
            return np.searchsorted(passed, rng.random(count), side="right"), rng

        return by_weight

    def say(
        self,
        count: int,
        temperature: float = 1.0,
        seed: int = 0,
        deadline: float | None = None,
        draw: "Draw | None" = None,
    ) -> list[list[int]]:
        """So many strings, drawn at that temperature; fewer if the deadline comes first. They end with <end>, or
        where they are a quarter and 8 tokens longer than any that was learnt from, or as long as can be. `draw` draws
        them in parts, elsewhere."""
        most = self.learner.transformer.config.block + 1
        longest = min(most, self.longest + self.longest // 4 + 8) if self.longest else most
        at_once, said = max(1, min(STRINGS_AT_ONCE, SAID_AT_ONCE // longest)), list[list[int]]()
        parts = [
            Part(tuple(self.prompt), min(at_once, count - first), longest, temperature, part_seed, self.device)
            for first in range(0, whole("count", count, 0), at_once)
            for part_seed in [derived(seed, Use.PROPOSALS, first)]
        ]
        for new in (draw or draw_here)(self.model(), parts, deadline):
            said += [[*self.prompt[1:], *row] for row in new]
        return said

    def model(self) -> Model:
        """The model as it is now."""
        return self.learner.model(self.trainer.arrays(), {"steps": self.step, "seed": self.settings.seed})

    def save(self, folder: str | os.PathLike[str]) -> None:
        """In a folder that there is: model.safetensors, and checkpoint.safetensors, from which it can go on."""
        if self.processes.first:
            save(self.model(), Path(folder) / "model.safetensors")
            Folder(Path(folder)).write_checkpoint(*self.packed())

    def packed(self) -> tuple[Arrays, dict[str, Any]]:
        """All that is needed to go on."""
        arrays = {f"w.{name}": array for name, array in self.trainer.arrays().items()}
        where = {
            "step": self.step,
            "longest": self.longest,
            "prompt": self.prompt,
            "engine": self.engine,
            "device": self.device,
            "learner": self.learner.to_json(),
            "settings": self.settings.to_json(),
        }
        return arrays | self.trainer.moments(), where

    @classmethod
    def load(cls, folder: str | os.PathLike[str], device: str | None = None) -> "Speaker":
        """As it was when it was last saved there."""
        saved = Folder(Path(folder)).checkpoint()
        if saved is None:
            raise HandloomError(f"{shown(str(folder))} has no checkpoint of a model that learns from constructions")
        try:
            return cls.unpacked(*saved, device)
        except (KeyError, TypeError) as error:
            raise HandloomError(f"{shown(str(folder))}: its checkpoint is not of this kind ({error})") from error

    @classmethod
    def unpacked(cls, arrays: Arrays, where: dict[str, Any], device: str | None = None) -> "Speaker":
        learner, settings = Learner.from_json(where["learner"]), Settings.from_json(where["settings"])
        begun, device = where["engine"], device or where.get("device", "cpu")
        at = {key: where[key] for key in ("prompt", "step", "longest")}
        asked = "auto" if begun == "native" else begun  # where the native engine is not there, torch goes on
        if choose_engine(asked, learner, settings, device, Processes()).name != begun:
            settings = replace(settings, lanes=0)
        return cls(learner, settings, engine=asked, device=device, saved=arrays, **at)


def is_late(deadline: float | None, needed: float) -> bool:
    """Whether what needs so many seconds would end after the deadline."""
    return deadline is not None and time.monotonic() + needed >= deadline


@dataclass(frozen=True)
class Part:
    """Strings that are drawn together."""

    prompt: tuple[int, ...]
    count: int
    longest: int  # with the prompt
    temperature: float
    seed: int
    device: str = "cpu"


Draw = Callable[[Model, Sequence[Part], float | None], Iterator[list[list[int]]]]


def draw_here(model: Model, parts: Sequence[Part], deadline: float | None) -> Iterator[list[list[int]]]:
    """The new tokens of the strings of all parts, part by part, until the deadline."""
    for part in parts:
        new = drawn(model, part, deadline)
        if new is None:
            return
        yield new


def drawn(model: Model, part: Part, deadline: float | None = None) -> list[list[int]] | None:
    """The new tokens of the strings of a part; None if they are not there at the deadline."""

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
    """The share of the weights up to each row, so that a uniform number passes it by its weight; it ends at 1."""
    array = np.asarray(weights, np.float64)
    if array.shape != (count,) or not np.isfinite(array).all() or (array < 0).any() or not array.sum() > 0:
        raise HandloomError(f"weights={shown(weights)} must be {count} numbers of 0 or more, not all of them 0")
    passed = np.cumsum(array)
    return passed / passed[-1]


def reward_weights(scores: Sequence[float] | Array, sharpness: float = 1.0) -> Array:
    """How much each construction counts by its score: e^sharpness times as much for every standard deviation that it
    is better. All the same at sharpness 0, or where all scores are.

    >>> reward_weights([16, 16, 18, 18], 0.5).round(3).tolist()
    [0.368, 0.368, 1.0, 1.0]
    """
    if not is_number(sharpness) or sharpness < 0.0:
        raise HandloomError(f"sharpness={shown(sharpness)} must be a number of 0 or more")
    array = np.asarray(scores, np.float64)
    spread = float(array.std()) or 1.0
    weights: Array = np.exp(sharpness * (array - array.max()) / spread)
    return weights
