"""What is trained: a Network, a function from named weights and tokens to logits; and a Learner, the network with its
vocabulary and the weights it starts with.

The transformer of any Config is a Network. A bigram model is a transformer without layers, and a bag of words one whose
head attends to all positions evenly, so these are Models too. `reparametrised.py` has transformers that are trained in
other parameters, `cells.py` the other networks. A Learner stands between the training loop, which knows weights by
name, and what users have: Models.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from handloom.core import Config, HandloomError, Model, Vocab, generate, save
from handloom.core import params as parameters
from handloom.core.arrays import Arrays
from handloom.core.seeds import Use, generator
from handloom.core.trace import Edits
from handloom.learn.data import Strings
from handloom.learn.evaluation import Sampler
from handloom.learn.lora import LowRank
from handloom.learn.masked import unmask
from handloom.learn.reparametrised import Reparametrised
from handloom.learn.settings import TRANSFORMER, Settings

if TYPE_CHECKING:  # the native engine trains without torch
    import torch
    from torch import Tensor


class Network(Protocol):
    """`frozen` weights are not trained; `dropout` is the share of values set to 0 in training."""

    @property
    def frozen(self) -> frozenset[str]: ...

    def start(self, seed: int) -> Arrays:
        """The weights that training starts with."""

    def logits(
        self, weights: Mapping[str, Tensor], ids: Tensor, asked: Tensor, dropout: float, rng: torch.Generator | None
    ) -> Tensor:
        """(B, T, V) for tokens (B, T), of which the first `asked` of each row are given."""


@dataclass(frozen=True)
class Transformer:
    """A transformer of some Config."""

    config: Config
    frozen: frozenset[str] = frozenset()

    def start(self, seed: int) -> Arrays:
        """As in GPT-2: normal, biases zero, and what adds to the residual stream is smaller the more layers there are.
        Weights are scaled by the width they read, so that small models start no smaller than large ones."""
        rng = generator(seed, Use.WEIGHTS)
        flat = parameters.flatten(parameters.zeros(self.config, np.float32))
        for name, array in flat.items():
            last = name.rpartition(".")[2]
            if last.startswith("W_") and name not in self.frozen:
                flat[name] = rng.normal(0.0, start_deviation(self.config, last), array.shape).astype(np.float32)
        return flat

    def begin(self, whole: Arrays, seed: int) -> Arrays:
        """The weights to train, from given ones: the same."""
        return whole

    def merged(self, weights: Arrays) -> Arrays:
        """The weights of a Model, from those that are trained: the same."""
        return weights

    def logits(
        self, weights: Mapping[str, Tensor], ids: Tensor, asked: Tensor, dropout: float, rng: torch.Generator | None
    ) -> Tensor:
        from handloom.core import torch_engine

        p = parameters.unflatten(self.config, dict(weights))
        edits = self.dropped(dropout, rng) if dropout and rng is not None else None
        return torch_engine.compute(self.config, p, ids, edits=edits)[0]

    def dropped(self, share: float, rng: torch.Generator) -> Edits:
        """Dropout where GPT-2 has it, on the embeddings and on the output of each sublayer, as edits of a run."""
        import torch

        def drop(x: Tensor) -> Tensor:
            return x * torch.empty_like(x).bernoulli_(1.0 - share, generator=rng) / (1.0 - share)

        parts = [name for name, size in (("attn_out", self.config.heads), ("mlp_out", self.config.d_ff)) if size]
        return {"embed": drop} | {f"*.{name}": drop for name in parts if self.config.layers}


def start_deviation(config: Config, name: str) -> float:
    """The standard deviation that the weights of this name start with."""
    if name in ("W_E", "W_pos"):
        return 0.02 if config.tied else 0.1
    width = {"W_O": config.heads * config.d_head, "W_out": config.d_ff}.get(name, config.d_model)
    deep = (2 * config.layers) ** -0.5 if name in ("W_O", "W_out") else 1.0
    return deep * max(1, width) ** -0.5


def bigram(vocab: int, block: int) -> Transformer:
    """The next token from the last one: embedding, unembedding, and nothing between."""
    return Transformer(Config(vocab=vocab, block=block, d_model=vocab, norm="none", positions="none", tied=False))


def bag_of_words(vocab: int, block: int, width: int) -> Transformer:
    """The next token from the mean of all so far: with queries and keys of zero a head attends to all evenly."""
    config = Config(
        vocab=vocab, block=block, d_model=width, layers=1, heads=1, d_head=width, d_ff=width, norm="none", tied=False
    )
    return Transformer(config, frozenset(f"layers.0.{kind}_{name}" for kind in "Wb" for name in "QK"))


@dataclass
class Learner:
    """A transformer to be trained, from random weights or from an existing model."""

    network: Transformer | Reparametrised
    vocab: Vocab
    base: Model | None = None
    notes: dict[str, Any] = field(default_factory=dict)

    @property
    def config(self) -> Config:
        return self.network.config

    @property
    def masked(self) -> bool:
        """Whether the model sees both ways, and hidden tokens are predicted."""
        return not self.config.causal

    def to_json(self) -> dict[str, Any]:
        """All but the weights. Of the forms only that of LoRA is kept in a run's folder."""
        form = self.network.form if isinstance(self.network, Reparametrised) else None
        inner = self.network.inner if isinstance(self.network, Reparametrised) else self.network
        return {
            "kind": "transformer",
            "config": self.config.to_json(),
            "frozen": sorted(inner.frozen),
            "vocab": self.vocab.to_json(),
            "lora": form.rank if isinstance(form, LowRank) else 0,
            "notes": self.notes,
        }

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Learner:
        transformer = Transformer(Config.from_json(values["config"]), frozenset(values["frozen"]))
        network = with_rank(transformer, values["lora"])
        return cls(network, Vocab.from_json(values["vocab"]), None, values["notes"])

    def check(self, strings: Strings) -> None:
        """Raise an error if strings are longer than the model's block."""
        longest, block = int((strings.lengths if self.masked else strings.read).max()), self.config.block
        if longest > block:
            raise HandloomError(
                f"the strings have up to {longest} tokens and the model's block holds {block}: train a model with a "
                f"block of {longest} or more, or leave the long strings out"
            )

    def start(self, settings: Settings) -> Arrays:
        """The weights that training starts with."""
        if self.base is None:
            return self.network.start(settings.seed)
        arrays = {name: np.array(array, np.float32) for name, array in self.base.flat.items()}
        return self.network.begin(arrays, settings.seed)

    def model(self, arrays: Arrays, notes: dict[str, Any]) -> Model:
        return Model(self.config, self.network.merged(arrays), self.vocab, self.notes | notes)

    def save(self, model: Model, path: Path) -> None:
        save(model, path)

    def sampler(self, arrays: Arrays, lengths: Sequence[int], seed: int, engine: str = "auto") -> Sampler:
        """A function that generates with these weights; `lengths` are the possible lengths of an answer."""
        model, longest = self.model(arrays, {}), max(lengths)
        if self.masked:
            return lambda prompts, temperature: unmask(model, prompts, lengths, temperature, seed)
        return lambda prompts, temperature: generate(
            model, prompts, steps=longest, temperature=temperature, seed=seed, engine=engine
        )


def with_rank(transformer: Transformer, rank: int) -> Transformer | Reparametrised:
    """The transformer, or if a rank is given, LoRA of that rank."""
    return Reparametrised(transformer, LowRank(rank)) if rank else transformer


def config_for(vocab: int, block: int, sizes: dict[str, Any]) -> Config:
    """A Config with these sizes; the others are makemore's, in the usual proportions."""
    chosen = TRANSFORMER | sizes
    width, heads = chosen["d_model"], chosen["heads"]
    usual = {"d_head": max(1, width // max(1, heads)), "d_ff": 4 * width}
    return Config(vocab=vocab, block=block, **chosen | {name: sizes.get(name, usual[name]) for name in usual})
