"""The model's turn in the loop: it trains on the pool, then proposes more constructions like those."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from handloom.discover.loop.ledger import Member
from handloom.discover.loop.plan import AUTO
from handloom.discover.loop.setup import Setup
from handloom.discover.model.codec import Codec, Decoded, Sized, choose_kind
from handloom.discover.model.proposer import Draw, Proposer, draw_here, reward_weights
from handloom.discover.model.torchrun import train_together
from handloom.discover.search.result import Stop
from handloom.discover.spaces import Construction, Space
from handloom.learn.settings import Settings

# The temperature follows the share of proposals that the pool has already: above half the model mostly repeats it,
# below a fifth there is no need for more noise. It changes by some percent per generation, so that it settles.
MANY, FEW = 0.5, 0.2
WARMER, COOLER = 1.1, 0.95
HOTTEST = 2.0  # where proposals are close to random


@dataclass
class ModelState:
    """The transformer of a run. Its codec and proposer are made when there is something to train on."""

    temperature: float
    smaller: list[Sized] = field(default_factory=list)  # constructions of smaller sizes, to train on as well
    codec: Codec | None = None
    proposer: Proposer | None = None
    loss: float | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "temperature": self.temperature,
            "smaller": [[size_of(space), list(construction)] for space, construction in self.smaller],
            "tokens": self.codec.to_json() if self.codec else None,
        }

    @classmethod
    def from_json(cls, saved: dict[str, Any], setup: Setup, folder: Path) -> "ModelState":
        """As it was saved; the proposer is in files of its own."""
        spaces = [make().space for make in setup.problem.smaller[: setup.plan.smaller]]
        sizes = {tuple(size_of(space)): space for space in spaces}
        smaller = [(sizes[tuple(size)], tuple(construction)) for size, construction in saved["smaller"]]
        state = cls(saved["temperature"], smaller)
        if saved["tokens"] is not None:
            state.codec = Codec.from_json(saved["tokens"], all_spaces(setup, state))
            state.proposer = Proposer.load(folder, setup.device)
        return state


def size_of(space: Space) -> list[int]:
    """What distinguishes the sizes of a problem."""
    return [*space.sides, len(space.elements), space.length]


def all_spaces(setup: Setup, state: ModelState) -> list[Space]:
    """The problem's space, then those of the smaller sizes."""
    return list(dict.fromkeys([setup.problem.space, *(space for space, _ in state.smaller)]))


def train_model(
    setup: Setup,
    state: ModelState,
    members: Sequence[Member],
    newest: int,
    deadline: float | None,
    report: Callable[[float], None],
    stop: Stop,
) -> None:
    """Train on the pool's members, half of the time on those of the newest generation. `report` gets the share done."""
    constructions = [member.construction for member in members]
    if state.codec is None or state.proposer is None:
        state.codec, state.proposer = new_proposer(setup, state, constructions)
    first, steps = state.proposer.step, setup.plan.learn

    def watch(step: int, loss: float) -> None:
        state.loss = loss
        report((step - first) / steps)

    strings = state.codec.strings(constructions, state.smaller)
    ranked = [replace(member, score=setup.problem.merit(member.score)) for member in members]
    weights = weights_of(ranked, newest, setup.plan.feedback, len(state.smaller))
    state.loss = train_together(state.proposer, strings, steps, deadline, weights, watch, stop)


def new_proposer(setup: Setup, state: ModelState, constructions: Sequence[Construction]) -> tuple[Codec, Proposer]:
    plan = setup.plan
    kind = choose_kind(setup.problem.space, constructions) if plan.tokens == AUTO else plan.tokens
    codec = Codec.of(kind, all_spaces(setup, state), constructions)
    settings = Settings(seed=plan.seed, batch=plan.batch, rate=plan.rate)
    proposer = Proposer.of(
        codec,
        about=str(setup.problem),
        layers=plan.layers,
        heads=plan.heads,
        width=plan.width,
        settings=settings,
        device=setup.device,
    )
    return codec, proposer


def weights_of(members: Sequence[Member], newest: int, feedback: float, smaller: int) -> Any:
    """How often each member is drawn: by its score, if there is feedback; the newest as often as all others together.
    Then the same for constructions of smaller sizes, which get the mean."""
    new = np.array([member.generation == newest for member in members])
    weights = reward_weights([member.score for member in members], feedback)
    if newest and new.any() and not new.all():
        weights = np.where(new, weights / weights[new].sum(), weights / weights[~new].sum())
    return np.concatenate([weights, np.full(smaller, weights.mean())])


def propose(setup: Setup, state: ModelState, seed: int, deadline: float | None) -> list[Decoded]:
    """The model's proposals, read as constructions."""
    if state.codec is None or state.proposer is None:
        return []
    drawn = state.proposer.propose(setup.plan.samples, state.temperature, seed, deadline, drawing_on(setup.on))
    return [state.codec.decode(ids) for ids in drawn]


def drawing_on(workers: str) -> Draw:
    """How samples are drawn: here, where the engine has threads of its own, or by the workers of Ray."""
    if workers == "ray":
        from handloom.discover.loop.ray_executor import draw_on_ray

        return draw_on_ray
    return draw_here


def adapt_temperature(setup: Setup, state: ModelState, duplicates: float) -> None:
    """Warmer when proposals repeat the pool, and back when they do not."""
    factor = WARMER if duplicates > MANY else COOLER if duplicates < FEW else 1.0
    state.temperature = min(HOTTEST, max(setup.plan.temperature, state.temperature * factor))
