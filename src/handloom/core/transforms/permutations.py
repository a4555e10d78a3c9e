"""Permutations: the dimensions of the residual stream, the heads and the neurons in another order."""

from collections.abc import Sequence

import numpy as np

from handloom.core import params as parameters
from handloom.core.checks import whole
from handloom.core.errors import HandloomError
from handloom.core.model import Model
from handloom.core.transforms.changed import KEYS_AND_VALUES, READERS, WRITERS, Flat, changed, part
from handloom.core.transforms.explicit import store_positions, ungroup


def permute_stream(model: Model, order: Sequence[int]) -> Model:
    """Put the dimensions of the residual stream in another order. Always exact, and a test of how much a model depends
    on rounding: every product with the stream adds the same numbers in another order."""
    check_permutation(order, model.config.d_model)
    model = store_positions(model)
    flat = {
        name: array.take(order, stream_axis(name)) if on_stream(name) else array for name, array in model.flat.items()
    }
    return changed(model, "permute_stream", flat)


def on_stream(name: str) -> bool:
    """Whether an array has an axis along the residual stream."""
    return part(name) in WRITERS | READERS or parameters.is_norm(name)


def stream_axis(name: str) -> int:
    return -2 if part(name) in READERS else -1


def permute_heads(model: Model, layer: int, order: Sequence[int]) -> Model:
    """Put the heads of a layer in another order; order[i] is the head that moves to place i. Always exact. If the order
    separates heads that share keys and values, all get their own."""
    check_order(model, layer, order, model.config.heads)
    if together(model, order) != list(order):
        model = ungroup(model)
    return changed(model, "permute_heads", model.flat | reordered_heads(model, layer, order))


def permute_neurons(model: Model, layer: int, order: Sequence[int]) -> Model:
    """Put the neurons of a layer, or those of each of its experts, in another order. Always exact."""
    check_order(model, layer, order, model.config.d_ff)
    return changed(model, "permute_neurons", model.flat | reordered_neurons(model, layer, order))


def shuffle(model: Model, seed: int) -> Model:
    """The dimensions of the stream, and the heads and neurons of every layer, in a random order. Always exact; a model
    that then computes something else depends on the order in which a processor adds. Heads that share keys and values
    stay together."""
    rng, config = np.random.default_rng(seed), model.config
    shuffled = permute_stream(model, rng.permutation(config.d_model).tolist())
    flat = shuffled.flat
    for layer in range(config.layers):
        flat |= reordered_heads(shuffled, layer, together(shuffled, rng.permutation(config.heads).tolist()))
        flat |= reordered_neurons(shuffled, layer, rng.permutation(config.d_ff).tolist())
    return changed(model, "shuffle", flat, positions=shuffled.config.positions)


HEAD_AXES = dict.fromkeys(("W_Q", "W_O", "b_Q"), 0)
NEURON_AXES = {"W_in": -1, "b_in": -1, "W_out": -2}
GATE_AXES = {"W_gate": -1, "b_gate": -1}  # of gated MLPs; those of experts are no neurons


def together(model: Model, order: Sequence[int]) -> list[int]:
    """An order of heads in which those that share keys and values stand together: each where the first of them did."""
    each = model.config.per_group
    groups = list(dict.fromkeys(h // each for h in order))
    return sorted(order, key=lambda h: groups.index(h // each))


def reordered_heads(model: Model, layer: int, order: Sequence[int]) -> Flat:
    """The arrays of a layer's attention, for heads in an order in which those that share keys and values are
    together."""
    each = model.config.per_group
    shared = reordered(model, layer, [h // each for h in order[::each]], dict.fromkeys(KEYS_AND_VALUES, 0))
    return shared | reordered(model, layer, order, HEAD_AXES)


def reordered_neurons(model: Model, layer: int, order: Sequence[int]) -> Flat:
    """The arrays of a layer's MLP, or of its experts."""
    return reordered(model, layer, order, NEURON_AXES | (GATE_AXES if model.config.gated else {}))


def check_order(model: Model, layer: int, order: Sequence[int], count: int) -> None:
    if whole("layer", layer, 0) >= model.config.layers:
        raise HandloomError(f"there is no layer {layer} (the model has {model.config.layers}, counted from 0)")
    check_permutation(order, count)


def check_permutation(order: Sequence[int], count: int) -> None:
    if sorted(order) != list(range(count)):
        raise HandloomError(f"the order must name each of 0 to {count - 1} once, not {list(order)}")


def reordered(model: Model, layer: int, order: Sequence[int], axes: dict[str, int]) -> Flat:
    """These arrays of a layer, taken in that order along their axes."""
    arrays = model.params["layers"][layer]
    return {f"layers.{layer}.{name}": arrays[name].take(order, axis) for name, axis in axes.items() if name in arrays}
