"""A model in the GPT-2 layout becomes Config and arrays: folders of Hugging Face, checkpoints of nanoGPT and makemore.

`gpt2.py` has the names. Here linear layers may also be stored (out, in), as torch.nn.Linear does, without biases, and
with buffers that are not weights. Every tensor is compared with what the sizes ask for before it is read, and is put
in its place at once.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from handloom.core import Config, HandloomError
from handloom.core.arrays import Array, Arrays
from handloom.core.checks import whole
from handloom.core.errors import shown
from handloom.share.activations import activation_of
from handloom.share.gpt2 import ATTENTION_OUT, BODY, LAYER, QKV, QKV_BIAS, TABLES, UNEMBEDDING
from handloom.share.tensors import Tensors, same_dtype

WRAPPINGS = ("_orig_mod.", "module.", BODY)  # in front of names: of torch.compile, of parallel training, of the layout
BUFFERS = (".attn.bias", ".attn.masked_bias")  # masks, which older versions save
Shape = tuple[int, ...]


@dataclass(frozen=True)
class Layout:
    """What the arrays are made from: the Config, whether linear layers are (out, in), and factors of the queries."""

    config: Config
    linear: bool = False
    query_scales: tuple[float, ...] | None = None  # one per layer

    def shape(self, *shape: int) -> Shape:
        return shape[::-1] if self.linear else shape


def from_gpt2(values: Mapping[str, Any], tensors: Tensors) -> tuple[Config, Arrays]:
    """Config and arrays from the fields of config.json (or of a checkpoint) and the tensors."""
    tensors = tensors.renamed(own_name)
    layout = read_layout(values, tensors)
    arrays = dict(all_arrays(layout, tensors))
    return layout.config, same_dtype(arrays)


def own_name(name: str) -> str | None:
    """A tensor's name without wrappings; None for a buffer."""
    for front in WRAPPINGS:
        name = name.removeprefix(front)
    return None if name.startswith("h.") and name.endswith(BUFFERS) else name


