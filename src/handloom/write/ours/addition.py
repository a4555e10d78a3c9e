"""Addition, smaller than the book's, in four layers of width 7: 490 + 21 · digits parameters.

Carries are looked up, not added up. A place whose two digits make nine passes on the carry that it is given; every
other place makes its own. So the carry into place k is made at the first place below k that is not a nine. To find it
is the trouble: a position sees only what stands before it, and numbers begin with their largest digit. But every place
can find its stop: the first place above it that is not a nine. The place that makes the carry into k is the lowest one
with the same stop as place k − 1. (If there are only nines below k, that is place 0, whose carry is 0, which is right.)

    layer 0  every position adds the two digits of the place above its own, and marks a nine
    layer 1  the second number's positions add the digits of their own place; the answer's, of the place above again
    layer 2  every position finds its stop: the lowest place without a mark, of those it sees in its own row
    layer 3  the answer's positions find the lowest place with the same stop, and take its carry

The position that outputs place k of the answer counts as place k − 1: what it has to find is the carry from there.

A position finds a place by its number p and its square: 2qp − p² is largest at p = q, and the digits of one place,
which have the same p, get equal shares. Two directions, high and low, hold a large C and −C, so that layer norm divides
by nearly the same number everywhere; whatever is written elsewhere is taken away from these two, so that the mean stays
0. Tokens lie on a parabola, too: with the square of d standing against C, 2md − d² is largest at d = m.

That it is right is proven in `addition_proof.py`, for numbers of any length up to MOST.
"""

from typing import Any

import numpy as np

from handloom.core import HandloomError, Model
from handloom.core.arrays import Array
from handloom.tasks.sums import sum_vocab
from handloom.write.parts.readings import EMBEDDED, LAST, PLACED, between, numbered, reading
from handloom.write.parts.stream import Head, Layer, Neurons, Stream, assemble, explained, pinned

MOST = 14  # digits, for which it is proven; what layer norm is not linear in grows with them

C = 4096.0  # what stands in high and low
TOKEN, UNIT = 1 / 8, 8.0  # 1 of a digit that is read, and 1 of a sum that is to be output, in the digit direction
NINE, ANSWER, FIRST = -0.25, 2.0, -1.0  # marks: of a nine, of the answer's positions, of the first number's
APART = 4.0  # what keeps a square away from a place's own, so that the position is not found

MATCH = 16.0  # how much a place loses to its neighbour that is looked for
STOP = 10.0  # how much a place loses to the one below it, when looking for a stop
LOWEST = 4.0  # and when looking for the lowest place with some stop

STREAM = pinned(C, "place", "square", "digit", "sum", "mark")
read, write = STREAM.read, STREAM.write


def small_addition(digits: int = 3) -> Model:
    """The sum of two numbers of `digits` digits, the largest digit first."""
    if not 1 <= digits <= MOST:
        raise HandloomError(f"digits={digits} must be from 1 to {MOST}, for which this construction is proven")
    layers = [add_above(), add_own(), find_stop(digits), take_carry(digits)]
    notes = {"decode_steps": digits + 1}
    return assemble(
        with_readings(digits), sum_vocab(), tokens(), positions(digits), layers, notes, activation="relu", biases=()
    )


def with_readings(digits: int) -> Stream:
    """What the directions hold where: some serve twice, and the digit's in two units."""
    every = {name: direction.reads for name, direction in STREAM.directions.items()}
    places, names = numbered(digits + 2) - (digits + 1) / 2, [str(place) for place in range(-1, digits + 1)]
    unpinned = (every["low"] - every["high"]) / 2
    whole_position = np.vstack([every[name] for name in ("place", "square", "sum", "mark")])
    return explained(
        STREAM,
        place={"points": places, "values": names, "sites": ("pos_embed", *between("0.resid_pre", "3.resid_post"))},
        token=reading(np.vstack([every["digit"], unpinned]), points="W_E", sites=EMBEDDED),
        position=reading(whole_position, points="W_pos", sites=PLACED),
        sum_above=reading(every["sum"] / TOKEN, "number", sites=between("0.resid_mid", "1.resid_mid")),
        own_sum=reading(every["digit"] / UNIT, "number", sites=between("1.resid_mid", "3.resid_pre")),
        stop=reading(every["sum"], "number", places, names, between("2.resid_mid", "3.resid_mid")),
        carry=reading(every["square"], "number", numbered(2), sites=between("2.resid_post", "3.resid_mid")),
        answer=reading(every["digit"], "number", numbered(10, UNIT), sites=("3.resid_post", *LAST)),
    )


