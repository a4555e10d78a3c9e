"""LoRA: learn a little beside weights that stay as they are (Hu et al., 2021).

Every matrix W of a transformer becomes W + A B, where A has `rank` columns and B as many rows. Only A and B are learnt;
B begins at zero, so that the model begins as it was. In the end the product is added to W, and out comes a Model as any
other.
"""

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from handloom.core import params as parameters
from handloom.core.arrays import Arrays
from handloom.core.seeds import Use, generator
from handloom.learn.network import Transformer


class LowRank:
    """A transformer with given weights, of which only changes of low rank are learnt."""

    def __init__(self, inner: Transformer, rank: int) -> None:
        self.inner, self.rank = inner, rank
        shapes = dict(parameters.shapes(inner.config))
        self.frozen = frozenset(shapes)
        self.changed = [name for name, shape in shapes.items() if len(shape) > 1 and ".b_" not in name]

    def begin(self, base: Arrays, seed: int) -> Arrays:
        """The given weights, and the matrices to learn beside them."""
        rng = generator(seed, Use.LORA)
        arrays = dict(base)
        for name in self.changed:
            *heads, rows, columns = base[name].shape
            arrays[name + ".A"] = rng.normal(0.0, max(1, rows) ** -0.5, (*heads, rows, self.rank)).astype(np.float32)
            arrays[name + ".B"] = np.zeros((*heads, self.rank, columns), np.float32)
        return arrays

    def merged(self, arrays: Arrays) -> Arrays:
        """The weights with what was learnt added to them."""
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
