"""Products: exercise 21 of the book's chapter 6.

    >>> multiplication(2)("12*12=")
    '0144'

Attention multiplies digits, and the MLP finds one digit of the result after the other by comparing. So the program
grows with the number of digits only, and knows no product by heart.
"""

from dataclasses import replace

import numpy as np

from handloom.core import HandloomError, Model
from handloom.core.arrays import Array
from handloom.core.errors import shown
from handloom.tasks.products import product_vocab
from handloom.write.book import BOOK
from handloom.write.parts.encodings import circle, fixed
from handloom.write.parts.loudness import LOUD_SUMS, SURE
from handloom.write.parts.stream import Direction, Head, Kind, Layer, Neurons, Stream, assemble, axes, explained, joined

MOST_DIGITS = 50  # of which a product is still a float, if not an exact one
SMALL = 1e-8  # numbers are written so small, and beside their negatives, that layer norm does not see them
WIDER = np.sqrt(14 / 12)  # what layer norm multiplies by, when 12 of 14 dimensions are fixed and two are 0
SCORE = 2 / WIDER**2  # makes up for that, and for the division by √d_head


def stream_of_products() -> Stream:
    """The token (`factor_vectors`); its position on a circle, beside the constant 1 and whether it stands in the second
    number; a fill of each, for layer norm; and what is being computed, beside its negative."""
    factors = {"value": 1, "share": 1, "sign": 1, "fill": 2}
    places = {"position": 3, "one": 1, "second": 1, "fill_of_position": 2, "result": 1, "minus_result": 1}
    kinds: dict[str, Kind] = {
        "fill": "ballast",
        "fill_of_position": "ballast",
        "minus_result": "ballast",
        "position": "angle",
    }
    stream = axes(factors | places, 1 / WIDER, **kinds)
    both = stream.write(result=[1.0], minus_result=-1.0)
    result = Direction(both, both / 2, "number", stream.directions["result"].at)
    stream = replace(stream, directions={**stream.directions, "result": result})
    stream = joined(stream, token=[*factors], fixed_position=["position", "one", "second", "fill_of_position"])
    return explained(
        stream, token={"points": "W_E"}, position={"points": "W_pos"}, fixed_position={"points": "W_pos"}
    )  # fmt: skip


PRODUCTS = stream_of_products()
ASK = replace(PRODUCTS, scale=1.0)  # for scores, where SCORE makes up for the scale


def multiplication(digits: int = 2) -> Model:
    """Exercise 21: products, in two layers whose size grows with the number of digits, not with that of products.

    Attention multiplies: a digit b that gives its attention to the digit a with weight b / 10, and the rest to the
    sign, whose value is 0, hears a · b / 10. So in layer 0 each digit of the second number hears its product with the
    first. Layer 1 adds those, takes away the digits output so far, and what remains is compared with nine multiples of
    the power of ten whose turn it is."""
    if not 1 <= digits <= MOST_DIGITS:
        raise HandloomError(f"digits={shown(digits)} must be from 1 to {MOST_DIGITS}; float64 is enough for 6")
    block, tokens = 4 * digits + 1, PRODUCTS.write(token=factor_vectors())
    places, second = circle(block), (np.arange(block) > digits) & (np.arange(block) <= 2 * digits)
    rows = np.hstack([places, fixed(np.column_stack([np.ones(block), second]))])
    layers = [Layer(multiply(digits, places)), Layer(collect(digits, places), compare(tokens, digits, places))]
    notes = {"decode_steps": 2 * digits}
    return assemble(PRODUCTS, product_vocab(), tokens, PRODUCTS.write(fixed_position=rows), layers, notes, **BOOK)


def factor_vectors() -> Array:
    """Twelve tokens, (12, 5): the value in tenths; log(b / (10 − b)), by which attention is b / 10, in fortieths; the
    sign, 1 for * and −1 for =; and what layer norm needs."""
    tenths = np.arange(1, 10) / 10
    rows = np.zeros((12, 3))
    rows[1:10, 0], rows[1:10, 1] = tenths, np.log(tenths / (1 - tenths)) / SURE
    rows[0, 1], rows[10:, 2] = -1.0, [1.0, -1.0]
    return fixed(rows)


