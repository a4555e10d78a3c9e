"""The sums that the exercises of the book's chapter 6 ask for: other bases, other widths, other ways to clean up and to
read, and sums without an MLP. (`ours/` has sums without zeros in front, and products.)

    >>> attention_only_sum()("78")
    '5'

Each is one change to a construction of `sums.py`, and names the exercise it answers; docs/book/chapter6.md has the
answers in words.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from handloom.core import Config, HandloomError, Model, params
from handloom.core.arrays import Array
from handloom.tasks.sums import digit_vocab
from handloom.write.book import BOOK
from handloom.write.book.sums import (
    MESSY,
    SCALE,
    SUMMED,
    VALUE_DIRECTIONS,
    after_attention,
    book_addition,
    book_modular_sum,
    digit_readings,
    digit_vectors,
)
from handloom.write.parts.encodings import PLANE, circle, fixed, layer_norm, on_circle, turn
from handloom.write.parts.exact import ScalarMLP, hinges, spikes
from handloom.write.parts.loudness import HARD, HARD_SUMS, LOUD_COUNTS, LOUD_SUMS
from handloom.write.parts.readings import dimensions, plane, reading, readings

Exact = Callable[[Array, Array], ScalarMLP]  # spikes or hinges
TAKES_AWAY = "looks at my own digit, and takes it away"
SPIKES = "a spike for each of the 19 sums, which outputs its last digit"


def two_digits(vectors: Array, heads: int, sums: int, exact: Exact = spikes) -> tuple[Config, dict[str, Any]]:
    """A layer that reads two digits with these vectors and has the neurons for `sums` sums."""
    neurons = len(exact(np.arange(float(sums)), np.zeros((sums, 1))).w_in)
    base, width = vectors.shape
    config = Config(vocab=base, block=2, d_model=width, layers=1, heads=heads, d_head=width, d_ff=neurons, **BOOK)
    weights = params.zeros(config)
    weights["W_E"] = vectors
    return config, weights


def digit_model(config: Config, weights: dict[str, Any], **words: dict[str, Any]) -> Model:
    return Model(config, weights, digit_vocab(config.vocab), {"decode_steps": 1, **words})


def sum_in_base(base: int = 10) -> Model:
    """Exercise 6: figure 6.2 in any base, 58 · base + 49 parameters.

    The more sums there are, the nearer they are to each other once normalised, and the louder attention and MLP must
    be for what was there before not to matter."""
    if base < 2:
        raise HandloomError(f"base={base} must be at least 2")
    scale, loud, louder = SCALE * base / 10, MESSY * (base / 10) ** 3, LOUD_SUMS * (base / 10) ** 6
    digits, total = np.arange(base), np.arange(2 * base - 1)
    config, weights = two_digits(fixed(np.column_stack([digits / scale, np.ones(base)])), 1, len(total))
    layer = weights["layers"][0]
    layer["W_V"][0, :2, :2] = loud * np.diag([2 * scale, 1.0])
    layer["W_O"][0, :2, :2] = np.eye(2)
    there = np.column_stack([loud * total, np.full(len(total), loud), np.zeros((len(total), 2))])
    seen = layer_norm(there)[:, 0]
    spikes(seen, louder * weights["W_E"][total % base]).write(layer, 0)
    return digit_model(config, weights)


def line_sum() -> Model:
    """Exercise 7: attention leaves (1 − k, k, 0, …) for the sum k, from ten vectors at right angles to each other."""
    digits, total = np.arange(10), np.arange(19)
    vectors = np.sqrt(10.0) * np.kron(np.eye(10), [1.0, -1.0])  # (10, 20), each its own layer norm
    config, weights = two_digits(vectors, 2, len(total))
    layer = weights["layers"][0]
    layer["W_V"][0, :, :2] = 2 * vectors.T @ np.column_stack([0.5 - digits, digits]) / 20  # 2: from the mean to the sum
    layer["W_O"][0, :2, :2] = np.eye(2)
    clear_self(layer, 1)
    seen = layer_norm(np.pad(np.column_stack([1.0 - total, total]), ((0, 0), (0, 18))))[:, 0]
    spikes(seen, LOUD_SUMS * vectors[total % 10]).write(layer, 0)
    heads = {"0.0": "the mean of both digits, doubled: 1 − k and k for the sum k", "0.1": TAKES_AWAY}
    one_hot = np.kron(np.eye(10), [1.0, -1.0]) / (2 * np.sqrt(10.0))
    token = reading(one_hot, points="W_E", sites=("embed", "0.resid_pre", "0.resid_post", "resid_final"))
    known = readings(token=token, sum=reading(dimensions(1, 2, 20), "number", sites=SUMMED))
    return digit_model(config, weights, **known, heads=heads, mlps={"0": SPIKES})


def clear_self(layer: dict[str, Array], head: int) -> None:
    """A head that looks at its own token, or at one like it, and takes it away."""
    whole = np.eye(layer["W_Q"].shape[1])
    layer["W_Q"][head], layer["W_K"][head] = HARD * whole, whole
    layer["W_V"][head], layer["W_O"][head] = whole, -whole


def narrow_sum(exact: Exact = spikes) -> Model:
    """Exercise 8: three dimensions. The digits stand on half the circle; the mean of two points of a circle lies in
    the direction half way between them, which layer norm finds: one angle for each sum."""
    total = np.arange(19)
    config, weights = two_digits(on_circle(half_circle(np.arange(10))), 1, len(total), exact)
    layer = weights["layers"][0]
    layer["W_V"][0], layer["W_O"][0] = LOUD_COUNTS * np.eye(3), np.eye(3)
    seen = on_circle(half_circle(total / 2))[:, 0]
    exact(seen, LOUD_SUMS * weights["W_E"][total % 10]).write(layer, 0)
    return digit_model(config, weights)


def half_circle(digit: Any) -> Array:
    """Angles on which the first coordinate, √2 cos(angle − π / 6), falls."""
    return np.pi / 6 + np.pi * (digit + 0.5) / 10


def clean_sum() -> Model:
    """Exercise 9: figure 6.2 with proper cleanup. A second head takes the token away, so that the sum alone decides
    what is in the stream; then the MLP, which knows the sum, takes that away too."""
    total = np.arange(19)
    config, weights = two_digits(digit_vectors(), 2, len(total))
    layer = weights["layers"][0]
    layer["W_V"][0, :2, :2], layer["W_O"][0, :2, :2] = np.diag([2.0, 1.0]), np.eye(2)
    clear_self(layer, 1)
    there = np.column_stack([total / SCALE, np.ones(19), np.zeros(19), np.zeros(19)])
    spikes(layer_norm(there)[:, 0], weights["W_E"][total % 10] - there).write(layer, 0)
    heads = {"0.0": "the mean of both digits, doubled", "0.1": TAKES_AWAY}
    mlps = {"0": f"{SPIKES} and takes the sum away"}
    known = digit_readings(4, SCALE * dimensions(0, 1, 4))
    return digit_model(config, weights, directions=VALUE_DIRECTIONS, **known, heads=heads, mlps=mlps)


def attention_only_sum(base: int = 10) -> Model:
    """Exercise 13: the sum of two digits mod `base` by one head and no MLP, 8 · base + 80 parameters.

    The digits stand on a circle (dimensions 0 to 2), where the second asks the first for the cosine of the sum of their
    angles; a little turned, no two sums mod base have the same one. So how much attention the first digit gets tells
    the sum. It moves the stream along a line, past the answers (dimensions 3 to 5) in the order of their cosines. The
    second position is loud, so that the second digit, once normalised, is too small to answer itself."""
    if base < 2:
        raise HandloomError(f"base={base} must be at least 2")
    loud, sharp, turned, slope = 100.0 * base**2, 1.5, np.pi / (2 * base), 4.0
    angles = 2 * np.pi * np.arange(base) / base
    attention = 1 / (1 + np.exp(-sharp * np.cos(angles + turned)))  # to the first digit, for every sum mod base
    config = Config(vocab=base, block=2, d_model=8, layers=1, heads=1, d_head=2, **BOOK | {"biases": ()})
    weights = params.zeros(config)
    weights["W_E"][:, :3] = on_circle(angles)
    weights["W_E"][:, 3:6] = on_circle(np.arctan(slope * (attention - 0.5)))
    ahead = np.sqrt(6.0) * loud * PLANE[0]  # √6: then the flag of the second position is normalised to (−1, 1)
    weights["W_pos"][:] = [[0, 0, 0, 0, 0, 0, 1, -1], [0, 0, 0, *ahead, -loud, loud]]
    layer = weights["layers"][0]
    mirror = np.array([[np.cos(turned), -np.sin(turned)], [-np.sin(turned), -np.cos(turned)]])
    layer["W_Q"][0, :3] = sharp * np.sqrt(2.0) / 3 * loud * PLANE.T @ mirror  # √2: scores are divided by it
    layer["W_K"][0, :3] = PLANE.T
    layer["W_V"][0, 6:, 0] = [0.5, -0.5]  # 1 at the first position, −1 at the second
    layer["W_O"][0, 0, 3:6] = slope / 2 * np.sqrt(6.0) * loud * PLANE[1]
    directions = {"digit": [0, 3], "answer": [3, 6], "which digit": [6, 8]}
    heads = {"0.0": "looks at the first digit by the cosine of the sum's angle, and so far moves along the answers"}
    known = readings(
        digit=reading(plane(0, 8), "angle", "W_E"),
        answer=reading(plane(3, 8), "angle", "W_E"),
        position=reading(np.array([[0, 0, 0, 0, 0, 0, 0.5, -0.5]]), points="W_pos"),
    )
    return digit_model(config, weights, directions=directions, **known, heads=heads)


def modular_points(digits: int, scale: float = 1.0, clean: bool = True) -> Array:
    """What the MLP of figure 6.3 sees for every sum, the sum being divided by `scale`, with or without the two
    dimensions cleared that make the token = fixed under layer norm."""
    rows = after_attention(np.arange(2 * 10**digits - 1) / scale, circle(1))
    rows[..., 2:4] = 0.0 if clean else digit_vectors()[0, 2:]
    return layer_norm(rows)[:, 0, 0]


def last_digits(model: Model, sums: int) -> Array:
    return LOUD_SUMS * model.params["W_E"][np.arange(sums) % 10]


def uncleaned_sum(digits: int = 2) -> Model:
    """Exercise 14: figure 6.3 without its cleanup head. Only = ever answers: what was to be cleared is known."""
    model = book_modular_sum(digits)
    layer, points = model.params["layers"][0], modular_points(digits, clean=False)
    fewer = {name: layer[name][:-1] for name in ("W_Q", "W_K", "W_V", "W_O")}
    return rewritten(model, spikes(points, last_digits(model, len(points))), **fewer)


def tens_digit(digits: int = 2) -> Model:
    """Exercise 15: the tens digit of the sum. The MLP outputs another digit for each sum, nothing else changes."""
    model, points = book_modular_sum(digits), modular_points(digits)
    return rewritten(model, spikes(points, LOUD_SUMS * model.params["W_E"][np.arange(len(points)) // 10 % 10]))


def spread_sum(digits: int = 3) -> Model:
    """Exercise 16: figure 6.3 with the sum divided by 10^digits, so that layer norm keeps sums further apart."""
    model, points = book_modular_sum(digits), modular_points(digits, 10.0**digits)
    W_O = model.params["layers"][0]["W_O"].copy()
    W_O[:-1] /= 10.0**digits
    return not_read(rewritten(model, spikes(points, last_digits(model, len(points))), W_O=W_O), "sum")


def not_read(model: Model, *names: str) -> Model:
    """The model without readings that hold for the one that it was made of."""
    kept = {name: one for name, one in model.notes["readings"].items() if name not in names}
    return model.with_(notes={**model.notes, "readings": kept})


def rewritten(model: Model, mlp: ScalarMLP, **arrays: Array) -> Model:
    """A model of one layer with another MLP, which reads the first dimension, and some other arrays in its layer."""
    W_in = np.outer(np.eye(model.config.d_model)[0], mlp.w_in)
    arrays |= {"W_in": W_in, "b_in": mlp.b_in, "W_out": mlp.W_out, "b_out": mlp.b_out}
    flat = model.flat | {f"layers.0.{name}": array for name, array in arrays.items()}
    config = replace(model.config, heads=len(flat["layers.0.W_Q"]), d_ff=len(mlp.w_in))
    return model.with_(config=config, params=flat)


def addition_points(digits: int, value: float, place: Array) -> Array:
    """What the MLP of figure 6.4 sees for every sum and every step, if it gets value · sum + place · position."""
    positions = circle(3 * digits + 2)[-digits - 1 :]
    rows = after_attention(value * np.arange(2 * 10**digits - 1), positions)
    rows[..., 0] += positions @ place
    return layer_norm(rows)[..., 0].ravel()


def spread_addition(digits: int = 3, value: float = 7.944795e-4, place: float = 1.4738742) -> Model:
    """Exercise 18: figure 6.4 with other constants, which were searched for: for 1 digit 0.1311786 and 1.1209807, for
    2 digits 0.0090479 and 1.0916882."""
    model, total = book_addition(digits), np.arange(2 * 10**digits - 1)
    layer = model.params["layers"][0]
    W_V, W_O = layer["W_V"].copy(), layer["W_O"].copy()
    W_O[:-1, 0, 0], W_V[-1, -3, -1] = value, place
    output = total[:, None] // 10 ** np.arange(digits, -1, -1) % 10
    points = addition_points(digits, value, np.array([place, 0.0, 0.0]))
    changed = rewritten(model, spikes(points, LOUD_SUMS * model.params["W_E"][output.ravel()]), W_V=W_V, W_O=W_O)
    return not_read(changed, "sum")


def shared_heads(digits: int = 2) -> Model:
    """Exercise 11: figure 6.3 with one head for the two digits of a place. Positions repeat after digits + 1 steps, and
    so the two digits of a place stand at the same one."""
    model = book_modular_sum(digits)
    W_pos = model.params["W_pos"].copy()
    W_pos[:, 4:] = repeating(digits)
    flat = model.flat | {"W_pos": W_pos} | {f"layers.0.{name}": a for name, a in paired(model, digits).items()}
    return model.with_(config=replace(model.config, heads=digits + 1), params=flat)


def repeating(digits: int) -> Array:
    return circle(digits + 1)[np.arange(2 * digits + 2) % (digits + 1)]


def paired(model: Model, digits: int) -> dict[str, Array]:
    """The heads of figure 6.3 for repeating positions: the last number's and the one that cleans up."""
    kept = [*range(digits), -1]
    heads = {name: model.params["layers"][0][name][kept] for name in ("W_Q", "W_K", "W_V", "W_O")}
    for place in range(digits):
        heads["W_Q"][place, -3:] = HARD_SUMS * turn(-(1 + place) * 2 * np.pi / (digits + 1))
    heads["W_V"][:-1] *= 2  # from the mean to the sum
    return heads


