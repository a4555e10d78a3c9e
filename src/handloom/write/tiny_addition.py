"""The smallest adder: one attention-only layer of width 4, two heads of width 1, 88 + 12 · digits parameters.

    >>> tiny_addition(3)("567+489=")
    '1056'

No carry is ever worked out. Let S be the sum and P what has been said of it. Where place p is to be said, S − P is
what is left, and with r = (S − P) / 10^p the digit is the largest d with d ≤ r: the one where d · r − (d² + d) / 2 is
largest. Half of the smallest unit is added to S, so that r never lies on the edge: the margin is 10^−p / 2.

    head 0   the average of the question's digits, each weighed by its place: S + 1/2
    head 1   the same of the answer's digits, with a minus: −P

All weighing is done by positions. High and low hold a large C and −C, other at every position; layer norm divides by
it, and so a digit d is read as d / C.

- In the question C is 10^−p times something: all its positions are looked at alike, and d / C has the weight 10^p.
- In the answer C must be 10^p times something, for the last norm is to make r of S − P: tokens have d² + d in high and
  low and d in the digit direction, so that a logit is d · r − (d² + d) / 2. The digit said before stands there too, of
  place p + 1; d / C gives it 10^−p where 10^(p+1) is due. So head 1 looks at it with the weight 100^p, by its rank.
- A softmax divides by the sum of all weights, and more and more digits have been said. But = outweighs them all, and
  has nothing in the digit direction.

C is positive in the answer and negative in the question: that is how the heads tell them apart.

The margin of the first digit is 2√2 / 10^digits, so there is an end to it: rounding. All that is added up is kept apart
from C: high and low are first, and cancel, when a norm takes the mean; what rank holds has a third of it in the digit
direction, where the mean then takes it away.
"""

from typing import Any

import numpy as np

from handloom.core import Config, HandloomError, Model, params
from handloom.tasks.sums import sum_vocab
from handloom.write.encodings import Array

DIRECTIONS = ("high", "low", "rank", "digit")
MOST = 12  # digits; with 13, float64 is too coarse

DIGIT = 2.0**16  # 1 of a digit that is read, in the digit direction
UNIT = 2.0**14 * DIGIT  # 1 of what is left to say; so much larger that the digit that stands there does not matter
LARGE = 3 / 16 * DIGIT * UNIT  # C where place 0 is said, which makes the logits of r those of d · r − (d² + d) / 2
SMALL = 2.0**-32  # rank / C, for one place; so small that C is still all that a norm divides by

# What is read behind a norm, which has divided by C / √2 and has taken a quarter of all that is not in pairs from
# each direction.
SIGN = np.array([1, -1, 0, 0]) / np.sqrt(8)  # of C: 1 or −1
READ_RANK = np.array([0, 0, 1 / 2, 1 / 6]) / np.sqrt(2)  # a third of rank / |C|
READ_DIGIT = np.array([0, 0, 0, 4 / 3]) / np.sqrt(2)  # digit / |C|
WRITE_DIGIT = np.array([0.0, 0, 0, 1])


def tiny_addition(digits: int = 3) -> Model:
    """The sum of two numbers of so many digits, the largest digit first."""
    if not 1 <= digits <= MOST:
        raise HandloomError(f"digits={digits} must be from 1 to {MOST}: with more, this construction drowns in rounding")
    config = Config(vocab=12, block=3 * digits + 2, d_model=4, layers=1, heads=2, d_head=1, biases=())
    weights = params.zeros(config)
    weights["W_E"], weights["W_pos"] = tokens(), positions(digits)
    write_add_question(weights["layers"][0], digits)
    write_subtract_answer(weights["layers"][0], digits)
    return Model(config, weights, sum_vocab(), {"decode_steps": digits + 1, **NOTES})


def tokens() -> Array:
    """The digits on their parabola. + and =, which are never said, lie below 0, and add nothing."""
    digit = np.arange(10)
    table = np.zeros((12, 4))
    table[:10] = np.outer(digit, WRITE_DIGIT * DIGIT) + np.outer(digit**2 + digit, [-1, 1, 0, 0])
    table[10:] = [-1, 1, 0, 0]
    return table


def positions(digits: int) -> Array:
    """Both numbers, with + as if it were of place 0, and then the answer: = is where the largest place is said."""
    number = [position(-UNIT * 10.0 ** (2 * digits - 2 - place)) for place in reversed(range(digits))]
    equals = position(LARGE * 10.0**digits, rank=(digits + 1) / 2)
    said = [position(LARGE * 10.0**place, rank=place - digits + 1) for place in reversed(range(digits))]
    return np.array([*number, number[-1], *number, equals, *said])


def position(C: float, rank: float = 0.0) -> Array:
    share = SMALL * rank * C
    return np.array([C, -C, 3 * share, share])


def write_add_question(layer: dict[str, Any], digits: int) -> None:
    """Equal shares of all positions in the question, + too. In each of them, −SIGN reads 1: so 1/2 is added. The
    answer's have 100^−(digits + 1) of a share."""
    write = UNIT * (2 * digits + 1) * UNIT / DIGIT * 10.0 ** (2 * digits - 2)
    layer["W_Q"][0, :, 0] = SIGN
    layer["W_K"][0, :, 0] = -np.log(10) * (digits + 1) * SIGN
    layer["W_V"][0, :, 0] = READ_DIGIT - UNIT / 2 / write * SIGN
    layer["W_O"][0, 0] = write * WRITE_DIGIT


def write_subtract_answer(layer: dict[str, Any], digits: int) -> None:
    """The weight of a digit is 100^rank, with rank 0 for the first one said, and of = it is 10^(digits + 1). The sum of
    all weights is that and 1 or little more; the question's, 10^−(digits + 9) each, add nothing. The first digit said
    stands for 10^digits, and is read with these shares."""
    share = 1 / (10.0 ** (digits + 1) + 1)
    first = share * DIGIT / (LARGE * 10.0 ** (digits - 1))
    layer["W_Q"][1, :, 0] = SIGN
    layer["W_K"][1, :, 0] = np.log(10) * (digits + 9) / 2 * SIGN + np.log(100) / SMALL * READ_RANK
    layer["W_V"][1, :, 0] = READ_DIGIT
    layer["W_O"][1, 0] = -UNIT * 10.0**digits / first * WRITE_DIGIT


NOTES: dict[str, Any] = {
    "directions": {name: i for i, name in enumerate(DIRECTIONS)},
    "heads": {
        "0.0": "at all of the question, in equal shares: the sum and a half, to the digit direction",
        "0.1": "at =, and a little at what has been said, 100 times less at each next digit: takes that away",
    },
}
