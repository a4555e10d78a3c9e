"""Sums of numbers without zeros in front: exercise 20 of the book's chapter 6.

    >>> unpadded_addition(2)("84+88=")
    '172'

Like the book's sums it knows every sum by heart.
"""

from dataclasses import replace

import numpy as np

from handloom.core import HandloomError, Model
from handloom.core.arrays import Array
from handloom.core.errors import shown
from handloom.tasks.products import EOS, shortest, unpadded_vocab
from handloom.tasks.sums import PLUS
from handloom.write.book import BOOK
from handloom.write.parts.encodings import circle, fixed, turn
from handloom.write.parts.exact import spikes
from handloom.write.parts.loudness import HARD_SUMS, LOUD_SUMS
from handloom.write.parts.readings import LAST
from handloom.write.parts.stream import Head, Layer, Stream, assemble, axes, explained, joined, scalar_neurons

MOST_BY_HEART = 4  # digits: of five there are more than a hundred million parameters
GROWN = np.sqrt(14 / 13)  # what layer norm multiplies by, when 13 of 14 dimensions are fixed and one is 0


def stream_of_sums() -> Stream:
    """The token (`sign_vectors`); its position on a circle and as a number, beside the constant 1; a fill of each, for
    layer norm; and what is being computed."""
    signs = {"value": 1, "is_plus": 1, "is_equals": 1, "is_bos": 1, "fill": 2}
    places = {"position": 3, "step": 1, "one": 1, "fill_of_position": 2, "result": 1}
    stream = axes(
        signs | places, scale=1 / GROWN, fill="ballast", fill_of_position="ballast", position="angle"
    )  # fmt: skip
    stream = joined(stream, token=[*signs], fixed_position=["step", "one", "fill_of_position"])
    token = {"points": "W_E", "sites": ("embed", "0.resid_pre", "1.resid_post", *LAST)}
    return explained(stream, token=token, position={"points": "W_pos"}, fixed_position={"points": "W_pos"})


SUMS = stream_of_sums()
LOOK = replace(SUMS, scale=1.0)  # for scores, which are hard whatever the scale, and for what is known behind the norm


def unpadded_addition(digits: int = 2) -> Model:
    """Exercise 20: numbers without zeros in front, in two layers.

    Layer 0: + and = look back over the last `digits` tokens, and what they see, a number in base 12, tells its MLP
    which number has just ended; it takes the place of the sign's value. (All other tokens look at <bos> instead.)
    Layer 1: every position from = on adds the numbers of + and = and tells, by the distance from =, how many digits it
    has output. The MLP knows what comes next for every sum and every such count."""
    if not 1 <= digits <= MOST_BY_HEART:
        raise HandloomError(f"digits={shown(digits)} must be from 1 to {MOST_BY_HEART}: it knows every sum by heart")
    block, tokens = 3 * digits + 4, SUMS.write(token=sign_vectors())
    steps = fixed(np.column_stack([np.arange(block) / block, np.ones(block)]))
    positions = SUMS.write(position=circle(block), fixed_position=steps)
    layers = [read_numbers(block, digits), output_sums(block, tokens, answers_of_sums(digits))]
    return assemble(SUMS, unpadded_vocab(), tokens, positions, layers, {}, **BOOK)


def sign_vectors() -> Array:
    """Fourteen tokens, (14, 6): its value in tenths, whether it is +, whether =, whether <bos>, and what layer norm
    needs. The signs have the value 10, and <bos> −1, so that no two sorts of token have the same."""
    rows = np.zeros((14, 4))
    rows[:10, 0] = np.arange(10) / 10
    rows[10:] = np.array([[1, 1, 0, 0], [1, 0, 1, 0], [-0.1, 0, 0, 1], [0, 0, 0, -1]])
    return fixed(rows)


