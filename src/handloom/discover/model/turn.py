"""The apprentice: the transformer's part of the loop. It learns from the pool, and says more like what is in it."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from handloom.discover.loop.pool import Member
from handloom.discover.loop.settings import AUTO, Settings
from handloom.discover.model.codec import Decoded, Tokens, choose_kind
from handloom.discover.model.proposer import Draw, Proposer, reward_weights
from handloom.discover.model.torchrun import train_together
from handloom.discover.problem import Problem
from handloom.discover.spaces import Construction, Space
from handloom.learn.settings import Settings as LearnSettings

HOTTEST = 2.0

Sized = tuple[Space, Construction]


def size_of(space: Space) -> list[int]:
    """What tells the sizes of a problem apart."""
    return [*space.sides, len(space.elements), space.length]


class Apprentice:
    """A model that is made when there is something to learn from."""

    def __init__(self, problem: Problem, settings: Settings, device: str = "cpu") -> None:
        self.problem, self.settings, self.device = problem, settings, device
        self.temperature = settings.temperature
        self.smaller: list[Sized] = []  # constructions of smaller sizes to learn from besides
        self.tokens: Tokens | None = None
        self.proposer: Proposer | None = None
        self.loss: float | None = None

    def begin(self, constructions: Sequence[Construction]) -> tuple[Tokens, Proposer]:
        settings, space = self.settings, self.problem.space
        kind = choose_kind(space, constructions) if settings.tokens == AUTO else settings.tokens
        tokens = Tokens.of(kind, self.spaces, constructions)
        proposer = Proposer.of(
            tokens,
            about=str(self.problem),
            layers=settings.layers,
            heads=settings.heads,
            width=settings.width,
            settings=LearnSettings(seed=settings.seed, batch=settings.batch, rate=settings.rate),
            device=self.device,
        )
        return tokens, proposer

    @property
    def spaces(self) -> list[Space]:
        return list(dict.fromkeys([self.problem.space, *(space for space, _ in self.smaller)]))

    def learn(
        self,
        members: Sequence[Member],
        newest: int,
        deadline: float | None,
        report: Callable[[float], None],
        stop: Callable[[], bool],
    ) -> None:
        """Some steps of training, half of them on what came in the newest generation. `report` is told how much is
        done."""
        constructions = [member.construction for member in members]
        if self.proposer is None or self.tokens is None:
            self.tokens, self.proposer = self.begin(constructions)
        begun, steps = self.proposer.step, self.settings.learn

        def watch(step: int, loss: float) -> None:
            self.loss = loss
            report((step - begun) / steps)

        strings, weights = self.tokens.strings(constructions, self.smaller), self.weights(members, newest)
        self.loss = train_together(self.proposer, strings, steps, deadline, weights, watch, stop)

    def weights(self, members: Sequence[Member], newest: int) -> Any:
        """How often each is learnt from: by its score, if there is feedback; the newest as often as all others."""
        new = np.array([member.generation == newest for member in members])
        weights = reward_weights([member.score for member in members], self.settings.feedback)
        if newest and new.any() and not new.all():
            weights = np.where(new, weights / weights[new].sum(), weights / weights[~new].sum())
        return np.concatenate([weights, np.full(len(self.smaller), weights.mean())])

    def say(self, seed: int, deadline: float | None, draw: Draw) -> list[Decoded]:
        """What the model has to say, read as constructions; `draw` draws it."""
        if self.proposer is None or self.tokens is None:
            return []
        said = self.proposer.propose(self.settings.samples, self.temperature, seed, deadline, draw)
        return [self.tokens.decode(ids) for ids in said]

    def set_temperature(self, duplicates: float) -> None:
        """Warmer when the samples repeat, and back when they do not."""
        factor = 1.1 if duplicates > 0.5 else 0.95 if duplicates < 0.2 else 1.0
        self.temperature = min(HOTTEST, max(self.settings.temperature, self.temperature * factor))

    def to_json(self) -> dict[str, Any]:
        return {
            "temperature": self.temperature,
            "smaller": [[size_of(space), list(construction)] for space, construction in self.smaller],
            "tokens": self.tokens.to_json() if self.tokens else None,
        }

    def restore(self, saved: dict[str, Any], folder: Path, spaces: Sequence[Space]) -> None:
        sizes = {tuple(size_of(space)): space for space in spaces}
        self.temperature = saved["temperature"]
        self.smaller = [(sizes[tuple(size)], tuple(construction)) for size, construction in saved["smaller"]]
        if saved["tokens"] is not None:
            self.tokens, self.proposer = (
                Tokens.from_json(saved["tokens"], self.spaces),
                Proposer.load(folder, self.device),
            )
