"""The residual stream of all inputs at once: what each part has written, case by case, and how wrong it can be.

At every position behind the first token the stream is a sum of signals. A signal is a table: for each case of a few
variables of the program, numbers that are written along fixed vectors, and a bound on the error of each dimension.
Reading is exact on the tables, with the weights as they are. What float32 rounds, and what layer norm changes from
position to position, is a bound beside it:

    norm        one factor per position, between 1 and 1 + Σy²/4C² (the pair ±C and the rest y), which scales all that
                is read there, and rounds by (D/2 + 6)u in any order of summation, u = 2⁻²⁴, or by no more than y²
                where it is added to C²; then each coordinate rounds by 3u of itself and of the mean. The mean, and what
                rounding adds to it, is the same for all coordinates, and is seen by the sum of a read's coefficients
    products    each rounds by u of itself, and each sum of some of them, in any order, by u of the sum of all positive
                ones or of all negative ones, whichever is larger
    additions   u of the largest number, per dimension
    underflow   less than 2⁻¹⁰⁰ per product; numbers that could overflow have no proof
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from handloom.core.arrays import Array
from handloom.write.compiler.cases import MOST_CASES, Domain, Domains, Grid, unproven
from handloom.write.compiler.lines import Tables, on_lines
from handloom.write.compiler.signals import Signal
from handloom.write.compiler.values import Plain, Value

U = 2.0**-24  # half the distance from 1 to the next float32
TINY = 2.0**-100  # more than float32 loses where numbers are too small for it
LARGE = 2.0**50  # below this, neither products nor squares overflow
FEW_CASES = 20_000  # up to this many are gone through before sums are taken as lines
UNSEEN = 2e-7  # of all that is read: less than this is part of the error


@dataclass(frozen=True)
class Reads:
    """What is read, (n, m), in each case of some variables, and at the first token, (m,); how wrong it can be; and the
    part by which all that is read at one position may be larger or smaller."""

    keys: tuple[Value, ...]
    cases: list[tuple[Plain, ...]]
    values: Array  # (n, m)
    errors: Array  # (n, m)
    first: Array  # (m,)
    first_error: Array  # (m,)
    factor: float
    rounded: Array  # (n + 1, m): what of the errors is rounded in the sums of the reads; the last is the first token's


@dataclass(frozen=True)
class Norm:
    """What a norm does to the stream: the number that it divides by, up to a factor; how large coordinates can be,
    whatever the case, (D,); and how large the mean that it takes away."""

    sigma: float
    factor: float
    sizes: Array
    mean: float


@dataclass(frozen=True)
class Products:
    """What the positive products of weights with coordinates add up to at most, and what the negative ones, (n, m)."""

    up: Array
    down: Array

    def rounding(self, terms: Array) -> Array:
        """What float32 rounds in sums of so many products: all sums of some of them, in any order, lie between those of
        all negative and of all positive ones. Adding 0 rounds nothing."""
        rounded: Array = 1.01 * U * (terms * np.maximum(self.up, self.down) + self.up + self.down)
        return rounded


@dataclass(frozen=True)
class Sum:
    """The cases of all signals that some reads see: for each its row in every case, (n,), −1 where it cannot occur."""

    grid: Grid
    seen: list[tuple[Signal, Array]]
    rest: list[Signal]

    def occurs(self) -> Array:
        """Whether each case can occur, (n,)."""
        there = self.grid.there.copy()
        for _, row in self.seen:
            there &= row >= 0
        return there

    def of(self, scaled: Array, cases: Array) -> tuple[Array, Array]:
        """What weights (D, m) read of the stream in some cases, (n, m), and how wrong the signals make it."""
        sizes = np.abs(scaled)
        total, wrong = (np.zeros((len(cases), scaled.shape[1])) for _ in range(2))
        for signal, row in self.seen:
            total += (signal.amounts @ (signal.vectors @ scaled))[row[cases]]
            if signal.errors.any():
                wrong += (signal.errors @ sizes)[row[cases]]
        rest, more = between_ends(self.rest, scaled)
        return total + rest, wrong + more


class Streams:
    """Signals and errors, as they grow from layer to layer."""

    def __init__(self, domains: Domains, width: int) -> None:
        self.domains, self.signals = domains, list[Signal]()
        self.error: Array = np.zeros(width)  # (D,), of additions, whatever the case

    def add(self, signals: Sequence[Signal]) -> None:
        """What a half layer writes."""
        self.signals += signals
        written = np.any([signal.vectors.any(0) for signal in signals], axis=0) if signals else np.zeros(1)
        self.error = self.error + 1.01 * U * np.where(written, self.sizes(), 0)

    def clear(self, left: Mapping[int, float]) -> None:
        """Forget what stood in some dimensions; as much as given may be left."""
        for d, rest in left.items():
            self.signals = [signal.without(d) for signal in self.signals]
            self.error[d] = rest

    def most_wrong(self) -> Array:
        """How wrong each coordinate can be, (D,)."""
        total: Array = np.sum([signal.most_wrong() for signal in self.signals], axis=0) + self.error
        return total

    def sizes(self) -> Array:
        """How large each coordinate can be, (D,)."""
        low, high = self.bounds()
        return np.maximum(-low, high)

    def bounds(self) -> tuple[Array, Array]:
        """Between which numbers each coordinate is, (D,)."""
        rows = [(np.vstack([s.amounts, s.first]) @ s.vectors) for s in self.signals]
        wrong = self.most_wrong()
        low, high = np.sum([row.min(0) for row in rows], axis=0), np.sum([row.max(0) for row in rows], axis=0)
        return low - wrong, high + wrong

    def largest_sum(self) -> float:
        """How large the sum of all coordinates can be, or minus it."""
        rows = [np.vstack([s.amounts, s.first]) @ s.vectors.sum(1) for s in self.signals]
        low, high = sum(float(row.min()) for row in rows), sum(float(row.max()) for row in rows)
        return max(-low, high) + float(self.most_wrong().sum())

    def normed(self, weights: Array, eps: float) -> tuple[Array, Norm]:
        """Weights (D, m) that read behind a norm as weights that read the stream, and the norm."""
        norm = self.norm(eps)
        not_too_large(norm.sizes, norm.sizes @ np.abs(weights) / norm.sigma)
        return weights / norm.sigma, norm

    def wrong_by_norm(self, weights: Array, norm: Norm, products: Products) -> Array:
        """How wrong coordinates make the products of weights (D, m), before the norm divides them: by what was rounded
        in the stream and in the norm, and by the mean."""
        wrong: Array = self.error @ np.abs(weights) + norm.mean * np.abs(weights.sum(0))
        return wrong + 3.01 * U * (products.up + products.down)

    def products(
        self, weights: Array, norm: Norm, keys: Sequence[Value] = (), cases: Sequence[tuple[Plain, ...]] = ()
    ) -> Products:
        """The products of weights (D, m) with all coordinates less their mean: in each of these cases, and last at the
        first token; or, if none are given, in any case."""
        mean = norm.mean * np.maximum(np.maximum(weights, 0).sum(0), np.maximum(-weights, 0).sum(0))
        total = np.tile(mean + self.most_wrong() @ np.abs(weights), (2, len(cases) + 1, 1))
        for signal in self.signals:
            first = np.array(signed(signal.first[None] @ signal.vectors, weights))
            every = np.array(signed(signal.amounts @ signal.vectors, weights))
            rows, most = signal.rows(keys, cases), every.max(1, keepdims=True, initial=0.0)
            total[:, :-1] += most if rows is None else every[:, rows]
            total[:, -1:] += first if cases else np.maximum(first, most)
        return Products(*total)

    def norm(self, eps: float) -> Norm:
        low, high = self.bounds()
        least = float(np.max(low[:, None] - high[None, :]))  # of two coordinates: the pair
        if not least > 0:
            raise unproven("no two coordinates of the stream are always apart, so that a norm may divide by anything")
        width, sizes = len(low), np.maximum(-low, high)
        not_too_large(sizes)
        sigma, most = least / np.sqrt(2 * width), np.sqrt((sizes**2).sum() / width + eps)
        mean = self.largest_sum() / width + 2 * U * sizes.sum()
        small = ((np.sort(sizes)[:-2] + mean) ** 2).sum() / least**2  # what is added to the squares of the pair
        factor = most / sigma - 1 + min(width / 2 * U, small) + 6 * U
        return Norm(sigma, factor, sizes, mean)

    def read(self, weights: Array, eps: float, keys: Sequence[Value], promised: Domain | None = None) -> Reads:
        """What weights (D, m) read behind a norm, in each case of the keys, which must determine it."""
        scaled, norm = self.normed(weights, eps)
        cases, values, errors = self.tables(scaled, keys, promised)
        first, first_error = self.at_first(scaled)
        products = self.products(weights, norm, keys, cases)
        rounded = products.rounding(np.count_nonzero(weights, axis=0)) / norm.sigma
        error = self.wrong_by_norm(weights, norm, products) / norm.sigma + rounded + TINY
        every = errors + error[:-1]
        return Reads(tuple(keys), cases, values, every, first, first_error + error[-1], norm.factor, rounded)

    def tables(self, scaled: Array, keys: Sequence[Value], promised: Domain | None) -> Tables:
        """What weights (D, m) read of the stream in each case of the keys."""
        seen, rest = self.parted(scaled)
        if self.domains.size([value for signal in seen for value in signal.key], keys, promised) > FEW_CASES:
            found = on_lines(seen, scaled, keys, self.domains.of | (promised or {}))
            if found is not None:
                total, wrong = between_ends(rest, scaled)
                return found[0], found[1] + total, found[2] + wrong
        whole = self.summed(scaled, keys, promised)
        place, cases = whole.grid.tabled(list(keys), lambda *given: given)
        kept = distinct([place, *(row for _, row in whole.seen)], whole.occurs() & (place >= 0))
        total, wrong = whole.of(scaled, kept)
        low, high, most = (np.full((len(cases), scaled.shape[1]), bound) for bound in (np.inf, -np.inf, 0.0))
        np.minimum.at(low, place[kept], total)
        np.maximum.at(high, place[kept], total)
        np.maximum.at(most, place[kept], wrong)
        occur: Array = np.asarray(np.isfinite(low).all(1))
        low, high, most = low[occur], high[occur], most[occur]
        here = [case for case, there in zip(cases, occur, strict=True) if there]
        return here, (low + high) / 2, most + (high - low) / 2

    def at_first(self, scaled: Array) -> tuple[Array, Array]:
        """What weights (D, m) read of the stream at the first token, (m,), and how wrong the signals make it."""
        values = [signal.first @ (signal.vectors @ scaled) for signal in self.signals]
        wrong = [signal.first_error @ np.abs(scaled) for signal in self.signals]
        return np.sum(values, axis=0), np.sum(wrong, axis=0)

    def summed(
        self, scaled: Array, wanted: Sequence[Value], promised: Domain | None = None, most: int = MOST_CASES
    ) -> Sum:
        """All cases of what some reads see, and of what is wanted. Signals that add next to nothing are no case."""
        seen, rest = self.parted(scaled)
        grid = self.domains.grid([value for signal in seen for value in signal.key], wanted, promised, most)
        rows = []
        for signal in seen:
            place, found = grid.tabled(signal.key, lambda *given, cases=signal.cases: cases.get(given, -1))
            rows.append(np.array([*found, -1])[place])
        return Sum(grid, list(zip(seen, rows, strict=True)), rest)

    def parted(self, scaled: Array) -> tuple[list[Signal], list[Signal]]:
        """The signals that add something to some reads, and the rest."""
        added = [signal.amounts @ (signal.vectors @ scaled) for signal in self.signals]
        largest = np.sum([np.abs(rows).max(0, initial=0.0) for rows in added], axis=0)
        visible = [bool((np.ptp(rows, axis=0) > UNSEEN * largest).any()) for rows in added]
        pairs = list(zip(self.signals, visible, strict=True))
        return [one for one, seen in pairs if seen], [one for one, seen in pairs if not seen]

    def seen_by(self, weights: Array, eps: float) -> list[Value]:
        """The variables on which some reads behind a norm depend."""
        scaled, *_ = self.normed(weights, eps)
        return list(dict.fromkeys(value for signal in self.parted(scaled)[0] for value in signal.key))


def between_ends(signals: Sequence[Signal], scaled: Array) -> tuple[Array, Array]:
    """What weights (D, m) read of signals whatever the case, in the middle, (m,), and how far from it that can be."""
    total, wrong = np.zeros(scaled.shape[1]), np.zeros(scaled.shape[1])
    for signal in signals:
        rows = signal.amounts @ (signal.vectors @ scaled)
        total += (rows.min(0) + rows.max(0)) / 2
        wrong += np.ptp(rows, axis=0) / 2 + (signal.errors @ np.abs(scaled)).max(0)
    return total, wrong


def signed(rows: Array, weights: Array) -> tuple[Array, Array]:
    """What the positive products of numbers (n, D) with weights (D, m) add up to, and minus what the negative do."""
    high, low = np.maximum(rows, 0), np.maximum(-rows, 0)
    plus, minus = np.maximum(weights, 0), np.maximum(-weights, 0)
    return high @ plus + low @ minus, high @ minus + low @ plus


def not_too_large(*numbers: Array) -> None:
    if not all((np.abs(some) < LARGE).all() for some in numbers):
        raise unproven("numbers so large occur that float32 may overflow")


def distinct(columns: Sequence[Array], there: Array) -> Array:
    """The first of all rows, of those that are there, that have the same numbers in all columns."""
    rows = np.flatnonzero(there)
    code, size = np.zeros(len(rows), np.int64), 1
    for column in columns:
        count = int(column.max(initial=0)) + 1
        if size * count > 2**62:
            _, code = np.unique(code, return_inverse=True)
            size = len(rows)
        code, size = code * count + column[rows], size * count
    _, first = np.unique(code, return_index=True)
    return rows[first]
