"""A small network for connect four: from a position to a probability for each column, and a value.

It sees 142 inputs, each 0 or 1: the stones of both players, and for each of the 17 lines of four cells whether one
player alone has 1, 2 or 3 stones there. Two hidden layers of ReLUs follow, then five logits and a value in (−1, 1). Few
inputs are 1, so the first layer is a sum of a few rows of its weights: a position takes microseconds in `evaluate`,
compiled in `four_kernels`; `train_step` is NumPy, with Adam.
"""

from typing import NamedTuple

import numpy as np

from handloom.core.arrays import Array
from handloom.lab.games.four_kernels import INPUTS, WIDTH, FourNet


def new_network(rng: np.random.Generator, wide: int, narrow: int) -> FourNet:
    """He's start for the hidden layers; an output near 0."""

    def weights(rows: int, columns: int, scale: float) -> Array:
        return (rng.normal(size=(rows, columns)) * scale).astype(np.float32)

    def zeros(size: int) -> Array:
        return np.zeros(size, np.float32)

    first, second = weights(INPUTS, wide, 0.2), weights(wide, narrow, np.sqrt(2 / wide))
    return FourNet(first, zeros(wide), second, zeros(narrow), weights(narrow, WIDTH + 1, 0.01), zeros(WIDTH + 1))


class Adam(NamedTuple):
    """First and second moments of each array of weights."""

    mean: list[Array]
    square: list[Array]


def new_adam(net: FourNet) -> Adam:
    return Adam([np.zeros_like(array) for array in net], [np.zeros_like(array) for array in net])


def train_step(net: FourNet, adam: Adam, x: Array, policy: Array, value: Array, rate: float, step: int) -> float:
    """One step of Adam on cross-entropy + squared error of the value; the weights change. Returns the loss."""
    loss, gradients = loss_and_gradients(net, x, policy, value)
    scale = rate * np.sqrt(1 - 0.999**step) / (1 - 0.9**step)
    for array, mean, square, gradient in zip(net, adam.mean, adam.square, gradients, strict=True):
        mean += 0.1 * (gradient - mean)
        square += 0.001 * (gradient**2 - square)
        array -= np.float32(scale) * mean / (np.sqrt(square) + np.float32(1e-8))
    return loss


def loss_and_gradients(net: FourNet, x: Array, policy: Array, value: Array) -> tuple[float, list[Array]]:
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
