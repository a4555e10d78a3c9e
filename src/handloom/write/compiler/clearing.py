"""NeuronWeights that clear a dimension: what stood in it is gone, and with it all errors that it had.

They read the number x that stands there, and take it away: x + Σ w · relu(α x + ζ), where ζ is what else they read,
next to nothing. Whatever x is between its bounds, little is left. That is an error, and no table any more.
"""

import numpy as np

from handloom.core import HandloomError
from handloom.core.arrays import Array
from handloom.write.compiler.neuron_cases import NeuronWeights
from handloom.write.compiler.streams import TINY, Streams, U

CLEAR = 1e-2  # of what stood in a dimension: with less than this left, it is cleared


def cleared(streams: Streams, neurons: NeuronWeights, eps: float) -> dict[int, float] | None:
    """The dimensions that neurons clear, and how much is left in each; None if they do anything else."""
    if not (np.count_nonzero(neurons.writes, axis=1) == 1).all():
        return None
    dimensions = neurons.writes.any(0)
    found: dict[int, float] = {}
    for d in map(int, np.flatnonzero(dimensions)):
        low, high = bounds_of(streams, d)
        left = left_between(streams, neurons[np.flatnonzero(neurons.writes[:, d])], d, low, high, eps)
        if not left <= CLEAR * (high - low):
            return None
        found[d] = left
    return found


def left_between(streams: Streams, neurons: NeuronWeights, d: int, low: float, high: float, eps: float) -> float:
    """The most that is left of a number between two bounds, in one dimension that these neurons write."""
    norm, w = streams.norm(eps), neurons.writes[:, d]
    other = neurons.reads.copy()
    other[d] = 0.0
    alpha = neurons.reads[d] / norm.sigma
    rows = [np.vstack([s.amounts, s.first]) @ (s.vectors @ other) / norm.sigma for s in streams.signals]
    least, most = (np.sum([end(row, axis=0) for row in rows], axis=0) for end in (np.min, np.max))
    zeta, own = (least + most) / 2, (most - least) / 2
    wrong = np.sum([signal.most_wrong() for signal in streams.signals], axis=0) @ np.abs(other)
    products = streams.products(neurons.reads, norm)
    wrong += streams.wrong_by_norm(neurons.reads, norm, products)[0] - streams.error[d] * np.abs(neurons.reads[d])
    wrong += products.rounding(np.count_nonzero(neurons.reads, axis=0))[0]
    size = np.abs(alpha) * max(-low, high) + np.abs(zeta) + own
    own = own + wrong / norm.sigma + norm.factor * size + (neurons.terms[d] + 1) * U * size + TINY
    turns = -zeta[alpha != 0] / alpha[alpha != 0]
    x = np.concatenate([[low, high], turns[(turns > low) & (turns < high)]])
    rest = x + np.maximum(alpha * x[:, None] + zeta, 0) @ w
    return float(np.abs(rest).max() + own @ np.abs(w) + 2 * U * max(-low, high))


def bounds_of(streams: Streams, d: int) -> tuple[float, float]:
    """Between which numbers a dimension is in all cases."""
    alone: Array = np.zeros((len(streams.error), 1))
    alone[d] = 1.0
    try:
        whole = streams.summed(alone, [])
    except HandloomError:  # too many cases to go through
        low, high = streams.bounds()
        return float(low[d]), float(high[d])
    total, wrong = whole.of(alone, np.flatnonzero(whole.occurs()))
    first, first_wrong = streams.at_first(alone)
    middle, around = np.append(total, first), np.append(wrong, first_wrong) + streams.error[d]
    return float((middle - around).min()), float((middle + around).max())
