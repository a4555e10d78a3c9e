"""The book's sums: attention adds the digits as numbers, and an MLP with a spike for every sum turns it into a digit.

A digit d is d / 100 in the first dimension, beside a constant 1 and two dimensions that make it fixed under layer norm.
Heads look at the digits and add their values times powers of ten. Layer norm changes the sum, but different sums stay
different, and the MLP knows each. (The Art of Transformer Programming, chapter 6.)
"""

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from handloom.core import Config, HandloomError, Model, Vocab, params
from handloom.core.arrays import Array
from handloom.tasks.sums import sum_vocab
from handloom.write.book import BOOK
from handloom.write.parts.encodings import circle, layer_norm, turn
from handloom.write.parts.exact import spikes
from handloom.write.parts.loudness import HARD_SUMS, LOUD_SUMS
from handloom.write.parts.readings import dimensions, plane, reading, readings
from handloom.write.parts.stream import Direction

SCALE = 100.0  # a digit d is written d / SCALE
MESSY = 1e4  # the book's: so loud that what was there before hardly matters
SUMMED = ("0.resid_mid",)
VALUE_DIRECTIONS: dict[str, Any] = {"value": 0, "one": 1, "fill": [2, 4]}


def book_sum() -> Model:
    """Two digits, their sum mod 10: one head reads the mean of both. 629 parameters."""
    config = Config(vocab=10, block=2, d_model=4, layers=1, heads=1, d_head=4, d_ff=3 * 19, **BOOK)
    weights = params.zeros(config)
    weights["W_E"] = digit_vectors()
    layer = weights["layers"][0]
    layer["W_V"][0, :2, :2] = MESSY * np.diag([2 * SCALE, 1.0])  # 2: from the mean to the sum
    layer["W_O"][0, :2, :2] = np.eye(2)
    total = np.arange(19.0)
    seen = layer_norm(MESSY * np.stack([total, np.ones(19), np.zeros(19), np.zeros(19)], axis=1))
    spikes(seen[:, 0], LOUD_SUMS * weights["W_E"][np.arange(19) % 10]).write(layer, 0)
    notes = {
        "decode_steps": 1,
        "directions": VALUE_DIRECTIONS,
        **digit_readings(4, dimensions(0, 1, 4) / MESSY),
        "heads": {"0.0": "the mean of both digits, doubled"},
        "mlps": {"0": "a spike for each of the 19 sums, which outputs its last digit"},
    }
    return Model(config, weights, Vocab.of("0123456789"), notes)


def book_modular_sum(digits: int = 2) -> Model:
    """Two numbers, the last digit of their sum: a head for each digit, which looks a fixed way back."""
    return last_digit(digits, digits)


def modular_sum(digits: int = 2) -> Model:
    """The same, smaller and right in float32: only the last digit of each number is read, for no other matters."""
    return last_digit(
        digits, 1, sign=[0, 1, 3, 2]
    )  # a vector of their own for + and =, the zero's with a and b swapped


def last_digit(digits: int, read: int, sign: Sequence[int] = (0, 1, 2, 3)) -> Model:
    config, weights, layer = sum_layer(digits, block=2 * digits + 2, read=read, outputs=1)
    weights["W_E"][10:, :4] = digit_vectors()[0, sign]
    for head, (back, place) in enumerate(product([1, digits + 2], range(read))):
        layer["W_Q"][head, -3:] = HARD_SUMS * turn(-(back + place) * 2 * np.pi / config.block)
        layer["W_K"][head, -3:] = np.eye(3)
        layer["W_V"][head, 0, 0] = SCALE * 10.0**place
        layer["W_O"][head, 0, 0] = 1.0
    total = np.arange(2 * 10**read - 1)
    seen = layer_norm(after_attention(total, weights["W_pos"][:1, -3:]))[:, 0, 0]
    spikes(seen, LOUD_SUMS * weights["W_E"][total % 10]).write(layer, 0)
    return Model(config, weights, sum_vocab(), sum_notes(read, 1))


