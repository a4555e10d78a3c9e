"""Models in LLaMA's layout, as Hugging Face saves LLaMA, Mistral and Qwen 2, become Config and arrays.

    config, arrays = from_llama(json.loads(Path("config.json").read_text()), tensors)

The layout: RMS norm before each sublayer, rotary positions, heads that share keys and values, a gated MLP. A Config has
all of it, so the import is exact: the weights are the same numbers in another order. A choice that no Config has, such
as rotary frequencies that are scaled, raises an error.

Linear layers are stored (out, in). The rotary pairs of a head are (j, j + K/2), as in `core/reference.py`.
"""

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from handloom.core import Config, HandloomError
from handloom.core.arrays import Array, Arrays
from handloom.core.checks import whole
from handloom.core.config import Bias
from handloom.core.errors import shown
from handloom.core.params import Shape, shapes
from handloom.share.activations import activation_of
from handloom.share.tensors import same_dtype

Values = Mapping[str, Any]
KINDS = ("llama", "mistral", "qwen2")
PROJECTIONS = {x: f"self_attn.{x.lower()}_proj" for x in "QKVO"} | {
    "gate": "mlp.gate_proj",
    "in": "mlp.up_proj",
    "out": "mlp.down_proj",
}
OF_A_LAYER = {
    "ln1.w": "input_layernorm.weight",
    "ln2.w": "post_attention_layernorm.weight",
    **{f"W_{ours}": f"{theirs}.weight" for ours, theirs in PROJECTIONS.items()},
    **{f"b_{ours}": f"{theirs}.bias" for ours, theirs in PROJECTIONS.items()},
}
EMBEDDING, UNEMBEDDING = "model.embed_tokens.weight", "lm_head.weight"
BUFFER = ".rotary_emb.inv_freq"  # the end of the name of what old versions save though it is computed


def from_llama(config: Values, tensors: Mapping[str, Array]) -> tuple[Config, Arrays]:
    """Config and arrays from the fields of a config.json and the tensors, each of which is read once.

    A sliding window that is shorter than the model's context limits the block: within the window it hides nothing."""
    check_layout(config)
    given = {"W_E": taken(tensors, EMBEDDING)}
    if UNEMBEDDING in tensors:
        given["W_U"] = taken(tensors, UNEMBEDDING)
    made = read_config(config, is_tied(config, given))
    arrays: Arrays = {}
    for name, shape in shapes(made):
        if config["model_type"] == "qwen2" and name.endswith(".b_O"):  # only queries, keys and values have biases
            arrays[name] = np.zeros(shape, np.float32)
        else:
            array = given.pop(name) if name in given else taken(tensors, their_name(name))
            arrays[name] = placed(name, array, shape)
    used = {their_name(name) for name in arrays} | {UNEMBEDDING}
    if left := [name for name in tensors if name not in used and not name.endswith(BUFFER)]:
        raise HandloomError(f"tensor {shown(min(left))} is not one that the config has; save the model without it")
    return made, same_dtype(arrays)


def check_layout(values: Values) -> None:
    """Raise an error for a model of another layout, or with parts that no Config has."""
    if values.get("model_type") not in KINDS:
        kinds = ", ".join(KINDS)
        raise HandloomError(f"model_type={shown(values.get('model_type'))} is not LLaMA's layout (expected {kinds})")
    for name in ("quantization_config", "is_encoder_decoder", "add_cross_attention"):
        if values.get(name):
            raise HandloomError(f"{name}={shown(values[name])} cannot be read; save the model without it")


def is_tied(values: Values, given: Arrays) -> bool:
    """Whether the unembedding is the embedding. Two that differ are two whatever the config says, as in
    transformers 5."""
    tied = flag(values, "tie_word_embeddings", "W_U" not in given)
    if not tied and "W_U" not in given:
        raise HandloomError(f"tensor {UNEMBEDDING} is missing, and the config does not tie it to the embedding")
    return tied and np.array_equal(given.get("W_U", given["W_E"]), given["W_E"])


