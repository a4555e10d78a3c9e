"""Transforms: changes to a model that keep the function it computes.

Each is a function from Model to Model, and states when it is exact: the logits are then the same up to rounding. A
transform that cannot be exact for the given model raises an error that says what to do first. `merging.py` joins two
models.

    store_positions     sinusoidal positions become a table
    add_positions       a table of zeros, where there were no positions
    untie               the unembedding gets a table of its own
    add_biases          biases, all zero, where there were none
    ungroup             every head gets keys and values of its own
    fold_norms          norm gains and biases move into the weights that read them
    centre              every write into the residual stream gets mean zero
    layer_to_rms        layer norm becomes RMS norm
    rms_to_layer        RMS norm becomes layer norm
    none_to_layer       layer norms that change nothing, where there were none
    fold_unembed_bias   the bias of the unembedding moves into the last norm and W_U
    rotate              an orthogonal matrix turns the residual stream (random_rotation makes one)
    pad                 more width, heads, head width, neurons or layers, all zero
    pad_with_mean       more width, which holds the mean of the rest
    permute_stream      the dimensions of the residual stream in another order, and so all sums over them
    permute_heads       the heads of a layer in another order
    permute_neurons     the neurons of a layer in another order
    shuffle             stream, heads and neurons in a random order
    disguise            heads that do nothing are added, everything is reordered and turned; the notes too
    drop_unused         heads and neurons that contribute nothing are removed

Public: the functions above. The modules behind them are internal.
"""

from handloom.core.transforms.disguise import disguise
from handloom.core.transforms.explicit import add_biases, add_positions, store_positions, ungroup, untie
from handloom.core.transforms.norms import centre, fold_norms, layer_to_rms
from handloom.core.transforms.padding import pad
from handloom.core.transforms.permutations import permute_heads, permute_neurons, permute_stream, shuffle
from handloom.core.transforms.rotation import random_rotation, rotate
from handloom.core.transforms.to_layer_norm import fold_unembed_bias, none_to_layer, pad_with_mean, rms_to_layer
from handloom.core.transforms.unused import drop_unused

__all__ = [
    "add_biases",
    "add_positions",
    "centre",
    "disguise",
    "drop_unused",
    "fold_norms",
    "fold_unembed_bias",
    "layer_to_rms",
    "none_to_layer",
    "pad",
    "pad_with_mean",
    "permute_heads",
    "permute_neurons",
    "permute_stream",
    "random_rotation",
    "rms_to_layer",
    "rotate",
    "shuffle",
    "store_positions",
    "ungroup",
    "untie",
]
