"""The residual stream of all inputs at once: what each part has written, case by case, and how wrong it can be.

At every position behind the first token the stream is a sum of signals. A signal is a table: for each case of a few
variables of the program, numbers that are written along fixed vectors. Reading is exact on the tables, with the weights
as they are. What float32 rounds, and what layer norm changes from position to position, is a bound beside it, per
dimension, for all cases:

    norm        one factor per position, between 1 and 1 + Σy²/4C² (the pair ±C and the rest y), which scales all that
                is read there; then each coordinate rounds by 4u of itself, u = 2⁻²⁴. The mean, and what rounding adds
                to it, is the same for all coordinates, and is seen by the sum of a read's coefficients only
    products    n terms round by (n + 2)u of the sum of their sizes, in any order
    additions   u of the largest number, per dimension
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from handloom.core.arrays import Array
from handloom.write.compiler.cases import Domain, Domains, Grid, unproven
from handloom.write.compiler.values import Plain, Value

U = 2.0**-24  # half the distance from 1 to the next float32
UNSEEN = 2e-7  # of all that is read: less than this is part of the error


Cases = dict[tuple[Plain, ...], int]  # what some variables are → a row


@dataclass(frozen=True)
class Signal:
    """In each case of some variables, amounts of some vectors; and the amounts at the first token."""

    key: tuple[Value, ...]
    cases: Cases
    amounts: Array  # (n, J)
    vectors: Array  # (J, D)
    first: Array  # (J,)


@dataclass(frozen=True)
class Reads:
    """What is read, (n, m), in each case of some variables; at the first token, (m,); how wrong it can be, (m,), and
    the part by which all that is read at one position may be larger or smaller."""

    keys: tuple[Value, ...]
    cases: list[tuple[Plain, ...]]
    values: Array
    first: Array
    error: Array
    factor: float
    spread: Array  # the part of the error by which cases that count as one differ, (m,)


@dataclass(frozen=True)
class Norm:
    """What a norm does to the stream: the number that it divides by, up to a factor; how large coordinates can be, how
    wrong before and behind it, (D,), and how large the mean that it takes away can be."""

    sigma: float
    factor: float
    sizes: Array
    error: Array
    mean: float


class Streams:
    """Signals and errors, as they grow from layer to layer."""

    def __init__(self, domains: Domains, width: int) -> None:
        self.domains, self.signals = domains, list[Signal]()
        self.error: Array = np.zeros(width)  # (D,)

    def add(self, signals: Sequence[Signal], error: Array) -> None:
        """What a half layer writes, each dimension of which may be off by an error."""
        before = self.sizes() if self.signals else np.zeros_like(self.error)
        self.signals += signals
        written = np.any([signal.vectors.any(0) for signal in signals], axis=0) if signals else np.zeros(1)
        self.error = self.error + error + U * np.where(written, before + self.sizes(), 0)

    def sizes(self) -> Array:
        """How large each coordinate can be, (D,)."""
        low, high = self.bounds()
        return np.maximum(-low, high) + self.error

    def bounds(self) -> tuple[Array, Array]:
        """Between which numbers each coordinate is, (D,)."""
        rows = [(np.vstack([s.amounts, s.first]) @ s.vectors) for s in self.signals]
        return np.sum([row.min(0) for row in rows], axis=0), np.sum([row.max(0) for row in rows], axis=0)

    def at_first(self) -> Array:
        """The stream at the first token, (D,)."""
        total: Array = np.sum([signal.first @ signal.vectors for signal in self.signals], axis=0)
        return total

    def normed(self, weights: Array, eps: float) -> tuple[Array, Array, float]:
        """Weights (D, m) that read behind a norm as weights that read the stream, their error (m,) and the factor."""
        norm, coefficients = self.norm(eps), np.abs(weights)
        terms = np.count_nonzero(weights, axis=0)  # adding 0 rounds nothing
        error = norm.error @ coefficients + norm.mean * np.abs(weights.sum(0))
        error += (terms + 2) * U * (norm.sizes @ coefficients)
        return weights / norm.sigma, error / norm.sigma, norm.factor

    def norm(self, eps: float) -> "Norm":
        low, high = self.bounds()
        low, high = low - self.error, high + self.error
        least = float(np.max(low[:, None] - high[None, :]))  # of two coordinates: the pair
        if least <= 0:
            raise unproven("no two coordinates of the stream are always apart, so that a norm may divide by anything")
        width, sizes = len(low), np.maximum(-low, high)
        sigma, most = least / np.sqrt(2 * width), np.sqrt((sizes**2).sum() / width + eps)
        mean = (np.abs(low.sum()) + np.abs(high - low).sum()) / width + 2 * U * sizes.sum()
        return Norm(sigma, most / sigma - 1 + 8 * U, sizes, self.error + 4 * U * sizes, mean)

    def read(self, weights: Array, eps: float, keys: Sequence[Value], promised: Domain | None = None) -> Reads:
        """What weights (D, m) read behind a norm, in each case of the keys, which must determine it."""
        scaled, error, factor = self.normed(weights, eps)
        grid, total, slack = self.summed(scaled, keys, promised)
        first: Array = self.at_first() @ scaled
        columns = [grid.column(key) for key in keys]
        there = np.ones(grid.size, bool) if not columns else np.all([column >= 0 for column in columns], axis=0)
        there &= ~np.isnan(total).any(1)
        place, cases = grid.tabled(list(keys), lambda *given: given)
        low, high = (np.full((len(cases), weights.shape[1]), bound) for bound in (np.inf, -np.inf))
        np.minimum.at(low, place[there], total[there])
        np.maximum.at(high, place[there], total[there])
        occur: Array = np.asarray(np.isfinite(low).all(1))
        spread = (high - low)[occur].max(0, initial=0.0) / 2
        kept = [case for case, here in zip(cases, occur, strict=True) if here]
        return Reads(
            tuple(keys), kept, ((low + high) / 2)[occur], first, error + spread + slack, factor, spread + slack
        )

    def summed(
        self, scaled: Array, wanted: Sequence[Value], promised: Domain | None = None
    ) -> tuple[Grid, Array, Array]:
        """The sum of what all signals add to some reads, on a grid of their cases and of what is wanted, (n, m); not a
        number where a case cannot occur. Signals that add next to nothing are an error, (m,)."""
        seen, rest = self.parted(scaled)
        grid = self.domains.grid([value for s, _ in seen for value in s.key], wanted, promised)
        total = np.zeros((grid.size, scaled.shape[1])) + sum((rows.min(0) + rows.max(0)) / 2 for rows in rest)
        slack: Array = np.sum([np.ptp(rows, axis=0) / 2 for rows in rest], axis=0) + np.zeros(scaled.shape[1])
        for signal, rows in seen:
            place, found = grid.tabled(signal.key, lambda *given, cases=signal.cases: cases.get(given, -1))
            row = np.array([*found, -1])[place]
            total += np.where((row >= 0)[:, None], rows[row], np.nan)
        return grid, total, slack

    def parted(self, scaled: Array) -> tuple[list[tuple[Signal, Array]], list[Array]]:
        """What each signal adds to some reads, (n, m), for those that add something, and for the rest."""
        added = [(signal, signal.amounts @ (signal.vectors @ scaled)) for signal in self.signals]
        largest = np.sum([np.abs(rows).max(0, initial=0.0) for _, rows in added], axis=0)
        visible = [bool((np.ptp(rows, axis=0) > UNSEEN * largest).any()) for _, rows in added]
        pairs = list(zip(added, visible, strict=True))
        return [one for one, seen in pairs if seen], [rows for (_, rows), seen in pairs if not seen]

    def seen_by(self, scaled: Array) -> list[Value]:
        """The variables on which some reads depend."""
        return [value for signal, _ in self.parted(scaled)[0] for value in signal.key]
