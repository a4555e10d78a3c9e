"""Vectors that stand for tokens and positions, chosen so that a transformer's own operations leave them alone.

Layer norm sends a vector of mean zero and mean square one to itself. In two dimensions only (1, −1) and (−1, 1) are
such; in three there is a whole circle of them, and evenly spaced points on it make as many symbols as one needs.
Vectors that layer norm keeps can be put side by side: it keeps the whole. (The Art of Transformer Programming,
sections 2.3, 3.2, 3.3 and 4.1.)
"""

from typing import Any

import numpy as np

from handloom.core.arrays import Array

PLANE = np.array([[1.0, -1.0, 0.0], [1.0, 1.0, -2.0]]) / np.sqrt([[2.0], [6.0]])  # two directions across (1, 1, 1)


def on_circle(angles: Any) -> Array:
    """The points (..., 3) at these angles on the circle of radius √3 around 0 in the plane x + y + z = 0. Each is its
    own layer norm, and is nearer to itself than to any other."""
    points: Array = np.sqrt(3.0) * np.stack([np.cos(angles), np.sin(angles)], axis=-1) @ PLANE
    return points


def circle(count: int) -> Array:
    """`count` points, (count, 3), evenly spaced on that circle."""
    return on_circle(2 * np.pi * np.arange(count) / count)


def turn(angle: float) -> Array:
    """The 3 by 3 matrix that turns the circle: on_circle(a) @ turn(angle) = on_circle(a + angle).

    x cos + (axis × x) sin, around the axis (1, 1, 1) / √3. (The book solves a linear system for it that has no
    unique solution; which one comes out, and how many of its entries are zero, is a matter of rounding.)"""
    across = np.array([[0.0, 1.0, -1.0], [-1.0, 0.0, 1.0], [1.0, -1.0, 0.0]]) / np.sqrt(3.0)
    matrix: Array = np.cos(angle) * np.eye(3) + np.sin(angle) * across
    return matrix


def level(width: int) -> Array:
    """`width` − 1 directions (rows) of length 1, across each other and across (1, …, 1): what is written along them has
    mean zero."""
    below, steps = -np.tri(width)[:-1], np.arange(1, width)
    below[steps - 1, steps] = steps
    directions: Array = below / np.sqrt(steps * (steps + 1.0))[:, None]
    return directions


def padding(width: int) -> Array:
    """A vector that fills `width` dimensions (at least 2) and that layer norm keeps."""
    high = np.sqrt(width - 1.0)
    return np.array([high, *[-1.0 / high] * (width - 1)])


def fixed(rows: Array) -> Array:
    """Rows (n, k) with two more numbers each, (n, k + 2), chosen so that layer norm keeps them."""
    total, squares, width = rows.sum(-1), (rows**2).sum(-1), rows.shape[-1] + 2
    root = np.sqrt(2 * (width - squares) - total**2)
    return np.column_stack([rows, (root - total) / 2, (-root - total) / 2])


def layer_norm(x: Array) -> Array:
    """Layer norm (..., D) without gain, bias and eps."""
    x = x - x.mean(-1, keepdims=True)
    normed: Array = x / np.sqrt((x * x).mean(-1, keepdims=True))
    return normed
