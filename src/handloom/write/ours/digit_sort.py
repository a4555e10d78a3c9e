"""Sort numbers of several digits, in two layers. Nothing is compared, only counted.

    >>> digit_sort()("42 07 13 07=")
    '07 07 13 42'

To find the next digit of the answer, look at all numbers that begin as this one does so far, those given and those
output before. Count how often each digit comes next in those given, less how often in those output. What is left are
the numbers still to come, and the next digit is the smallest of which something is left. So no number is compared
with another, and one that repeats is nothing special.

    layer 0  every position gathers the digits of its own number so far; the digits of the answer become negative
    layer 1  attention counts the digits that come next; the MLP outputs the smallest that is left

To gather there is a head for each place: it looks at the last token that stands in this place or is a sign (a space or
=). If that is a sign, the place has not come yet and stays empty. So a position that has seen two digits of its number
asks for these two and nothing else, and all numbers that begin with them answer, in equal shares.

Every token is +1 in one direction and −1 in another, and so is every place, so that the mean is 0 and layer norm
divides by the same everywhere. What is gathered, and the time, are too small for it to notice.
"""

from dataclasses import replace

import numpy as np

from handloom.core import Model
from handloom.core.arrays import Array
from handloom.tasks.digit_sorting import ascending_digits
from handloom.write.book import BOOK
from handloom.write.parts.encodings import PLANE, circle
from handloom.write.parts.loudness import LOUD_COUNTS, LOUD_SUMS, SURE
from handloom.write.parts.readings import LAST, PLACED, between, reading
from handloom.write.parts.stream import Head, Layer, Neurons, Stream, assemble, axes, config_of, explained, joined

SMALL, TICK = 2.0**-14, 2.0**-24  # a digit gathered, and the time from one position to the next

GATHERED = between("0.resid_mid", "1.resid_post")


def digit_sort(digits: int = 2, length: int = 16, base: int = 10) -> Model:
    """Sorts up to `length` numbers of `digits` digits, with repeats: base + 6 + 4 · digits dimensions."""
    vocab = ascending_digits(digits, length, base).vocab
    stream = directions(digits, base)
    block, root = 2 * length * (digits + 1) - 2, np.sqrt(max(base, 3 * digits + 1))  # of d_head
    gather = [gather_place(stream, place, digits, block, root) for place in range(1, digits + 1)]
    layers = [
        Layer([*gather, repeat_equals(stream, root)], make_the_answer_negative(stream, base)),
        Layer([count_what_comes_next(stream, digits, base, length, root)], output_the_smallest(stream, base, length)),
    ]
    config_of(stream, vocab, block, layers, **BOOK)  # refuses what is too large, before a large table is made
    notes = {"decode_steps": [1, -1]}
    stream = with_readings(stream, digits, base)
    return assemble(stream, vocab, tokens(stream, base), positions(stream, digits, block), layers, notes, **BOOK)


def directions(digits: int, base: int) -> Stream:
    """Signs stand in place 0, the digits of a number in places 1, 2, … Layer norm divides by the unit of a stream whose
    squares sum to 4: 2 of a token and 2 of its place."""
    widths = {"digit": base, "space": 1, "equals": 1, "place": digits + 1, "one": 1, "time": 2, "gathered": 3 * digits}
    return axes(widths, unit(sum(widths.values()), 4.0), digit="token", gathered="token", one="ballast")


def with_readings(stream: Stream, digits: int, base: int) -> Stream:
    """Which token and position stand there, and which digits of its number are gathered."""
    stream = joined(stream, token=["digit", "space", "equals"], position=["place", "time"])
    gathered = stream.directions["gathered"].reads
    known = {
        f"digit {place + 1} of my number": reading(
            PLANE @ gathered[3 * place : 3 * place + 3], points=SMALL * circle(base) @ PLANE.T, sites=GATHERED
        )
        for place in range(digits)
    }
    token = {"points": "W_E", "sites": ("embed", "0.resid_pre", "1.resid_post", *LAST)}
    place = {"points": np.eye(digits + 1)}
    return explained(stream, token=token, place=place, position={"points": "W_pos", "sites": PLACED}, **known)


def unit(width: int, squares: float) -> float:
    return float(np.sqrt(squares / width))


def tokens(stream: Stream, base: int) -> Array:
    """A digit is +1 in its direction and −1 in that of the space; a space and = are opposites."""
    return np.vstack(
        [stream.write(digit=np.eye(base), space=-1.0), stream.write(space=[1.0, -1.0], equals=[-1.0, 1.0])]
    )