def read_config(values: Values, tied: bool) -> Config:
    """The Config of the fields that transformers would use."""
    kind, D, heads = values["model_type"], size(values, "hidden_size"), size(values, "num_attention_heads")
    if values.get("head_dim") is None and D % heads:
        raise HandloomError(
            f"hidden_size={D} is not a multiple of num_attention_heads={heads}, and head_dim is missing"
        )
    has_bias: dict[Bias, bool] = {
        "attn": kind == "qwen2" or (kind == "llama" and flag(values, "attention_bias", False)),
        "mlp": kind == "llama" and flag(values, "mlp_bias", False),
    }
    return Config(
        vocab=size(values, "vocab_size"),
        block=block_size(values),
        d_model=D,
        layers=size(values, "num_hidden_layers"),
        heads=heads,
        d_head=size(values, "head_dim", D // heads),
        d_ff=size(values, "intermediate_size"),
        norm="rms",
        eps=values.get("rms_norm_eps", 1e-6),
        activation=activation_of(values.get("hidden_act", "silu")),
        positions="rotary",
        rotary_base=rotary_base(values),
        tied=tied,
        biases=tuple(part for part, there in has_bias.items() if there),
        gated=True,
        kv_heads=size(values, "num_key_value_heads", heads),
    )


def size(values: Values, name: str, default: int | None = None) -> int:
    """A size of the config; one that is missing or null has the default, if there is one."""
    value = values.get(name)
    if value is None and default is None:
        raise HandloomError(f"{name} is missing from the config; copy it again")
    return whole(name, default if value is None else value, 1)


def flag(values: Values, name: str, default: bool) -> bool:
    value = values.get(name)
    if not isinstance(value, bool | None):
        raise HandloomError(f"{name}={shown(value)} must be true or false")
    return default if value is None else value


def block_size(values: Values) -> int:
    """The number of positions, or of those that a layer with a sliding window sees, if they are fewer."""
    kind, context = values["model_type"], size(values, "max_position_embeddings")
    some = kind == "mistral" or (kind == "qwen2" and flag(values, "use_sliding_window", False) and slides(values))
    window = values.get("sliding_window", 4096) if some else None
    return context if window is None else min(context, whole("sliding_window", window, 1))


def slides(values: Values) -> bool:
    """Whether a layer of Qwen 2 has the window."""
    if (kinds := values.get("layer_types")) is None:
        return size(values, "num_hidden_layers") > whole("max_window_layers", values.get("max_window_layers", 28), 0)
    if not isinstance(kinds, list) or not all(one in ("full_attention", "sliding_attention") for one in kinds):
        raise HandloomError(f"layer_types={shown(kinds)} are not known (expected full_attention, sliding_attention)")
    return "sliding_attention" in kinds


def rotary_base(values: Values) -> float:
    """The base of the rotary angles; an error if they are scaled."""
    rope = values.get("rope_parameters") or values.get("rope_scaling") or {}
    if not isinstance(rope, dict) or any(isinstance(value, dict) for value in rope.values()):
        raise HandloomError(f"rope_parameters={shown(rope)} cannot be read (expected rope_type and rope_theta)")
    kind = rope.get("rope_type", rope.get("type", "default"))
    if kind != "default":
        raise HandloomError(
            f"rotary positions of type {shown(kind)} are scaled, which no Config is (expected 'default')"
        )
    part = rope.get("partial_rotary_factor", values.get("partial_rotary_factor"))
    if part not in (None, 1):
        raise HandloomError(
            f"partial_rotary_factor={shown(part)} turns part of a head, which no Config does (expected 1)"
        )
    base = rope.get("rope_theta", values.get("rope_theta"))
    return 10_000.0 if base is None else base


def their_name(name: str) -> str:
    """The name of the tensor that one of our arrays is made from."""
    if name.startswith("layers."):
        _, layer, last = name.split(".", 2)
        return f"model.layers.{layer}.{OF_A_LAYER[last]}"
    return {"W_E": EMBEDDING, "W_U": UNEMBEDDING, "ln_final.w": "model.norm.weight"}[name]


def taken(tensors: Mapping[str, Array], name: str) -> Array:
    if name not in tensors:
        raise HandloomError(f"tensor {name} is missing; copy all files of the model")
    array = tensors[name]
    if array.dtype.kind != "f":
        raise HandloomError(f"tensor {name} is {array.dtype} (expected float16, float32 or float64); convert it first")
    return array


def placed(name: str, stored: Array, shape: Shape) -> Array:
    """A tensor as one of our arrays, a copy of its own: float32, or float64 if it is."""
    last = name.rpartition(".")[2]
    if last in ("W_Q", "W_K", "W_V"):
        H, D, K = shape
        check_shape(name, stored, (H * K, D))
        array = stored.reshape(H, K, D).swapaxes(1, 2)
    elif last.startswith("W_") and last != "W_E":  # W_O (H, K, D) is stored (D, H · K)
        check_shape(name, stored, (shape[-1], prod(shape[:-1])))
        array = stored.T.reshape(shape)
    else:
        check_shape(name, stored, shape if last == "W_E" else (prod(shape),))
        array = stored.reshape(shape)
    return np.array(array, np.float64 if array.dtype == np.float64 else np.float32, order="C")


def check_shape(name: str, stored: Array, expected: Shape) -> None:
    if stored.shape != expected:
        raise HandloomError(f"tensor {their_name(name)} has shape {stored.shape} (expected {expected}, by the config)")
