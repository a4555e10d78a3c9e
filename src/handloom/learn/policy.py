"""Policy gradient: a model is trained to generate strings that a function rewards, by PPO (Schulman et al., 2017).

    for step in improve(model, reward, PolicySettings(steps=100, kl=0.05)):
        print(step.number, step.reward, step.kl)
    better = step.model()

The objective is the mean reward of the strings that the model generates, less `kl` times the divergence of its strings
from those of the model that it starts with. A string whose reward is above the mean of its batch has a positive
advantage: all its tokens become likelier. A batch is used for several epochs. What a token gains stops counting once
its probability has changed by the share `clip`, because the batch was drawn from the model as it was before.

With per="string" the divergence is estimated from the strings drawn and lowers their rewards; the best policy is then
the start's probability of a string times exp(reward / kl). With per="token" it is computed over the whole vocabulary
and is part of the loss; `kl` is then beside the advantage, which is in units of its own if it is whitened.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import torch
from torch import Tensor

from handloom.core import HandloomError, Model, generate
from handloom.core.arrays import Array
from handloom.core.errors import shown
from handloom.core.seeds import Use, derived, generator
from handloom.learn.batches import padded_batch
from handloom.learn.data import NOTHING, Strings
from handloom.learn.fresh import learner_of
from handloom.learn.reparametrised import Form
from handloom.learn.settings import RUN, TRAINING, Settings, check_fields, setting
from handloom.tasks.task import Ids

Reward = Callable[[Strings], Any]  # the strings of a batch → a number for each
Prompts = Callable[[np.random.Generator], Sequence[Ids]]
Advantage = Literal["reward", "centred", "whitened"]
Per = Literal["string", "token"]
SMALLEST = 1e-9  # deviation of the rewards, as a share of the largest: below it they differ by rounding alone


@dataclass(frozen=True, kw_only=True)
class PolicySettings:
    """How a model is trained on a reward."""

    steps: int = setting(100, "batches of strings", TRAINING, 0)
    batch: int = setting(256, "strings per batch", TRAINING, 1)
    epochs: int = setting(4, "times that a batch is gone through", TRAINING, 1)
    parts: int = setting(1, "parts of a batch, each with a step of Adam", TRAINING, 1)
    rate: float = setting(1e-3, "learning rate", TRAINING, 0)
    clip: float = setting(0.2, "change of a token's probability, as a share, beyond which no gain counts", TRAINING, 0)
    kl: float = setting(0.1, "weight of the divergence from the start, in nats per string", TRAINING, 0)
    per: Per = setting("string", "string: the divergence lowers the reward; token: it is in the loss", TRAINING)  # noqa: RUF009
    entropy: float = setting(0.0, "weight of the entropy of the next token", TRAINING, 0)
    advantage: Advantage = setting("whitened", "reward, or centred, or also divided by its deviation", TRAINING)  # noqa: RUF009
    longest: int = setting(0, "new tokens per string; 0: as many as the block holds", TRAINING, 0)
    seed: int = setting(0, "one seed gives one run", RUN, 0)

    def __post_init__(self) -> None:
        check_fields(self)
        for name, kinds in (("per", get_args(Per)), ("advantage", get_args(Advantage))):
            if getattr(self, name) not in kinds:
                raise HandloomError(f"{name}={shown(getattr(self, name))} must be one of {', '.join(kinds)}")


@dataclass(frozen=True)
class PolicyStep:
    """A batch that was trained on: its number, counted from 1; of its strings, drawn before the change, the mean reward
    and the divergence from the start in nats per string; and the share of tokens that were clipped."""

    number: int
    reward: float
    kl: float
    clipped: float
    strings: Strings
    scores: Array  # (B,), the reward of each string
    policy: "Policy"

    def model(self) -> Model:
        """The model after the change; to be taken before the next step is made."""
        if self.policy.steps != self.number:
            text = f"step {self.number} is over, training is at {self.policy.steps}"
            raise HandloomError(f"{text}; ask each step before the next one")
        return self.policy.model()


def improve(
    model: Model,
    reward: Reward,
    settings: PolicySettings,
    *,
    prompts: Prompts | None = None,
    frozen: Iterable[str] = (),
    form: Form | None = None,
) -> Iterator[PolicyStep]:
    """Train a model to generate strings with a high reward. `prompts` makes the beginnings of a batch, by default the
    token that begins a string. `frozen` and `form` are as in `steps`."""
    policy = Policy(learner_of(model, None, tuple(frozen), form), settings)
    begun = prompts or (lambda rng: [[beginning(model)]] * settings.batch)

    def loop() -> Iterator[PolicyStep]:
        for number in range(settings.steps):
            rng = generator(settings.seed, Use.BATCHES, number)
            strings = sampled(policy.model(), begun(rng), settings, derived(settings.seed, Use.BATCHES, number))
            scores = np.asarray(reward(strings), np.float64)
            if scores.shape != (len(strings),) or not np.isfinite(scores).all():
                text = f"reward: {shown(scores.shape)} numbers for {len(strings)} strings, or some are not finite"
                raise HandloomError(f"{text} (expected one number per string); correct the function")
            kl, clipped = policy.update(strings, scores, rng)
            yield PolicyStep(number + 1, float(scores.mean()), kl, clipped, strings, scores, policy)

    return loop()


def beginning(model: Model) -> int:
    if model.vocab.bos is None:
        raise HandloomError("the model has no token that begins a string; give prompts")
    return model.vocab.id(model.vocab.bos)


def sampled(model: Model, prompts: Sequence[Ids], settings: PolicySettings, seed: int) -> Strings:
    """Strings that the model generates after the prompts, at temperature 1."""
    room = model.config.block + 1 - max(map(len, prompts))  # the last token is not read
    new = generate(model, prompts, steps=settings.longest or room, temperature=1.0, seed=seed, engine="auto")
    return Strings.of([(list(prompt), answer) for prompt, answer in zip(prompts, new, strict=True)])


class Policy:
    """Weights that are trained on rewarded strings, and those that they started with."""

    def __init__(self, learner: Any, settings: PolicySettings) -> None:
        self.learner, self.settings, self.steps = learner, settings, 0
        arrays = learner.start(Settings(seed=settings.seed))
        self.start = {name: torch.tensor(array) for name, array in arrays.items()}
        trained = arrays.keys() - learner.network.frozen
        self.weights = {name: t.clone().requires_grad_(name in trained) for name, t in self.start.items()}
        self.adam = torch.optim.Adam([self.weights[name] for name in sorted(trained)], lr=settings.rate)

    def model(self) -> Model:
        arrays = {name: tensor.detach().numpy().copy() for name, tensor in self.weights.items()}
        return self.learner.model(arrays, {"made": "trained", "rewarded": self.steps})

    def log_probabilities(self, weights: Mapping[str, Tensor], inputs: Tensor) -> Tensor:
        """Of the next token, (B, T, V)."""
        return self.learner.network.logits(weights, inputs, None, 0.0, None).log_softmax(-1)

    def update(self, strings: Strings, scores: Array, rng: np.random.Generator) -> tuple[float, float]:
        """Train on a batch; returns its divergence from the start, and the share of tokens that were clipped."""
        batch, settings = padded_batch(strings, np.arange(len(strings))), self.settings
        inputs, targets = torch.from_numpy(batch.inputs), torch.from_numpy(batch.targets)
        with torch.no_grad():
            now, start = (self.log_probabilities(weights, inputs) for weights in (self.weights, self.start))
        old = chosen(now, targets)
        gained = torch.from_numpy(scores)
        if settings.per == "string":
            gained = gained - settings.kl * (old - chosen(start, targets)).double().sum(-1)
        advantages = advantage(gained, settings.advantage).float()
        shares = []
        for _ in range(settings.epochs):
            for part in np.array_split(rng.permutation(len(strings)), settings.parts):
                rows = torch.from_numpy(part)
                new = self.log_probabilities(self.weights, inputs[rows])
                loss, share = ppo_loss(new, old[rows], start[rows], targets[rows], advantages[rows], settings)
                self.adam.zero_grad()
                loss.backward()
                self.adam.step()
                shares.append(share)
        self.steps += 1
        kl = (divergence(now, start) * (targets != NOTHING)).sum() / len(strings)
        return float(kl), float(np.mean(shares))


def ppo_loss(
    new: Tensor, old: Tensor, start: Tensor, targets: Tensor, advantages: Tensor, settings: PolicySettings
) -> tuple[Tensor, float]:
    """PPO's loss per string, and the share of tokens that are clipped. `new` and `start` are log-probabilities of all
    tokens (B, T, V), `old` those of the chosen ones (B, T), and `advantages` are of the strings (B,)."""
    told = targets != NOTHING
    ratio = (chosen(new, targets) - old).exp()
    near = ratio.clamp(1.0 - settings.clip, 1.0 + settings.clip)
    gain = torch.minimum(ratio * advantages[:, None], near * advantages[:, None])
    if settings.per == "token":
        gain = gain - settings.kl * divergence(new, start)
    if settings.entropy:
        gain = gain - settings.entropy * (new.exp() * new).sum(-1)
    clipped = float((ratio.detach() != near.detach())[told].float().mean())
    return -(gain * told).sum() / len(targets), clipped


def chosen(logs: Tensor, targets: Tensor) -> Tensor:
    """The log-probabilities (B, T) of the targets, of (B, T, V); 0 where nothing is predicted."""
    found = logs.gather(-1, targets.clamp(min=0)[..., None])[..., 0]
    return found * (targets != NOTHING)


def divergence(logs: Tensor, start: Tensor) -> Tensor:
    """KL from the start, of the next token at every place: (B, T)."""
    return (logs.exp() * (logs - start)).sum(-1)


def advantage(gained: Tensor, how: Advantage) -> Tensor:
    """By how much each string is better than the batch."""
    if how == "reward":
        return gained
    centred = gained - gained.mean()
    if how == "centred":
        return centred
    deviation = centred.square().mean().sqrt()
    return centred / deviation if deviation > SMALLEST * gained.abs().max() else torch.zeros_like(gained)
