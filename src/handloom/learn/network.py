"""Networks: what can be trained. A network is a function from weights, which have names, and tokens to logits.

The transformer of any Config is one; a bigram model is a transformer without layers, and a bag of words one whose head
attends to all positions evenly, so these are Models too. `cells.py` has the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from handloom.core import Config, HandloomError
from handloom.core import params as parameters
from handloom.core.arrays import Arrays
from handloom.core.seeds import Use, generator
from handloom.core.trace import Edits

if TYPE_CHECKING:  # what the native engine trains needs no torch
    import torch
    from torch import Tensor


class Network(Protocol):
    """`frozen` weights stay as they are; `dropout` is the share of values that are left out while training."""

    @property
    def frozen(self) -> frozenset[str]: ...

    def start(self, seed: int) -> Arrays:
        """Weights to begin with."""

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
        """As GPT-2 begins: normal, biases zero, and what adds to the residual stream smaller the more of it there is.
        Weights are scaled by the width they read, so that small models begin no smaller than large ones."""
        rng = generator(seed, Use.WEIGHTS)
        flat = parameters.flatten(parameters.zeros(self.config, np.float32))
        for name, array in flat.items():
            last = name.rpartition(".")[2]
            if last.startswith("W_") and name not in self.frozen:
                flat[name] = rng.normal(0.0, spread(self.config, last), array.shape).astype(np.float32)
        return flat

    def logits(
        self, weights: Mapping[str, Tensor], ids: Tensor, asked: Tensor, dropout: float, rng: torch.Generator | None
    ) -> Tensor:
        from handloom.core import torch_engine

        p = parameters.unflatten(self.config, dict(weights))
        edits = self.dropped(dropout, rng) if dropout and rng is not None else None
        return torch_engine.compute(self.config, p, ids, edits=edits)[0]

    def dropped(self, share: float, rng: torch.Generator) -> Edits:
        """Dropout where GPT-2 has it, on what is embedded and on what each sublayer adds, as edits of a run."""
        import torch

        def drop(x: Tensor) -> Tensor:
            return x * torch.empty_like(x).bernoulli_(1.0 - share, generator=rng) / (1.0 - share)

        parts = [name for name, size in (("attn_out", self.config.heads), ("mlp_out", self.config.d_ff)) if size]
        return {"embed": drop} | {f"*.{name}": drop for name in parts if self.config.layers}


def spread(config: Config, name: str) -> float:
    """The standard deviation of the weights of this name to begin with."""
    if name in ("W_E", "W_pos"):
        return 0.02 if config.tied else 0.1
    width = {"W_O": config.heads * config.d_head, "W_out": config.d_ff}.get(name, config.d_model)
    deep = (2 * config.layers) ** -0.5 if name in ("W_O", "W_out") else 1.0
    return deep * max(1, width) ** -0.5


def bigram(vocab: int, block: int) -> Transformer:
    """The next token from the last one: tokens in, a matrix, tokens out, and nothing between."""
    return Transformer(Config(vocab=vocab, block=block, d_model=vocab, norm="none", positions="none", tied=False))


def bag_of_words(vocab: int, block: int, width: int) -> Transformer:
    """The next token from the mean of all so far: a head that asks for nothing attends to all positions evenly."""
    config = Config(
        vocab=vocab, block=block, d_model=width, layers=1, heads=1, d_head=width, d_ff=width, norm="none", tied=False
    )
    return Transformer(config, frozenset(f"layers.0.{kind}_{name}" for kind in "Wb" for name in "QK"))


def check_fits(config: Config, longest: int) -> None:
    """Refuse strings that are longer than the block."""
    if longest > config.block:
        raise HandloomError(
            f"the strings have up to {longest} tokens and the model's block holds {config.block}: train a model with a "
            f"block of {longest} or more, or leave the long strings out"
        )
