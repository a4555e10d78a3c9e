"""A small network for connect four: from a position to a probability for each column, and a value.

It sees 142 inputs, each 0 or 1: the stones of both players, and for each of the 17 lines of four cells whether one
player alone has 1, 2 or 3 stones there. Two hidden layers of ReLUs follow, then five logits and a value in (−1, 1). Few
inputs are 1, so the first layer is a sum of a few rows of its weights: a position takes microseconds in `evaluate`,
which is compiled; `train_step` is NumPy, with Adam.
"""

from typing import NamedTuple

import numpy as np

from handloom.core.arrays import Array
from handloom.discover.search.compiling import kernel
from handloom.lab.games.connect_four import CELLS, HEIGHT, UP, WIDTH, stone

STEPS = ((0, 1), (1, 0), (1, 1), (1, -1))


def lines_of_four() -> list[int]:
    """The lines as bits."""
    found = []
    for column in range(WIDTH):
        for row in range(HEIGHT):
            for across, up in STEPS:
                cells = [(column + i * across, row + i * up) for i in range(4)]
                if all(0 <= a < WIDTH and 0 <= b < HEIGHT for a, b in cells):
                    found.append(sum(1 << UP * a + b for a, b in cells))
    return found


LINES = np.array(lines_of_four())
INPUTS = 2 * CELLS + 6 * len(LINES)


class Network(NamedTuple):
    """Weights; a row of them for each input."""

    W1: Array  # (INPUTS, A)
    b1: Array
    W2: Array  # (A, B)
    b2: Array
    W3: Array  # (B, 6): five logits, and the value before tanh
    b3: Array


def new_network(rng: np.random.Generator, wide: int, narrow: int) -> Network:
    """He's start for the hidden layers; an output near 0."""

    def weights(rows: int, columns: int, scale: float) -> Array:
        return (rng.normal(size=(rows, columns)) * scale).astype(np.float32)

    def zeros(size: int) -> Array:
        return np.zeros(size, np.float32)

    first, second = weights(INPUTS, wide, 0.2), weights(wide, narrow, np.sqrt(2 / wide))
    return Network(first, zeros(wide), second, zeros(narrow), weights(narrow, WIDTH + 1, 0.01), zeros(WIDTH + 1))


@kernel(cache=True)
def active_inputs(own: int, mask: int, active: Array) -> int:
    """Writes which inputs are 1; returns how many."""
    count, theirs = 0, own ^ mask
    for cell in range(CELLS):
        bit = 1 << (UP * (cell // HEIGHT) + cell % HEIGHT)
        if mask & bit:
            active[count] = cell if own & bit else CELLS + cell
            count += 1
    for line in range(len(LINES)):
        mine, other = LINES[line] & own, LINES[line] & theirs
        if (mine == 0) != (other == 0):
            left, stones = mine | other, 0
            while left:
                left &= left - 1
                stones += 1
            if stones < 4:
                side = 0 if mine else 3
                active[count] = 2 * CELLS + (side + stones - 1) * len(LINES) + line
                count += 1
    return count


@kernel(cache=True)
def encoded(own: Array, mask: Array) -> Array:
    """The inputs of many positions, (B, INPUTS)."""
    rows = np.zeros((len(own), INPUTS), np.float32)
    active = np.zeros(INPUTS, np.int64)
    for i in range(len(own)):
        for k in range(active_inputs(own[i], mask[i], active)):
            rows[i, active[k]] = 1
    return rows


@kernel(cache=True)
def evaluate(net: Network, own: int, mask: int, priors: Array) -> float:
    """The value of a position to the player to move; writes the probabilities of the columns, 0 for full ones."""
    active = np.empty(INPUTS, np.int64)
    first, second = net.b1.copy(), net.b2.copy()
    for k in range(active_inputs(own, mask, active)):
        add_row(net.W1[active[k]], np.float32(1.0), first)
    for i in range(len(first)):
        if first[i] > 0:
            add_row(net.W2[i], first[i], second)
    out = net.b3.copy()
    for i in range(len(second)):
        if second[i] > 0:
            add_row(net.W3[i], second[i], out)
    total = 0.0
    for column in range(WIDTH):
        priors[column] = np.exp(min(out[column], 60.0)) if stone(mask, column) else 0.0
        total += priors[column]
    for column in range(WIDTH):
        priors[column] /= total
    return np.tanh(out[WIDTH])


@kernel(cache=True)
def add_row(row: Array, factor: float, onto: Array) -> None:
    """onto += factor · row, in a loop, so that no array is made."""
    for j in range(len(onto)):
        onto[j] += factor * row[j]


class Adam(NamedTuple):
    """First and second moments of each array of weights."""

    mean: list[Array]
    square: list[Array]


def new_adam(net: Network) -> Adam:
    return Adam([np.zeros_like(array) for array in net], [np.zeros_like(array) for array in net])


def train_step(net: Network, adam: Adam, x: Array, policy: Array, value: Array, rate: float, step: int) -> float:
    """One step of Adam on cross-entropy + squared error of the value; the weights change. Returns the loss."""
    loss, gradients = loss_and_gradients(net, x, policy, value)
    scale = rate * np.sqrt(1 - 0.999**step) / (1 - 0.9**step)
    for array, mean, square, gradient in zip(net, adam.mean, adam.square, gradients, strict=True):
        mean += 0.1 * (gradient - mean)
        square += 0.001 * (gradient**2 - square)
        array -= np.float32(scale) * mean / (np.sqrt(square) + np.float32(1e-8))
    return loss


def loss_and_gradients(net: Network, x: Array, policy: Array, value: Array) -> tuple[float, list[Array]]:
    """The mean loss over the rows, and its gradient in each array of the network."""
    first = np.maximum(x @ net.W1 + net.b1, 0)
    second = np.maximum(first @ net.W2 + net.b2, 0)
    out = second @ net.W3 + net.b3
    logits = out[:, :WIDTH] - out[:, :WIDTH].max(1, keepdims=True)
    logs = logits - np.log(np.exp(logits).sum(1, keepdims=True))
    guess = np.tanh(out[:, WIDTH])
    loss = float(-(policy * logs).sum(1).mean() + ((guess - value) ** 2).mean())
    d_value = 2 * (guess - value) * (1 - guess**2)
    d_out = np.column_stack([np.exp(logs) - policy, d_value]) / np.float32(len(x))
    d_second = (d_out @ net.W3.T) * (second > 0)
    d_first = (d_second @ net.W2.T) * (first > 0)
    pairs = (x, d_first), (first, d_second), (second, d_out)
    return loss, [array for before, after in pairs for array in (before.T @ after, after.sum(0))]
