"""Norms: gains and biases folded away, a residual stream of mean zero, layer norm as RMS norm.

Layer norm subtracts the mean, so it sees the residual stream only up to multiples of the vector of ones, and treats
that direction unlike all others. This is why `centre` is free, and why `rotate` is not.
"""

import numpy as np

from handloom.core import params as parameters
from handloom.core.arrays import Array
from handloom.core.errors import HandloomError
from handloom.core.model import Model
from handloom.core.transforms.changed import WRITERS, Flat, changed, part
from handloom.core.transforms.explicit import add_biases, store_positions, untie


def fold_norms(model: Model) -> Model:
    """Norm gains become 1 and norm biases go, into the weights and biases that read behind the norm.

    Exact with norms before the sublayers. With post the gains scale the residual stream itself and no weights can take
    them: an error, unless they are 1 and the biases 0. A tied model whose last norm has something to fold is untied."""
    config = model.config
    if config.norm == "none":
        return model
    if config.place == "post":
        if norms_are_plain(model):
            return model
        raise HandloomError(
            "fold_norms: post-norm gains act on the residual stream itself; only pre-norm ones can be folded"
        )
    final = model.params["ln_final"]
    if config.tied and (np.any(final["w"] != 1) or np.any(final.get("b", 0) != 0)):
        model = untie(model)
    if any(np.any(array) for name, array in model.flat.items() if name.endswith(".b")):
        model = add_biases(model, "attn", "mlp", "unembed")
    flat = model.flat
    for norm, readers in norm_readers(model):
        w, b = flat[norm + ".w"], flat.pop(norm + ".b", None)
        for weight, bias in readers:
            if bias in flat and b is not None:
                flat[bias] = flat[bias] + b @ flat[weight]
            flat[weight] = w[:, None] * flat[weight]
        flat[norm + ".w"] = np.ones_like(w)
    return changed(model, "fold_norms", flat, biases=tuple(bias for bias in model.config.biases if bias != "norm"))


def norms_are_plain(model: Model) -> bool:
    """Whether all gains are 1 and all norm biases 0."""
    norms = {name: array for name, array in model.flat.items() if parameters.is_norm(name)}
    return all(np.all(array == (1 if parameters.is_gain(name) else 0)) for name, array in norms.items())


def norm_readers(model: Model) -> list[tuple[str, list[tuple[str, str]]]]:
    """Each pre-norm with the weights that read its output, and the biases beside them."""
    found = []
    for i, layer in enumerate(model.params["layers"]):
        at = f"layers.{i}."
        neurons = ("gate", "in") if model.config.gated or model.config.experts else ("in",)
        reads = {"ln1": (*"QKV", *neurons) if model.config.parallel else "QKV", "ln2": neurons}
        found += [(at + n, [(f"{at}W_{x}", f"{at}b_{x}") for x in reads[n]]) for n in reads if n in layer]
    return [*found, ("ln_final", [] if model.config.tied else [("W_U", "b_U")])]


def centre(model: Model) -> Model:
    """All writes of attention, MLP, embedding and positions into the residual stream get mean zero.

    Exact with layer norm before the sublayers: everything that reads the stream reads it through a norm that
    subtracts the mean. With post the first attention reads the embedding as it is, so there only attention and MLP are
    centred. RMS norm and no norm see the mean: an error. A tied model is untied if its last norm's output has
    a mean, for the unembedding would then see the change."""
    config = model.config
    if config.norm != "layer":
        raise HandloomError(
            f"centre: norm={config.norm!r} sees the mean of the residual stream; only layer norm does not"
        )
    if config.place == "pre":
        model = store_positions(model)
        if config.tied and not writes_mean_zero(model.params["ln_final"]):
            model = untie(model)
        centred = WRITERS
    else:
        centred = {"W_O", "b_O"} if config.heads else set()
        centred |= {"W_out", "b_out"} if config.d_ff else set()
    flat = {n: a - a.mean(-1, keepdims=True) if part(n) in centred else a for n, a in model.flat.items()}
    return changed(model, "centre", flat)


def writes_mean_zero(norm: Flat) -> bool:
    """Whether a layer norm's output has mean zero for any input."""
    return is_uniform(norm["w"]) and has_mean_zero(norm.get("b", np.zeros(1)))


def is_uniform(w: Array) -> bool:
    return bool(np.all(w == w[0]))


def has_mean_zero(array: Array) -> bool:
    """Up to the rounding of its dtype."""
    rounding = 8 * np.finfo(array.dtype).eps * np.abs(array).max(initial=0.0)
    return bool((np.abs(array.mean(-1)) <= rounding).all())


def centre_stream(model: Model, what: str) -> Model:
    """The same function, with a residual stream of mean zero throughout; an error if that is impossible."""
    model = store_positions(centre(model))
    if model.config.place == "post":
        flat = model.flat
        norms = [layer[name] for layer in model.params["layers"] for name in ("ln1", "ln2") if name in layer]
        writers = [array for name, array in flat.items() if part(name) in WRITERS]
        if not all(map(has_mean_zero, writers)) or not all(map(writes_mean_zero, norms)):
            raise HandloomError(
                f"{what}: with post layer norm the embeddings, positions and norm biases must have mean zero and "
                "the gains of a norm be equal; this model's are not"
            )
    return model


def layer_to_rms(model: Model) -> Model:
    """Layer norm becomes RMS norm: on a stream of mean zero they are the same. Exact with pre; with post it needs
    embeddings of mean zero and equal gains."""
    model = centre_stream(model, "layer_to_rms")
    return changed(model, "layer_to_rms", model.flat, norm="rms")
