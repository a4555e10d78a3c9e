"""The model's turn in the loop: it trains on the pool, then proposes more constructions like those."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from handloom.core import HandloomError
from handloom.core.seeds import Elsewhere, derived, generator
from handloom.discover.loop.examples import Examples, as_written, examples_of, marginal_loss
from handloom.discover.loop.ledger import Member
from handloom.discover.loop.plan import AUTO, MODEL_ITSELF, ORBITS
from handloom.discover.loop.setup import Setup
from handloom.discover.model.codec import Codec, Decoded, Sized, choose_kind
from handloom.discover.model.images import images_of
from handloom.discover.model.nulls import proposed
from handloom.discover.model.orbit_writing import Orbitwise
from handloom.discover.model.proposer import Draw, Proposer, draw_here, reward_weights
from handloom.discover.model.rewarded import Score, rewarded
from handloom.discover.model.torchrun import train_together
from handloom.discover.search.result import Stop
from handloom.discover.search.symmetry import NONE, orbits_of
from handloom.discover.spaces import Space
from handloom.learn.data import Strings
from handloom.learn.settings import Settings

FEWEST = 10  # constructions in the pool for the model to train on
MOST = 0.5  # of the best, where the writing is to be chosen: by their symmetry, if they have the same
PARTS = 6  # of the training of a generation; after each the loss is measured

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
    symmetry: str | None = None  # that all strings have, where constructions are written by orbits
    proposer: Proposer | None = None
    loss: float | None = None  # per token, while training
    held_out: float | None = None  # per construction that is not trained on
    marginals: float | None = None  # the same by the frequency of each cell

    def to_json(self) -> dict[str, Any]:
        return {
            "temperature": self.temperature,
            "smaller": [[size_of(space), list(construction)] for space, construction in self.smaller],
            "tokens": self.codec.to_json() if self.codec else None,
            "symmetry": self.symmetry,
        }

    @classmethod
    def from_json(cls, saved: dict[str, Any], setup: Setup, folder: Path) -> "ModelState":
        """As it was saved; the proposer is in files of its own."""
        spaces = [make().space for make in setup.problem.smaller[: setup.plan.smaller]]
        sizes = {tuple(size_of(space)): space for space in spaces}
        smaller = [(sizes[tuple(size)], tuple(construction)) for size, construction in saved["smaller"]]
        state = cls(saved["temperature"], smaller, symmetry=saved.get("symmetry"))
        if saved["tokens"] is not None:
            state.codec = Codec.from_json(saved["tokens"], all_spaces(setup, state))
            if setup.plan.proposals == MODEL_ITSELF:
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
    generation: int,
    deadline: float | None,
    report: Callable[[float], None],
    stop: Stop,
) -> None:
    """Train on the pool's members, half of the time on those of the newest generation, and measure on a tenth that is
    held out. `report` gets the share done."""
    codec = codec_for(setup, state, members)
    if state.proposer is None:
        state.proposer = new_proposer(setup, codec)
    rng = generator(setup.plan.seed, Elsewhere.IMAGES, generation)
    image = images_of(setup.problem, state.symmetry) if setup.plan.augment else None
    examples = examples_of(members, codec, image, setup.plan.augment, rng)
    if not examples.trained:
        return
    strings = codec.strings(examples.trained, state.smaller)
    ranked = [replace(member, score=setup.problem.merit(member.score)) for member in examples.members]
    weights = weights_of(ranked, generation - 1, setup.plan.feedback, len(state.smaller))
    first = state.proposer.step

    def watch(step: int, loss: float) -> None:
        state.loss = loss
        report((step - first) / setup.plan.learn)

    train_and_measure(setup, state, strings, weights, examples, deadline, watch, stop)


def train_and_measure(
    setup: Setup,
    state: ModelState,
    strings: Strings,
    weights: Any,
    examples: Examples,
    deadline: float | None,
    watch: Callable[[int, float], None],
    stop: Stop,
) -> None:
    """Train in parts, until the loss on what is held out has risen; measure the same by the pool's marginals."""
    assert state.proposer is not None
    assert state.codec is not None
    held_out = state.codec.strings(examples.held_out) if examples.held_out else None
    alone = state.proposer.stepper.processes.count == 1
    part = -(-setup.plan.learn // PARTS) if held_out and alone else setup.plan.learn
    before, left = math.inf, setup.plan.learn
    state.held_out = None
    while left > 0 and not stop():
        loss = train_together(state.proposer, strings, min(part, left), deadline, weights, watch, stop)
        left -= part
        if loss is None:
            break
        state.loss = loss
        if held_out is not None:
            state.held_out = nats_per_string(state.proposer, held_out)
            if state.held_out > before:
                break
            before = state.held_out
    if state.held_out is not None:
        state.marginals = marginal_loss(state.codec, examples.trained, examples.held_out)


def nats_per_string(proposer: Proposer, strings: Strings) -> float:
    return proposer.stepper.trainer.loss(strings) * float((strings.lengths - strings.asked).sum()) / len(strings)


def codec_for(setup: Setup, state: ModelState, members: Sequence[Member]) -> Codec:
    """How constructions are written; chosen once, by the pool as it is then."""
    if state.codec is None:
        constructions = [member.construction for member in members]
        kind = setup.plan.tokens
        if kind in (AUTO, ORBITS) and not state.smaller and setup.problem.space.is_subset:
            best = members[: max(FEWEST, len(members) // 4)]
            state.symmetry = common_symmetry(best, MOST) if kind == AUTO else common_symmetry(members, 0.0)
        if kind == AUTO:
            kind = ORBITS if state.symmetry else choose_kind(setup.problem.space, constructions)
        if kind == ORBITS and state.symmetry is None:
            raise HandloomError(
                f"tokens=orbits: the best constructions of {setup.problem} have no symmetry in common; leave it to auto"
            )
        orbits = orbits_of(setup.problem, state.symmetry).of if kind == ORBITS and state.symmetry else None
        state.codec = Codec.of(kind, all_spaces(setup, state), constructions, orbits=orbits)
    return state.codec


def common_symmetry(members: Sequence[Member], least: float) -> str | None:
    """The symmetry under which most of them were found; None if these are not that share of all."""
    counts = Counter(member.symmetry for member in members if member.symmetry != NONE)
    name, count = counts.most_common(1)[0] if counts else (None, 0)
    return name if count >= least * len(members) else None


def new_proposer(setup: Setup, codec: Codec) -> Proposer:
    plan = setup.plan
    return Proposer.of(
        codec,
        about=str(setup.problem),
        layers=plan.layers,
        heads=plan.heads,
        width=plan.width,
        settings=Settings(seed=plan.seed, batch=plan.batch, rate=plan.rate),
        device=setup.device,
    )


def weights_of(members: Sequence[Member], newest: int, feedback: float, smaller: int) -> Any:
    """How often each member is drawn: by its score, if there is feedback; the newest as often as all others together.
    Then the same for constructions of smaller sizes, which get the mean."""
    new = np.array([member.generation == newest for member in members])
    weights = reward_weights([member.score for member in members], feedback)
    if newest and new.any() and not new.all():
        weights = np.where(new, weights / weights[new].sum(), weights / weights[~new].sum())
    return np.concatenate([weights, np.full(smaller, weights.mean())])


def propose(
    setup: Setup, state: ModelState, count: int, generation: int, score: Score, deadline: float | None, stop: Stop
) -> list[Decoded]:
    """The model's proposals, read as constructions."""
    if state.codec is None or state.proposer is None or not state.proposer.longest:
        return []
    model = None
    if setup.plan.reward:
        seed = derived(setup.plan.seed, Elsewhere.REWARDS, generation)
        longest = state.proposer.most_tokens()
        model = rewarded(state.proposer.model(), state.codec, score, setup.plan.reward, longest, seed, stop)
    drawn = state.proposer.propose(count, state.temperature, generation, deadline, drawing_on(setup.on), model=model)
    return [state.codec.decode(ids) for ids in drawn]


def propose_without_model(
    setup: Setup, state: ModelState, members: Sequence[Member], count: int, generation: int
) -> list[Decoded]:
    """What the model is compared with (model/nulls.py), written as the model would write it."""
    codec = codec_for(setup, state, members)
    pool = [some for member in members if (some := as_written(member, codec)) is not None]
    orbits = codec.writing if isinstance(codec.writing, Orbitwise) else None
    rng = generator(setup.plan.seed, Elsewhere.NULLS, generation)
    drawn = proposed(setup.plan.proposals, setup.problem.space, pool, count, rng, orbits) if pool else []
    return [Decoded(some, False) for some in drawn]


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
