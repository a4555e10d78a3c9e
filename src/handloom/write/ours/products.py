"""Sums of numbers without zeros in front, and products: the last two exercises of the book's chapter 6.

    >>> unpadded_addition(2)("84+88=")
    '172'
    >>> multiplication(2)("12*12=")
    '0144'

The sums know every sum by heart, as the book's do. The products do not: attention multiplies digits, and the MLP finds
one digit of the result after the other by comparing, so that the program grows with the number of digits only.
"""

from typing import Any

import numpy as np

from handloom.core import Config, HandloomError, Model, params
from handloom.core.arrays import Array
from handloom.core.errors import shown
from handloom.tasks.products import EOS, product_vocab, shortest, unpadded_vocab
from handloom.tasks.sums import PLUS
from handloom.write.book import BOOK
from handloom.write.book.sums import HARD, LOUD
from handloom.write.exercises.sum_variants import fixed, write_some
from handloom.write.parts.encodings import circle, turn
from handloom.write.parts.exact import spikes

# sums
MOST_BY_HEART = 4  # digits: of five there are more than a hundred million parameters
GROWN = np.sqrt(14 / 13)  # what layer norm multiplies by, when 13 of 14 dimensions are fixed and one is 0

# products
MOST_DIGITS = 50  # of which a product is still a float, if not an exact one
NEVER = 40.0  # exp(−40) is less than the rounding of 1
SMALL = 1e-8  # numbers are written so small, and beside their negatives, that layer norm does not see them
WIDER = np.sqrt(14 / 12)  # what layer norm multiplies by, when 12 of 14 dimensions are fixed and two are 0
SCORE = 2 / WIDER**2  # makes up for that, and for the division by √d_head


def unpadded_addition(digits: int = 2) -> Model:
    """Exercise 20: numbers without zeros in front, in two layers.

    Layer 0: + and = look back over the last `digits` tokens, and what they see, a number in base 12, tells its MLP
    which number has just ended; it takes the place of the sign's value. (All other tokens look at <bos> instead.)
    Layer 1: every position from = on adds the numbers of + and = and tells, by the distance from =, how many digits it
    has said. The MLP knows what comes next for every sum and every such count.

    Dimensions: 0 to 5 the token (`sign_vectors`), 6 to 8 its position on a circle, 9 its position as a number, 10 the
    constant 1, 11 and 12 for layer norm, 13 for what is being computed."""
    if not 1 <= digits <= MOST_BY_HEART:
        raise HandloomError(f"digits={shown(digits)} must be from 1 to {MOST_BY_HEART}: it knows every sum by heart")
    table = answers_of_sums(digits)
    config = Config(
        vocab=14, block=3 * digits + 4, d_model=14, layers=2, heads=max(digits, 3), d_head=4,
        d_ff=3 * len(table), **BOOK,
    )  # fmt: skip
    weights = params.zeros(config)
    weights["W_E"][:, :6] = sign_vectors()
    weights["W_pos"][:, 6:9] = circle(config.block)
    steps = np.arange(config.block)
    weights["W_pos"][:, 9:13] = fixed(np.column_stack([steps / config.block, np.ones(config.block)]))
    read_numbers(config, weights["layers"][0], digits)
    say_sums(config, weights, table)
    return Model(config, weights, unpadded_vocab(), unpadded_notes(digits))


def unpadded_notes(digits: int) -> dict[str, Any]:
    signs = {"value": 0, "is +": 1, "is =": 2, "is <bos>": 3, "fill": [4, 6]}
    places = {"position": [6, 9], "step": 9, "one": 10, "fill of position": [11, 13], "result": 13}
    back = {f"0.{i}": f"from + and = looks {i + 1} back, and counts that token {12**i:,}" for i in range(digits)}
    return {
        "directions": signs | places,
        "heads": back
        | {
            "1.0": "looks at +, and takes the first number",
            "1.1": "looks at =, takes the second number, and takes away the position of =",
            "1.2": "looks at itself, and takes its position: with head 1.1, how many digits were said",
        },
        "mlps": {
            "0": "a spike for all that may stand before a sign: the number that ends there, in place of its value",
            "1": "a spike for each sum and each number of its digits said, which says what comes next",
        },
    }


def sign_vectors() -> Array:
    """Fourteen tokens, (14, 6): its value in tenths, whether it is +, whether =, whether <bos>, and what layer norm
    needs. The signs have the value 10, and <bos> −1, so that no two sorts of token have the same."""
    rows = np.zeros((14, 4))
    rows[:10, 0] = np.arange(10) / 10
    rows[10:] = np.array([[1, 1, 0, 0], [1, 0, 1, 0], [-0.1, 0, 0, 1], [0, 0, 0, -1]])
    return fixed(rows)


