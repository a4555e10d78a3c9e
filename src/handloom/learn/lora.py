"""LoRA: train changes of low rank to weights that are frozen (Hu et al., 2021).

Every matrix W of a transformer becomes W + A B, where A has `rank` columns and B `rank` rows. Only A and B are trained;
B starts at zero, so that the model starts unchanged. In the end the product is added to W, which gives a Model like any
other.
"""

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from handloom.core import params as parameters
from handloom.core.arrays import Arrays
from handloom.core.seeds import Use, generator
from handloom.learn.learner import Transformer


class LowRank:
    """A transformer with given weights, to which changes of low rank are trained."""

    def __init__(self, inner: Transformer, rank: int) -> None:
        self.inner, self.rank = inner, rank
        shapes = dict(parameters.shapes(inner.config))
        self.frozen = frozenset(shapes)
        self.changed = [name for name, shape in shapes.items() if len(shape) > 1 and ".b_" not in name]

    def begin(self, base: Arrays, seed: int) -> Arrays:
        """The given weights, and the matrices trained beside them."""
        rng = generator(seed, Use.LORA)
        arrays = dict(base)
        for name in self.changed:
            *heads, rows, columns = base[name].shape
            arrays[name + ".A"] = rng.normal(0.0, max(1, rows) ** -0.5, (*heads, rows, self.rank)).astype(np.float32)
            arrays[name + ".B"] = np.zeros((*heads, self.rank, columns), np.float32)
        return arrays

    def merged(self, arrays: Arrays) -> Arrays:
        """The weights with the trained changes added."""
        return {
            name: array + arrays[name + ".A"] @ arrays[name + ".B"] if name in self.changed else array
            for name, array in arrays.items()
            if name in self.frozen
        }

    def logits(
        self, weights: Mapping[str, Tensor], ids: Tensor, asked: Tensor, dropout: float, rng: torch.Generator | None
    ) -> Tensor:
        whole = {
            name: weights[name] + weights[name + ".A"] @ weights[name + ".B"] if name in self.changed else weights[name]
            for name in self.frozen
        }
        return self.inner.logits(whole, ids, asked, dropout, rng)
