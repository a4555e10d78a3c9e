"""Disguise: the same function, and nothing in the weights that shows how it was made.

    disguised = disguise(compile(program), seed=1)     # the same answers

Every layer gets heads that do nothing: dead ones, which attend and write zero, and distracting ones, which attend and
write, two at a time, what adds up to zero. Each head's inner dimensions are turned, heads and neurons are put in
another order, and the stream is turned. What the notes say of the model is turned and reordered with it.
"""

from typing import Any

import numpy as np

from handloom.core.arrays import Array
from handloom.core.checks import whole
from handloom.core.errors import HandloomError
from handloom.core.model import Model
from handloom.core.transforms.circuit_notes import Orders, disguised_notes
from handloom.core.transforms.distractors import QUERIES_AND_KEYS, VALUES, with_heads
from handloom.core.transforms.explicit import store_positions, ungroup
from handloom.core.transforms.permutations import reordered_heads, reordered_neurons
from handloom.core.transforms.rotation import random_rotation, rotate

LOUD = 128.0  # a dimension is loud if it holds a constant this many times as large as what embeddings differ by


def disguise(model: Model, seed: int, dead: int = 1, distracting: int = 2, turn_loud: bool = False) -> Model:
    """The same function in disguise: `dead` heads that write nothing and `distracting` ones, an even number, whose
    outputs cancel, are added to every layer; heads and neurons get another order, and the inner dimensions of heads and
    the stream are turned at random, so that the weights become dense.

    Exact with norms before the sublayers, or none; with post norm if the gains of each norm are equal. A tied model
    whose last norm has gains is untied. In the notes, `readings`, `heads` and `truth` become those of the new weights,
    `directions` go, and `disguise` lists the heads that were added.

    Dimensions that hold a large constant, such as those that fix what layer norm divides by, change places but are not
    turned: every number would be rounded as that constant is. `turn_loud` turns them too."""
    whole("disguise: seed", seed, 0)
    whole("disguise: dead", dead, 0)
    if whole("disguise: distracting", distracting, 0) % 2:
        raise HandloomError(f"disguise: distracting={distracting} is odd (expected pairs, which cancel); make it even")
    rng, config = np.random.default_rng(seed), model.config
    wide = store_positions(ungroup(model.astype(np.float64)))
    loud = np.zeros(config.d_model, bool) if turn_loud else loud_dimensions(wide)
    wide = turned_heads(with_heads(wide, dead, distracting, rng), rng)
    orders = Orders(
        heads=[rng.permutation(wide.config.heads).tolist() for _ in range(config.layers)],
        neurons=[rng.permutation(config.d_ff).tolist() for _ in range(config.layers)],
        dead=range(config.heads, config.heads + dead),
        distracting=range(config.heads + dead, config.heads + dead + distracting),
    )
    flat = wide.flat
    for i in range(config.layers):
        flat |= reordered_heads(wide, i, orders.heads[i]) | reordered_neurons(wide, i, orders.neurons[i])
    M = rotation_beside(loud, config.norm == "layer", rng)
    disguised = rotate(wide.with_(params=flat), M)
    return disguised.with_(notes=disguised_notes(model.notes, M, orders)).astype(model.dtype)


def loud_dimensions(model: Model) -> Array:
    """Which dimensions (D,) hold a large constant, by the embeddings."""
    tables = [model.params[name] for name in ("W_E", "W_pos") if name in model.params]
    constant = np.sum([table.mean(0) for table in tables], axis=0)
    differ = np.sqrt(np.mean([np.var(table, axis=0).mean() for table in tables]))
    loud: Array = np.abs(constant) > LOUD * max(differ, 1e-30)
    return loud if 0 < loud.sum() < len(loud) else np.zeros(len(loud), bool)


def rotation_beside(loud: Array, keep_ones: bool, rng: np.random.Generator) -> Array:
    """A random rotation that leaves loud dimensions alone, and then puts all dimensions in another order."""
    others = np.flatnonzero(~loud)
    M = np.eye(len(loud))
    M[np.ix_(others, others)] = random_rotation(len(others), int(rng.integers(2**32)), keep_ones)
    return M[:, rng.permutation(len(loud))]


def turned_heads(model: Model, rng: np.random.Generator) -> Model:
    """The inner dimensions of every head turned: those of queries and keys alike, those of values back in W_O. Rotary
    positions turn pairs of queries and keys themselves, so there these stay."""
    H, K = model.config.heads, model.config.d_head
    flat: dict[str, Any] = {}
    for i, layer in enumerate(model.params["layers"]):
        looks, moves = turns(H, K, rng), turns(H, K, rng)
        same_size = layer if model.config.attention == "least-squares" else balanced(layer)  # whose ridge sees sizes
        for name, array in same_size.items():
            if name in VALUES or (name in QUERIES_AND_KEYS and model.config.positions != "rotary"):
                turn = moves if name in VALUES else looks
                flat[f"layers.{i}.{name}"] = np.einsum("h...k,hkj->h...j", array, turn)
        flat[f"layers.{i}.W_O"] = np.einsum("hkj,hkd->hjd", moves, layer["W_O"])
    return model.with_(params=model.flat | flat)


def balanced(layer: Any) -> dict[str, Any]:
    """A layer whose queries and keys are of one size in every inner dimension of a head: a turn would add small ones to
    large ones otherwise, and their rounding errors too. What they are multiplied by, a power of 2, is exact."""
    if not layer["W_Q"].size:
        return dict(layer)
    sizes = [np.maximum(np.abs(layer[name]).max(1, keepdims=True), 1e-30) for name in ("W_Q", "W_K")]  # (H, 1, K)
    factor = np.where(np.minimum(*sizes) > 1e-30, np.exp2(np.round(np.log2(sizes[1] / sizes[0]) / 2)), 1.0)
    changes = {"W_Q": factor, "b_Q": factor[:, 0], "W_K": 1 / factor, "b_K": 1 / factor[:, 0]}
    return {name: array * changes[name] if name in changes else array for name, array in layer.items()}


def turns(count: int, width: int, rng: np.random.Generator) -> Array:
    """Random orthogonal matrices (count, width, width)."""
    return np.linalg.qr(rng.normal(size=(count, width, width)))[0]
