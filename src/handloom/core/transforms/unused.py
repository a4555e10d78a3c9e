"""Heads and neurons that contribute nothing, removed."""

from dataclasses import replace

import numpy as np

from handloom.core import params as parameters
from handloom.core.arrays import Array
from handloom.core.config import Config
from handloom.core.model import Model
from handloom.core.transforms.changed import Flat, changed
from handloom.core.transforms.permutations import reordered_heads, reordered_neurons


def drop_unused(model: Model) -> Model:
    """Fewer heads and neurons: as many as the layer that uses most of them.

    A head is unused if its values or W_O are zero, a neuron if what it writes, it reads or its gate reads is zero
    (every activation keeps zero); of experts, if this is so of the neuron of that number in all of them. Heads that
    share keys and values stay or go together. Always exact. With post norm, or without skips, at least one stays, for a
    layer without any has no norm there and leaves the stream as it is."""
    config, layers = model.config, model.params["layers"]
    if not layers:
        return model
    normed = config.place == "post" and config.norm != "none"
    least = {part: int(normed or part not in config.skips) for part in ("attn", "mlp")}
    each = config.per_group
    groups = [np.flatnonzero(used_groups(layer, each)).tolist() for layer in layers]
    neurons = [np.flatnonzero(used_neurons(config, layer)).tolist() for layer in layers]
    G = max(*map(len, groups), min(least["attn"], config.groups))
    F = max(*map(len, neurons), min(least["mlp"], config.d_ff))
    flat = model.flat
    for i in range(config.layers):
        order = [g * each + h for g in in_front(groups[i], config.groups) for h in range(each)]
        flat |= reordered_heads(model, i, order)
        flat |= reordered_neurons(model, i, in_front(neurons[i], config.d_ff))
    sizes: Flat = {"heads": G * each, "kv_heads": G, "d_ff": F, "experts": config.experts if F else 0}
    smaller = parameters.shapes(replace(config, **sizes))
    return changed(model, "drop_unused", {n: flat[n][tuple(map(slice, shape))] for n, shape in smaller}, **sizes)


def used_groups(layer: Flat, each: int) -> Array:
    """Which groups of `each` heads with the same keys and values are used."""
    values = np.any(layer["W_V"], axis=(1, 2)) | np.any(layer.get("b_V", layer["W_V"][:, 0]), axis=1)
    writes = np.any(layer["W_O"], axis=(1, 2)).reshape(-1, each)
    used: Array = values & writes.any(axis=1)
    return used


def used_neurons(config: Config, layer: Flat) -> Array:
    """Which neurons are used, (F,); of experts, in one of them or more."""
    used: Array = np.any(layer["W_out"], axis=-1)
    for W, b in (("W_in", "b_in"), ("W_gate", "b_gate"))[: 1 + config.gated]:
        used = used & (np.any(layer[W], axis=-2) | (layer.get(b, layer[W][..., 0, :]) != 0))
    return np.asarray(used.any(0)) if config.experts else used


def in_front(chosen: list[int], count: int) -> list[int]:
    """0 … count − 1, the chosen ones first."""
    return [*chosen, *sorted(set(range(count)) - set(chosen))]