def read_numbers(config: Config, layer: dict[str, Array], digits: int) -> None:
    """Layer 0 of the sums."""
    for back in range(1, digits + 1):
        head = back - 1
        layer["W_Q"][head, 6:9, :3] = HARD * turn(-back * 2 * np.pi / config.block)
        layer["W_K"][head, 6:9, :3] = np.eye(3)
        layer["W_Q"][head, [10, 1, 2], 3] = 100 * HARD * np.array([1, -1, -1])  # 1 − (is it +) − (is it =)
        layer["W_K"][head, 3, 3] = 1.0  # <bos>
        layer["W_V"][head, 0, 0] = 10 * 12.0 ** (back - 1) / GROWN
        layer["W_O"][head, 0, 13] = 12.0**-digits
    codes = endings(digits)
    nothing = in_base_12((-1,) * digits)
    there = np.array([nothing, *codes]) / 12.0**digits
    number = np.array(list(codes.values())) / 10.0**digits
    changes = np.zeros((len(there), 14))
    signs = np.column_stack([number, np.ones_like(number), 0 * number, 0 * number])
    changes[1:, :6] = fixed(signs) - sign_vectors()[PLUS]  # the same for =
    changes[:, 13] = -there
    write_some(layer, spikes(beside_fixed(there), changes), np.eye(14)[13])


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
    """Every sum, how many of its digits were said, and what comes next."""
    sums = range(2 * 10**digits - 1)
    return [(total, said, token) for total in sums for said, token in enumerate([*shortest(total), EOS])]


def say_sums(config: Config, weights: dict[str, Any], table: list[tuple[int, int, int]]) -> None:
    """Layer 1 of the sums."""
    layer = weights["layers"][1]
    total, said, token = np.array(table).T
    counts = said.max() + 1
    most = 10.0 ** (said.max() - 1)  # what a number was divided by
    layer["W_Q"][:2, 10, 0] = HARD
    layer["W_K"][[0, 1], [1, 2], 0] = 1.0  # head 0 looks at +, head 1 at =
    layer["W_V"][:2, 0, 0] = most * counts / GROWN
    layer["W_Q"][2, 6:9, :3], layer["W_K"][2, 6:9, :3] = HARD * np.eye(3), np.eye(3)
    layer["W_V"][1:3, 9, 0] = np.array([-1, 1]) * config.block / GROWN  # my position less that of =
    layer["W_O"][:3, 0, 13] = 1 / (most * counts)
    points = beside_fixed((total * counts + said) / (most * counts))
    write_some(layer, spikes(points, LOUD * weights["W_E"][token]), np.eye(14)[13])


def beside_fixed(number: Array, width: int = 14) -> Array:
    """What layer norm makes of a number beside width − 1 that are fixed under it."""
    seen: Array = number * (1 - 1 / width) / np.sqrt((width - 1 + number**2) / width - (number / width) ** 2)
    return seen


def multiplication(digits: int = 2) -> Model:
    """Exercise 21: products, in two layers whose size grows with the number of digits, not with that of products.

    Attention multiplies: a digit b that gives its attention to the digit a with weight b / 10, and the rest to the
    sign, whose value is 0, hears a · b / 10. So in layer 0 each digit of the second number hears its product with the
    first. Layer 1 adds those, takes away the digits already said, and what remains is compared with nine multiples of
    the power of ten whose turn it is.

    Dimensions: 0 to 4 the token (`factor_vectors`), 5 to 7 its position on a circle, 8 the constant 1, 9 whether it
    stands in the second number, 10 and 11 for layer norm, 12 and 13 what is being computed and its negative."""
    if not 1 <= digits <= MOST_DIGITS:
        raise HandloomError(f"digits={shown(digits)} must be from 1 to {MOST_DIGITS}; float64 is enough for 6")
    block = 4 * digits + 1
    config = Config(
        vocab=12, block=block, d_model=14, layers=2, heads=3 * digits - 1, d_head=4, d_ff=36 * digits, **BOOK
    )  # fmt: skip
    weights = params.zeros(config)
    weights["W_E"][:, :5] = factor_vectors()
    places, second = circle(block), (np.arange(block) > digits) & (np.arange(block) <= 2 * digits)
    weights["W_pos"][:, 5:12] = np.hstack([places, fixed(np.column_stack([np.ones(block), second]))])
    multiply(weights["layers"][0], digits, places)
    collect(weights["layers"][1], digits, places)
    compare(weights["layers"][1], weights["W_E"], digits, places)
    return Model(config, weights, product_vocab(), multiplication_notes(digits))


