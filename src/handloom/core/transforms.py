"""Changes to a model that keep the function it computes.

Each is a named function from Model to Model. None is applied unless called, and each says when it is exact: in
exact arithmetic the logits are the same, in floating point the same up to rounding. Where a change cannot be exact
for the model at hand it is refused, with what to do first.

    store_positions     sinusoidal positions become a table
    untie               the unembedding gets a table of its own
    add_biases          biases, all zero, where there were none
    fold_norms          norm gains and biases move into the weights that read them
    centre              what writes into the residual stream writes with mean zero
    layer_to_rms        layer norm becomes RMS norm
    rotate              the residual stream turns by an orthogonal matrix
    pad                 more width, heads, head width or neurons, all zero
    permute_stream      the dimensions of the residual stream in another order, and so all sums over them
    permute_heads, permute_neurons, drop_unused
    shuffle             stream, heads and neurons in a random order

(`merging.py` joins two models.)

A note on layer norm. It takes away the mean, so it sees the residual stream only up to multiples of the vector of
ones, and treats that direction unlike all others. This is why `centre` is free, and why `rotate` is not.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from handloom.core import params as parameters
from handloom.core.arrays import Array
from handloom.core.checks import whole
from handloom.core.config import Bias
from handloom.core.errors import HandloomError
from handloom.core.model import Model
from handloom.core.reference import sinusoid

Flat = dict[str, Any]

# the last part of a parameter's name says how it meets the residual stream
WRITERS = {"W_E", "W_pos", "W_O", "b_O", "W_out", "b_out"}  # their last axis is D
READERS = {"W_Q", "W_K", "W_V", "W_in", "W_U"}  # their last but one is D


def changed(model: Model, by: str, flat: Flat, **fields: Any) -> Model:
    """The model with other arrays and some fields of its Config replaced; its notes say by what."""
    notes = {**model.notes, "changed": [*model.notes.get("changed", []), by]}
    return model.with_(config=replace(model.config, **fields), params=flat, notes=notes)


def part(name: str) -> str:
    """`layers.0.W_Q` → `W_Q`."""
    return name.rpartition(".")[2]


def store_positions(model: Model) -> Model:
    """Sinusoidal positions, which are computed, become a table, which can be changed. Always exact."""
    if model.config.positions != "sinusoid":
        return model
    table = sinusoid(np.arange(model.config.block), model.config.d_model).astype(model.dtype)
    return changed(model, "store_positions", model.flat | {"W_pos": table}, positions="table")


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


def fold_norms(model: Model) -> Model:
    """Norm gains become 1 and norm biases go, into the weights and biases that read behind the norm.

    Exact with norms before the sublayers. With post the gains scale the residual stream itself and have nothing to go
    into: refused, unless they are 1 and the biases 0. A tied model whose last norm has something to fold is untied."""
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
        if "ln1" in layer:
            found.append((at + "ln1", [(f"{at}W_{x}", f"{at}b_{x}") for x in "QKV"]))
        if "ln2" in layer:
            found.append((at + "ln2", [(at + "W_in", at + "b_in")]))
    return [*found, ("ln_final", [] if model.config.tied else [("W_U", "b_U")])]


def centre(model: Model) -> Model:
    """What attention, MLP, embedding and positions write into the residual stream gets mean zero.

    Exact with layer norm before the sublayers: everything that reads the stream reads it through a norm that
    takes the mean away. With post the first attention reads the embedding as it is, so there only attention and MLP are
    centred. RMS norm and no norm see the mean: refused. A tied model is untied if its last norm's output has
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
    """Whether a layer norm's output has mean zero whatever it is given."""
    return is_uniform(norm["w"]) and has_mean_zero(norm.get("b", np.zeros(1)))


def is_uniform(w: Array) -> bool:
    return bool(np.all(w == w[0]))


def has_mean_zero(array: Array) -> bool:
    """Up to the rounding of its dtype."""
    rounding = 8 * np.finfo(array.dtype).eps * np.abs(array).max(initial=0.0)
    return bool((np.abs(array.mean(-1)) <= rounding).all())


