"""A transformer that is trained in other parameters than its own, and merges into a plain Model.

A Form makes the transformer's weights of those that are trained: W + A B for LoRA (`lora.py`), a row's vector plus a
column's for the positions of a board, the same layer several times (`forms.py`). Gradients flow through it. Whatever
the form, the merged Model is like any other, so that every tool reads it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from handloom.core import Config, HandloomError
from handloom.core import params as parameters
from handloom.core.arrays import Arrays

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from handloom.learn.learner import Transformer

CLOSE = 1e-5  # the largest difference between a model and what a form makes of it, as a share of its largest weight


class Form(Protocol):
    """How the weights of a transformer follow from those that are trained."""

    def frozen(self, config: Config) -> frozenset[str]:
        """The weights that are not trained."""

    def begin(self, config: Config, whole: Arrays, seed: int) -> Arrays:
        """The weights to train, and the frozen ones, from the transformer's own. What the form cannot express is
        lost."""

    def make(self, config: Config, weights: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        """The transformer's weights; those that are the same, under the same name, may be left out."""


@dataclass(frozen=True)
class Reparametrised:
    """A transformer trained in another form; a Network."""

    inner: Transformer
    form: Form

    @property
    def config(self) -> Config:
        return self.inner.config

    @property
    def frozen(self) -> frozenset[str]:
        return self.inner.frozen | self.form.frozen(self.config)

    def start(self, seed: int) -> Arrays:
        """The weights that training starts with: the form of a transformer with random weights."""
        return self.form.begin(self.config, self.inner.start(seed), seed)

    def begin(self, whole: Arrays, seed: int) -> Arrays:
        """The same of given weights, which the form must be able to express."""
        weights = self.form.begin(self.config, whole, seed)
        for name, array in self.merged(weights).items():
            far = np.abs(array - whole[name]).max(initial=0.0)
            if far > CLOSE * np.abs(whole[name]).max(initial=1.0):
                kind = type(self.form).__name__
                raise HandloomError(
                    f"{name} of the starting model is not of the form {kind}; start with random weights"
                )
        return weights

    def merged(self, weights: Arrays) -> Arrays:
        """The weights of the plain transformer."""
        import torch

        whole = self.whole({name: torch.as_tensor(array) for name, array in weights.items()})
        return {name: np.array(whole[name].numpy(), np.float32) for name in whole}

    def whole(self, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
        made = self.form.make(self.config, weights)
        return {name: made[name] if name in made else weights[name] for name, _ in parameters.shapes(self.config)}

    def logits(
        self, weights: Mapping[str, Tensor], ids: Tensor, asked: Tensor, dropout: float, rng: torch.Generator | None
    ) -> Tensor:
        return self.inner.logits(self.whole(weights), ids, asked, dropout, rng)
