"""Fitting: a model becomes an equal one that the GPT-2 layout can hold.

The layout has a causal transformer with a table of positions, layer norm before every sublayer and at the end, biases
everywhere but behind the unembedding, heads that are together as wide as the stream, and at least one layer, head and
neuron. The changes are those of `core/transforms`, each exact; of a model without norms they are exact up to less than
float32 rounds.
"""

from dataclasses import fields, replace
from itertools import count

import numpy as np

from handloom.core import Config, HandloomError, Model, Vocab
from handloom.core.transforms import (
    add_biases,
    add_positions,
    fold_unembed_bias,
    none_to_layer,
    pad,
    pad_with_mean,
    rms_to_layer,
    store_positions,
    ungroup,
)

UNKNOWN = "<unk>"
SIZES = {"vocab", "block", "d_model", "layers", "heads", "d_head", "d_ff"}
HELD = SIZES | {"norm", "place", "eps", "activation", "positions", "rotary_base", "causal", "tied", "biases"}
HELD |= {"kv_heads"}  # once every head has keys and values of its own
HELD |= {"ridge"}  # which softmax attention does not read
INSTEAD = "keep the model file, or export it as ONNX"


def check_fits_gpt2(config: Config) -> None:
    """Raise an error if no exact change makes the GPT-2 layout hold such a model."""
    missing = {
        "rotary positions": config.positions == "rotary",
        "norms behind the sublayers (place='post')": config.place == "post" and config.norm != "none",
        "attention to later positions (causal=False)": not config.causal,
    }
    for field in fields(Config):  # a field that this file does not know
        if field.name not in HELD:
            value = getattr(config, field.name)
            missing[f"{field.name}={value!r}"] = value != field.default
    for what, there in missing.items():
        if there:
            raise HandloomError(f"the model has {what}, which the GPT-2 layout cannot hold; {INSTEAD}")


def fit_gpt2(model: Model, longest: float) -> Model:
    """The model in a form that the GPT-2 layout holds, in its own dtype. `longest` is the greatest length of its
    residual stream, which matters only without norms."""
    check_fits_gpt2(model.config)
    model = add_positions(store_positions(ungroup(model)))
    if model.config.norm == "rms":
        model = rms_to_layer(model)
    elif model.config.norm == "none":
        model = none_to_layer(model, longest)
    model = fold_unembed_bias(model)
    width, heads, d_head = gpt2_sizes(model.config)
    if width > model.config.d_model:
        model = pad_with_mean(model, width)
    least = {"d_ff": max(model.config.d_ff, 1), "layers": max(model.config.layers, 1)}
    return add_biases(pad(model, heads=heads, d_head=d_head, **least), "attn", "mlp", "norm")


def gpt2_sizes(config: Config) -> tuple[int, int, int]:
    """The least width with heads that fill it, as many and as wide as the model's or more: (D, H, K) with D = H·K."""
    H, K = max(config.heads, 1), max(config.d_head, 1)
    for width in count(max(config.d_model, H * K)):
        for heads in range(H, width // K + 1):
            if width % heads == 0:
                return width, heads, width // heads
    raise AssertionError  # count has no end


def add_unknown(model: Model) -> Model:
    """One more token, for what the vocabulary lacks; tokenisers need one. Its weights are the mean of all tokens', so
    that its logit is the mean of the logits: it is never predicted. A vocabulary with a tokeniser of its own stays."""
    tokens = model.vocab.tokens
    if model.vocab.tokenizer or has_unknown(model):
        return model
    names = (UNKNOWN if not i else f"<unk{i}>" for i in count())
    token = next(name for name in names if name not in tokens)
    flat = model.flat
    flat["W_E"] = np.concatenate([flat["W_E"], flat["W_E"].mean(0, keepdims=True)])
    if not model.config.tied:
        flat["W_U"] = np.concatenate([flat["W_U"], flat["W_U"].mean(1, keepdims=True)], axis=1)
    vocab = Vocab((*tokens, token), model.vocab.separator, model.vocab.bos, model.vocab.eos, model.vocab.pad)
    return model.with_(config=replace(model.config, vocab=len(vocab)), params=flat, vocab=vocab)


def has_unknown(model: Model) -> bool:
    """Whether the last token is one that an earlier export added."""
    *others, last = model.params["W_E"]
    return model.vocab.tokens[-1] == UNKNOWN and len(others) > 0 and np.allclose(last, np.mean(others, 0), rtol=1e-5)