def centre_stream(model: Model, what: str) -> Model:
    """The same function, with a residual stream whose mean is zero throughout; refused where that cannot be had."""
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


def rotate(model: Model, M: Array) -> Model:
    """Turn the residual stream by an orthogonal matrix: every position's x becomes x @ M.

    (The Art of Transformer Programming, chapter 1, exercise 8.) All that writes into the stream is multiplied by M, all
    that reads from it by Mᵀ. Exact without norms, for then M · Mᵀ = I is all that is used. Exact with RMS norm if the
    gains of each norm are equal, which `fold_norms` makes so (done here where needed; with post it cannot be). With
    layer norm it is exact only if M also keeps the vector of ones up to its sign, because the norm takes that
    direction away: otherwise refused, and rotate(layer_to_rms(model), M) is the way. An M that is not orthogonal
    changes lengths, and norms see lengths, so it is refused."""
    D = model.config.d_model
    try:
        M = np.asarray(M, np.float64)
    except (TypeError, ValueError):
        M = np.zeros(0)
    if M.shape != (D, D) or not np.allclose(M @ M.T, np.eye(D), rtol=0.0, atol=1e-9):
        raise HandloomError(f"rotate: M must be an orthogonal matrix of {D} by {D}; random_rotation makes one")
    ones = np.ones(D)
    kept = min(np.abs(ones @ M - ones).max(), np.abs(ones @ M + ones).max()) <= 1e-9
    if model.config.norm == "layer" and not kept:
        raise HandloomError(
            "rotate: layer norm takes away the mean, and M turns the direction of the mean; "
            "use rotate(layer_to_rms(model), M), or random_rotation(..., keep_ones=True)"
        )
    model = store_positions(model)
    if not all(is_uniform(array) for name, array in model.flat.items() if parameters.is_gain(name)):
        model = fold_norms(model)
    flat = {}
    for name, array in model.flat.items():
        if part(name) in WRITERS or name.endswith(".b"):
            array = array @ M
        elif part(name) in READERS:
            array = M.T @ array
        flat[name] = array.astype(model.dtype)
    return changed(model, "rotate", flat)


def random_rotation(width: int, seed: int, keep_ones: bool = False) -> Array:
    """A random orthogonal matrix; with keep_ones one that leaves the vector of ones where it is."""
    rng = np.random.default_rng(seed)
    if not keep_ones:
        return np.linalg.qr(rng.normal(size=(width, width)))[0]
    basis = np.linalg.qr(np.column_stack([np.ones(width), rng.normal(size=(width, width - 1))]))[0]
    turn = np.eye(width)
    turn[1:, 1:] = random_rotation(width - 1, seed) if width > 1 else 0.0
    return basis @ turn @ basis.T


def pad(
    model: Model,
    d_model: int | None = None,
    heads: int | None = None,
    d_head: int | None = None,
    d_ff: int | None = None,
) -> Model:
    """Make sizes larger, with zeros in the new room.

    More heads and neurons are exact: a head or neuron of zeros adds zero. A wider head changes the √K that scores are
    divided by, which W_Q makes up for, and the rotary frequencies, which rotary_base makes up for. A wider stream
    changes what norms divide by: eps and the gains make up for that, and under layer norm the stream gets mean
    zero first (see `centre`), or the zeros would not stay zeros. Exact then, with post layer norm only under the
    conditions of `layer_to_rms`; and with post a layer that had no heads or neurons cannot get them, for a norm
    would come with them."""
    old = model.config
    wanted = {"d_model": d_model, "heads": heads, "d_head": d_head, "d_ff": d_ff}
    sizes: dict[str, Any] = {name: size for name, size in wanted.items() if size not in (None, getattr(old, name))}
    normed = old.layers and old.place == "post" and old.norm != "none"
    for name, size in sizes.items():
        if whole(f"pad: {name}", size, 0) < getattr(old, name):
            raise HandloomError(f"pad: {name}={size} is less than the {getattr(old, name)} there are; pad only adds")
        if name in ("heads", "d_ff") and normed and not getattr(old, name):
            raise HandloomError(f"pad: with post norm, layers of {name}=0 have no norm there, and would get one")
    if "d_model" in sizes:
        model = widen_stream(model, sizes.pop("d_model"))
    if "d_head" in sizes and old.d_head:
        model = widen_heads(model, sizes.pop("d_head"))
    blank = parameters.flatten(parameters.zeros(replace(model.config, **sizes), model.dtype))
    small = model.flat
    flat = {name: in_corner(small[name], array) if name in small else array for name, array in blank.items()}
    return changed(model, "pad", flat, **sizes)


