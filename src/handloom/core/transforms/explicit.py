"""What a Config leaves implicit becomes arrays: computed or absent positions, a tied unembedding, absent biases, shared
keys and values."""

from dataclasses import replace

import numpy as np

from handloom.core import params as parameters
from handloom.core.config import Bias
from handloom.core.model import Model
from handloom.core.reference import sinusoid
from handloom.core.transforms.changed import KEYS_AND_VALUES, changed, part


def store_positions(model: Model) -> Model:
    """Sinusoidal positions, which are computed, become a table, which can be changed. Always exact."""
    if model.config.positions != "sinusoid":
        return model
    table = sinusoid(np.arange(model.config.block), model.config.d_model).astype(model.dtype)
    return changed(model, "store_positions", model.flat | {"W_pos": table}, positions="table")


def add_positions(model: Model) -> Model:
    """A table of positions, all zero, where there were none. Always exact."""
    if model.config.positions != "none":
        return model
    table = np.zeros((model.config.block, model.config.d_model), model.dtype)
    return changed(model, "add_positions", model.flat | {"W_pos": table}, positions="table")


def untie(model: Model) -> Model:
    """The unembedding becomes an array of its own, W_U = W_Eᵀ. Always exact."""
    if not model.config.tied:
        return model
    return changed(model, "untie", model.flat | {"W_U": model.params["W_E"].T}, tied=False)


def add_biases(model: Model, *biases: Bias) -> Model:
    """Biases, all zero, in the named parts of the model (see Config.biases) that had none. Always exact."""
    config = replace(model.config, biases=(*model.config.biases, *biases))
    if config == model.config:
        return model
    flat = parameters.flatten(parameters.zeros(config, model.dtype)) | model.flat
    return changed(model, "add_biases", flat, biases=config.biases)


def ungroup(model: Model) -> Model:
    """Every head gets keys and values of its own, copies of those it shared. Always exact."""
    if not model.config.kv_heads:
        return model
    times = model.config.per_group
    flat = {n: a.repeat(times, axis=0) if part(n) in KEYS_AND_VALUES else a for n, a in model.flat.items()}
    return changed(model, "ungroup", flat, kv_heads=0)
