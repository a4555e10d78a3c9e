"""The contract with the C++ engine; layout.h states the same on its side: the structs that cross the boundary, field by
field, and the order of the sections in the one array that holds all parameters.

Any change of these, or of a function in engine.cpp, raises VERSION here and LAYOUT_VERSION in layout.h. `library.py`
refuses a library of another version.
"""

import ctypes
from ctypes import byref, c_double, c_float, c_int32, c_int64, c_void_p
from typing import TYPE_CHECKING, Any

import numpy as np

from handloom.core import reference
from handloom.core.arrays import Array, Arrays
from handloom.core.config import Config
from handloom.core.params import is_norm, shapes

if TYPE_CHECKING:
    from handloom.core.native.library import Library

VERSION = 2

Fields = list[tuple[str, Any]]


def fields(kind: Any, names: str) -> Fields:
    return [(name, kind) for name in names.split()]


class ConfigStruct(ctypes.Structure):
    """`Config` in layout.h, with TransformerLens's names."""

    _fields_ = [
        *fields(c_int32, "d_vocab n_ctx d_model n_layers n_heads d_head d_ff"),
        *fields(c_int32, "norm post_norm activation tied learned_pos"),
        *fields(c_int32, "attn_bias mlp_bias norm_bias unembed_bias"),
        ("eps", c_float),
    ]


class AdamWStruct(ctypes.Structure):
    _fields_ = fields(c_double, "beta1 beta2 decay clip")


class StringsStruct(ctypes.Structure):
    _fields_ = fields(c_void_p, "ids starts asked targets")


class SamplingStruct(ctypes.Structure):
    _fields_ = [("temperature", c_double), ("top_k", c_int64), ("top_p", c_double)]


class PromptsStruct(ctypes.Structure):
    _fields_ = [("count", c_int64), *fields(c_void_p, "ids starts limits stops uniforms"), ("max_limit", c_int64)]


class ProgressStruct(ctypes.Structure):
    _fields_ = fields(c_int64, "done halt")


NORMS = ("none", "layer", "rms")  # in the order of the enumerations
ACTIVATIONS = ("none", "relu", "gelu", "gelu_tanh", "silu")

FIRST = ("W_E", "W_pos", "W_U")  # the sections, in the order of `Layout`: these, then MATRICES of each layer,
MATRICES = ("W_QKV", "W_O", "W_in", "W_out")  # then VECTORS of each layer, then LAST
VECTORS = ("b_QKV", "b_O", "b_in", "b_out", "ln1.w", "ln1.b", "ln2.w", "ln2.b")
LAST = ("ln_final.w", "ln_final.b", "b_U")


def config_struct(config: Config) -> ConfigStruct:
    c = config
    return ConfigStruct(
        c.vocab, c.block, c.d_model, c.layers, c.heads, c.d_head, c.d_ff,
        NORMS.index(c.norm), c.place == "post", ACTIVATIONS.index(c.activation), c.tied, c.positions == "table",
        *(part in c.biases for part in ("attn", "mlp", "norm", "unembed")),
        c.eps or float(np.finfo(np.float32).tiny),
    )  # fmt: skip


def fixed_positions(config: Config) -> Array | None:
    """The table of sinusoids (N, D), which is not trained; None for other positions."""
    if config.positions != "sinusoid":
        return None
    return reference.sinusoid(np.arange(config.block), config.d_model).astype(np.float32)


class Layout:
    """Where each parameter lies in the engine's array. Parameters by name are views of it, so that writing to a view
    writes to the array."""

    def __init__(self, library: "Library", config: Config) -> None:
        struct, size = config_struct(config), c_int64()
        table = np.zeros((library.layout(byref(struct), None, None), 3), np.int64)
        library.layout(byref(struct), table.ctypes.data, byref(size))
        layers = range(config.layers)
        names = [
            *FIRST,
            *(f"layers.{i}.{name}" for i in layers for name in MATRICES),
            *(f"layers.{i}.{name}" for i in layers for name in VECTORS),
            *LAST,
        ]
        self.config, self.size = config, size.value
        self.sections = dict(zip(names, table.tolist(), strict=True))  # name → offset, rows, columns

    def views(self, flat: Array) -> Arrays:
        """The parts of an array, with the names and shapes of `params.shapes`."""
        return {name: self.view(flat, name, shape) for name, shape in shapes(self.config)}

    def view(self, flat: Array, name: str, shape: tuple[int, ...]) -> Array:
        """One of them. W_Q, W_K and W_V are parts of W_QKV, (D, 3, H, K), and their views are transposed."""
        layer, _, last = name.rpartition(".") if not is_norm(name) else ("", "", name)
        if last[2:] not in ("Q", "K", "V"):
            offset = self.sections[name][0]
            return flat[offset : offset + int(np.prod(shape))].reshape(shape) if offset >= 0 else unused(shape)
        offset, rows, cols = self.sections[f"{layer}.{last[:2]}QKV"]
        if offset < 0:
            return unused(shape)
        heads = flat[offset : offset + rows * cols].reshape(rows, 3, self.config.heads, self.config.d_head)
        part = heads[:, "QKV".index(last[2:])]  # (D, H, K), or (1, H, K) for a bias
        return part.transpose(1, 0, 2) if last.startswith("W") else part[0]

    def joined(self, arrays: Arrays) -> Array:
        """All parameters as one array."""
        flat = np.zeros(self.size, np.float32)
        for name, view in self.views(flat).items():
            view[...] = arrays[name]
        return flat


def unused(shape: tuple[int, ...]) -> Array:
    """A parameter of no size or no effect, such as W_in without an MLP: it has a shape and is not in the layout."""
    return np.zeros(shape, np.float32)
