"""The smallest adder: one layer of width 4, two heads of width 1 and no neurons, 88 + 12 · digits parameters.

    >>> tiny_addition(3)("567+489=")
    '1056'

No carry is ever worked out. Let S be the sum and P what has been said of it. Where place p is to be said, S − P is
what is left, and with r = (S − P) / 10^p the digit is the largest d ≤ r: the one for which d · r − (d² + d) / 2 is
largest. A half is added to S, so that r is never on the edge, but half a unit of place 0 beside it.

    head 0   the average of the question's digits, each weighed by its place: S + 1/2
    head 1   the same of the digits that have been said, with a minus: −P

The weighing is done by positions. High and low hold a large C and −C, another C at every position. Layer norm divides
by it, and so a digit d is read as d / C.

- In the question C is large where 10^p is small. Every position gets the same share, and d / C weighs d by 10^p.
- In the answer C must go with 10^p, as the last norm is to make r of what is left: tokens hold d in the digit direction
  and d² + d in high and low, so that a logit is d · r − (d² + d) / 2. The position that says place p holds the digit
  of place p + 1. It is read as d / 10^p, and 10^p · d is wanted, so head 1 gives it a share that goes with 100^p.
- Shares add up to 1, and more and more digits have been said. But = outweighs them all, and there is nothing to read.

C is above 0 in the answer and below 0 in the question; so the heads tell them apart.

It is small, not robust. The margin of the first digit is 2√2 / 10^digits: float32 is enough for 5 digits, float64 for
12. And C is far larger than what stands beside it. Nothing is lost only because high and low come first and cancel
when a norm adds up the mean: with its directions in another order, the same model is wrong in float32.
"""

from typing import Any

import numpy as np

from handloom.core import Config, HandloomError, Model, params
from handloom.core.arrays import Array
from handloom.tasks.sums import sum_vocab

DIRECTIONS = ("high", "low", "rank", "digit")
MOST = 12  # digits, for which it is tested in float64

DIGIT = 2.0**16  # 1 of a digit that is read, in the digit direction
UNIT = 2.0**14 * DIGIT  # 1 of what is left to say; so much larger that the digit that stands there does not matter
LARGE = 3 / 16 * DIGIT * UNIT  # C where place 0 is said: behind the norm, digit and high are as d · r and (d² + d) / 2
SMALL = 2.0**-32  # rank 1, as a part of C; so small that C is still all that a norm divides by

# What to read behind a norm. It divides by |C| / √2, and takes the mean away: of a digit three quarters are left, of a
# rank, three parts of which are in the rank direction and one in the digit direction, two parts and none.
SIGN = np.array([1, -1, 0, 0]) / np.sqrt(8)  # of C: 1 or −1
READ_RANK = np.array([0, 0, 1 / 2, 1 / 6]) / np.sqrt(2)  # rank / |C|, and nothing of a digit
READ_DIGIT = np.array([0, 0, 0, 4 / 3]) / np.sqrt(2)  # digit / |C|
WRITE_DIGIT = np.array([0.0, 0, 0, 1])


def tiny_addition(digits: int = 3) -> Model:
    """The sum of two numbers of so many digits, the largest digit first."""
    if not 1 <= digits <= MOST:
        raise HandloomError(f"digits={digits} must be from 1 to {MOST}, as rounding spoils more; addition takes more")
    config = Config(vocab=12, block=3 * digits + 2, d_model=4, layers=1, heads=2, d_head=1, biases=())
    weights = params.zeros(config)
    weights["W_E"], weights["W_pos"] = tokens(), positions(digits)
    write_add_question(weights["layers"][0], digits)
    write_subtract_answer(weights["layers"][0], digits)
    return Model(config, weights, sum_vocab(), {"decode_steps": digits + 1, **NOTES})


def tokens() -> Array:
    """The digits on a parabola. + and =, which are never said, have nothing to read and lie below 0."""
    digit = np.arange(10)
    table = np.zeros((12, 4))
    table[:10] = np.outer(digit, DIGIT * WRITE_DIGIT) + np.outer(digit**2 + digit, [-1, 1, 0, 0])
    table[10:] = [-1, 1, 0, 0]
    return table


def positions(digits: int) -> Array:
    """Both numbers, with + as if it were of place 0, and then the answer: = is where the largest place is said."""
    number = [position(-UNIT * 10.0 ** (2 * digits - 2 - place)) for place in reversed(range(digits))]
    equals = position(LARGE * 10.0**digits, rank=(digits + 1) / 2)
    said = [position(LARGE * 10.0**place, rank=place - digits + 1) for place in reversed(range(digits))]
    return np.array([*number, number[-1], *number, equals, *said])


def position(C: float, rank: float = 0.0) -> Array:
    part = SMALL * rank * C
    return np.array([C, -C, 3 * part, part])


def write_add_question(layer: dict[str, Any], digits: int) -> None:
    """Equal shares of all positions in the question, + too, and 100^−(digits + 1) of such a share of the answer's. In
    the question −SIGN reads 1: so a half is added."""
    write = (2 * digits + 1) * UNIT * 10.0 ** (2 * digits - 2) / DIGIT * UNIT
    layer["W_Q"][0, :, 0] = SIGN
    layer["W_K"][0, :, 0] = -np.log(10) * (digits + 1) * SIGN
    layer["W_V"][0, :, 0] = READ_DIGIT - UNIT / 2 / write * SIGN
    layer["W_O"][0, 0] = write * WRITE_DIGIT


def write_subtract_answer(layer: dict[str, Any], digits: int) -> None:
    """A digit that has been said weighs 100^rank, the first one 1, and = weighs 10^(digits + 1). That and 1 is the sum
    of all weights, nearly: the question's are 10^−(digits + 9). So much is read of a 1 that stands for 10^digits."""
    first = DIGIT / (LARGE * 10.0 ** (digits - 1)) / (10.0 ** (digits + 1) + 1)
    layer["W_Q"][1, :, 0] = SIGN
    layer["W_K"][1, :, 0] = np.log(10) * (digits + 9) / 2 * SIGN + np.log(100) / SMALL * READ_RANK
    layer["W_V"][1, :, 0] = READ_DIGIT
    layer["W_O"][1, 0] = -(10.0**digits) * UNIT / first * WRITE_DIGIT


NOTES: dict[str, Any] = {
    "directions": {name: i for i, name in enumerate(DIRECTIONS)},
    "heads": {
        "0.0": "at all of the question, in equal shares: the sum and a half, to the digit direction",
        "0.1": "at =, and very little at what has been said, by its place: what has been said, taken away there",
    },
}
