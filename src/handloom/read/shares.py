"""Shares: from whom each part of a model reads, as shares of one run that sum to 1.

    found = shares(model, "4 0 8 0 1 3 0 8 0")
    found["1.0.k"]                  # {'embed': …, '0.0': …}: who makes the keys of head 1.0

With the scales of norms frozen (`frozen.py`) what a receiver reads is a sum over the sources of the stream. A share is
the covariance of a source's part with the whole, divided by the variance of the whole. The whole is

    queries and keys    the scores of a head minus their mean over the positions that it may see: what softmax sees
                        (in linear attention the scores themselves; least-squares attention is refused: its pattern is
                        no function of the scores alone)
    values              what a head writes, minus the mean over rows and positions
    MLP                 its neurons before the activation, minus their means
    logits              the logits minus their mean over tokens

All of these are linear in each part, so a share is ⟨part, covector⟩ / total, with one covector per receiver. Shares
can be negative: what one source writes another takes away. "bias" has all constants. A receiver that reads nothing that
varies has no shares.

Shares need one run, no other input and no gradients. They tell what is read, not what is needed.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from handloom.core import Config, HandloomError, Model, Trace, sites
from handloom.core.arrays import Array, Arrays
from handloom.core.errors import shown
from handloom.core.finding import find
from handloom.core.reference import for_each_head, turn_pairs
from handloom.core.registry import offered
from handloom.read.frozen import BIAS, LOGITS, NEEDED, Frozen, freeze, reference_run

READ = NEEDED | {"q", "k", "rot_q", "rot_k", "scores", "mlp_pre_linear"}  # sites
NOTHING = 1e-12  # of what there is: what varies by less varies by rounding
SHOWN = 0.005  # smaller shares are not printed


@dataclass(frozen=True)
class Reading:
    """What a receiver makes of its input, in the direction of what it read: ⟨input, covector⟩ + constant = total."""

    receiver: str
    covector: Array  # (..., T, D), on its input behind the norm
    constant: float  # by its own biases
    total: float
    raw: float  # the same before means are taken away, to tell what varies from rounding

    def shares(self, parts: Arrays) -> dict[str, float]:
        """Of each part of the input; nothing if nothing varies."""
        found = {name: float((x * self.covector).sum()) for name, x in parts.items()}
        found[BIAS] += self.constant
        largest = max(map(abs, found.values()))
        if self.total <= NOTHING**2 * self.raw or self.total <= NOTHING * largest:
            return {}
        return {name: value / self.total for name, value in found.items()}


@dataclass(frozen=True)
class Shares:
    """For each receiver, the shares of the sources that it reads."""

    table: Mapping[str, Mapping[str, float]]

    def __getitem__(self, receiver: str) -> dict[str, float]:
        if receiver not in self.table:
            raise HandloomError(f"receiver {shown(receiver)}: not in this model (expected {', '.join(self.table)})")
        return dict(self.table[receiver])

    def __iter__(self) -> Iterator[str]:
        return iter(self.table)

    @property
    def edges(self) -> dict[tuple[str, str], float]:
        """(source, receiver) → the size of the share. Biases are no edges; a receiver without shares has none."""
        found = ((name, to, abs(x)) for to, parts in self.table.items() for name, x in parts.items() if name != BIAS)
        return {(name, to): x for name, to, x in found}

    def to_json(self) -> dict[str, dict[str, float]]:
        return {receiver: dict(parts) for receiver, parts in self.table.items()}

    def __str__(self) -> str:
        width = max(map(len, self.table))
        return "\n".join(f"{receiver:{width}}  {spelled(parts)}" for receiver, parts in self.table.items())

    def _repr_html_(self) -> str | None:
        """What a notebook shows."""
        return offered("html")(self)


def spelled(parts: Mapping[str, float]) -> str:
    """The shares, largest first."""
    order = sorted(parts, key=lambda name: -round(abs(parts[name]), 9))
    return (
        "  ".join(f"{name} {parts[name]:.2f}" for name in order if abs(parts[name]) >= SHOWN) or "nothing that varies"
    )


def shares(model: Model | str, text: Any, answers: Any = None) -> Shares:
    """From whom each head, MLP and the logits read, in a run on a text, or on several texts or rows of token ids of
    equal length together. With `answers`, of the shape of the ids, logits count only where these are 0 or more."""
    model = find(model).model
    frozen, run = run_for_shares(model, text)
    asked = None if answers is None else np.asarray(answers) >= 0
    table: dict[str, dict[str, float]] = {}
    for parts, readings in zip(frozen.reads(), all_readings(model, frozen, run, asked), strict=True):
        table |= {one.receiver: one.shares(parts) for one in readings}
    return Shares(table)


def run_for_shares(model: Model, text: Any) -> tuple[Frozen, Trace]:
    if model.config.attention == "least-squares":
        raise HandloomError(
            "shares: least-squares attention reads its keys twice (expected another attention); use edge_attribution"
        )
    if model.config.experts:
        raise HandloomError(
            "shares: a mixture of experts reads the stream twice, to choose and to compute (expected a plain MLP); "
            "use edge_attribution"
        )
    run = reference_run(model, text, [site for site in sites(model.config) if site.rpartition(".")[2] in READ])
    return freeze(model, run), run


def all_readings(model: Model, frozen: Frozen, run: Trace, asked: Array | None) -> Iterator[list[Reading]]:
    """The readings of each sublayer, and of the logits."""
    config = model.config
    for i, p in enumerate(model.astype(np.float64).params["layers"]):
        heads = list(attention_readings(config, p, run, i)) if config.heads else []
        mlps = [mlp_reading(config, p, run, i)] if config.d_ff else []
        yield from ([heads + mlps] if config.parallel else [heads, mlps])
    yield [logits_reading(frozen, asked)]


def attention_readings(config: Config, p: Any, run: Trace, i: int) -> Iterator[Reading]:
    """What the queries, keys and values of each head read."""
    turned = "rot_" if config.positions == "rotary" else ""
    q, k, pattern = run[f"{i}.{turned}q"], run[f"{i}.{turned}k"], run[f"{i}.pattern"]
    scores, varying = visible_scores(config, run[f"{i}.scores"])  # (..., H, T, S)
    result = run[f"{i}.result"]  # (..., H, T, D)
    moving = centred(result, (*range(result.ndim - 3), -2))
    along = varying / math.sqrt(config.d_head)
    to_q = along @ for_each_head(config, k)
    to_k = grouped(config, np.swapaxes(along, -1, -2) @ q)
    to_v = grouped(config, np.swapaxes(pattern, -1, -2) @ (moving @ np.swapaxes(p["W_O"], -1, -2)))
    looks, takes = (squares(varying), squares(scores)), (squares(moving), squares(result))
    for part, covector, sizes in (("q", to_q, looks), ("k", to_k, looks), ("v", to_v, takes)):
        if turned and part != "v":
            covector = turn_back(covector, config.rotary_base)
        W = p[f"W_{part.upper()}"]
        b = p.get(f"b_{part.upper()}", np.zeros((len(W), config.d_head)))
        total, raw = (one.reshape(len(W), -1).sum(-1) for one in sizes)
        for h in range(len(W)):
            c = covector[..., h, :, :]
            yield Reading(f"{i}.{h}.{part}", c @ W[h].T, float((c * b[h]).sum()), float(total[h]), float(raw[h]))


def visible_scores(config: Config, scores: Array) -> tuple[Array, Array]:
    """The scores at the positions that a head may see, and these minus their mean, which only linear attention sees; 0
    elsewhere."""
    T = scores.shape[-1]
    seen = np.tri(T, dtype=bool) if config.causal else np.ones((T, T), bool)
    scores = np.where(seen, scores, 0.0)
    return scores, scores if config.attention == "linear" else centred(scores, (-1,), seen)


def centred(x: Array, axes: tuple[int, ...], seen: Any = True) -> Array:
    """x minus its mean over these axes, of what is seen. Twice: after the first time the mean is the rounding of x,
    which may be large beside what varies."""
    for _ in range(2):
        x = np.where(seen, x - x.mean(axes, keepdims=True, where=seen), 0.0)
    return x


def squares(x: Array) -> Array:
    """The sum of the squares of (..., H, T, n) for each head."""
    return np.asarray((x * x).sum((*range(x.ndim - 3), -2, -1)))


def grouped(config: Config, x: Array) -> Array:
    """(..., H, T, K) as (..., G, T, K): the sums over heads that share keys and values."""
    *batch, _, T, K = x.shape
    return x.reshape(*batch, config.groups, config.per_group, T, K).sum(-3)


def turn_back(x: Array, base: float) -> Array:
    """The inverse of `turn_pairs`, which is a reflection away from it."""
    signs = np.repeat([1.0, -1.0], x.shape[-1] // 2)
    return turn_pairs(x * signs, 0, base) * signs


def mlp_reading(config: Config, p: Any, run: Trace, i: int) -> Reading:
    """What the neurons of an MLP read; of a gated one the gates too."""
    reads = {"mlp_pre": "gate", "mlp_pre_linear": "in"} if config.gated else {"mlp_pre": "in"}
    pre = np.concatenate([run[f"{i}.{site}"] for site in reads], -1)  # (..., T, F or 2 F)
    W = np.concatenate([p[f"W_{part}"] for part in reads.values()], -1)
    b = np.concatenate([p.get(f"b_{part}", np.zeros(config.d_ff)) for part in reads.values()])
    varying = centred(pre, tuple(range(pre.ndim - 1)))
    total, raw = float((varying**2).sum()), float((pre**2).sum())
    return Reading(f"{i}.mlp", varying @ W.T, float((varying * b).sum()), total, raw)


def logits_reading(frozen: Frozen, asked: Array | None) -> Reading:
    logits = frozen.logits if asked is None else np.where(asked[..., None], frozen.logits, 0.0)
    varying = centred(logits, (-1,))
    constant = float((varying * frozen.b_U).sum())
    return Reading(LOGITS, varying @ frozen.W_U.T, constant, float((varying**2).sum()), float((logits**2).sum()))
