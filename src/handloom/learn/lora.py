"""LoRA: train changes of low rank to weights that are frozen (Hu et al., 2021).

Every matrix W of a transformer becomes W + A B, where A has `rank` columns and B `rank` rows. Only A and B are trained;
B starts at zero, so that the model starts unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from handloom.core import Config
from handloom.core import params as parameters
from handloom.core.arrays import Arrays
from handloom.core.seeds import Use, generator

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class LowRank:
    """Given weights, to which changes of low rank are trained."""

    rank: int

    def frozen(self, config: Config) -> frozenset[str]:
        return frozenset(dict(parameters.shapes(config)))

    def begin(self, config: Config, whole: Arrays, seed: int) -> Arrays:
        rng, arrays = generator(seed, Use.LORA), dict(whole)
        for name in matrices(config):
            *heads, rows, columns = whole[name].shape
            arrays[name + ".A"] = rng.normal(0.0, max(1, rows) ** -0.5, (*heads, rows, self.rank)).astype(np.float32)
            arrays[name + ".B"] = np.zeros((*heads, self.rank, columns), np.float32)
        return arrays

    def make(self, config: Config, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
        return {name: weights[name] + weights[name + ".A"] @ weights[name + ".B"] for name in matrices(config)}


def matrices(config: Config) -> list[str]:
    """The weights that LoRA changes."""
    return [name for name, shape in parameters.shapes(config) if len(shape) > 1 and ".b_" not in name]
