"""State dicts of TransformerLens (HookedTransformer, up to version 3) become Config and arrays, whose names are ours.

    embed.W_E  pos_embed.W_pos  blocks.0.ln1.w  blocks.0.attn.W_Q  blocks.0.mlp.W_in  ln_final.w  unembed.W_U

The shapes tell the sizes. They do not tell the activation, eps, or which norm there is if its gains were folded into
the weights: these are given, or GPT-2's.
"""

import re
from typing import Any

import numpy as np

from handloom.core import Config, HandloomError
from handloom.core import params as parameters
from handloom.core.arrays import Array, Arrays
from handloom.core.errors import shown
from handloom.share.activations import activation_of
from handloom.share.tensors import Tensors, same_dtype

BUFFERS = ("attn.mask", "attn.IGNORE", "attn.rotary_sin", "attn.rotary_cos", "hook_tokens")
OTHERS = ("attn.W_K_mem", "ln1_post.w")  # of layers that no Config has, as are the gated experts of TransformerLens
PLACES = {"embed.W_E": "W_E", "pos_embed.W_pos": "W_pos", "unembed.W_U": "W_U", "unembed.b_U": "b_U"}
PART = re.compile(r"blocks\.(\d{1,6})\.(?:attn\.|mlp\.)?_?(.+)")  # keys that heads share are _W_K


def is_transformer_lens(tensors: Tensors) -> bool:
    return "embed.W_E" in tensors and "unembed.W_U" in tensors


def from_transformer_lens(tensors: Tensors, choices: dict[str, Any]) -> tuple[Config, Arrays, dict[str, Any]]:
    """Config, arrays and notes; `choices` may have activation, eps and norm."""
    if "heads" in choices:
        raise HandloomError("the shapes tell the number of heads; leave heads out")
    for name in tensors:
        if name.endswith(OTHERS) or ".mlp.experts." in name:
            raise HandloomError(f"tensor {name} is of a kind of layer that no Config has; import another model")
    own = tensors.renamed(own_name)
    gated = "layers.0.W_gate" in own
    usual = {"activation": "silu" if gated else "gelu_tanh", "eps": 1e-5, "norm": usual_norm(own)}
    values: dict[str, Any] = usual | choices
    values["activation"] = activation_of(values["activation"])
    config = Config(**sizes(own, tensors), **values, tied=is_tied(own), biases=biases_of(own), gated=gated)
    kept = {name for name, _ in parameters.shapes(config)}
    if extra := sorted(set(own) - kept - {"W_U", "b_U"}):
        raise HandloomError(
            f"tensor {shown(extra[0])} does not belong to a model with norm {config.norm!r}; give another"
        )
    shapes = dict(parameters.shapes(config))
    arrays = {name: array_of(own, name, shape) for name, shape in shapes.items() if not name.endswith(".b_gate")}
    if gated and "mlp" in config.biases:
        move_biases(arrays, shapes)
    assumed = {name: values[name] for name in ("activation", "eps", "norm") if name not in choices}
    return config, same_dtype(arrays), {"imported": "TransformerLens", **({"assumed": assumed} if assumed else {})}


def own_name(name: str) -> str | None:
    """Our name of a tensor; None for a buffer."""
    if name.endswith(BUFFERS):
        return None
    if part := PART.fullmatch(name):
        return f"layers.{int(part[1])}.{part[2]}"
    return PLACES.get(name, name)


def usual_norm(own: Tensors) -> str:
    """Layer norm, with or without its gains; RMS norm if there are gains and no biases."""
    return "rms" if "ln_final.w" in own and "ln_final.b" not in own else "layer"


def sizes(own: Tensors, all_tensors: Tensors) -> dict[str, Any]:
    """The sizes of a Config from shapes, and the kind of positions."""
    V, D = dimensions(own, "W_E", 2)
    layers = 1 + max((int(name.split(".")[1]) for name in own if name.startswith("layers.")), default=-1)
    if layers > len(own):
        raise HandloomError(f"it has tensors of layer {layers - 1}, and those of layers before it are missing")
    found: dict[str, Any] = {"vocab": V, "d_model": D, "layers": layers}
    if layers:
        H, _, K = dimensions(own, "layers.0.W_Q", 3)
        found |= {"heads": H, "d_head": K, "kv_heads": dimensions(own, "layers.0.W_K", 3)[0]}
        found["d_ff"] = dimensions(own, "layers.0.W_in", 2)[1] if "layers.0.W_in" in own else 0
    if "blocks.0.attn.rotary_sin" in all_tensors:
        return found | rotary(all_tensors["blocks.0.attn.rotary_sin"], found.get("d_head", 0))
    return found | {"block": dimensions(own, "W_pos", 2)[0]}


def dimensions(own: Tensors, name: str, count: int) -> tuple[int, ...]:
    if len(shape := own.shape(name)) != count:
        raise HandloomError(f"tensor {name} has shape {shape} (expected {count} dimensions)")
    return shape


def rotary(sines: Array, d_head: int) -> dict[str, Any]:
    """Rotary positions from the table of sines (N, K): their base, if all of a head turns, in halves."""
    if sines.ndim == 2 and sines.shape[1] == d_head >= 4 and len(sines) > 1 and 1e-9 < sines[1, 1] < 0.9:
        base = float(np.arcsin(np.float64(sines[1, 1]))) ** (-d_head / 2)
        angles = np.arange(len(sines))[:, None] * round(base, -1) ** (-np.arange(0, d_head, 2) / d_head)  # (N, K/2)
        if np.allclose(sines, np.tile(np.sin(angles), 2), atol=1e-4):
            return {"positions": "rotary", "block": len(sines), "rotary_base": float(round(base, -1))}
    raise HandloomError(
        "its rotary positions turn a part of each head, neighbouring pairs, or are scaled; this is not read"
    )


def is_tied(own: Tensors) -> bool:
    V, D = own.shape("W_E")
    return own.shape("W_U") == (D, V) and np.array_equal(own["W_U"], own["W_E"].T)


def biases_of(own: Tensors) -> Any:
    """Which parts have biases; that of the unembedding, which TransformerLens always stores, only if it is not zero."""
    parts = {"attn": "layers.0.b_Q", "mlp": "layers.0.b_in", "norm": "ln_final.b"}
    found = [part for part, name in parts.items() if name in own]
    return (*found, "unembed") if "b_U" in own and own["b_U"].any() else tuple(found)


def array_of(own: Tensors, name: str, shape: tuple[int, ...]) -> Array:
    """An array of the Model. Gains that were folded away are ones, and a part of size 0 is not stored."""
    if name not in own and (parameters.is_gain(name) or 0 in shape):
        return np.ones(shape, np.float32)
    if (stored := own.shape(name)) != shape:
        raise HandloomError(f"tensor {name} has shape {stored} (expected {shape})")
    return own[name]


def move_biases(arrays: Arrays, shapes: dict[str, tuple[int, ...]]) -> None:
    """The biases of gated MLPs. TransformerLens adds b_in behind the product, so that W_out takes it to b_out."""
    for gate in (name for name in shapes if name.endswith(".b_gate")):
        at = gate.removesuffix("b_gate")
        arrays[at + "b_out"] = arrays[at + "b_out"] + arrays[at + "b_in"] @ arrays[at + "W_out"]
        arrays[at + "b_in"] = np.zeros(shapes[at + "b_in"], np.float32)
        arrays[gate] = np.zeros(shapes[gate], np.float32)
