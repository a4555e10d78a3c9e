"""The GPT-2 layout: what its tensors and its config.json are called, and which of ours they are.

    wte.weight                (V, D)       W_E               h.0.mlp.c_fc.weight     (D, F)    layers.0.W_in
    h.0.attn.c_attn.weight    (D, 3·H·K)   W_Q | W_K | W_V   h.0.mlp.c_proj.weight   (F, D)    layers.0.W_out
    h.0.attn.c_proj.weight    (H·K, D)     W_O               lm_head.weight          (V, D)    W_U transposed

Linear layers are stored (in, out). Queries, keys and values stand side by side, each head by head. D = H·K. In the file
all but lm_head stand below `transformer.`. There is no lm_head.weight if the unembedding is tied.
"""

from typing import Any

import numpy as np

from handloom.core import Model
from handloom.core.arrays import Arrays
from handloom.share.activations import THEIR_NAME

BODY = "transformer."  # in front of every name but that of the unembedding
UNEMBEDDING = "lm_head.weight"
TABLES = {
    "W_E": "wte.weight",
    "W_pos": "wpe.weight",
    "ln_final.w": "ln_f.weight",
    "ln_final.b": "ln_f.bias",
}
LAYER = {  # below h.0. and so on; the same arrays under other names
    "ln1.w": "ln_1.weight",
    "ln1.b": "ln_1.bias",
    "b_O": "attn.c_proj.bias",
    "ln2.w": "ln_2.weight",
    "ln2.b": "ln_2.bias",
    "W_in": "mlp.c_fc.weight",
    "b_in": "mlp.c_fc.bias",
    "W_out": "mlp.c_proj.weight",
    "b_out": "mlp.c_proj.bias",
}
QKV, QKV_BIAS, ATTENTION_OUT = "attn.c_attn.weight", "attn.c_attn.bias", "attn.c_proj.weight"


def gpt2_tensors(model: Model) -> Arrays:
    """The tensors of a model that the layout holds (see `fitting.py`)."""
    flat, tensors = model.flat, {}
    for name, theirs in TABLES.items():
        tensors[BODY + theirs] = flat[name]
    for i, layer in enumerate(model.params["layers"]):
        at = f"{BODY}h.{i}."
        tensors |= {at + theirs: flat[f"layers.{i}.{name}"] for name, theirs in LAYER.items()}
        tensors[at + QKV] = np.concatenate([side_by_side(layer[name]) for name in ("W_Q", "W_K", "W_V")], axis=1)
        tensors[at + QKV_BIAS] = np.concatenate([layer[name].ravel() for name in ("b_Q", "b_K", "b_V")])
        tensors[at + ATTENTION_OUT] = layer["W_O"].reshape(-1, model.config.d_model)
    if not model.config.tied:
        tensors[UNEMBEDDING] = flat["W_U"].T
    return {name: np.ascontiguousarray(array) for name, array in tensors.items()}


def side_by_side(heads: Any) -> Any:
    """(H, D, K) → (D, H·K)."""
    return heads.transpose(1, 0, 2).reshape(heads.shape[1], -1)


def gpt2_config(model: Model) -> dict[str, Any]:
    """The sizes and choices of a model, as in config.json. Dropout, which GPT-2 has, is 0."""
    c = model.config
    smallest = float(np.finfo(model.dtype).tiny)  # eps = 0 stands for it, and torch would divide 0 by 0
    return {
        "architectures": ["GPT2LMHeadModel"],
        "model_type": "gpt2",
        "dtype": str(model.dtype),
        "vocab_size": c.vocab,
        "n_positions": c.block,
        "n_embd": c.d_model,
        "n_layer": c.layers,
        "n_head": c.heads,
        "n_inner": c.d_ff,
        "activation_function": THEIR_NAME[c.activation],
        "layer_norm_epsilon": max(c.eps, smallest),
        "tie_word_embeddings": c.tied,
        "attn_pdrop": 0.0,
        "embd_pdrop": 0.0,
        "resid_pdrop": 0.0,
    }