def tokens() -> Array:
    """Digits and their squares. As high and low are in it, a token reads 3/2 of the digit direction, and if the squares
    are to lie on the parabola, they must be larger by this. + and =, which are never output, lie beside it."""
    value = np.array([*range(10), 0, 0])
    square = np.array([*range(10), 4, 4]) ** 2 * 3 / 2 * UNIT * TOKEN / (4 * C)
    return write(digit=TOKEN * value, high=-square, low=square)


def positions(digits: int) -> Array:
    """Places are counted from the middle, so that squares stay small: place −1 is −h, and place `digits`, where +
    stands and there is nothing to add, is h. What + has in the sum direction makes its stop place −1, in layer 2: there
    the answer's last position finds that no carry comes from below place 0."""
    h = (digits + 1) / 2
    places = [h - 1 - i for i in range(digits)]
    first: list[dict[str, Any]] = [{"place": p, "square": p * p, "mark": FIRST} for p in places]
    plus = {"place": h, "square": h * h, "sum": -2 * h}
    second = [{"place": p, "square": p * p} for p in places]
    answer = [{"place": p, "square": p * p + APART + h, "mark": ANSWER} for p in [*places, -h]]
    return np.array([write(one=1.0, **row) for row in [*first, plus, *second, *answer]])


def add_above() -> Layer:
    """Twice the mean of two digits is their sum. It is a nine if it rises from 8 and falls before 10."""
    head = Head(
        "at both digits of the place above, in equal shares: their sum, to the sum direction",
        looks=[(read(place=2 * MATCH, one=2 * MATCH), read(place=1)), (read(one=-MATCH), read(square=1))],
        moves=[(read(digit=2 / TOKEN), write(sum=TOKEN))],
    )
    neurons = Neurons(
        "mark a nine in the sum direction with −1/4 in the mark direction",
        [
            (read(sum=1 / TOKEN, one=-8), write(mark=NINE)),
            (read(sum=1 / TOKEN, one=-9), write(mark=-2 * NINE)),
            (read(sum=1 / TOKEN, one=-10), write(mark=NINE)),
        ],
    )
    return Layer([head], neurons)


def add_own() -> Layer:
    """Where the answer is marked, the own place is one higher. (A nine's mark makes it lower by an eighth, which does
    no harm.) Then the first sum is taken away, and the first number has served: its positions get wrong squares."""
    head = Head(
        "at both digits of the own place (the answer's positions: of the place above): to the digit direction",
        looks=[
            (read(place=2 * MATCH, mark=2 * MATCH / ANSWER), read(place=1)),
            (read(one=-MATCH), read(square=1)),
        ],
        moves=[(read(digit=2 / TOKEN), write(digit=UNIT))],
    )
    neurons = Neurons(
        "empty the sum direction, and raise the squares of the first number, so that no one finds it any more",
        [(read(sum=1), write(sum=-1)), (read(mark=4 / FIRST, one=-3), write(square=APART))],
    )
    return Layer([head], neurons)


def find_stop(digits: int) -> Layer:
    """A mark outweighs all places. Then the squares are taken away and carries put there: 1 for sums above 9."""
    head = Head(
        "at the lowest place without a nine, in the own row: its number to sum, its square to mark",
        looks=[(read(one=1), read(place=-STOP, mark=-STOP * (digits + 2) / NINE))],
        moves=[(read(place=1), write(sum=1)), (read(square=1), write(mark=1))],
    )
    neurons = Neurons(
        "empty the square direction, and put 1 there where the sum in the digit direction is above 9: a carry",
        [
            (read(square=1), write(square=-1)),
            (read(digit=2 / UNIT, one=-2 * 9.25), write(square=1)),
            (read(digit=2 / UNIT, one=-2 * 9.75), write(square=-1)),
        ],
    )
    return Layer([head], neurons)


def take_carry(digits: int) -> Layer:
    """The stop outweighs all places. With the carry, ten and more become ten less, and all other directions, which
    tokens would read through high and low, are emptied into the mark's."""
    match = MATCH + LOWEST * (digits + 2)
    head = Head(
        "at the lowest place of the second number with the same stop: its carry, to the digit direction",
        looks=[(read(sum=2 * match), read(sum=1)), (read(one=1), read(mark=-match, place=-LOWEST))],
        moves=[(read(square=1), write(digit=UNIT))],
    )
    neurons = Neurons(
        "take 10 from what is above 9 in the digit direction, and empty all other directions taken together",
        [
            (read(digit=2 / UNIT, one=-2 * 9.25), write(digit=-10 * UNIT)),
            (read(digit=2 / UNIT, one=-2 * 9.75), write(digit=10 * UNIT)),
            (read(place=1, square=1, sum=1, mark=1), write(mark=-1)),
        ],
    )
    return Layer([head], neurons)
