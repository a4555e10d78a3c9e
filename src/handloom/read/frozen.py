"""One run as a linear model: what it computed, with the scales of norms, the patterns and the gates of neurons frozen.

With these held at the run's values everything between the embedding and the logits is linear (Elhage et al. 2021 for
attention; here norms and MLPs too, by the numbers that the run divided and multiplied by):

    norm:  x P / s + b            P takes away the mean (layer norm) and multiplies by the gains; s is the run's scale
    head:  A (x W_V + b_V) W_O    A is the run's pattern
    MLP:   ((x W_in + b_in) ∘ g) W_out + b_out      g = post / pre; in a gated MLP the activation of the gate; of an
                                                    expert times its weight

or an MLP is a source of its own, which adds what it added in the run. (For relu g is 0 or 1, so that freezing changes
nothing nearby; for other activations it is the slope of a secant.) All of it holds with norms before or behind the
sublayers, and sums are those of the run to rounding.

A covector (T, D) says how much each direction of the stream counts at each position; `back` moves it through a part of
the model, from what the part writes to what it reads: ⟨g, f(x)⟩ = ⟨back(g), x⟩ for the linear part of f. Arrays may
have any batch dimensions in front.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from handloom.core import Config, HandloomError, Model, Trace, sites, trace
from handloom.core.arrays import Array, Arrays
from handloom.core.params import one_mlp
from handloom.core.reference import ACTIVATIONS
from handloom.core.trace import Want

NEEDED = {
    "embed",
    "pos_embed",
    "ln1_scale",
    "ln2_scale",
    "ln_final_scale",
    "pattern",
    "result",
    "mlp_pre",
    "mlp_post",
    "logits",
}
EMBED, POS, BIAS, LOGITS = "embed", "pos", "bias", "logits"  # sources of the stream, and what reads it last


@dataclass(frozen=True)
class FrozenNorm:
    """x → x P / s + b."""

    centred: bool
    gain: Array  # (D,)
    scale: Array  # (..., T)
    bias: Array  # (D,)

    def linear(self, x: Array) -> Array:
        """The norm of a part of the stream, without the bias."""
        x = x - x.mean(-1, keepdims=True) if self.centred else x
        return x / self.scale[..., None] * self.gain

    def back(self, g: Array) -> Array:
        g = g * self.gain / self.scale[..., None]
        return g - g.mean(-1, keepdims=True) if self.centred else g

    @cached_property
    def P(self) -> Array:
        """What a row is multiplied by before it is divided by its scale, (D, D)."""
        D = len(self.gain)
        return (np.eye(D) - self.centred / D) * self.gain


@dataclass(frozen=True)
class FrozenHead:
    pattern: Array  # (..., T, T)
    W_V: Array  # (D, K)
    W_O: Array  # (K, D)
    b_V: Array  # (K,)

    def back(self, g: Array) -> Array:
        return np.swapaxes(self.pattern, -1, -2) @ (g @ self.W_O.T) @ self.W_V.T

    def constant(self, bias: Array) -> Array:
        """What it adds (..., T, D) if its input is the bias of the norm before it."""
        return self.pattern.sum(-1)[..., None] * ((bias @ self.W_V + self.b_V) @ self.W_O)

    def growth(self, lengths: Array, P: Array) -> Array:
        """Upper bounds of the lengths (..., T) of its output's rows, from those of its input's before P."""
        moved = (np.abs(self.pattern) @ lengths[..., None])[..., 0]
        return np.asarray(moved * np.linalg.norm(P @ self.W_V @ self.W_O, 2))


@dataclass(frozen=True)
class FrozenGates:
    """An MLP whose neurons are linear."""

    gates: Array  # (..., T, F)
    W_in: Array  # (D, F)
    W_out: Array  # (F, D)
    b_in: Array  # (F,)

    def back(self, g: Array) -> Array:
        return (g @ self.W_out.T * self.gates) @ self.W_in.T

    def constant(self, bias: Array) -> Array:
        return ((bias @ self.W_in + self.b_in) * self.gates) @ self.W_out

    def growth(self, lengths: Array, P: Array) -> Array:
        weights = np.linalg.norm(P @ self.W_in, 2) * np.linalg.norm(self.W_out, 2)
        return np.asarray(lengths * np.abs(self.gates).max(-1) * weights)


@dataclass(frozen=True)
class Sublayer:
    """The heads of a layer, or its MLP: x → after(x + bias + what the steps make of before(x) + the other sources)."""

    before: FrozenNorm
    after: FrozenNorm
    steps: Mapping[str, FrozenHead | FrozenGates]  # by name: what a path can go through
    written: Arrays  # by name: what each head or the MLP added in the run, (..., T, D)
    bias: Array  # (D,)

    @property
    def sources(self) -> Arrays:
        """What is added and no step."""
        return {name: x for name, x in self.written.items() if name not in self.steps}

    def back(self, step: str, g: Array) -> Array:
        """From the output of a step to the stream that it reads."""
        return self.before.back(self.steps[step].back(g))

    @cached_property
    def constants(self) -> Arrays:
        """What each step adds (..., T, D) that does not depend on the stream."""
        return {name: step.constant(self.before.bias) for name, step in self.steps.items()}


@dataclass(frozen=True)
class Frozen:
    """A run as a linear model."""

    sources: Arrays  # embed, and pos if positions are added: (..., T, D)
    sublayers: tuple[Sublayer, ...]
    final: FrozenNorm
    W_U: Array  # (D, V)
    b_U: Array  # (V,)
    logits: Array  # (..., T, V), as the run computed them
    biased: bool  # whether anything has a bias

    def covector(self, weights: Array) -> tuple[Array, Array]:
        """⟨logits, weights⟩, with weights (..., T, V), as ⟨last stream, covector⟩ and a constant."""
        constant = (weights @ (self.final.bias @ self.W_U + self.b_U)).sum(-1)
        return self.final.back(weights @ self.W_U.T), constant

    def reads(self) -> Iterator[Arrays]:
        """What each sublayer reads, and at last the unembedding: the part of every source so far, behind the norm, and
        that of all biases."""
        parts = self.sources | {BIAS: np.zeros_like(self.sources[EMBED])}
        for sublayer in self.sublayers:
            yield normed(sublayer.before, parts)
            parts = parts | sublayer.written | {BIAS: parts[BIAS] + sublayer.bias}
            parts = normed(sublayer.after, parts)
        yield normed(self.final, parts)


def normed(norm: FrozenNorm, parts: Arrays) -> Arrays:
    """The parts of a stream behind a norm."""
    return {name: norm.linear(x) + (norm.bias if name == BIAS else 0.0) for name, x in parts.items()}


def run_frozen(model: Model, text: Any, through_gates: bool = False) -> tuple[Frozen, Trace]:
    """Run a model once on a text, on token ids, or on several of equal length; the run as a linear model, and its
    trace."""
    run = reference_run(model, text, needed(model.config))
    return freeze(model, run, through_gates), run


def needed(config: Config) -> list[str]:
    """The sites that `freeze` reads."""
    return [site for site in sites(config) if site.rpartition(".")[2] in NEEDED]


def reference_run(model: Model, text: Any, want: Want) -> Trace:
    """A trace by the reference, in float64."""
    return trace(model, text, want, engine="reference")


def check_skips(model: Model, subject: str) -> None:
    """Refuse sublayers that replace the stream: it is then no sum of what all have written."""
    if len(model.config.skips) < 2:
        raise HandloomError(
            f"{subject}: sublayers without skips replace the stream (expected skips of attention and MLP); "
            "patch or ablate sites instead"
        )


def freeze(model: Model, run: Trace, through_gates: bool = False) -> Frozen:
    """A run as a linear model. MLPs are sources, or with `through_gates` steps with frozen gates. Parallel attention
    and MLP are one sublayer."""
    check_skips(model, "a run as a linear model")
    config, p = model.config, model.astype(np.float64).params
    D, shape = config.d_model, run[EMBED].shape[:-1]

    def norm(weights: Any, site: str) -> FrozenNorm:
        if weights is None:
            return FrozenNorm(False, np.ones(D), np.ones(shape), np.zeros(D))
        bias = np.asarray(weights.get("b", np.zeros(D)))
        return FrozenNorm(config.norm == "layer", weights["w"], run[site + "_scale"], bias)

    def sublayer(i: int, name: str, steps: Any, written: Arrays, *biases: str) -> Sublayer:
        layer, plain = p["layers"][i], norm(None, "")
        real = norm(layer.get(name), f"{i}.{name}")
        before, after = (real, plain) if config.place == "pre" else (plain, real)
        return Sublayer(before, after, steps, written, sum((layer[b] for b in biases if b in layer), np.zeros(D)))

    sublayers = []
    for i, layer in enumerate(one_mlp(config, layer) for layer in p["layers"]):
        heads = frozen_heads(config, layer, run, i)
        results = {name: run[f"{i}.result"][..., h, :, :] for h, name in enumerate(heads)}
        gates = frozen_gates(config, layer, run, i) if config.d_ff and through_gates else {}
        added = {f"{i}.mlp": run[f"{i}.mlp_post"] @ layer["W_out"]} if config.d_ff else {}
        if config.parallel:
            sublayers.append(sublayer(i, "ln1", {**heads, **gates}, results | added, "b_O", "b_out"))
        else:
            sublayers.append(sublayer(i, "ln1", heads, results, "b_O"))
            sublayers.append(sublayer(i, "ln2", gates, added, "b_out"))
    sources = {EMBED: run[EMBED]} | ({POS: run["pos_embed"]} if "pos_embed" in run else {})
    W_U = p["W_E"].T if config.tied else p["W_U"]
    b_U = np.asarray(p.get("b_U", np.zeros(config.vocab)))
    final = norm(p.get("ln_final"), "ln_final")
    return Frozen(sources, tuple(sublayers), final, W_U, b_U, run["logits"], bool(config.biases))


def frozen_heads(config: Config, p: Any, run: Trace, i: int) -> dict[str, FrozenHead]:
    zero = np.zeros((config.groups, config.d_head))
    found = {}
    for h in range(config.heads):
        g = h // config.per_group
        pattern = run[f"{i}.pattern"][..., h, :, :]
        found[f"{i}.{h}"] = FrozenHead(pattern, p["W_V"][g], p["W_O"][h], p.get("b_V", zero)[g])
    return found


def frozen_gates(config: Config, p: Any, run: Trace, i: int) -> dict[str, FrozenGates]:
    pre, post = run[f"{i}.mlp_pre"], run[f"{i}.mlp_post"]
    if config.gated:
        gates = ACTIVATIONS[config.activation](pre)
    else:
        gates = np.divide(post, pre, out=np.zeros_like(post), where=pre != 0)  # every activation of 0 is 0
    return {f"{i}.mlp": FrozenGates(gates, p["W_in"], p["W_out"], np.asarray(p.get("b_in", np.zeros(config.neurons))))}
