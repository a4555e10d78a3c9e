"""What a transformer computes. This file is the definition; every other engine is tested against it.

NumPy, float64 (or float32, to see what rounding does), nothing clever. Read it from top to bottom: a run embeds its
tokens into the residual stream, lets every layer add to it, and reads the logits off at the end.

    x = W_E[tokens] + positions                          (T, D)   one row per position
    x = x + attention(norm(x))                           each layer: positions exchange what they know,
    x = x + mlp(norm(x))                                          then each works on its own
    logits = norm(x) @ W_U                               (T, V)   a score for every token that may come next

(That is norm "pre"; with "post" a layer computes x = norm(x + attention(x)), x = norm(x + mlp(x)), and there is
no norm at the end. Parallel sublayers compute y = norm(x), x = x + attention(y) + mlp(y). A sublayer without a skip
replaces x instead of adding to it.) References: Vaswani et al. 2017 (the transformer), Xiong et al. 2020 (pre and
post), Zhang and Sennrich 2019 (RMS norm), Shazeer 2020 (gated MLPs), Su et al. 2021 (rotary positions), Elhage et al.
2021 (the residual stream), Wang and Komatsuzaki 2021 (parallel sublayers), Ainslie et al. 2023 (keys and values that
groups of heads share), Katharopoulos et al. 2020 (linear attention), Garnelo and Czarnecki 2023 (least-squares
attention), Hahn 2020 (hard attention), Shazeer et al. 2017 (mixtures of experts).

Every named value goes through `tap`, which records it if the caller wants it and replaces it if the caller
edits it; `sites.py` lists the names. Arrays may have any batch dimensions in front of the shapes noted.

    >>> from handloom.core import Config, Model, Vocab, params
    >>> config = Config(vocab=5, block=4, d_model=8, layers=1, heads=2, d_head=4, d_ff=16)
    >>> model = Model(config, params.random(config, seed=0), Vocab.numbers(5))
    >>> logits, trace = forward(model, [3, 1, 4], want=["0.pattern"])
    >>> logits.shape, trace["0.pattern"].shape
    ((3, 5), (2, 3, 3))
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from handloom.core.arrays import Array
from handloom.core.checks import check_tokens
from handloom.core.config import Config, Skip
from handloom.core.model import Model
from handloom.core.params import Params, one_mlp
from handloom.core.trace import Edits, Tap, Trace, Want


def forward(
    model: Model,
    tokens: Any,
    want: Want = (),
    edits: Edits | None = None,
    past: "Past | None" = None,
    dtype: Any = np.float64,
) -> tuple[Array, Trace]:
    """Run a model on tokens (..., T). Gives the logits (..., T, V) and the wanted sites.

    With `past` the tokens continue an earlier run, whose keys and values are still known. `dtype` is that of all
    arithmetic."""
    model = model.astype(dtype)
    config, p = model.config, model.params
    start = past.length if past else 0
    ids = check_tokens(config, tokens, start)
    tap = Tap(config, ids, want, edits, cast, np.copy)

    x = tap("embed", p["W_E"][ids])  # (T, D)
    if config.positions in ("table", "sinusoid"):
        at = np.arange(start, start + ids.shape[-1])
        rows = p["W_pos"][at] if config.positions == "table" else sinusoid(at, config.d_model).astype(x.dtype)  # (T, D)
        x = x + tap("pos_embed", np.broadcast_to(rows, x.shape))
    for i, layer in enumerate(p["layers"]):
        x = transformer_layer(config, layer, x, i, tap, past)
    x = norm(config, p.get("ln_final"), tap("resid_final", x), "ln_final", tap)
    logits = x @ (p["W_E"].T if config.tied else p["W_U"]) + p.get("b_U", 0.0)
    if past:
        past.length += ids.shape[-1]
    return tap("logits", logits), tap.trace


def transformer_layer(config: Config, p: Params, x: Array, i: int, tap: Tap, past: "Past | None") -> Array:
    """Attention, then the MLP, or both at once; each reads the residual stream and adds to it."""
    ln1, ln2 = p.get("ln1"), p.get("ln2")
    x = tap(f"{i}.resid_pre", x)
    if config.parallel:
        y = norm(config, ln1, x, f"{i}.ln1", tap)
        x = kept(config, "attn", x) + attention(config, p, y, i, tap, past) + mlp(config, p, y, i, tap)
    elif config.place == "pre":
        x = kept(config, "attn", x) + attention(config, p, norm(config, ln1, x, f"{i}.ln1", tap), i, tap, past)
        x = tap(f"{i}.resid_mid", x)
        x = kept(config, "mlp", x) + mlp(config, p, norm(config, ln2, x, f"{i}.ln2", tap), i, tap)
    else:
        x = norm(config, ln1, kept(config, "attn", x) + attention(config, p, x, i, tap, past), f"{i}.ln1", tap)
        x = tap(f"{i}.resid_mid", x)
        x = norm(config, ln2, kept(config, "mlp", x) + mlp(config, p, x, i, tap), f"{i}.ln2", tap)
    return tap(f"{i}.resid_post", x)


def kept(config: Config, part: Skip, x: Any) -> Any:
    """The stream that a sublayer adds to; nothing if it has no skip."""
    return x if part in config.skips else 0.0


def norm(config: Config, p: Params | None, x: Array, site: str, tap: Tap) -> Array:
    """Layer norm: take away the mean, divide by the standard deviation. RMS norm: divide by the root mean square.

    eps keeps the division from 0 / 0; eps = 0 stands for the smallest positive number."""
    if p is None:
        return x
    if config.norm == "layer":
        x = x - x.sum(-1, keepdims=True) / config.d_model  # x.mean would do, and take three times as long
    mean_square = (x * x).sum(-1) / config.d_model
    scale = tap(site + "_scale", np.sqrt(mean_square + (config.eps or np.finfo(x.dtype).tiny)))  # (T,)
    return tap(site, x / scale[..., None] * p["w"] + p.get("b", 0.0))


def attention(config: Config, p: Params, x: Array, i: int, tap: Tap, past: "Past | None") -> Array:
    """Each head: every position asks (q) all positions it may see (k) and takes from them (v) in proportion."""
    if config.heads:
        x = x[..., None, :, :]  # (1, T, D), against (H, D, K)
        q = tap(f"{i}.q", project(x, p["W_Q"], p.get("b_Q")))  # (H, T, K)
        k = tap(f"{i}.k", project(x, p["W_K"], p.get("b_K")))  # (G, T, K)
        v = tap(f"{i}.v", project(x, p["W_V"], p.get("b_V")))
        start = past.length if past else 0
        if config.positions == "rotary":
            q = tap(f"{i}.rot_q", turn_pairs(q, start, config.rotary_base))
            k = tap(f"{i}.rot_k", turn_pairs(k, start, config.rotary_base))
        if past:
            k, v = past.extend(i, k, v)  # (G, S, K): all so far
        k, v = for_each_head(config, k), for_each_head(config, v)  # (H, S, K)
        scores = tap(f"{i}.scores", q @ np.swapaxes(k, -1, -2) / math.sqrt(config.d_head))  # (H, T, S)
        seen = None  # all positions
        if config.causal and scores.shape[-2] > 1:
            seen = np.arange(scores.shape[-1]) <= start + np.arange(scores.shape[-2])[:, None]  # (T, S)
        pattern = tap(f"{i}.pattern", pattern_of(config, scores, k, seen))
        z = tap(f"{i}.z", pattern @ v)  # (H, T, K)
        result = tap(f"{i}.result", z @ p["W_O"])  # (H, T, D)
        out = result.sum(-3) + p.get("b_O", 0.0)
    else:
        out = np.zeros_like(x) + p.get("b_O", 0.0)
    return tap(f"{i}.attn_out", out)  # (T, D)


def mlp(config: Config, p: Params, x: Array, i: int, tap: Tap) -> Array:
    """A hidden layer of neurons at every position. A gate opens or closes each of them: activation(x W_gate) · (x W_in)
    instead of activation(x W_in).

    In a mixture of experts each position has weights for the experts, most of them 0, and the neurons of an expert
    count as much as its weight says. All are computed here, and those of no weight multiplied by 0."""
    if config.d_ff:
        p = one_mlp(config, p)
        if config.experts:
            weights = tap(f"{i}.gate", expert_weights(config, x @ p["W_gate"] + p.get("b_gate", 0.0)))  # (T, E)
        linear = x @ p["W_in"] + p.get("b_in", 0.0)  # (T, F)
        gate = x @ p["W_gate"] + p.get("b_gate", 0.0) if config.gated else linear
        post = ACTIVATIONS[config.activation](tap(f"{i}.mlp_pre", gate))
        if config.gated:
            post = post * tap(f"{i}.mlp_pre_linear", linear)
        if config.experts:
            post = post * np.repeat(weights, config.d_ff, axis=-1)  # (T, E·F)
        out = tap(f"{i}.mlp_post", post) @ p["W_out"] + p.get("b_out", 0.0)
    else:
        out = np.zeros_like(x) + p.get("b_out", 0.0)
    return tap(f"{i}.mlp_out", out)  # (T, D)


def expert_weights(config: Config, logits: Array) -> Array:
    """A softmax over the `top` largest logits of each position, and 0 for the other experts. Of equal logits, to the
    last bit, those of the lower numbers are chosen."""
    chosen = np.argsort(-logits, axis=-1, kind="stable")[..., : config.top]
    seen = np.zeros(logits.shape, bool)
    np.put_along_axis(seen, chosen, True, axis=-1)
    return softmax(np.where(seen, logits, -np.inf))


def project(x: Array, W: Array, b: Array | None) -> Array:
    """(1, T, D) by (H, D, K), and a bias (H, K)."""
    return x @ W if b is None else x @ W + b[:, None, :]


def for_each_head(config: Config, x: Array) -> Array:
    """Keys or values (G, S, K) as (H, S, K): consecutive heads share those of their group."""
    return np.repeat(x, config.per_group, axis=-3) if config.kv_heads else x


def pattern_of(config: Config, scores: Array, k: Array, seen: Array | None) -> Array:
    """How much each position takes from each that it sees, (H, T, S); nothing from the others.

    softmax         exp(scores), divided by their sum
    linear          the scores themselves
    least-squares   q_t (Kᵀ K + ridge · I)⁻¹ k_s, where K has the keys that t sees
    hard            equal shares of the largest score, and 0 elsewhere"""
    if config.attention == "linear":
        return scores if seen is None else np.where(seen, scores, 0.0)
    if config.attention == "least-squares":
        return least_squares(config, scores, k, seen)
    if seen is not None:
        scores = np.where(seen, scores, -np.inf)
    return softmax(scores) if config.attention == "softmax" else largest_share(scores)


def softmax(scores: Array) -> Array:
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


TIE = 1e-5  # scores are equal if they differ by less, as a share of the largest size of a score that the position sees


def largest_share(scores: Array) -> Array:
    """Hard attention: the largest scores share equally. Those that rounding makes different count as equal."""
    size = np.abs(np.where(np.isfinite(scores), scores, 0.0)).max(-1, keepdims=True)
    largest = (scores >= scores.max(-1, keepdims=True) - TIE * size).astype(scores.dtype)
    return largest / largest.sum(-1, keepdims=True)


def least_squares(config: Config, scores: Array, k: Array, seen: Array | None) -> Array:
    """Ridge regression of the values on the keys, asked at the query: z_t = q_t (Kᵀ K + ridge · I)⁻¹ Kᵀ V.

    Computed as q_t Kᵀ (K Kᵀ + ridge · I)⁻¹ V, which is equal, for q_t Kᵀ are the scores (without their 1/√K): so what
    replaces the scores counts."""
    T, S = scores.shape[-2:]
    products = scores * math.sqrt(config.d_head)
    pattern = np.zeros_like(scores)
    for t, n in enumerate([S] * T if seen is None else seen.sum(-1)):  # position t sees the first n
        keys = k[..., :n, :]
        gram = keys @ np.swapaxes(keys, -1, -2) + config.ridge * np.eye(n, dtype=keys.dtype)
        pattern[..., t, :n] = np.linalg.solve(gram, products[..., t, :n, None])[..., 0]
    return pattern


erf = np.frompyfunc(math.erf, 1, 1)

ACTIVATIONS = {
    "relu": lambda x: np.maximum(x, 0.0),
    "gelu": lambda x: 0.5 * x * (1.0 + erf(x / math.sqrt(2.0)).astype(x.dtype)),
    "gelu_tanh": lambda x: 0.5 * x * (1.0 + np.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x * x * x))),
    "silu": lambda x: 0.5 * x * (1.0 + np.tanh(0.5 * x)),  # x · sigmoid(x), and no overflow
    "none": lambda x: x,
}


def sinusoid(positions: Array, d_model: int) -> Array:
    """The fixed positions of Vaswani et al.: column 2j is sin(t / 10000^(2j/D)), column 2j + 1 its cosine."""
    frequencies = 10_000.0 ** (-(np.arange(d_model) // 2 * 2) / d_model)
    angles = positions[..., None] * frequencies  # (T, D)
    return np.where(np.arange(d_model) % 2 == 0, np.sin(angles), np.cos(angles))


def turn_pairs(x: Array, start: int, base: float) -> Array:
    """Rotary positions: the pair (x[j], x[j + K/2]) at position t is turned by the angle t / base^(2j/K)."""
    T, K = x.shape[-2:]
    angles = np.arange(start, start + T)[:, None] * base ** (-np.arange(0, K, 2) / K)  # (T, K/2)
    cos, sin = np.cos(angles).astype(x.dtype), np.sin(angles).astype(x.dtype)
    a, b = x[..., : K // 2], x[..., K // 2 :]
    return np.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)


def cast(new: Any, old: Array) -> Array:
    """An edit's replacement, as an array like the one it replaces."""
    return np.array(np.broadcast_to(np.asarray(new, old.dtype), old.shape))