def book_addition(digits: int = 3) -> Model:
    """Two numbers, all digits of their sum: heads look at fixed positions, and what is known of the sum and of the
    position where a digit is output goes into one number."""
    config, weights, layer = sum_layer(digits, block=3 * digits + 2, read=digits, outputs=digits + 1)
    places = weights["W_pos"][:, -3:]
    for head, (start, place) in enumerate(product([0, digits + 1], range(digits))):
        layer["W_Q"][head, 1] = HARD_SUMS * places[start + digits - 1 - place]
        layer["W_K"][head, -3:] = np.eye(3)
        layer["W_V"][head, 0, 0] = SCALE * 10.0**place
        layer["W_O"][head, 0, 0] = 1 / SCALE
    layer["W_V"][-1, [0, -3], -1] = [-1.0, 1.0]  # in place of my own digit, the first coordinate of my position
    layer["W_O"][-1, -1, 0] = 1.0
    total, here = np.arange(2 * 10**digits - 1), places[-digits - 1 :]
    seen = layer_norm(after_attention(total / SCALE, here, mixed=True))[..., 0]  # (sums, positions)
    output = total[:, None] // 10 ** np.arange(digits, -1, -1) % 10
    spikes(seen.ravel(), LOUD_SUMS * weights["W_E"][output.ravel()]).write(layer, 0)
    return Model(config, weights, sum_vocab(), sum_notes(digits, digits + 1))


def sum_layer(digits: int, block: int, read: int, outputs: int) -> tuple[Config, dict[str, Any], dict[str, Array]]:
    """What they have in common: tokens and positions side by side, a head for each digit that is read, and one that
    clears the two dimensions that made the token fixed under layer norm."""
    if digits < 1:
        raise HandloomError(f"digits={digits} must be at least 1")
    neurons = 3 * (2 * 10**read - 1) * outputs
    config = Config(
        vocab=12, block=block, d_model=7, layers=1, heads=2 * read + 1, d_head=3, d_ff=neurons, **BOOK
    )  # fmt: skip
    weights = params.zeros(config)
    weights["W_E"][:10, :4] = digit_vectors()
    weights["W_E"][10:, :4] = digit_vectors()[0]  # + and = are like 0: a tie, which greedy decoding gives to 0
    weights["W_pos"][:, 4:] = circle(block)
    layer = weights["layers"][0]
    layer["W_Q"][-1, -3:], layer["W_K"][-1, -3:] = HARD_SUMS * np.eye(3), np.eye(3)
    layer["W_V"][-1, 2:4, :2], layer["W_O"][-1, :2, 2:4] = -np.eye(2), np.eye(2)
    return config, weights, layer


def sum_notes(read: int, outputs: int) -> dict[str, Any]:
    digit_heads = {
        f"0.{head}": f"adds the digit of the {'second' if second else 'first'} number that counts {10**place:,}"
        for head, (second, place) in enumerate(product([outputs == 1, outputs > 1], range(read)))
    }
    clears = "clears what made my token fixed under layer norm"
    number = (
        dimensions(0, 1, 7) if outputs == 1 else SCALE * (dimensions(0, 1, 7) - dimensions(4, 5, 7))
    )  # the position is added to it
    return {
        "decode_steps": outputs,
        "directions": VALUE_DIRECTIONS | {"position": [4, 7]},
        **digit_readings(7, number, position=reading(plane(4, 7), "angle", "W_pos")),
        "heads": digit_heads | {f"0.{2 * read}": clears if outputs == 1 else f"{clears}, and adds my position"},
        "mlps": {"0": "a spike for each sum, and each place of the answer, which outputs the digit"},
    }


def digit_readings(width: int, number: Array, **more: Direction) -> dict[str, Any]:
    """The digit that stands there, `number` reading the sum that attention leaves, and the digit that the MLP writes
    over both."""
    token = reading(
        dimensions(0, 4, width), points="W_E", sites=("embed", "0.resid_pre", "0.resid_post", "resid_final")
    )
    value = reading(SCALE * dimensions(0, 1, width), "number", sites=("embed", "0.resid_pre"))
    total = reading(number, "number", sites=SUMMED)
    return readings(value=value, one=reading(dimensions(1, 2, width), "number"), **more, sum=total, token=token)


def digit_vectors() -> Array:
    """(d / 100, 1, a, b) for the ten digits, with a and b such that layer norm keeps it."""
    x = np.arange(10) / SCALE
    a = (-x - 1 + np.sqrt(-3 * x**2 - 2 * x + 5)) / 2
    return np.stack([x, np.ones(10), a, -x - a - 1], axis=1)


def after_attention(numbers: Array, positions: Array, mixed: bool = False) -> Array:
    """The stream between attention and MLP, (numbers, positions, 7)."""
    rows = np.zeros((len(numbers), len(positions), 7))
    rows[..., 0] = numbers[:, None] + (positions[:, 0] if mixed else 0.0)
    rows[..., 1] = 1.0
    rows[..., 4:] = positions
    return rows
