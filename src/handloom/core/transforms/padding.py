"""Padding: a wider stream, more or wider heads, more neurons, more layers, all zero where they are new."""

import math
from dataclasses import replace
from typing import Any

import numpy as np

from handloom.core import params as parameters
from handloom.core.arrays import Array
from handloom.core.checks import whole
from handloom.core.errors import HandloomError
from handloom.core.model import Model
from handloom.core.transforms.changed import changed, part
from handloom.core.transforms.explicit import store_positions, ungroup
from handloom.core.transforms.norms import centre_stream


def pad(
    model: Model,
    d_model: int | None = None,
    heads: int | None = None,
    d_head: int | None = None,
    d_ff: int | None = None,
    layers: int | None = None,
) -> Model:
    """Make sizes larger, with zeros in the new places.

    More heads, neurons and layers are exact: what is zero adds zero. (Where heads share keys and values, new heads come
    in such groups; a number of heads that does not allow it ungroups them.) A wider head changes the √K that scores are
    divided by, which W_Q makes up for (not in least-squares attention, whose pattern does not have it), and the rotary
    frequencies, which rotary_base makes up for. A wider stream
    changes what norms divide by: eps and the gains make up for that, and under layer norm the stream gets mean
    zero first (see `centre`), or the zeros would not stay zeros. Exact then, with post layer norm only under the
    conditions of `layer_to_rms`; and with post a layer that had no heads or neurons cannot get them, nor a model more
    layers, for a norm would come with them; nor more layers where sublayers have no skips."""
    old = model.config
    wanted = {"d_model": d_model, "heads": heads, "d_head": d_head, "d_ff": d_ff, "layers": layers}
    sizes: dict[str, Any] = {name: size for name, size in wanted.items() if size not in (None, getattr(old, name))}
    normed = old.layers and old.place == "post" and old.norm != "none"
    for name, size in sizes.items():
        if whole(f"pad: {name}", size, 0) < getattr(old, name):
            raise HandloomError(f"pad: {name}={size} is less than the existing {getattr(old, name)}; pad only adds")
        if name in ("heads", "d_ff") and normed and not getattr(old, name):
            raise HandloomError(f"pad: with post norm, layers of {name}=0 have no norm there, and would get one")
        if name == "layers" and old.place == "post" and old.norm != "none":
            raise HandloomError("pad: with post norm, a layer of zeros still has norms, which change the stream")
        if name == "layers" and len(old.skips) < 2:
            raise HandloomError(
                "pad: without skips a layer of zeros replaces the stream by zeros (expected both skips)"
            )
    if "d_model" in sizes:
        model = widen_stream(model, sizes.pop("d_model"))
    if "d_head" in sizes and old.d_head:
        model = widen_heads(model, sizes.pop("d_head"))
    if "heads" in sizes:
        model = ungroup(model) if sizes["heads"] % old.per_group else model
        sizes["kv_heads"] = sizes["heads"] // model.config.per_group
    blank = parameters.flatten(parameters.zeros(replace(model.config, **sizes), model.dtype))
    small = model.flat
    flat = {name: in_corner(small[name], array) if name in small else array for name, array in blank.items()}
    return changed(model, "pad", flat, **sizes)


def in_corner(small: Array, large: Array) -> Array:
    """The large array, with the small one in its corner."""
    large = large.copy()
    large[tuple(slice(size) for size in small.shape)] = small
    return large


def widen_stream(model: Model, width: int) -> Model:
    model = centre_stream(model, "pad") if model.config.norm == "layer" else store_positions(model)
    share = model.config.d_model / width
    sizes: dict[str, Any] = {"d_model": width, "eps": model.config.eps * share}
    blank = parameters.flatten(parameters.zeros(replace(model.config, **sizes), model.dtype))
    flat = {name: in_corner(array, np.zeros_like(blank[name])) for name, array in model.flat.items()}
    flat |= {
        name: array * array.dtype.type(math.sqrt(share)) for name, array in flat.items() if parameters.is_gain(name)
    }
    return changed(model, "pad", flat, **sizes)


def widen_heads(model: Model, width: int) -> Model:
    old, rotary = model.config.d_head, model.config.positions == "rotary"
    stretch = width / old
    louder = 1.0 if model.config.attention == "least-squares" else math.sqrt(stretch)

    def widen(name: str, array: Array) -> Array:
        axis = {"W_Q": 2, "W_K": 2, "W_V": 2, "W_O": 1, "b_Q": 1, "b_K": 1, "b_V": 1}.get(part(name))
        if axis is None:
            return array
        shape = list(array.shape)
        shape[axis] = width
        places = np.arange(old)
        if rotary:  # the partners of a pair stay half a head apart
            places = np.where(places < old // 2, places, places - old // 2 + width // 2)
        wide = np.zeros(shape, array.dtype)
        wide[(slice(None),) * axis + (places,)] = array
        return wide * array.dtype.type(louder) if part(name) in ("W_Q", "b_Q") else wide

    flat = {name: widen(name, array) for name, array in model.flat.items()}
    base = model.config.rotary_base
    if rotary and stretch * abs(math.log(base)) > 700:
        raise HandloomError(f"pad: rotary heads of {old} cannot become {width} wide: no float holds the rotary_base")
    return changed(model, "pad", flat, d_head=width, rotary_base=base**stretch if rotary else base)
