"""Maps as neurons: a function of finitely many points becomes a line with hinges, one neuron per change of slope.

A function of several variables is taken through one sum of multiples of them, the one that needs the fewest neurons:
x and y through x + y, x < y through y − x, a table of digits through 10x + y.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from itertools import permutations, product

import numpy as np

from handloom.core.arrays import Array

SMALL = {1: 1, 2: 4, 3: 2}  # the largest multiple tried, by the number of variables; 1 for more
FEW_CASES = 40  # up to this many, a linear part is tried
MOST_SUMS = 2_000  # sums that are tried
MOVED = 1 / 8  # of the gap between two points: how far the turns of a step are from them
FAR_LESS = 16  # times as much must be written from a flat segment before another beginning is worth a neuron
MOST_KNOWN = 100  # results that are kept


@dataclass(frozen=True)
class Hinged:
    """constant + Σ relu(side · (s − at)) · change, where s is the sum of multiples of the variables."""

    multiples: tuple[float, ...]
    at: Array  # (F,)
    side: Array  # (F,): 1 if the neuron is on above the point, −1 below
    change: Array  # (F, k)
    constant: Array  # (k,)
    linear: tuple[float, ...] = ()  # multiples of the variables that are added as they are, if any

    def __call__(self, variables: Array) -> Array:
        s = variables @ np.array(self.multiples)
        hinges: Array = np.maximum(self.side * (s[:, None] - self.at), 0) @ self.change + self.constant
        return hinges + (variables @ np.array(self.linear))[:, None] if self.linear else hinges


Search = Callable[[Array, Array], Hinged]


def once_each(search: Search) -> Search:
    """A search that keeps what it found for the latest cases: a program often has the same function several times."""
    known: dict[tuple[tuple[int, ...], bytes, bytes], Hinged] = {}

    @wraps(search)
    def found(variables: Array, values: Array) -> Hinged:
        key = variables.shape, variables.tobytes(), values.tobytes()
        hinged = known.pop(key, None) or search(variables, values)
        known[key] = hinged
        if len(known) > MOST_KNOWN:
            del known[next(iter(known))]
        return hinged

    return found


@once_each
def fewest_hinges(variables: Array, values: Array) -> Hinged:
    """The function with these values (n, k) where the variables are (n, m)."""
    best: Hinged | None = None
    for multiples in sums(variables):
        hinged = through(variables @ np.array(multiples, float), values, multiples)
        if hinged is not None and (best is None or len(hinged.at) < len(best.at)):
            best = hinged
            if not len(best.at):
                break
    assert best is not None, "one of the sums tells all cases apart"
    return best


@once_each
def with_a_linear_part(variables: Array, values: Array) -> Hinged:
    """The same for numbers (n, 1), where multiples of the variables may be added as they are: that costs nothing."""
    best = fewest_hinges(variables, values)
    n, m = variables.shape
    if m > 2 or n > FEW_CASES:
        return best
    linear: list[tuple[float, ...]]
    if m == 1:
        order = np.argsort(variables[:, 0])
        slopes = np.diff(values[order, 0]) / np.diff(variables[order, 0])
        linear = [(float(slope),) for slope in np.unique(slopes)]
    else:
        linear = [(float(a), float(b)) for a, b in product((-1, 0, 1), repeat=m) if a or b]
    for multiples in linear if len(best.at) else ():
        rest = fewest_hinges(variables, values - (variables @ np.array(multiples))[:, None])
        if len(rest.at) < len(best.at):
            best = replace(rest, linear=multiples)
    return best


def sums(variables: Array) -> list[tuple[float, ...]]:
    """Small multiples, the smallest first; then those that tell all cases apart."""
    m = variables.shape[1]
    most = SMALL.get(m, 1)
    small = [one for one in product(range(-most, most + 1), repeat=m) if any(one) and first_of(one) > 0]
    small.sort(key=lambda one: sum(map(abs, one)))
    return [*small[:MOST_SUMS], *apart(variables)]


def first_of(multiples: Sequence[float]) -> float:
    return next(one for one in multiples if one)


def apart(variables: Array) -> list[tuple[float, ...]]:
    """Like the digits of a number: each variable times the span of those before it."""
    m = variables.shape[1]
    steps = [np.diff(np.unique(column)).min(initial=np.inf) for column in variables.T]
    spans = [np.ptp(column) for column in variables.T]
    found = []
    for order in permutations(range(m)) if m <= 3 else [tuple(range(m))]:
        multiples, reach = [0.0] * m, 0.0
        for i in order:
            multiples[i] = 1.0 if reach == 0 else float((reach + 1.0) / steps[i]) if np.isfinite(steps[i]) else 1.0
            reach += multiples[i] * float(spans[i])
        found.append(tuple(multiples))
    return found


def through(s: Array, values: Array, multiples: tuple[float, ...]) -> Hinged | None:
    """The function as one of s alone; None if it is not."""
    s = np.round(s, 9)
    points, index = np.unique(s, return_inverse=True)
    y = np.zeros((len(points), values.shape[1]))
    y[index] = values
    if not np.array_equal(y[index], values):
        return None
    slopes = np.diff(y, axis=0) / np.diff(points)[:, None]  # (n − 1, k)
    base = quietest(points, slopes)
    flat = np.zeros_like(y[:1])
    around = np.vstack([flat, slopes]) if base < 0 else np.vstack([slopes, flat]) if base == len(slopes) else slopes
    shift = 1 if base < 0 else 0  # around[i + shift] is the slope to the right of point i
    left, right = around[:-1], around[1:]  # of the points from 1 − shift
    turns = np.flatnonzero((np.abs(right - left) > 1e-12 * np.maximum(np.abs(left), np.abs(right))).any(axis=1))
    i = turns + 1 - shift
    side = np.where(i > base, 1.0, -1.0)
    constant = y[max(base, 0)]
    hinged = Hinged(multiples, points[i], side, right[turns] - left[turns], constant)
    return with_flat_steps(hinged, points, i, base)


def quietest(points: Array, slopes: Array) -> int:
    """The flat segment that all begins from, so that the neurons which are on anywhere add up to least: each rounds on
    its own. If no segment is flat, or far more is written from it, the left of the first point, −1, or the right of the
    last, where less is written: for one neuron more."""
    flat = np.flatnonzero(~slopes.any(axis=1))
    turns = np.abs(np.diff(slopes, axis=0)).max(1, initial=0.0)
    ends = np.abs(slopes[[0, -1]]).max(1) if len(slopes) else np.zeros(1)
    most = written_at_ends(points, points, np.concatenate([ends[:1], turns, ends[1:]]))
    end = -1 if most[0] <= most[-1] else len(slopes)
    if not len(flat):
        return end
    before = np.concatenate([[0.0], np.cumsum(turns)])  # up to each segment
    best = int(flat[np.maximum(before, before[-1] - before)[flat].argmin()])
    loud = written_at_ends(points, points[1:-1], turns)[best]
    return end if FAR_LESS * min(most[0], most[-1]) < loud else best


def written_at_ends(points: Array, at: Array, turns: Array) -> Array:
    """What neurons with these turns write at most, before signs cancel it, if all begins before each, or behind them
    all: those before it are on to the left, the others to the right, so that most is written at an end."""
    on_right, on_left = turns * (points[-1] - at), turns * (at - points[0])
    right = np.append(np.cumsum(on_right[::-1])[::-1], 0.0)
    most: Array = np.maximum(right, np.append(0.0, np.cumsum(on_left)))
    return most


def with_flat_steps(hinged: Hinged, points: Array, i: Array, base: int) -> Hinged:
    """The same function at its points i, where it turns, with the two turns of a step between them moved into the gap:
    an error of s then counts as often as the slopes beside the step, which often are 0. A turn moves once."""
    at, change, slopes = hinged.at.copy(), hinged.change.copy(), np.abs(hinged.change).max(1, initial=0.0)
    steps = [k for k in range(len(i) - 1) if i[k + 1] == i[k] + 1 and i[k] != base]
    moved: set[int] = set()
    for k in sorted(steps, key=lambda k: -min(slopes[k], slopes[k + 1])):
        if not {k, k + 1} & moved:
            moved |= {k, k + 1}
            gap = points[i[k + 1]] - points[i[k]]
            at[[k, k + 1]] += MOVED * gap * np.array([1.0, -1.0])
            change[[k, k + 1]] += (change[k] - change[k + 1]) * np.array([[1.0], [-1.0]]) * MOVED / (1 - 2 * MOVED)
    return replace(hinged, at=at, change=change)


def flat_around(hinged: Hinged, variables: Array, values: Array, part: float = 1 / 4) -> Hinged:
    """The same function with a flat step at each point, for two turns per change of value: no error passes it that is
    less than this part of the gap between two points."""
    points, index = np.unique(np.round(variables @ np.array(hinged.multiples, float), 9), return_inverse=True)
    y = np.zeros((len(points), values.shape[1]))
    y[index] = values
    changes = np.flatnonzero(np.diff(y, axis=0).any(axis=1))
    gaps, jumps = np.diff(points)[changes], np.diff(y, axis=0)[changes]
    at = np.column_stack([points[changes] + part * gaps, points[changes + 1] - part * gaps]).reshape(-1)
    change = np.stack([jumps, -jumps], axis=1) / ((1 - 2 * part) * gaps)[:, None, None]
    change = change.reshape(len(at), values.shape[1])
    most = written_at_ends(points, at, np.abs(change).max(1, initial=0.0))[::2]  # where a step begins or ends
    base = int(most.argmin())
    side = np.where(np.arange(len(at)) < 2 * base, -1.0, 1.0)
    return Hinged(hinged.multiples, at, side, change, y[0] + jumps[:base].sum(0))