def read_layout(values: Mapping[str, Any], tensors: Tensors) -> Layout:
    """The sizes and choices, as far as they can be told without the tensors' values; all shapes fit."""
    check_choices(values)
    D, heads, layers = (size(values, name) for name in ("n_embd", "n_head", "n_layer"))
    if D % heads:
        raise HandloomError(f"n_embd={D} is not a multiple of n_head={heads}; the config does not fit GPT-2")
    if layers > len(tensors):
        raise HandloomError(f"n_layer={shown(layers)}, and the weights have {len(tensors)} tensors; they do not fit")
    hidden = values.get("n_inner")
    config = Config(
        vocab=size(values, "vocab_size"),
        block=size(values, "n_positions"),
        d_model=D,
        layers=layers,
        heads=heads,
        d_head=D // heads,
        d_ff=4 * D if hidden is None else whole("n_inner", hidden, 1),
        eps=values.get("layer_norm_epsilon", 1e-5),
        activation=activation_of(values.get("activation_function", "gelu_new")),
        tied=is_tied(values, tensors),
        biases=biases_of(tensors, layers),
    )
    linear = layers > 0 and tensors.shape("h.0." + QKV) == (3 * D, D)
    scaled = values.get("scale_attn_weights", True), values.get("scale_attn_by_inverse_layer_idx", False)
    scales = tuple((1.0 if scaled[0] else math.sqrt(D // heads)) / (i + 1 if scaled[1] else 1) for i in range(layers))
    return Layout(config, linear, scales if scaled != (True, False) else None)


def size(values: Mapping[str, Any], name: str) -> int:
    older = {"n_positions": "n_ctx"}.get(name, name)
    if name not in values and older not in values:
        raise HandloomError(f"{name} is missing from the config; copy it again")
    return whole(name, values.get(name, values.get(older)), 1)


def check_choices(values: Mapping[str, Any]) -> None:
    """Raise an error for a choice that changes what is computed in a way that a Config cannot."""
    for name in ("add_cross_attention", "quantization_config", "is_encoder_decoder"):
        if values.get(name):
            raise HandloomError(f"{name}={shown(values[name])} is not GPT-2 as it can be read; save the model without")
    for name in ("tie_word_embeddings", "scale_attn_weights", "scale_attn_by_inverse_layer_idx"):
        if not isinstance(values.get(name, True), bool):
            raise HandloomError(f"{name}={shown(values[name])} must be true or false")


def is_tied(values: Mapping[str, Any], tensors: Tensors) -> bool:
    """Whether the unembedding is the embedding. If both are stored and differ, they are two whatever the config says,
    as in transformers 5."""
    wanted = values.get("tie_word_embeddings", True)
    if UNEMBEDDING not in tensors or TABLES["W_E"] not in tensors:
        if not wanted:
            raise HandloomError(f"the tensor {UNEMBEDDING} is missing, and the config does not tie it to the embedding")
        return True
    return wanted and np.array_equal(tensors[UNEMBEDDING], tensors[TABLES["W_E"]])


def biases_of(tensors: Tensors, layers: int) -> Any:
    """Which parts have biases, as the first layer or the last norm tells."""
    parts = {"attn": "h.0." + QKV_BIAS, "mlp": "h.0." + LAYER["b_in"], "norm": TABLES["ln_final.b"]}
    return tuple(part for part, name in parts.items() if name in tensors or (not layers and part != "norm"))


def all_arrays(layout: Layout, tensors: Tensors) -> Iterator[tuple[str, Array]]:
    """Every array of a Model, made from the tensors; each tensor is used once."""
    c = layout.config
    left = set(tensors)

    def take(name: str, shape: Shape) -> Array:
        left.discard(name)
        if (stored := tensors.shape(name)) != shape:
            raise HandloomError(f"tensor {name} has shape {stored}; the config asks for {shape}")
        return tensors[name]

    embedding = TABLES["W_E"] if TABLES["W_E"] in tensors else UNEMBEDDING  # if tied, either may be stored
    yield "W_E", take(embedding, (c.vocab, c.d_model))
    yield "W_pos", take(TABLES["W_pos"], (c.block, c.d_model))
    for i in range(c.layers):
        for name, array in layer_arrays(layout, i, take):
            yield f"layers.{i}.{name}", array
    for name in ("ln_final.w", *(["ln_final.b"] if "norm" in c.biases else [])):
        yield name, take(TABLES[name], (c.d_model,))
    if c.tied:
        left.discard(UNEMBEDDING)
    else:
        yield "W_U", take(UNEMBEDDING, (c.vocab, c.d_model)).T.copy()
    if left:
        raise HandloomError(f"tensor {shown(min(left))} is not one that GPT-2 has; save the model without it")


def layer_arrays(layout: Layout, i: int, take: Any) -> Iterator[tuple[str, Array]]:
    c, at = layout.config, f"h.{i}."
    D, H, K, F = c.d_model, c.heads, c.d_head, c.d_ff
    scale = layout.query_scales[i] if layout.query_scales else 1.0
    whole_qkv = take(at + QKV, layout.shape(D, 3 * D))
    parts = (whole_qkv.T if layout.linear else whole_qkv).reshape(D, 3, H, K)
    for j, name in enumerate(("W_Q", "W_K", "W_V")):
        yield name, scaled(parts[:, j].transpose(1, 0, 2), scale if j == 0 else 1.0)  # (H, D, K)
    if "attn" in c.biases:
        parts = take(at + QKV_BIAS, (3 * D,)).reshape(3, H, K)
        for j, name in enumerate(("b_Q", "b_K", "b_V")):
            yield name, scaled(parts[j], scale if j == 0 else 1.0)
    out = take(at + ATTENTION_OUT, layout.shape(D, D))
    yield "W_O", contiguous(out.T if layout.linear else out, (H, K, D))
    shapes: dict[str, Shape] = {"W_in": (D, F), "W_out": (F, D), "b_in": (F,)}
    for name, theirs in LAYER.items():
        part = {"ln1.b": "norm", "ln2.b": "norm", "b_O": "attn", "b_in": "mlp", "b_out": "mlp"}.get(name)
        if part is None or part in c.biases:
            shape = shapes.get(name, (D,))
            array = take(at + theirs, layout.shape(*shape))
            yield name, contiguous(array.T if layout.linear else array, shape)


def scaled(array: Array, factor: float) -> Array:
    """A contiguous copy, multiplied."""
    copy = np.array(array, order="C")
    if factor != 1.0:
        copy *= factor
    return copy


def contiguous(array: Array, shape: Shape) -> Array:
    """The array in the order of its indices, in that shape."""
    return np.ascontiguousarray(array).reshape(shape)