def in_corner(small: Array, large: Array) -> Array:
    """The large array, with the small one in its corner."""
    large = large.copy()
    large[tuple(slice(size) for size in small.shape)] = small
    return large


def widen_stream(model: Model, width: int) -> Model:
    model = centre_stream(model, "pad") if model.config.norm == "layer" else store_positions(model)
    share = model.config.d_model / width
    sizes: dict[str, Any] = {"d_model": width, "eps": model.config.eps * share}
    blank = parameters.flatten(parameters.zeros(replace(model.config, **sizes), model.dtype))
    flat = {name: in_corner(array, np.zeros_like(blank[name])) for name, array in model.flat.items()}
    flat |= {
        name: array * array.dtype.type(math.sqrt(share)) for name, array in flat.items() if parameters.is_gain(name)
    }
    return changed(model, "pad", flat, **sizes)


def widen_heads(model: Model, width: int) -> Model:
    old, rotary = model.config.d_head, model.config.positions == "rotary"
    stretch = width / old

    def widen(name: str, array: Array) -> Array:
        axis = {"W_Q": 2, "W_K": 2, "W_V": 2, "W_O": 1, "b_Q": 1, "b_K": 1, "b_V": 1}.get(part(name))
        if axis is None:
            return array
        shape = list(array.shape)
        shape[axis] = width
        places = np.arange(old)
        if rotary:  # the partners of a pair stay half a head apart
            places = np.where(places < old // 2, places, places - old // 2 + width // 2)
        wide = np.zeros(shape, array.dtype)
        wide[(slice(None),) * axis + (places,)] = array
        return wide * array.dtype.type(math.sqrt(stretch)) if part(name) in ("W_Q", "b_Q") else wide

    flat = {name: widen(name, array) for name, array in model.flat.items()}
    base = model.config.rotary_base
    if rotary and stretch * abs(math.log(base)) > 700:
        raise HandloomError(f"pad: rotary heads of {old} cannot become {width} wide: no float holds the rotary_base")
    return changed(model, "pad", flat, d_head=width, rotary_base=base**stretch if rotary else base)


def permute_stream(model: Model, order: Sequence[int]) -> Model:
    """Put the dimensions of the residual stream in another order. Always exact, and a test of how much a model depends
    on rounding: every product with the stream adds the same numbers up in another order."""
    check_permutation(order, model.config.d_model)
    model = store_positions(model)
    flat = {
        name: array.take(order, stream_axis(name)) if on_stream(name) else array for name, array in model.flat.items()
    }
    return changed(model, "permute_stream", flat)


def on_stream(name: str) -> bool:
    """Whether an array has an axis along the residual stream."""
    return part(name) in WRITERS | READERS or parameters.is_norm(name)


def stream_axis(name: str) -> int:
    return -2 if part(name) in READERS else -1


def permute_heads(model: Model, layer: int, order: Sequence[int]) -> Model:
    """Put the heads of a layer in another order; order[i] is the head that comes to place i. Always exact."""
    check_order(model, layer, order, model.config.heads)
    return changed(model, "permute_heads", model.flat | reordered(model, layer, order, HEAD_AXES))


def permute_neurons(model: Model, layer: int, order: Sequence[int]) -> Model:
    """Put the neurons of a layer in another order. Always exact."""
    check_order(model, layer, order, model.config.d_ff)
    return changed(model, "permute_neurons", model.flat | reordered(model, layer, order, NEURON_AXES))


def shuffle(model: Model, seed: int) -> Model:
    """The dimensions of the stream, and the heads and neurons of every layer, in a random order. Always exact; a model
    that then computes something else depends on the order in which a processor adds up."""
    rng, config = np.random.default_rng(seed), model.config
    shuffled = permute_stream(model, rng.permutation(config.d_model).tolist())
    flat = shuffled.flat
    for layer in range(config.layers):
        flat |= reordered(shuffled, layer, rng.permutation(config.heads).tolist(), HEAD_AXES)
        flat |= reordered(shuffled, layer, rng.permutation(config.d_ff).tolist(), NEURON_AXES)
    return changed(model, "shuffle", flat, positions=shuffled.config.positions)


HEAD_AXES = dict.fromkeys(("W_Q", "W_K", "W_V", "W_O", "b_Q", "b_K", "b_V"), 0)
NEURON_AXES = {"W_in": 1, "b_in": 0, "W_out": 0}


def check_order(model: Model, layer: int, order: Sequence[int], count: int) -> None:
    if whole("layer", layer, 0) >= model.config.layers:
        raise HandloomError(f"there is no layer {layer}; the model has {model.config.layers}, counted from 0")
    check_permutation(order, count)


def check_permutation(order: Sequence[int], count: int) -> None:
    if sorted(order) != list(range(count)):
        raise HandloomError(f"the order must name each of 0 to {count - 1} once, not {list(order)}")


def reordered(model: Model, layer: int, order: Sequence[int], axes: dict[str, int]) -> Flat:
    """These arrays of a layer, taken in that order along their axes."""
    arrays = model.params["layers"][layer]
    return {f"layers.{layer}.{name}": arrays[name].take(order, axis) for name, axis in axes.items() if name in arrays}


def drop_unused(model: Model) -> Model:
    """Fewer heads and neurons: as many as the layer that uses most of them.

    A head is unused if its values or W_O are zero, a neuron if what it reads or writes is zero (every activation
    keeps zero). Always exact. With post norm at least one stays, for a layer without any has no norm there."""
    config, layers = model.config, model.params["layers"]
    if not layers:
        return model
    least = 1 if config.place == "post" and config.norm != "none" else 0
    heads = [np.flatnonzero(used_heads(layer)).tolist() for layer in layers]
    neurons = [np.flatnonzero(used_neurons(layer)).tolist() for layer in layers]
    H = max(*map(len, heads), min(least, config.heads))
    F = max(*map(len, neurons), min(least, config.d_ff))
    flat = model.flat
    for i in range(config.layers):
        flat |= reordered(model, i, in_front(heads[i], config.heads), HEAD_AXES)
        flat |= reordered(model, i, in_front(neurons[i], config.d_ff), NEURON_AXES)
    smaller = parameters.shapes(replace(config, heads=H, d_ff=F))
    return changed(
        model, "drop_unused", {n: flat[n][tuple(map(slice, shape))] for n, shape in smaller}, heads=H, d_ff=F
    )


def used_heads(layer: Flat) -> Array:
    values = np.any(layer["W_V"], axis=(1, 2)) | np.any(layer.get("b_V", layer["W_V"][:, 0]), axis=1)
    used: Array = values & np.any(layer["W_O"], axis=(1, 2))
    return used


def used_neurons(layer: Flat) -> Array:
    reads = np.any(layer["W_in"], axis=0) | (layer.get("b_in", layer["W_in"][0]) != 0)
    used: Array = reads & np.any(layer["W_out"], axis=1)
    return used


def in_front(chosen: list[int], count: int) -> list[int]:
    """0 … count − 1, the chosen ones first."""
    return [*chosen, *sorted(set(range(count)) - set(chosen))]
