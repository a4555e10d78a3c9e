"""Forms that a transformer can be trained in: the positions of a board, looped layers, values fixed to the identity.

    steps(config, draw, settings, form=RowsAndColumns(8))

`reparametrised.py` says what a form is. None of these freezes weights: what a form fixes is not among those trained.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from handloom.core import Config, HandloomError
from handloom.core import params as parameters
from handloom.core.arrays import Arrays

if TYPE_CHECKING:
    from torch import Tensor

ROWS, COLUMNS = "W_pos.rows", "W_pos.columns"


@dataclass(frozen=True)
class RowsAndColumns:
    """The positions of a board, read row by row: W_pos[r · columns + c] = rows[r] + columns[c]."""

    columns: int

    def frozen(self, config: Config) -> frozenset[str]:
        return frozenset()

    def begin(self, config: Config, whole: Arrays, seed: int) -> Arrays:
        """The first column and the first row of the table, which decide all of a table of this form."""
        if config.positions != "table" or config.block % self.columns:
            text = f"a block of {config.block} with positions={config.positions}"
            raise HandloomError(f"{text} is no board of {self.columns} columns (expected a table of whole rows)")
        table = whole["W_pos"].reshape(-1, self.columns, config.d_model)
        others = {name: array for name, array in whole.items() if name != "W_pos"}
        return others | {ROWS: table[:, 0].copy(), COLUMNS: table[0] - table[0, 0]}

    def make(self, config: Config, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
        table = weights[ROWS][:, None] + weights[COLUMNS][None]
        return {"W_pos": table.flatten(0, 1)}


@dataclass(frozen=True)
class Looped:
    """Layers that share their weights: layer i is layer i mod `period`."""

    period: int = 1

    def frozen(self, config: Config) -> frozenset[str]:
        return frozenset()

    def begin(self, config: Config, whole: Arrays, seed: int) -> Arrays:
        later = set(self.copies(config))
        return {name: array for name, array in whole.items() if name not in later}

    def make(self, config: Config, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
        return {name: weights[first] for name, first in self.copies(config).items()}

    def copies(self, config: Config) -> dict[str, str]:
        """The weights of the later layers, each with the name of the one that it shares."""
        found = {}
        for name, _ in parameters.shapes(config):
            parts = name.split(".", 2)
            if parts[0] == "layers" and int(parts[1]) >= self.period:
                found[name] = f"layers.{int(parts[1]) % self.period}.{parts[2]}"
        return found


@dataclass(frozen=True)
class IdentityValues:
    """Heads that move the residual stream as it is (He and Hofmann, 2023): head h copies its own part of the stream,
    and neither W_V and W_O nor their biases are trained."""

    def frozen(self, config: Config) -> frozenset[str]:
        return frozenset()

    def begin(self, config: Config, whole: Arrays, seed: int) -> Arrays:
        if config.kv_heads or config.heads * config.d_head != config.d_model:
            text = f"{config.heads} heads of {config.d_head} do not divide a stream of {config.d_model}"
            raise HandloomError(f"{text} (expected heads × d_head = d_model, without kv_heads); change the sizes")
        return {name: array for name, array in whole.items() if name.rpartition(".")[2] not in VALUES}

    def make(self, config: Config, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
        parts = np.eye(config.d_model, dtype=np.float32).reshape(config.heads, config.d_head, config.d_model)
        fixed = {"W_V": parts.swapaxes(1, 2).copy(), "W_O": parts}
        like = next(iter(weights.values()))
        return {
            name: like.new_tensor(fixed.get(name.rpartition(".")[2], np.zeros(shape, np.float32)))
            for name, shape in parameters.shapes(config)
            if name.rpartition(".")[2] in VALUES
        }


VALUES = ("W_V", "b_V", "W_O", "b_O")  # what IdentityValues fixes
