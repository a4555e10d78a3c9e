"""Random letters, a stretch of random length over and over: only what was seen before predicts anything.

>>> inputs, targets = repeating_text(np.random.default_rng(0), letters=9, length=8, stretch=(3, 4), rows=1)
>>> inputs.tolist(), targets.tolist()
([[7, 5, 4, 7, 5, 4, 7, 5]], [[-1, -1, -1, 5, 4, 7, 5, 4]])
"""

import numpy as np

from handloom.core.arrays import Array
from handloom.learn.data import NOTHING


def repeating_text(
    rng: np.random.Generator, letters: int, length: int, stretch: tuple[int, int], rows: int = 32
) -> tuple[Array, Array]:
    """Rows of letters, and the next one as the target, from where the stretch, of a length in this range, repeats."""
    lengths = rng.integers(*stretch, rows)
    stretches = rng.integers(0, letters, (rows, stretch[1]))
    strings = np.take_along_axis(stretches, np.arange(length + 1) % lengths[:, None], 1)
    known = np.arange(1, length + 1) > lengths[:, None]
    return strings[:, :-1], np.where(known, strings[:, 1:], NOTHING)
