"""The cache of the torch engine: keys and values of the positions run so far, for a batch whose rows may be at
different positions. Those that heads share it holds once."""

import math

import numpy as np
import torch
from torch import Tensor

from handloom.core.config import Config
from handloom.core.params import Params


class Past:
    """The cache of a batch; all rows have room for the same number of positions."""

    def __init__(self, config: Config, p: Params, rows: int) -> None:
        self.spare = p["W_E"].new_empty(0)  # memory to copy into when room is made
        self.kept = [self.spare] * (2 * config.layers)  # keys of layer 0, values of layer 0, keys of layer 1, …; flat
        self.lengths = np.zeros(rows, np.int64)
        self.groups, self.d_head, self.block = config.groups, config.d_head, config.block
        self.room, self.held = 0, 0  # positions laid out now, and those that the memory could hold

    def begin(self, T: int) -> None:
        """Before a run of T tokens: where they stand, how much there will be, which of it each may see."""
        device = self.spare.device
        self.even = bool((self.lengths == self.lengths[0]).all())
        positions = (self.lengths[:1] if self.even else self.lengths[:, None]) + np.arange(T)
        positions = np.minimum(positions, self.block - 1)  # a finished row may stand at the end of its block
        self.positions = torch.as_tensor(positions, device=device)  # (T,) if all rows are equally far, else (B, T)
        self.total = int(positions.max()) + 1
        self.mask = None
        if not (self.even and T == 1):
            seen = torch.arange(self.total, device=device) <= self.positions[..., None]
            self.mask = seen if self.even else seen[:, None]  # (T, S) or (B, 1, T, S)
        if self.total > self.room:
            self.grow(min(self.total + self.total // 8 + 8, self.block))

    def grow(self, room: int) -> None:
        """Make room for a few more positions: with less unused room between them rows are read faster, which more than
        pays for copying them more often. They are copied into memory that was in use before, for fresh memory costs
        more than copying (docs/LOG.md has the numbers)."""
        fresh = room > self.held
        if fresh:
            self.held = min(max(room, 2 * self.held), self.block)
            self.spare = self.empty()
        for i, flat in enumerate(self.kept):
            new = self.laid_out(self.spare, room)
            new[:, :, : self.room] = self.laid_out(flat, self.room)
            new[:, :, self.room :] = 0.0  # masked, but 0 · NaN would be NaN
            self.kept[i], self.spare = self.spare, self.empty() if fresh else flat
        self.room = room

    def empty(self) -> Tensor:
        return self.spare.new_empty(len(self.lengths) * self.groups * self.held * self.d_head)

    def laid_out(self, flat: Tensor, room: int) -> Tensor:
        """Memory seen as (B, G, room, K)."""
        shape = len(self.lengths), self.groups, room, self.d_head
        return flat[: math.prod(shape)].view(shape)

    def extend(self, i: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        """Keep the new keys and values; all keys and values so far, and which of them each query may see."""
        all_k, all_v = (self.laid_out(flat, self.room) for flat in self.kept[2 * i : 2 * i + 2])
        for kept, new in ((all_k, k), (all_v, v)):
            if self.even:
                kept[:, :, self.total - new.shape[2] : self.total] = new
            else:
                rows = torch.arange(len(kept), device=kept.device)[:, None]
                kept[rows, :, self.positions] = new.transpose(1, 2)
        return all_k[:, :, : self.total], all_v[:, :, : self.total], self.mask

    def keep(self, slots: list[int]) -> None:
        """Keep only these rows."""
        self.kept = [self.laid_out(flat, self.room)[slots].flatten() for flat in self.kept]
        self.lengths = self.lengths[slots]
        self.held = self.room
        self.spare = self.empty()
