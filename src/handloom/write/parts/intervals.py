"""Intervals of vectors, for proofs about all inputs at once: what goes in is in a box, so what comes out is in a box.

    >>> x = Box(np.array([1.0, -1.0]), np.array([2.0, 1.0]))
    >>> (x @ np.array([[1.0], [10.0]])).low.round(6), (x * x).high.round(6)
    (array([-9.]), array([4., 1.]))

Every operation makes its result wider by the part ROUND of the numbers that it adds up: more than float64 rounds away,
in the operation itself and in a model that computes the same in another order. So widening is relative: it means as
much for large numbers as for small ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from handloom.core.arrays import Array

ROUND = 2.0**-44  # 512 times what rounding a number changes it by at most


@dataclass(frozen=True)
class Box:
    """All vectors between low and high, (..., m)."""

    low: Array
    high: Array

    def __getitem__(self, at: Any) -> "Box":
        return Box(self.low[at], self.high[at])

    @property
    def size(self) -> Array:
        """How large the numbers can be, without their signs."""
        largest: Array = np.maximum(-self.low, self.high)
        return largest

    def wider(self, by: Array | float) -> "Box":
        return Box(self.low - by, self.high + by)

    def __add__(self, other: "Box") -> "Box":
        return Box(self.low + other.low, self.high + other.high).wider(ROUND * (self.size + other.size))

    def __matmul__(self, matrix: Array) -> "Box":
        middle, around = (self.low + self.high) / 2, (self.high - self.low) / 2 + ROUND * self.size
        middle, around = middle @ matrix, around @ np.abs(matrix)
        return Box(middle - around, middle + around)

    def __mul__(self, other: "Box") -> "Box":
        corners = np.stack([self.low * other.low, self.low * other.high, self.high * other.low, self.high * other.high])
        product = Box(corners.min(0), corners.max(0))
        return product.wider(ROUND * product.size)

    def hull(self) -> "Box":
        """One box around all."""
        return Box(self.low.reshape(-1, self.low.shape[-1]).min(0), self.high.reshape(-1, self.high.shape[-1]).max(0))

    def square(self) -> "Box":
        least = np.maximum(0.0, np.maximum(self.low, -self.high))
        return Box(least**2 * (1 - ROUND), self.size**2 * (1 + ROUND))


def hull_over(box: Box, axis: int) -> Box:
    return Box(box.low.min(axis), box.high.max(axis))


def total(x: Box) -> Box:
    return Box(x.low.sum(-1), x.high.sum(-1)).wider(ROUND * x.size.sum(-1))


def spread(boxes: Sequence[Box], shape: tuple[int, ...] = ()) -> Box:
    """Boxes stacked (box, ..., m), all with the same cases in front, and those of `shape`."""
    shape = np.broadcast_shapes(*(box.low.shape for box in boxes), shape)
    return stack([Box(np.broadcast_to(box.low, shape), np.broadcast_to(box.high, shape)) for box in boxes])


def stack(boxes: Sequence[Box]) -> Box:
    return Box(np.stack([box.low for box in boxes]), np.stack([box.high for box in boxes]))
