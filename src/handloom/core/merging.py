"""Two models made one.

    stack(first, second)       the layers of both, one after the other: second continues where first ends
    beside(first, second)      both at once, each in its part of a wider residual stream: the logits add up

Both bring the models to common sizes with `transforms.pad`, which changes nothing that either computes.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from handloom.core import params as parameters
from handloom.core.arrays import Array
from handloom.core.errors import HandloomError
from handloom.core.model import Model
from handloom.core.transforms import add_biases, pad, store_positions, ungroup, untie
from handloom.core.transforms.changed import Flat, part


def stack(first: Model, second: Model) -> Model:
    """Tokens enter the first model; the second takes the residual stream that the first leaves, instead of its own
    embeddings, and computes the logits. Exact: the logits are those of the second run with its stream set to the
    first's. Two models that do not fit (different vocabulary, width, norms, activation, attention, masks or rotary
    turns) raise an error."""
    first, second = level(first, second, "heads", "d_head", "d_ff")
    agree(first, second, "block", "d_model", "norm", "place", "eps", "activation", "gated", "causal")
    agree_in_layers(first, second)
    if "rotary" in (first.config.positions, second.config.positions):
        agree(first, second, "positions", "rotary_base")
    if not (first.config.tied and second.config.tied and np.array_equal(first.params["W_E"], second.params["W_E"])):
        first, second = untie(first), untie(second)
    upper = {name: array for name, array in second.flat.items() if part(name) in ("W_U", "b_U") or "ln_final" in name}
    flat = first.flat | upper | shifted_layers(second, first.config.layers)
    return merged(first, second, "stack", flat, layers=first.config.layers + second.config.layers)


def beside(first: Model, second: Model) -> Model:
    """Both models in one residual stream, as wide as both together; heads and neurons stand side by side, and the
    logits are the sum of theirs. Exact without norms; a norm would mix the two streams, and raises an error."""
    if first.config.norm != "none" or second.config.norm != "none":
        raise HandloomError("beside: a norm over both streams would mix them; both models must have norm='none'")
    if first.config.experts or second.config.experts:
        raise HandloomError(
            "beside: the gates of two mixtures of experts cannot become one (expected plain MLPs); use stack"
        )
    first, second = level(store_positions(first), store_positions(second), "d_head")
    agree(first, second, "block", "layers", "activation", "gated", "causal", "positions")
    agree_in_layers(first, second)
    if first.config.positions == "rotary":
        agree(first, second, "rotary_base")
    if not (first.config.tied and second.config.tied):
        first, second = untie(first), untie(second)
    other = second.flat
    flat = {name: joined(part(name), array, other[name]) for name, array in first.flat.items()}
    a, b = first.config, second.config
    sizes = {name: getattr(a, name) + getattr(b, name) for name in ("d_model", "heads", "d_ff")}
    return merged(first, second, "beside", flat, **sizes, kv_heads=a.groups + b.groups)


def merged(first: Model, second: Model, how: str, flat: Flat, **fields: Any) -> Model:
    """The first model's Config with some fields replaced; the notes of both."""
    notes = {"made": how, "of": [dict(first.notes), dict(second.notes)]}
    return Model(replace(first.config, **fields), flat, first.vocab, notes)


def level(first: Model, second: Model, *sizes: str) -> tuple[Model, Model]:
    """Both models with the larger of each of these sizes, the biases of either, and one dtype; with heads that share
    keys and values only if as many do in both."""
    if first.vocab != second.vocab:
        raise HandloomError("the two models have different vocabularies; they must share one")
    if first.config.per_group != second.config.per_group:
        first, second = ungroup(first), ungroup(second)
    most = {size: max(getattr(first.config, size), getattr(second.config, size)) for size in sizes}
    biases = {*first.config.biases, *second.config.biases}
    dtype = np.result_type(first.dtype, second.dtype)
    a, b = (add_biases(pad(model, **most), *biases).astype(dtype) for model in (first, second))
    return a, b


def agree(first: Model, second: Model, *fields: str) -> None:
    for name in fields:
        one, other = getattr(first.config, name), getattr(second.config, name)
        if one != other:
            raise HandloomError(f"the two models differ in {name}: {one!r} and {other!r}; it must be the same")


def agree_in_layers(first: Model, second: Model) -> None:
    agree(
        first,
        second,
        "parallel",
        "skips",
        "attention",
        "experts",
        "top",
        *(["ridge"] if first.config.attention == "least-squares" else []),
    )


def shifted_layers(model: Model, by: int) -> Flat:
    """The arrays of the layers, under the names they have `by` layers higher up."""
    layers = {f"layers.{by + i}": layer for i, layer in enumerate(model.params["layers"])}
    return parameters.flatten(layers)


def joined(name: str, a: Array, b: Array) -> Array:
    """One parameter of two models side by side: blocks on the diagonal of (stream, heads or neurons)."""
    if name == "b_U":
        return a + b
    if name in ("W_E", "W_pos", "b_O", "b_out"):
        return np.concatenate([a, b], axis=-1)
    if name in ("W_U", "b_Q", "b_K", "b_V", "b_gate", "b_in"):
        return np.concatenate([a, b], axis=0)
    stream, other = (2, 0) if name == "W_O" else (1, 0)
    grow = [(0, 0)] * a.ndim
    wide_a = np.pad(a, [(0, b.shape[stream]) if axis == stream else none for axis, none in enumerate(grow)])
    wide_b = np.pad(b, [(a.shape[stream], 0) if axis == stream else none for axis, none in enumerate(grow)])
    return np.concatenate([wide_a, wide_b], axis=other)
