"""Other norms as layer norm, and what layer norm leaves free: a wider stream, a bias behind the unembedding.

Layer norm is what GPT-2 has, so these are the changes by which a model with RMS norm, or without norms, fits there.
Each keeps the order of magnitude of every number, so that float32 has room for the result.
"""

import math
from dataclasses import replace

import numpy as np

from handloom.core import params as parameters
from handloom.core.checks import is_number, whole
from handloom.core.errors import HandloomError, shown
from handloom.core.model import Model
from handloom.core.transforms.changed import READERS, WRITERS, changed, part
from handloom.core.transforms.explicit import add_biases, store_positions, untie
from handloom.core.transforms.padding import in_corner

PINNED = 2.0**12  # how many times longer than the stream the pinned pair is


def rms_to_layer(model: Model) -> Model:
    """RMS norm becomes layer norm, on a stream (x, −x) of twice the width: it has mean zero and the mean square of x.

    Weights read half of the first half minus half of the second, so that an error in the mean, which is subtracted from
    both, cancels. Always exact. A tied model with post norms is untied."""
    if model.config.norm != "rms":
        raise HandloomError(f"rms_to_layer: norm={model.config.norm!r} is not RMS norm; use a model with norm='rms'")
    model = store_positions(model if model.config.place == "pre" else untie(model))
    flat = {}
    for name, array in model.flat.items():
        if part(name) in READERS:
            array = np.concatenate([array / 2, -array / 2], axis=-2)
        elif part(name) in WRITERS or name.endswith(".b"):
            array = np.concatenate([array, -array], axis=-1)
        elif parameters.is_gain(name):
            array = np.concatenate([array, array], axis=-1)
        flat[name] = array
    if model.config.tied:  # the unembedding reads (x, −x) as it is written
        flat |= {name: array / 2 for name, array in flat.items() if name.startswith("ln_final.")}
    return changed(model, "rms_to_layer", flat, norm="layer", d_model=2 * model.config.d_model)


def none_to_layer(model: Model, longest: float) -> Model:
    """A model without norms gets layer norms that change nothing, while its stream is no longer than `longest`.

    Three dimensions are added: C, −C and 0, where C is 2¹² times `longest` or more. The pair decides the standard
    deviation, and the gains undo it. The 0 is read with minus the sum of all other weights, so that the mean, which
    layer norm subtracts everywhere, cancels. What is read is right up to a factor of 1 ± 2⁻²⁵, less than float32
    rounds. A tied model is untied."""
    if model.config.norm != "none":
        raise HandloomError(f"none_to_layer: the model has norm={model.config.norm!r}; use one with norm='none'")
    if len(model.config.skips) < 2:
        raise HandloomError("none_to_layer: without skips the stream loses what pins the norms (expected both skips)")
    if not is_number(longest) or longest < 0:
        raise HandloomError(f"none_to_layer: longest={shown(longest)} must be a finite number, 0 or more")
    model = store_positions(untie(model))
    D = model.config.d_model
    C = PINNED * 2.0 ** math.ceil(math.log2(max(longest, 1.0)))
    config = replace(model.config, norm="layer", place="pre", d_model=D + 3)
    small, flat = model.flat, {}
    for name, blank in parameters.flatten(parameters.zeros(config, model.dtype)).items():
        flat[name] = in_corner(small[name], blank) if name in small else blank
        if part(name) in READERS:
            flat[name][..., D, :] = -small[name].sum(-2)
        elif parameters.is_gain(name):
            flat[name] *= C * math.sqrt(2 / config.d_model)
    flat["W_E"][:, D + 1 :] = C, -C
    return changed(model, "none_to_layer", flat, norm="layer", place="pre", d_model=D + 3)


def pad_with_mean(model: Model, d_model: int) -> Model:
    """A wider stream whose new dimensions hold the mean of the others. Exact with layer norm before the sublayers.

    Layer norm subtracts the mean, so that nothing is left of the new dimensions; eps and the gains make up for the
    larger width. Other than with `pad`, which centres the stream first, no number of the old dimensions changes, and a
    tied model stays tied."""
    config = model.config
    if config.norm != "layer" or config.place != "pre":
        raise HandloomError(f"pad_with_mean: {config.place} norm {config.norm!r} (expected pre layer norm); use pad")
    if whole("pad_with_mean: d_model", d_model, 1) < config.d_model:
        raise HandloomError(f"pad_with_mean: d_model={d_model} is less than the existing {config.d_model}")
    model, share = store_positions(model), config.d_model / d_model
    flat = {}
    for name, array in model.flat.items():
        axis = -2 if part(name) in READERS else -1
        if part(name) in READERS | WRITERS or parameters.is_norm(name):
            new = list(array.shape)
            new[axis] = d_model - config.d_model
            fill = np.broadcast_to(array.mean(-1, keepdims=True) if part(name) in WRITERS else 0, new)
            gain = math.sqrt(share) if parameters.is_gain(name) else 1.0
            array = np.concatenate([array * array.dtype.type(gain), fill.astype(array.dtype)], axis)
        flat[name] = array
    return changed(model, "pad_with_mean", flat, d_model=d_model, eps=config.eps * share)


def fold_unembed_bias(model: Model) -> Model:
    """The bias of the unembedding becomes a row of W_U: it reads a new dimension that the last norm makes 1. Exact with
    layer norm before the sublayers. A tied model is untied."""
    if "unembed" not in model.config.biases:
        return model
    model = pad_with_mean(add_biases(untie(model), "norm"), model.config.d_model + 1)
    flat = model.flat
    flat["ln_final.b"] = np.append(flat["ln_final.b"][:-1], flat["ln_final.b"].dtype.type(1))
    flat["W_U"] = np.concatenate([flat["W_U"][:-1], flat.pop("b_U")[None]])
    kept = tuple(bias for bias in model.config.biases if bias != "unembed")
    return changed(model, "fold_unembed_bias", flat, biases=kept)
