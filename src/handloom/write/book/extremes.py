"""Min and max: one attention head that looks at the smallest (or largest) number there is.

The numbers stand on half of the circle, in order. Every token asks for the same direction, the one where the half
circle begins (or ends), hard enough that only the nearest token is heard; what is heard is so loud that layer norm
forgets everything else. Positions play no part. (The Art of Transformer Programming, section 5.1.)
"""

import numpy as np

from handloom.core import Config, HandloomError, Model, Vocab, params
from handloom.write.book import BOOK
from handloom.write.parts.encodings import PLANE, on_circle
from handloom.write.parts.loudness import HARD, LOUD
from handloom.write.parts.readings import plane, reading, readings

DIGITS = ("high digit", "middle digit", "low digit")


def book_min(n: int = 20) -> Model:
    """The smallest of up to n numbers from 0 to n − 1, with repeats: 6n + 39 parameters."""
    return extreme(n, 0.0)


def book_max(n: int = 20) -> Model:
    """The largest of them."""
    return extreme(n, np.pi)


def extreme(n: int, end: float) -> Model:
    if n < 1:
        raise HandloomError(f"n={n} must be at least 1")
    config = Config(vocab=n, block=n, d_model=3, layers=1, heads=1, d_head=3, **BOOK)
    weights = params.zeros(config)
    weights["W_E"] = on_circle(np.pi * np.arange(1, n + 1) / (n + 1))
    head = weights["layers"][0]
    head["W_Q"][0, :, 0] = HARD * on_circle(np.pi / 2)  # positive on the whole half circle: one question for all
    head["W_K"][0, :, 0] = on_circle(end)
    head["W_V"][0] = np.eye(3)
    head["W_O"][0] = LOUD * np.eye(3)
    notes = {
        "decode_steps": 1,
        "directions": {"number": [0, 3]},
        **readings(number=reading(plane(0, 3), points="W_E")),
        "heads": {"0.0": "looks at the end of the half circle, and copies what stands nearest to it, loudly"},
    }
    return Model(config, weights, Vocab.numbers(n), notes)


def million_min(n: int = 1000, block: int = 16) -> Model:
    """The smallest of some numbers below n, right in float32 for n up to a million.

    On one circle neighbours are π / n apart, and their points' products differ by the square of that: too little for
    float32 from some thousands on. Here a number is three digits, each with a circle of its own, on the part of it
    where the cosine falls evenly. So the logits of neighbours differ by a digit, and a head that weighs the cosines as
    a number weighs its digits asks for the smallest number on a scale that is linear."""
    if n < 2 or block < 1:
        raise HandloomError(f"min needs n of at least 2 and a block of at least 1, not n={n} and block={block}")
    base = max(2, int(np.ceil(round(n ** (1 / 3), 9))))
    digits = np.arange(n)[:, None] // [base**2, base, 1] % base  # (n, 3)
    config = Config(vocab=n, block=block, d_model=9, layers=1, heads=1, d_head=9, **BOOK)
    weights = params.zeros(config)
    angles = np.arccos(np.sqrt(0.5) * (1 - 2 * np.arange(base) / (base - 1)))
    weights["W_E"] = on_circle(angles)[digits].reshape(n, 9)
    head = weights["layers"][0]
    head["W_Q"][0, :3, 0] = HARD * on_circle(np.pi / 2)  # positive on all of the arc
    head["W_K"][0, :, 0] = np.outer([1, 1 / base, 1 / base**2], on_circle(0.0)).ravel()
    head["W_V"][0] = np.eye(9)
    head["W_O"][0] = LOUD * np.eye(9)
    notes = {
        "decode_steps": 1,
        "directions": {name: [3 * i, 3 * i + 3] for i, name in enumerate(DIGITS)},
        **readings(
            number=reading(np.vstack([plane(first, 9) for first in (0, 3, 6)]), points="W_E"),
            **{name: reading(plane(3 * i, 9), points=on_circle(angles) @ PLANE.T) for i, name in enumerate(DIGITS)},
        ),
        "heads": {"0.0": "looks at the smallest number, weighing its digits, and copies it, loudly"},
    }
    return Model(config, weights, Vocab.numbers(n), notes)