def shared_heads_deep(digits: int = 2) -> Model:
    """Exercise 12: the same with the book's positions as they were, in two layers and as many dimensions. The MLP of
    the first layer knows each position by one number and puts the repeating ones in their place."""
    model = book_modular_sum(digits)
    config = replace(model.config, layers=2, heads=digits + 1)
    weights = params.zeros(config)
    weights["W_E"], weights["W_pos"] = model.params["W_E"], model.params["W_pos"]
    first, second = weights["layers"]
    W_pos, tilt = model.params["W_pos"], np.pad(on_circle(-np.pi / (2 * config.block)), (4, 0))  # no two alike
    changes = np.pad(repeating(digits) - W_pos[:, 4:], ((0, 0), (4, 0)))
    mlp = hinges(W_pos @ tilt, changes)
    write_some(first, mlp, tilt)
    for name, array in {**model.params["layers"][0], **paired(model, digits)}.items():
        if name not in ("ln1", "ln2"):
            second[name][:] = array
    return not_read(Model(config, weights, model.vocab, model.notes), "sum", "position")


def write_some(layer: dict[str, Array], mlp: ScalarMLP, direction: Array) -> None:
    """Set the first neurons of a layer, as many as are needed, to read the stream in this direction."""
    F = len(mlp.w_in)
    layer["W_in"][:, :F], layer["b_in"][:F] = np.outer(direction, mlp.w_in), mlp.b_in
    layer["W_out"][:F], layer["b_out"][:] = mlp.W_out, mlp.b_out
