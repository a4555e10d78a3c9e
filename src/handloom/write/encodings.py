"""Vectors that stand for tokens and positions, chosen so that a transformer's own operations leave them alone.

Layer norm sends a vector of mean zero and mean square one to itself. In two dimensions only (1, −1) and (−1, 1) are
such; in three there is a whole circle of them, and evenly spaced points on it make as many symbols as one needs.
(The Art of Transformer Programming, section 2.3.)
"""

from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[np.float64]]


def circle(count: int) -> Array:
    """`count` points, (count, 3), evenly spaced on the circle of radius √3 in the plane x + y + z = 0: each is its own
    layer norm, and is nearer to itself than to any other."""
    angles = 2 * np.pi * np.arange(count) / count
    east = np.array([1.0, -1.0, 0.0]) / np.sqrt(2.0)
    north = np.array([1.0, 1.0, -2.0]) / np.sqrt(6.0)
    points: Array = np.sqrt(3.0) * (np.cos(angles)[:, None] * east + np.sin(angles)[:, None] * north)
    return points
