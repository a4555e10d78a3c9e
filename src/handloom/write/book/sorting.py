"""Sort as the book does it.

Every step of sorting is one question: which of the numbers given is nearest to the point that my number asks from? The
points ("powerpoints") are such that from each number the next is nearest, then the one after it, and so on: each gap is
a fixed ratio of the one before, so that all larger numbers are nearer than all smaller ones. They lie on half of the
circle; a token is its point and, beside it, the point it asks from. (The Art of Transformer Programming, section 5.2.)
"""

import numpy as np

from handloom.core import Config, HandloomError, Model, Vocab, params
from handloom.core.arrays import Array
from handloom.write.book import BOOK
from handloom.write.parts.encodings import on_circle
from handloom.write.parts.loudness import HARD_SORT, LOUD_SORT
from handloom.write.parts.readings import plane, reading, readings


def book_sort(n: int = 28, block: int = 100) -> Model:
    """Different numbers from 1 to n − 1, and 0 for the end of the input: 6 · (n + block) + 150 parameters."""
    return powersort(n, block, ratio=1 / 2, ahead=1 / 4)


def golden_sort(n: int = 33, block: int = 100) -> Model:
    """The same with gaps that shrink more slowly. The larger numbers stay nearer than the smaller ones as long as
    1 + 2 · ahead · ratio > ratio / (1 − ratio), which for ahead = 1/2 ends at the golden ratio, 0.618."""
    return powersort(n, block, ratio=0.6, ahead=0.44)


def powersort(n: int, block: int, ratio: float, ahead: float, loud: float = LOUD_SORT) -> Model:
    if n < 3 or block < 1:
        raise HandloomError(f"sort needs n of at least 3 and a block of at least 1, not n={n} and block={block}")
    config = Config(vocab=n, block=block, d_model=6, layers=1, heads=1, d_head=6, **BOOK)
    points = powerpoints(n, ratio)
    weights = params.zeros(config)
    weights["W_E"] = np.hstack([on_circle(points), on_circle(asking_points(points, ahead))])
    head = weights["layers"][0]
    head["W_Q"][0, 3:, :3] = HARD_SORT * np.eye(3)
    head["W_K"][0, :3, :3] = np.eye(3)
    head["W_V"][0] = loud * np.eye(6)
    head["W_O"][0] = np.eye(6)
    notes = {
        "decode_steps": [1, -1],
        "directions": {"point": [0, 3], "asking": [3, 6]},
        **readings(point=reading(plane(0, 6), points="W_E"), asking=reading(plane(3, 6), "angle", "W_E")),
        "heads": {"0.0": "from the point that my number asks from, looks at the nearest number, and copies it, loudly"},
    }
    return Model(config, weights, Vocab.numbers(n), notes)


def powerpoints(n: int, ratio: float = 1 / 2) -> Array:
    """n points from 0 to π whose gaps shrink by the ratio."""
    points: Array = np.cumsum([0.0, *ratio ** np.arange(n - 1)])
    return np.pi * points / points[-1]


def asking_points(points: Array, ahead: float = 1 / 4) -> Array:
    """A little beyond the next point, towards the one after it; the last two have no such."""
    return np.array([*(1 - ahead) * points[1:-1] + ahead * points[2:], np.pi, 0.0])