def read_numbers(block: int, digits: int) -> Layer:
    """Layer 0 of the sums."""
    heads = []
    for i in range(digits):
        looks = [
            (LOOK.read(position=turn(-(i + 1) * 2 * np.pi / block).T), LOOK.read(position=np.eye(3))),
            (LOOK.read(one=100.0, is_plus=-100.0, is_equals=-100.0), LOOK.read(is_bos=1.0)),
        ]
        about = f"from + and = looks {i + 1} back, and counts that token {12**i:,}"
        moves = [(SUMS.read(value=10 * 12.0**i), SUMS.write(result=12.0**-digits))]
        heads.append(Head(about, looks, moves, HARD_SUMS))
    codes = endings(digits)
    nothing = in_base_12((-1,) * digits)
    there = np.array([nothing, *codes]) / 12.0**digits
    number = np.array(list(codes.values())) / 10.0**digits
    signs = fixed(np.column_stack([number, np.ones_like(number), 0 * number, 0 * number]))
    changes = np.vstack([np.zeros(6), signs - sign_vectors()[PLUS]])  # the same for =
    about = "a spike for all that may stand before a sign: the number that ends there, in place of its value"
    known = spikes(beside_fixed(there), SUMS.write(token=changes, result=-there))
    return Layer(heads, scalar_neurons(about, known, LOOK.read(result=1.0)))


def endings(digits: int) -> dict[int, int]:
    """The number that ends in front of a sign, by the last tokens read in base 12: <bos> −1, a sign 10."""
    codes: dict[int, int] = {}
    for length in range(1, digits + 1):
        room = digits - length
        before = {(-1,) * room}  # it is the first number; or there are the end of the first and a + in front of it
        if room:
            firsts = map(shortest, range(10**digits))
            before |= {(*([-1] * (room - 1) + first)[len(first) :], 10) for first in firsts}
        for number in range(10 ** (length - 1) if length > 1 else 0, 10**length):
            codes |= {in_base_12((*symbols, *shortest(number))): number for symbols in before}
    return codes


def in_base_12(symbols: tuple[int, ...]) -> int:
    total = 0
    for symbol in symbols:
        total = 12 * total + symbol
    return total


def answers_of_sums(digits: int) -> list[tuple[int, int, int]]:
    """Every sum, how many of its digits are there, and what comes next."""
    sums = range(2 * 10**digits - 1)
    return [(total, done, token) for total in sums for done, token in enumerate([*shortest(total), EOS])]


def output_sums(block: int, tokens: Array, table: list[tuple[int, int, int]]) -> Layer:
    """Layer 1 of the sums."""
    total, done, token = np.array(table).T
    counts = done.max() + 1
    most = 10.0 ** (done.max() - 1)  # what a number was divided by
    one, position = LOOK.read(one=1.0), LOOK.read(position=np.eye(3))
    number, step, out = SUMS.read(value=most * counts), SUMS.read(step=block), SUMS.write(result=1 / (most * counts))
    heads = [
        Head("looks at +, and takes the first number", [(one, LOOK.read(is_plus=1.0))], [(number, out)], HARD_SUMS),
        Head(
            "looks at =, takes the second number, and takes away the position of =",
            [(one, LOOK.read(is_equals=1.0))],
            [(number - step, out)],
            HARD_SUMS,
        ),
        Head(
            "looks at itself, and takes its position: with head 1.1, how many digits were output",
            [(position, position)],
            [(step, out)],
            HARD_SUMS,
        ),
    ]
    about = "a spike for each sum and each number of its digits output, which gives what comes next"
    known = spikes(beside_fixed((total * counts + done) / (most * counts)), LOUD_SUMS * tokens[token])
    return Layer(heads, scalar_neurons(about, known, LOOK.read(result=1.0)))


def beside_fixed(number: Array, width: int = 14) -> Array:
    """What layer norm makes of a number beside width − 1 that are fixed under it."""
    seen: Array = number * (1 - 1 / width) / np.sqrt((width - 1 + number**2) / width - (number / width) ** 2)
    return seen
