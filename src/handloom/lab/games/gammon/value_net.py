"""The network of TD-Gammon: from a board to the chances of the side that rolls next.

    weights = first_weights(40, np.random.default_rng(0))
    chances(weights, start())        # of a win, of a gammon won, of a gammon lost

Inputs as Tesauro's (1992, as told by Sutton and Barto): for each side and point four units for its n men: n ≥ 1, n ≥ 2,
n ≥ 3, (n − 3)/2 beyond; for each side the men on the bar / 2 and the men off / 15. These are 196. His two units for whose turn
it is are not needed, since here the board is always seen by the side that rolls next. A constant 1 is the 197th. One
hidden layer and the outputs are sigmoids. Backgammons count in matches, but the network has no output for them.

The weights are one vector: (197, H) into the hidden layer, then (3, H) out of it, then 3 thresholds.
"""

import math

import numpy as np

from handloom.core.arrays import Array
from handloom.discover.search.compiling import kernel
from handloom.lab.games.gammon.plays import BAR, OFF, points_won

INPUTS, OUTPUTS = 197, 3
WIN, GAMMON, GAMMON_LOST = 0, 1, 2
EMPTY = np.zeros((2, 26), np.int8)


def first_weights(hidden: int, rng: np.random.Generator) -> Array:
    """Small random weights: outputs near one half."""
    return rng.uniform(-0.1, 0.1, (INPUTS + OUTPUTS) * hidden + OUTPUTS).astype(np.float32)


def chances(weights: Array, board: Array) -> Array:
    """The outputs (3,) for the side in row 0, which rolls next."""
    found = np.empty(OUTPUTS, weights.dtype)
    sums, active = np.zeros((2, hidden_units(weights)), weights.dtype)
    add_bias(weights, sums)
    add_changes(weights, EMPTY, board, sums)
    outputs(weights, sums, active, found)
    return found


@kernel(cache=True)
def hidden_units(weights: Array) -> int:
    return (len(weights) - OUTPUTS) // (INPUTS + OUTPUTS)


@kernel(cache=True)
def unit(men: int, which: int) -> float:
    """One of the four units of a point."""
    if which < 3:
        return 1.0 if men > which else 0.0
    return 0.5 * (men - 3) if men > 3 else 0.0


@kernel(cache=True, fastmath=True)
def add_bias(weights: Array, sums: Array) -> None:
    hidden = len(sums)
    for h in range(hidden):
        sums[h] += weights[(INPUTS - 1) * hidden + h]


@kernel(cache=True, fastmath=True)
def add_row(weights: Array, row: int, amount: float, sums: Array) -> None:
    hidden = len(sums)
    scale = sums.dtype.type(amount)
    for h in range(hidden):
        sums[h] += scale * weights[row * hidden + h]


@kernel(cache=True)
def add_changes(weights: Array, before: Array, after: Array, sums: Array) -> None:
    """The sums into the hidden layer, from those for the board `before` to those for the board `after`: the plays of a
    roll differ in a few points only."""
    for side in range(2):
        for point in range(1, BAR):
            old, new = before[side, point], after[side, point]
            if old != new:
                for which in range(4):
                    change = unit(new, which) - unit(old, which)
                    if change != 0.0:
                        add_row(weights, (side * 24 + point - 1) * 4 + which, change, sums)
        if before[side, BAR] != after[side, BAR]:
            add_row(weights, 192 + side, (after[side, BAR] - before[side, BAR]) / 2.0, sums)
        if before[side, OFF] != after[side, OFF]:
            add_row(weights, 194 + side, (after[side, OFF] - before[side, OFF]) / 15.0, sums)


@kernel(cache=True, fastmath=True)
def outputs(weights: Array, sums: Array, active: Array, found: Array) -> None:
    """From the sums to the activities of the hidden units and to the outputs."""
    hidden = len(sums)
    one = sums.dtype.type(1.0)
    for h in range(hidden):
        active[h] = one / (one + math.exp(-sums[h]))
    for k in range(OUTPUTS):
        total = weights[(INPUTS + OUTPUTS) * hidden + k]
        for h in range(hidden):
            total += weights[(INPUTS + k) * hidden + h] * active[h]
        found[k] = one / (one + math.exp(-total))


@kernel(cache=True)
def equity(found: Array) -> float:
    """Points that the side can expect, a gammon counting two."""
    return 2.0 * found[WIN] - 1.0 + found[GAMMON] - found[GAMMON_LOST]


@kernel(cache=True)
def input_values(board: Array, values: Array) -> None:
    """Write the 197 inputs into `values`."""
    for side in range(2):
        for point in range(1, BAR):
            for which in range(4):
                values[(side * 24 + point - 1) * 4 + which] = unit(board[side, point], which)
        values[192 + side] = board[side, BAR] / 2.0
        values[194 + side] = board[side, OFF] / 15.0
    values[INPUTS - 1] = 1.0


@kernel(cache=True, fastmath=True)
def add_gradients(weights: Array, values: Array, active: Array, found: Array, gradients: Array) -> None:
    """Add the gradients of the three outputs by the weights to `gradients` (3, weights)."""
    hidden = len(active)
    into = np.empty(hidden, weights.dtype)  # how an output changes with a sum into the hidden layer
    for k in range(OUTPUTS):
        slope = found[k] * (1 - found[k])
        gradients[k, (INPUTS + OUTPUTS) * hidden + k] += slope
        for h in range(hidden):
            gradients[k, (INPUTS + k) * hidden + h] += slope * active[h]
            into[h] = slope * weights[(INPUTS + k) * hidden + h] * active[h] * (1 - active[h])
        for i in range(INPUTS):
            if values[i] != 0.0:
                for h in range(hidden):
                    gradients[k, i * hidden + h] += values[i] * into[h]