def positions(stream: Stream, digits: int, block: int) -> Array:
    """The place, against a direction that is −1 everywhere, and the time. A text begins in place 1."""
    steps = np.arange(block)
    place = np.eye(digits + 1)[(steps + 1) % (digits + 1)]
    return stream.write(place=place, one=-1.0, time=TICK * np.outer(steps, [1.0, -1.0]))


def gather_place(stream: Stream, place: int, digits: int, block: int, root: float) -> Head:
    """The last token in this place, or the last sign: a digit is a point on a circle, a sign is nothing."""
    in_place, room = np.eye(digits + 1)[[0, place]].sum(0), np.eye(3 * digits)[3 * (place - 1) : 3 * place]
    key = stream.read(
        place=SURE * block * in_place, time=SURE / (2 * TICK) * np.array([1.0, -1.0])
    )  # more than the time can be
    base = len(stream.directions["digit"].reads)
    return Head(
        f"looks at the last token that is a sign or in place {place}, and gathers its digit",
        looks=[(stream.read(one=-1.0), key)],  # every position asks the same: the score is what the key reads
        moves=[(stream.read(digit=circle(base).T), stream.write(gathered=SMALL * room))],
        hard=root,
    )


def repeat_equals(stream: Stream, root: float) -> Head:
    """Find = and write it again. Where none is to be seen this finds digits, which have nothing in its direction."""
    return Head(
        "looks at =, if it has come, and writes it again",
        looks=[(stream.read(one=-1.0), stream.read(equals=SURE))],
        moves=[(stream.read(equals=1.0), stream.write(equals=1.0, space=-1.0))],
        hard=root,
    )


def make_the_answer_negative(stream: Stream, base: int) -> Neurons:
    """Turn digit − 2 space + equals, whose squares are 6, into space − digit. Read at the unit that belongs to them, a
    digit alone is √2, = twice is 1.8, and all of these but both together stay below 0."""
    here = replace(stream, scale=unit(stream.width, 6.0 + 2.0))
    reads = here.read(digit=4 * np.eye(base), equals=3.0)
    writes = stream.write(digit=-2 * np.eye(base), space=3.0, equals=-1.0)
    return Neurons("a digit after = becomes negative", [(reads, writes)], np.full(base, -6.0))


def count_what_comes_next(stream: Stream, digits: int, base: int, length: int, root: float) -> Head:
    """Look at the next place of all numbers that begin with what was gathered. Their mean, with the answer's digits
    negative, is how many are left of each digit, divided by how many there are.

    A digit of the answer weighs a little more than one given, so that no rounding leaves anything of a digit that is
    used up: more by a third of 1 / length, or by less than half where a space asks, as it asks √2 times as hard. So of
    a digit that is not used up at least 1/2 is left. (The two differ in the space's direction, by 2.)"""
    on_planes = np.kron(np.eye(digits), PLANE) / SMALL
    each = SURE / (3 - 3 * np.cos(2 * np.pi / base))  # a neighbour on the circle is a lead behind
    hard = 2 * SURE + 3 * each * digits  # more than what numbers can score by beginning alike
    weighs_more = stream.read(space=np.log(1 + 1 / (3 * length))) / (2 * hard)
    places = np.eye(digits + 1)
    return Head(
        "looks at the next place of all numbers that begin as mine does, and counts each digit, loudly",
        looks=[
            (each * stream.read(gathered=on_planes), stream.read(gathered=on_planes)),
            (stream.read(place=hard * np.roll(places, 1, axis=1).T), stream.read(place=places) + weighs_more),
        ],
        moves=[(stream.read(digit=np.eye(base)), stream.write(digit=LOUD_COUNTS * np.eye(base), space=-LOUD_COUNTS))],
        hard=root,
    )


def output_the_smallest(stream: Stream, base: int, length: int) -> Neurons:
    """Two neurons per digit: 1 if any of it is left, else 0, each digit output twice as loud as the next. And one more
    outputs the space, behind the last place, louder than any digit.

    Counts, and minus their sum in the space's direction, drown all else, so that layer norm makes their squares sum to
    the width. Half of one of `length` is then at least √(width / 2) / (2 · length)."""
    least = np.sqrt(stream.width / 2) / (2 * length)
    rise = replace(stream, scale=1.0).read(digit=2 / least * np.eye(base))
    louder = stream.write(digit=LOUD_SUMS * np.diag(2.0 ** np.arange(base - 1, -1, -1)))
    last_place = np.eye(len(stream.directions["place"].reads))[-1]
    space = stream.read(place=2 * last_place), stream.write(space=2.0**base * LOUD_SUMS)
    return Neurons(
        "the smallest digit of which some are left is output loudest; behind the last place, a space",
        [(rise, louder), (rise, -louder), space],
        np.array([-1.0] * base + [-2.0] * base + [-1.0]),
    )
