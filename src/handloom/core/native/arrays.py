"""A model's numbers as the engine has them: one array, of which the weights by their names are views.

W_Q, W_K and W_V of all heads are one matrix there (layout.h), so that the view of W_Q, (H, D, K), is a part of it,
turned round. What is written to a view is in the array.
"""

from ctypes import byref, c_int64

import numpy as np

from handloom.core import reference
from handloom.core.arrays import Array
from handloom.core.config import Config
from handloom.core.native.library import ConfigStruct, Library
from handloom.core.params import is_norm, shapes

NORMS = ("none", "layer", "rms")  # in the order of the engine's enumerations
ACTIVATIONS = ("none", "relu", "gelu", "gelu_tanh", "silu")
WHOLE = ("W_E", "W_pos", "W_U")  # sections, in the order of `Layout`
MATRICES = ("W_QKV", "W_O", "W_in", "W_out")
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
    """The table of sinusoids, which is not learnt."""
    if config.positions != "sinusoid":
        return None
    return reference.sinusoid(np.arange(config.block), config.d_model).astype(np.float32)


class Arrays:
    """Where everything lies."""

    def __init__(self, library: Library, config: Config) -> None:
        struct, size = config_struct(config), c_int64()
        table = np.zeros((library.layout(byref(struct), None, None), 3), np.int64)
        library.layout(byref(struct), table.ctypes.data, byref(size))
        layers = range(config.layers)
        names = [
            *WHOLE,
            *(f"layers.{i}.{name}" for i in layers for name in MATRICES),
            *(f"layers.{i}.{name}" for i in layers for name in VECTORS),
            *LAST,
        ]
        self.config, self.size = config, size.value
        self.sections = dict(zip(names, table.tolist(), strict=True))

    def views(self, flat: Array) -> dict[str, Array]:
        """The parts of an array by the names and in the shapes of `params.shapes`."""
        return {name: self.view(flat, name, shape) for name, shape in shapes(self.config)}

    def view(self, flat: Array, name: str, shape: tuple[int, ...]) -> Array:
        layer, _, last = name.rpartition(".") if not is_norm(name) else ("", "", name)
        if last[2:] not in ("Q", "K", "V"):
            start = self.sections[name][0]
            return flat[start : start + int(np.prod(shape))].reshape(shape) if start >= 0 else nothing(shape)
        start, rows, cols = self.sections[f"{layer}.{last[:2]}QKV"]
        if start < 0:
            return nothing(shape)
        heads = flat[start : start + rows * cols].reshape(rows, 3, self.config.heads, self.config.d_head)
        part = heads[:, "QKV".index(last[2:])]  # (D, H, K), or (1, H, K) for a bias
        return part.transpose(1, 0, 2) if last.startswith("W") else part[0]

    def joined(self, arrays: dict[str, Array]) -> Array:
        """All weights as one array."""
        flat = np.zeros(self.size, np.float32)
        for name, view in self.views(flat).items():
            view[...] = arrays[name]
        return flat


def nothing(shape: tuple[int, ...]) -> Array:
    """What a model has no use for, such as neurons without an MLP: it has this shape, and is not in the layout."""
    return np.zeros(shape, np.float32)
