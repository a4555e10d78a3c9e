"""The network of TD-Gammon: from a board to the chances of the side that rolls next.

    weights = first_weights(40, np.random.default_rng(0))
    chances(weights, start())        # of a win, of a gammon won, of a gammon lost

Inputs as Tesauro's (1992, as told by Sutton and Barto): for each side and point four units for its n men: n ≥ 1, n ≥ 2,
n ≥ 3, (n − 3)/2 beyond; for each side the men on the bar / 2 and the men off / 15. These are 196. His two units for
whose turn it is are not needed, since here the board is always seen by the side that rolls next. A constant 1 is the
197th. The units of the one hidden layer and the outputs are sigmoids. Backgammons count in matches, but the network has
no output for them.

The weights are one vector: (197, H) into the hidden layer, then (3, H) out of it, then 3 thresholds.
"""

import numpy as np

from handloom.core.arrays import Array
from handloom.lab.games.gammon.kernels import INPUTS, OUTPUTS, add_gradients, assess, hidden_units

HIDDEN = 40  # units; Tesauro's first had 40, then 80


def first_weights(hidden: int, rng: np.random.Generator) -> Array:
    """Small random weights: outputs near one half."""
    return rng.uniform(-0.1, 0.1, (INPUTS + OUTPUTS) * hidden + OUTPUTS).astype(np.float32)


def chances(weights: Array, board: Array) -> Array:
    """The outputs (3,) for the side in row 0, which rolls next."""
    return assessed(weights, board)[2]


def gradients(weights: Array, board: Array) -> Array:
    """How each output changes with the weights: (3, weights)."""
    found = np.zeros((OUTPUTS, len(weights)), weights.dtype)
    add_gradients(weights, *assessed(weights, board), found)
    return found


def assessed(weights: Array, board: Array) -> tuple[Array, Array, Array]:
    """The inputs (197,), the hidden units (H,) and the outputs (3,) for a board."""
    values, active, result = (np.empty(n, weights.dtype) for n in (INPUTS, hidden_units(weights), OUTPUTS))
    assess(weights, board, values, active, result)
    return values, active, result
