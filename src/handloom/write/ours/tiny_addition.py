"""The smallest adder: one layer of width 4, two heads of width 1 and no neurons, 88 + 12 · digits parameters.

    >>> tiny_addition(3)("567+489=")
    '1056'

No carry is ever worked out. Let S be the sum and P what has been output of it. Where place p is next, S − P is
what is left, and with r = (S − P) / 10^p the digit is the largest d ≤ r: the one for which d · r − (d² + d) / 2 is
largest. A half is added to S, so that r is never on the edge, but half a unit of place 0 beside it.

    head 0   the average of the question's digits, each weighed by its place: S + 1/2
    head 1   the same of the digits output so far, with a minus: −P

The weighing is done by positions. High and low hold a large C and −C, another C at every position. Layer norm divides
by it, and so a digit d is read as d / C.

- In the question C is large where 10^p is small. Every position gets the same share, and d / C weighs d by 10^p.
- In the answer C must go with 10^p, as the last norm is to make r of what is left: tokens hold d in the digit direction
  and d² + d in high and low, so that a logit is d · r − (d² + d) / 2. The position that outputs place p holds the digit
  of place p + 1. It is read as d / 10^p, and 10^p · d is wanted, so head 1 gives it a share that goes with 100^p.
- Shares add up to 1, and more and more digits are there. But = outweighs them all, and there is nothing to read.

C is above 0 in the answer and below 0 in the question; so the heads tell them apart.

It is small, not robust. The margin of the first digit is 2√2 / 10^digits: float32 is enough for 5 digits, float64 for
12. And C is far larger than what stands beside it. Nothing is lost only because high and low come first and cancel
when a norm adds up the mean: with its directions in another order, the same model is wrong in float32.
"""

import numpy as np

from handloom.core import HandloomError, Model
from handloom.core.arrays import Array
from handloom.tasks.sums import sum_vocab
from handloom.write.parts.readings import EMBEDDED, predicted, reading
from handloom.write.parts.stream import Direction, Head, Layer, Stream, assemble, explained

MOST = 12  # digits, for which it is tested in float64

DIGIT = 2.0**16  # 1 of a digit that is read, in the digit direction
UNIT = 2.0**14 * DIGIT  # 1 of what is left to output; so much larger that the digit that stands there does not matter
LARGE = (
    3 / 16 * DIGIT * UNIT
)  # C where place 0 is output: behind the norm, digit and high are as d · r and (d² + d) / 2
SMALL = 2.0**-32  # rank 1, as a part of C; so small that C is still all that a norm divides by

# A norm divides by |C| / √2, and takes the mean away: of a digit three quarters are left, of a rank, three parts of
# which are in the rank direction and one in the digit direction, two parts and none. So what is read is the sign of C,
# rank / |C| (and nothing of a digit) and digit / |C|.
STREAM = Stream(
    {
        "high": Direction(np.eye(4)[:1], np.eye(4)[:1], "ballast", (0, 1)),
        "low": Direction(np.eye(4)[1:2], np.eye(4)[1:2], "ballast", (1, 2)),
        "sign": Direction(np.array([[1.0, -1, 0, 0]]), np.array([[1 / 2, -1 / 2, 0, 0]])),
        "rank": Direction(np.array([[0.0, 0, 3, 1]]), np.array([[0, 0, 1 / 2, 1 / 6]]), at=(2, 3)),
        "digit": Direction(np.array([[0.0, 0, 0, 1]]), np.array([[0, 0, 0, 4 / 3]]), at=(3, 4)),
    },
    scale=1 / np.sqrt(2),
)
read, write = STREAM.read, STREAM.write


def tiny_addition(digits: int = 3) -> Model:
    """The sum of two numbers of `digits` digits, the largest digit first."""
    if not 1 <= digits <= MOST:
        raise HandloomError(f"digits={digits} must be from 1 to {MOST}, as rounding spoils more; addition takes more")
    layer = Layer([add_question(digits), subtract_answer(digits)])
    notes = {"decode_steps": digits + 1}
    return assemble(with_readings(), sum_vocab(), tokens(), positions(digits), [layer], notes, biases=())


def with_readings() -> Stream:
    """+ and = are one point, and so are positions of the same place in the question."""
    every = {name: direction.reads for name, direction in STREAM.directions.items()}
    return explained(
        STREAM,
        token=reading(np.vstack([every["digit"], every["sign"]]), points="W_E", sites=EMBEDDED),
        position=reading(np.vstack([every["sign"], every["rank"]]), points="W_pos", sites=("pos_embed",)),
        answer=predicted(STREAM.width),
    )


def tokens() -> Array:
    """The digits on a parabola. + and =, which are never output, have nothing to read and lie below 0."""
    digit = np.array([*range(10), 0, 0])
    below = np.array([*digit[:10] ** 2 + digit[:10], 1, 1])
    return write(digit=DIGIT * digit, sign=-below)


def positions(digits: int) -> Array:
    """Both numbers, with + as if it were of place 0, and then the answer: = is where the largest place is output."""
    number = [position(-UNIT * 10.0 ** (2 * digits - 2 - place)) for place in reversed(range(digits))]
    equals = position(LARGE * 10.0**digits, rank=(digits + 1) / 2)
    answer = [position(LARGE * 10.0**place, rank=place - digits + 1) for place in reversed(range(digits))]
    return np.array([*number, number[-1], *number, equals, *answer])


def position(C: float, rank: float = 0.0) -> Array:
    return write(sign=C, rank=SMALL * rank * C)


def add_question(digits: int) -> Head:
    """Equal shares of all positions in the question, + too, and 100^−(digits + 1) of such a share of the answer's. In
    the question −sign reads 1: so a half is added."""
    amount = (2 * digits + 1) * UNIT * 10.0 ** (2 * digits - 2) / DIGIT * UNIT
    return Head(
        "at all of the question, in equal shares: the sum and a half, to the digit direction",
        looks=[(read(sign=1), read(sign=-np.log(10) * (digits + 1)))],
        moves=[(read(digit=1, sign=-UNIT / 2 / amount), write(digit=amount))],
    )


def subtract_answer(digits: int) -> Head:
    """A digit of the answer weighs 100^rank, the first one 1, and = weighs 10^(digits + 1). That and 1 is the sum
    of all weights, nearly: the question's are 10^−(digits + 9). So much is read of a 1 that stands for 10^digits."""
    first = DIGIT / (LARGE * 10.0 ** (digits - 1)) / (10.0 ** (digits + 1) + 1)
    return Head(
        "at =, and very little at the digits output so far, by their places: these digits, taken away there",
        looks=[(read(sign=1), read(sign=np.log(10) * (digits + 9) / 2, rank=np.log(100) / SMALL))],
        moves=[(read(digit=1), write(digit=-(10.0**digits) * UNIT / first))],
    )
