"""Params: the weights of a transformer, a plain nested dict of arrays whose shapes follow from the Config.

    {"W_E": (V, D), "W_pos": (N, D),
     "layers": [{"ln1": {"w": (D,), "b": (D,)},
                 "W_Q": (H, D, K), "W_K": (G, D, K), "W_V": (G, D, K), "W_O": (H, K, D),
                 "b_Q": (H, K),    "b_K": (G, K),    "b_V": (G, K),    "b_O": (D,),
                 "ln2": {"w": (D,), "b": (D,)},
                 "W_gate": (D, F), "W_in": (D, F), "W_out": (F, D),
                 "b_gate": (F,),   "b_in": (F,),   "b_out": (D,)}, ...],
     "ln_final": {"w": (D,), "b": (D,)},
     "W_U": (D, V), "b_U": (V,)}

G is H, unless heads share keys and values. With experts W_gate is (D, E), W_in (E, D, F), W_out (E, F, D), b_gate (E,)
and b_in (E, F). Arrays that a Config does not use are absent: no W_U when tied, no W_pos unless positions are a table,
no W_gate and b_gate unless gated or with experts, no `b`s without biases, no norm in front of (or behind) a sublayer
that has no heads or no neurons. Such a sublayer computes only its output bias.

`flatten` names each array by its path, `layers.0.W_Q`; these are the names in a model file.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from handloom.core.checks import whole
from handloom.core.config import Config
from handloom.core.errors import HandloomError, counted, shown

Params = Mapping[str, Any]  # nested: a mapping of arrays, of mappings, and of a list of mappings
Shape = tuple[int, ...]

MOST = 2**27  # parameters of a new model: 1 GiB in float64, and twice that while it is made


def shapes(config: Config) -> Iterator[tuple[str, Shape]]:
    """Name and shape of every array, in the order in which a run meets them."""
    c = config
    V, N, D = c.vocab, c.block, c.d_model
    yield "W_E", (V, D)
    if c.positions == "table":
        yield "W_pos", (N, D)
    for i in range(c.layers):
        yield from layer_shapes(c, f"layers.{i}.")
    if c.place == "pre":
        yield from norm_shapes(c, "ln_final.")
    if not c.tied:
        yield "W_U", (D, V)
    if "unembed" in c.biases:
        yield "b_U", (V,)


def layer_shapes(config: Config, at: str) -> Iterator[tuple[str, Shape]]:
    D, H, G, K, F = config.d_model, config.heads, config.groups, config.d_head, config.d_ff
    if H or (F and config.parallel):
        yield from norm_shapes(config, at + "ln1.")
    for name, heads in (("W_Q", H), ("W_K", G), ("W_V", G)):
        yield at + name, (heads, D, K)
    yield at + "W_O", (H, K, D)
    if "attn" in config.biases:
        for name, heads in (("b_Q", H), ("b_K", G), ("b_V", G)):
            yield at + name, (heads, K)
        yield at + "b_O", (D,)
    if F and not config.parallel:
        yield from norm_shapes(config, at + "ln2.")
    E = (config.experts,) if config.experts else ()
    widths = {"gate": E or (F,), "in": (F,)} if config.gated or E else {"in": (F,)}
    each = {"gate": (), "in": E}  # the experts have neurons of their own, and one matrix of gates
    for name, width in widths.items():
        yield f"{at}W_{name}", (*each[name], D, *width)
    yield at + "W_out", (*E, F, D)
    if "mlp" in config.biases:
        for name, width in widths.items():
            yield f"{at}b_{name}", (*each[name], *width)
        yield at + "b_out", (D,)


def norm_shapes(config: Config, at: str) -> Iterator[tuple[str, Shape]]:
    if config.norm != "none":
        yield at + "w", (config.d_model,)
        if "norm" in config.biases:
            yield at + "b", (config.d_model,)


def one_mlp(config: Config, layer: Params) -> Params:
    """The arrays of a layer, with the neurons of all experts side by side: W_in (D, E·F), b_in (E·F,), W_out (E·F, D).
    Arrays may be NumPy's or tensors."""
    if not config.experts:
        return layer
    wide = {"W_in": layer["W_in"].swapaxes(0, 1).reshape(config.d_model, -1)}
    wide["W_out"] = layer["W_out"].reshape(-1, config.d_model)
    return {**layer, **wide, **({"b_in": layer["b_in"].reshape(-1)} if "b_in" in layer else {})}