def hardness(places: Array) -> float:
    """How loud a position must ask for another one not to hear its neighbours, nor half way to them."""
    return float(2 * SURE / (3 - places[0] @ places[1]))


def multiply(digits: int, places: Array) -> list[Head]:
    """The heads of layer 0: one for every digit of the first number."""
    hard, times = hardness(places), places[digits]
    heads = []
    for place in range(digits):
        target = places[digits - 1 - place]
        # * is asked as loud as the digit, less log(b / (10 − b)); far louder by all but the second number's digits
        loud = SCORE * np.array([hard * (3 - target @ times) + 1e3, -1e3, -SURE])
        looks = [
            (ASK.read(one=SCORE * hard * target), ASK.read(position=np.eye(3))),
            (ASK.read(one=loud[0], second=loud[1], share=loud[2]), ASK.read(sign=1.0)),
        ]
        moves = [(PRODUCTS.read(value=10.0 ** (place + 1)), PRODUCTS.write(result=10 * SMALL / 10.0**digits))]
        about = "a digit b of the second number looks b tenths at the first number's digit that counts"
        heads.append(Head(f"{about} {10**place:,}: their product", looks, moves, hard=1.0))
    return heads


def collect(digits: int, places: Array) -> list[Head]:
    """The heads of layer 1: one for each digit of the second number, and for each of the answer but the last."""
    hard, equals, out = hardness(places), 2 * digits + 1, PRODUCTS.write(result=SMALL / 10.0 ** (2 * digits))
    heads = []
    for i in range(digits):
        looks = [(ASK.read(one=SCORE * hard * places[2 * digits - i]), ASK.read(position=np.eye(3)))]
        about = f"adds the products of the second number's digit that counts {10**i:,}"
        moves = [(PRODUCTS.read(result=10.0 ** (digits + i) / SMALL), out)]
        heads.append(Head(about, looks, moves, hard=1.0))
    nearly = (3 + places[0] @ places[1]) / 2
    for place in range(2 * digits - 1, 0, -1):
        target = places[equals + 2 * digits - place]
        looks = [
            (ASK.read(one=SCORE * hard * target), ASK.read(position=np.eye(3))),
            # while the digit is not there, =, whose value is 0, is next best
            (ASK.read(one=-SCORE * hard * (nearly - target @ places[equals])), ASK.read(sign=1.0)),
        ]
        about = f"takes away the answer's digit that counts {10**place:,}, once it is there"
        heads.append(Head(about, looks, [(PRODUCTS.read(value=-(10.0 ** (place + 1))), out)], hard=1.0))
    return heads


def compare(tokens: Array, digits: int, places: Array) -> Neurons:
    """Two neurons for every digit from 1 to 9 at every step: from one below a multiple of the power of ten to the
    multiple, they go from 0 to 1. At other steps the position keeps them silent."""
    top = 10.0 ** (2 * digits)
    silent = 2 * top / (3 - places[0] @ places[1])
    rows, bias = [], []
    for step in range(2 * digits):
        here, power = places[2 * digits + 1 + step], 10.0 ** (2 * digits - 1 - step)
        reads = PRODUCTS.read(result=top / SMALL, position=silent * here)  # what remains, as a whole number
        rows.append((np.tile(reads, (18, 1)), LOUD_SUMS * np.kron(np.diff(tokens[:10], axis=0), [[1.0], [-1.0]])))
        bias.append(-np.add.outer(power * np.arange(1, 10), [-1.0, 0.0]).ravel() - 3 * silent)
    about = "compares what remains with multiples of the power of ten whose turn it is, and outputs its digit"
    return Neurons(about, rows, np.concatenate(bias), LOUD_SUMS * tokens[0])
