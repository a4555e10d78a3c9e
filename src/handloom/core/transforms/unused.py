"""Heads and neurons that contribute nothing, removed."""

from dataclasses import replace

import numpy as np

from handloom.core import params as parameters
from handloom.core.arrays import Array
from handloom.core.model import Model
from handloom.core.transforms.changed import Flat, changed
from handloom.core.transforms.permutations import HEAD_AXES, NEURON_AXES, reordered


def drop_unused(model: Model) -> Model:
    """Fewer heads and neurons: as many as the layer that uses most of them.

    A head is unused if its values or W_O are zero, a neuron if what it reads or writes is zero (every activation
    keeps zero). Always exact. With post norm at least one stays, for a layer without any has no norm there."""
    config, layers = model.config, model.params["layers"]
    if not layers:
        return model
    least = 1 if config.place == "post" and config.norm != "none" else 0
    heads = [np.flatnonzero(used_heads(layer)).tolist() for layer in layers]
    neurons = [np.flatnonzero(used_neurons(layer)).tolist() for layer in layers]
    H = max(*map(len, heads), min(least, config.heads))
    F = max(*map(len, neurons), min(least, config.d_ff))
    flat = model.flat
    for i in range(config.layers):
        flat |= reordered(model, i, in_front(heads[i], config.heads), HEAD_AXES)
        flat |= reordered(model, i, in_front(neurons[i], config.d_ff), NEURON_AXES)
    smaller = parameters.shapes(replace(config, heads=H, d_ff=F))
    return changed(
        model, "drop_unused", {n: flat[n][tuple(map(slice, shape))] for n, shape in smaller}, heads=H, d_ff=F
    )


def used_heads(layer: Flat) -> Array:
    values = np.any(layer["W_V"], axis=(1, 2)) | np.any(layer.get("b_V", layer["W_V"][:, 0]), axis=1)
    used: Array = values & np.any(layer["W_O"], axis=(1, 2))
    return used


def used_neurons(layer: Flat) -> Array:
    reads = np.any(layer["W_in"], axis=0) | (layer.get("b_in", layer["W_in"][0]) != 0)
    used: Array = reads & np.any(layer["W_out"], axis=1)
    return used


def in_front(chosen: list[int], count: int) -> list[int]:
    """0 … count − 1, the chosen ones first."""
    return [*chosen, *sorted(set(range(count)) - set(chosen))]