def check_size(config: Config) -> None:
    """Refuse a Config of more parameters than a new model may have."""
    if (count := size(config)) > MOST:
        raise HandloomError(f"Config: {counted(count)} parameters (expected up to {counted(MOST)}); make it smaller")


def size(config: Config) -> int:
    """The size of all arrays together, norms included, computed without making a list of layers."""
    one, none = (
        sum(math.prod(shape) for _, shape in shapes(replace(config, layers=layers)))
        for layers in (min(config.layers, 1), 0)
    )
    return none + config.layers * (one - none)


def flatten(params: Params) -> dict[str, Any]:
    """{"layers": [{"W_Q": a}]} → {"layers.0.W_Q": a}. A flat dict stays as it is."""
    flat: dict[str, Any] = {}
    for key, value in params.items():
        if isinstance(value, list | tuple) and all(isinstance(item, Mapping) for item in value):
            value = {str(i): item for i, item in enumerate(value)}
        if isinstance(value, Mapping):
            flat |= {f"{key}.{inner}": array for inner, array in flatten(value).items()}
        else:
            flat[key] = value
    return flat


def unflatten(config: Config, flat: dict[str, Any]) -> dict[str, Any]:
    """The inverse of `flatten`. `layers` is always present, if only as an empty list."""
    params: dict[str, Any] = {}
    for name, array in flat.items():
        *path, last = name.split(".")
        place: Any = params
        for step in path:
            empty: Any = [{} for _ in range(config.layers)] if step == "layers" else {}
            place = place[int(step)] if isinstance(place, list) else place.setdefault(step, empty)
        place[last] = array
    params.setdefault("layers", [])
    return params


def zeros(config: Config, dtype: Any = np.float64) -> dict[str, Any]:
    """All weights zero and all norm gains one: layers that change nothing. Written models start here."""
    return build(config, lambda name, shape: np.full(shape, float(is_gain(name)), dtype))


def random(config: Config, seed: int, scale: float = 0.02, dtype: Any = np.float64) -> dict[str, Any]:
    """Weights drawn from a normal distribution; biases zero and gains one, as GPT-2 starts."""
    rng = np.random.default_rng(whole("seed", seed, 0))

    def draw(name: str, shape: Shape) -> Any:
        if name.rpartition(".")[2].startswith("W_"):
            return rng.normal(0.0, scale, shape).astype(dtype)
        return np.full(shape, float(is_gain(name)), dtype)

    return build(config, draw)


def build(config: Config, make: Callable[[str, Shape], Any]) -> dict[str, Any]:
    """Params whose every array is make(name, shape). Sizes beyond any memory raise an error before anything is made."""
    check_size(config)
    flat = {}
    for name, shape in shapes(config):
        try:
            flat[name] = make(name, shape)
        except (MemoryError, ValueError) as error:  # NumPy raises the second for sizes beyond any memory
            raise HandloomError(f"parameter {name} of shape {shown(shape)} does not fit in memory") from error
    return unflatten(config, flat)


def is_gain(name: str) -> bool:
    return name.endswith(".w")


def is_norm(name: str) -> bool:
    return name.endswith((".w", ".b"))


def check(config: Config, flat: dict[str, Any]) -> None:
    """Raise an error if the names, shapes or dtypes of arrays do not match the Config. (Anything with a shape and a
    dtype will do, so that a file can be checked before it is read.)"""
    # every layer has at least W_Q, so a Config that claims more layers than there are arrays ends here,
    # before its shapes are listed
    expected = dict(shapes(config)) if config.layers <= len(flat) else {f"layers.{len(flat)}.W_Q": ()}
    if missing := [name for name in expected if name not in flat]:
        raise HandloomError(f"parameter {missing[0]} is missing; the Config asks for it")
    if extra := [name for name in flat if name not in expected]:
        raise HandloomError(f"parameter {shown(extra[0])} is not one that the Config has; leave it out")
    dtypes = {str(array.dtype) for array in flat.values()}
    if dtypes not in ({"float32"}, {"float64"}):
        raise HandloomError(f"parameters are {', '.join(sorted(dtypes))}: make all float32 or all float64")
    for name, shape in expected.items():
        if tuple(flat[name].shape) != shape:
            raise HandloomError(f"parameter {name} has shape {tuple(flat[name].shape)}; the Config asks for {shape}")


def check_finite(flat: dict[str, Any]) -> None:
    for name, array in flat.items():
        if not np.isfinite(array).all():
            raise HandloomError(f"parameter {name} holds NaN or infinity; every weight must be a finite number")
