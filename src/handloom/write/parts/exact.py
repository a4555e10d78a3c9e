"""MLPs that compute any function on finitely many numbers, exactly. (The Art of Transformer Programming, section 6.3.)

    >>> import numpy as np
    >>> mlp = spikes(np.array([0.0, 1.0, 5.0]), np.array([[2.0], [-1.0], [7.0]]))
    >>> mlp(np.array([5.0, 0.0, 1.0])).ravel().tolist()
    [7.0, 2.0, -1.0]

Three ways: with a spike of three neurons around each number, as the book does; with n − 1 neurons for n numbers (its
exercise 4); and with weak spikes of two neurons (exercise 5), where it is enough that the right output is the largest.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from handloom.core.arrays import Array


@dataclass(frozen=True)
class ScalarMLP:
    """relu(x · w_in + b_in) @ W_out + b_out, of one number x."""

    w_in: Array  # (F,)
    b_in: Array  # (F,)
    W_out: Array  # (F, D)
    b_out: Array  # (D,)

    def __call__(self, x: Any) -> Array:
        return np.maximum(np.asarray(x)[..., None] * self.w_in + self.b_in, 0.0) @ self.W_out + self.b_out

    def write(self, layer: dict[str, Array], dimension: int) -> None:
        """Set a layer's MLP to read this dimension of the stream."""
        layer["W_in"][dimension] = self.w_in
        layer["b_in"][:], layer["W_out"][:], layer["b_out"][:] = self.b_in, self.W_out, self.b_out


def spikes(points: Array, values: Array) -> ScalarMLP:
    """Theorem 6.1: around each point a spike that is 1 there and 0 at all others, times the point's value. 3n neurons.

    A spike is relu(u + 1) − 2 relu(u) + relu(u − 1), where u is the distance from the point, the smallest distance
    between two points being 1."""
    n, scale = len(points), 1.0 / gap(points)
    return ScalarMLP(
        w_in=np.full(3 * n, scale),
        b_in=(np.array([0.0, 1.0, -1.0]) - points[:, None] * scale).ravel(),
        W_out=(np.array([-2.0, 1.0, 1.0])[:, None] * values[:, None]).reshape(3 * n, -1),
        b_out=np.zeros(values.shape[1]),
    )


def hinges(points: Array, values: Array) -> ScalarMLP:
    """Exercise 6.4: the line through the values, which has a hinge at each point but the last. n − 1 neurons.

    The first slope begins at the first point, whose value is the bias; each neuron changes the slope at its point."""
    order = np.argsort(points)
    x, y = points[order], values[order]
    slopes = np.diff(y, axis=0) / np.diff(x)[:, None]
    return ScalarMLP(
        w_in=np.ones(len(x) - 1),
        b_in=-x[:-1],
        W_out=np.diff(slopes, axis=0, prepend=np.zeros((1, y.shape[1]))),
        b_out=y[0],
    )


def weak_spikes(points: Array) -> ScalarMLP:
    """Exercise 6.5: outputs (n,), the one of the point 1 and all others at most 0, with two neurons each:
    relu(u + 1) − 2 relu(u) = 1 − |u| from u = −1 on, and 0 before."""
    n, scale = len(points), 1.0 / gap(points)
    return ScalarMLP(
        w_in=np.full(2 * n, scale),
        b_in=(np.array([1.0, 0.0]) - points[:, None] * scale).ravel(),
        W_out=np.kron(np.eye(n), np.array([[1.0], [-2.0]])),
        b_out=np.zeros(n),
    )


def gap(points: Array) -> float:
    """The smallest distance between two of them."""
    return float(np.diff(np.sort(points)).min())