class Past:
    """The keys and values of the positions run so far. In a causal model they never change, so that a run
    can continue from them instead of from the beginning."""

    def __init__(self) -> None:
        self.length = 0
        self.layers: dict[int, tuple[Array, Array]] = {}

    def extend(self, i: int, k: Array, v: Array) -> tuple[Array, Array]:
        if i in self.layers:
            old_k, old_v = self.layers[i]
            k, v = np.concatenate([old_k, k], axis=-2), np.concatenate([old_v, v], axis=-2)
        self.layers[i] = k, v
        return k, v


def decoder_in_its_dtype(model: Model) -> "Decoder":
    """A Decoder that computes in the dtype of the model's weights."""
    return Decoder(model, model.dtype)


class Decoder:
    """What `decoding.py` needs of an engine, with a Past for every row of a batch."""

    def __init__(self, model: Model, dtype: Any = np.float64) -> None:
        self.model, self.dtype = model.astype(dtype), dtype
        self.pasts: dict[int, Past] = {}

    def advance(self, rows: Sequence[int], tokens: Sequence[Sequence[int]]) -> Array:
        """Feed each row its next tokens; the logits (B, V) after the last of them."""
        return np.stack(
            [
                forward(self.model, new, past=self.pasts.setdefault(row, Past()), dtype=self.dtype)[0][-1]
                for row, new in zip(rows, tokens, strict=True)
            ]
        )

    def rerun(self, windows: Any, edits: Edits | None = None, last: int | None = None) -> Array:
        """The logits (..., T, V) of windows (..., T), run from the beginning; or only those of the `last` positions."""
        return forward(self.model, windows, edits=edits, dtype=self.dtype)[0][..., -(last or 0) :, :]