def multiplication_notes(digits: int) -> dict[str, Any]:
    factors = {"value": 0, "share": 1, "sign": 2, "fill": [3, 5], "position": [5, 8], "one": 8, "second": 9}
    results = {"fill of position": [10, 12], "result": 12, "minus result": 13}
    multiply = "a digit b of the second number looks b tenths at the first number's digit that counts"
    products = {f"0.{i}": f"{multiply} {10**i:,}: their product" for i in range(digits)}
    adds = {f"1.{i}": f"adds the products of the second number's digit that counts {10**i:,}" for i in range(digits)}
    counts = (10 ** (2 * digits - 1 - i) for i in range(2 * digits - 1))
    said = {
        f"1.{digits + i}": f"takes away the answer's digit that counts {count:,}, once it is said"
        for i, count in enumerate(counts)
    }
    return {
        "decode_steps": 2 * digits,
        "directions": factors | results,
        "heads": products | adds | said,
        "mlps": {"1": "compares what remains with multiples of the power of ten whose turn it is, and says its digit"},
    }


def factor_vectors() -> Array:
    """Twelve tokens, (12, 5): the value in tenths; log(b / (10 − b)), by which attention is b / 10, in fortieths; the
    sign, 1 for * and −1 for =; and what layer norm needs."""
    tenths = np.arange(1, 10) / 10
    rows = np.zeros((12, 3))
    rows[1:10, 0], rows[1:10, 1] = tenths, np.log(tenths / (1 - tenths)) / NEVER
    rows[0, 1], rows[10:, 2] = -1.0, [1.0, -1.0]
    return fixed(rows)


def hardness(places: Array) -> float:
    """How loud a position must ask for another one not to hear its neighbours, nor half way to them."""
    return float(2 * NEVER / (3 - places[0] @ places[1]))


def multiply(layer: dict[str, Array], digits: int, places: Array) -> None:
    """The heads of layer 0: one for every digit of the first number."""
    hard, times = hardness(places), places[digits]
    for place in range(digits):
        target = places[digits - 1 - place]
        layer["W_Q"][place, 8, :3] = SCORE * hard * target
        layer["W_K"][place, 5:8, :3] = np.eye(3)
        # * is asked as loud as the digit, less log(b / (10 − b)); far louder by all but the second number's digits
        layer["W_Q"][place, [8, 9, 1], 3] = SCORE * np.array([hard * (3 - target @ times) + 1e3, -1e3, -NEVER])
        layer["W_K"][place, 2, 3] = 1.0
        layer["W_V"][place, 0, 0] = 10.0 ** (place + 1) / WIDER
        layer["W_O"][place, 0, 12:] = 10 * SMALL / 10.0**digits * np.array([1, -1])


def collect(layer: dict[str, Array], digits: int, places: Array) -> None:
    """The heads of layer 1: one for each digit of the second number, and for each of the answer but the last."""
    hard, equals = hardness(places), 2 * digits + 1
    targets = [*range(2 * digits, digits, -1), *range(equals + 1, equals + 2 * digits)]
    for head, target in enumerate(targets):
        layer["W_Q"][head, 8, :3] = SCORE * hard * places[target]
        layer["W_K"][head, 5:8, :3] = np.eye(3)
        layer["W_O"][head, 0, 12:] = SMALL / 10.0 ** (2 * digits) * np.array([1, -1])
        if head < digits:
            layer["W_V"][head, 12:, 0] = np.array([1, -1]) / 2 * 10.0 ** (digits + head) / SMALL / WIDER
        else:  # a digit of the answer; while it is not there, =, whose value is 0, is next best
            nearly = (3 + places[0] @ places[1]) / 2
            layer["W_Q"][head, 8, 3] = -SCORE * hard * (nearly - places[target] @ places[equals])
            layer["W_K"][head, 2, 3] = 1.0
            layer["W_V"][head, 0, 0] = -(10.0 ** (2 * digits + equals - target + 1)) / WIDER


def compare(layer: dict[str, Array], W_E: Array, digits: int, places: Array) -> None:
    """Two neurons for every digit from 1 to 9 at every step: from one below a multiple of the power of ten to the
    multiple, they go from 0 to 1. At other steps the position keeps them silent."""
    top = 10.0 ** (2 * digits)
    silent = 2 * top / (3 - places[0] @ places[1])
    for step in range(2 * digits):
        here, power = places[2 * digits + 1 + step], 10.0 ** (2 * digits - 1 - step)
        F = slice(18 * step, 18 * step + 18)
        layer["W_in"][12:, F] = top / SMALL / WIDER / 2 * np.array([[1], [-1]])  # what remains, as a whole number
        layer["W_in"][5:8, F] = silent * here[:, None] / WIDER
        layer["b_in"][F] = -np.add.outer(power * np.arange(1, 10), [-1.0, 0.0]).ravel() - 3 * silent
        layer["W_out"][F] = LOUD * np.kron(np.diff(W_E[:10], axis=0), [[1.0], [-1.0]])
    layer["b_out"][:] = LOUD * W_E[0]
