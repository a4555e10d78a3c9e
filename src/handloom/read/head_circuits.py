"""The circuits of a head: what it looks for (QK) and what it does with what it finds (OV), over tokens and positions.

    >>> from handloom.core.registry import offered
    >>> found = head_circuits(offered("program")("search"))
    >>> found["1.0"].ov("tokens").shape
    (10, 10)

A head reads the stream in two ways that have nothing to do with each other (Elhage et al. 2021, "A Mathematical
Framework for Transformer Circuits"). With E one row per token (or position), as the head's norm passes it on,

    QK = (E W_Q) (E W_K)ᵀ / √K         row a, column b: the score that a position with a gives to one with b
    OV = (E W_V) W_O U                 row b, column c: what looking at b adds to the logit of c

along the direct path from the embedding to the head and from the head to the logits. Norm gains and the centring of
layer norm are folded into the weights. The mean over all logits is taken away, for softmax does not see it. What is
left out is the scale that each norm divides by, which depends on the input. Biases are a source of their own.

Both have rank d_head at most, so that singular values and eigenvalues come from factors, for a vocabulary of any size.
The eigenvalues of OV say whether a head copies: the score Σ λ / Σ |λ| is 1 if looking at any mixture of tokens makes
just these more likely, −1 if less likely.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from handloom.core import HandloomError, Model
from handloom.core.arrays import Array
from handloom.core.errors import shown
from handloom.core.finding import find
from handloom.core.reference import turn_pairs
from handloom.core.registry import offered
from handloom.core.transforms import fold_norms, store_positions, ungroup, untie
from handloom.read.attention import check_heads
from handloom.read.frozen import check_skips

MOST_ENTRIES = 16_000_000  # of a matrix over tokens
SOURCES = ("tokens", "positions")
ROUNDING = 1e-14  # of the terms of a sum, about: 50 times the distance between neighbouring numbers


@dataclass(frozen=True)
class FoldedWeights:
    """The weights of a model with norms folded in: what a part writes, `centred`, is what the next one reads, up to the
    scale of the norm."""

    model: Model  # untied, with a table of positions if it has any, every head with keys and values of its own

    @property
    def rotary(self) -> bool:
        return self.model.config.positions == "rotary"

    def centred(self, writes: Array) -> Array:
        """Rows of the stream as a norm passes them on, but for its scale. Entries that are 0 but for rounding are 0."""
        if self.model.config.norm != "layer":
            return writes
        found = writes - writes.mean(-1, keepdims=True)
        found[np.abs(found) <= ROUNDING * np.abs(writes).max(-1, keepdims=True, initial=0.0)] = 0.0
        return found

    def rows(self, source: str) -> Array:
        """A row of the stream per token or per position, as the embedding writes it."""
        if source == "tokens":
            return np.asarray(self.model.params["W_E"])
        kind = self.model.config.positions
        if source == "positions" and kind == "table":
            return np.asarray(self.model.params["W_pos"])
        if source == "positions":
            has = "turn queries and keys" if self.rotary else "do not exist"
            raise HandloomError(
                f"circuits over positions: the positions of this model {has} (expected a table of them)"
            )
        raise HandloomError(f"circuits: no source {shown(source)} (expected {', '.join(SOURCES)} or bias)")

    @cached_property
    def unembed(self) -> Array:
        """(D, V): logits, less their mean over all tokens."""
        U = self.centred(np.asarray(self.model.params["W_U"]).T).T
        return without_rounding(U - U.mean(1, keepdims=True), np.abs(U).max(1, keepdims=True))


def fold(model: Model) -> FoldedWeights:
    """Norms folded into the weights. Post norms cannot be: they rescale the stream itself."""
    if model.config.place == "post" and model.config.norm != "none":
        raise HandloomError(
            "circuits: the norms of this model stand behind its sublayers and rescale the stream itself "
            "(expected norms before them, or none); trace it on an input instead"
        )
    check_skips(model, "circuits")
    return FoldedWeights(fold_norms(untie(ungroup(store_positions(model.astype(np.float64))))))


@dataclass(frozen=True)
class HeadCircuits:
    """The two circuits of one head."""

    head: str
    weights: FoldedWeights

    def of(self, name: str) -> Array:
        """One of the head's arrays, W_Q (D, K), b_Q (K,), W_O (K, D), …"""
        layer, _, h = self.head.partition(".")
        part = self.weights.model.params["layers"][int(layer)]
        return np.asarray(part[name][int(h)]) if name in part else np.zeros(self.weights.model.config.d_head)

    def reads(self, which: str, source: str) -> Array:
        """Queries, keys or values ("Q", "K", "V") of tokens or positions, a row each; or the row of the bias."""
        if source == "bias":
            return self.of(f"b_{which}")[None]
        written, W = self.weights.rows(source), self.of(f"W_{which}")
        read = self.weights.centred(written)
        sizes = np.abs(written).max(-1, keepdims=True, initial=0.0) if read is not written else 0.0
        return without_rounding(read @ W, np.abs(read) @ np.abs(W) + sizes * np.abs(W).sum(0))

    def qk(self, query: str = "tokens", key: str = "tokens", offset: int = 0) -> Array:
        """The score for every pair; sources are tokens, positions and bias. With rotary positions it depends on how far
        back the key is, the `offset`."""
        queries, keys = self.queries(query, offset), self.reads("K", key)
        check_entries(len(queries), len(keys))
        scores: Array = queries @ keys.T
        return scores

    def queries(self, source: str, offset: int) -> Array:
        config = self.weights.model.config
        found = self.reads("Q", source) / np.sqrt(config.d_head)
        if not self.weights.rotary and offset:
            raise HandloomError(f"circuits: offset={offset} (expected 0: only rotary positions depend on it)")
        return turn_pairs(found[:, None], offset, config.rotary_base)[:, 0] if self.weights.rotary else found

    def ov(self, source: str = "tokens") -> Array:
        """What looking at a token, a position or the bias adds to the logits, a row each."""
        values, writes = self.reads("V", source), self.writes
        check_entries(len(values), writes.shape[1])
        logits: Array = values @ writes
        return logits

    @cached_property
    def writes(self) -> Array:
        """From values to logits, (K, V)."""
        W, U = self.of("W_O"), self.weights.unembed
        return without_rounding(W @ U, np.abs(W) @ np.abs(U))

    @cached_property
    def qk_singular_values(self) -> Array:
        """Of QK over tokens, the largest first; with rotary positions at offset 0."""
        return singular_values(self.queries("tokens", 0), self.reads("K", "tokens").T)

    @cached_property
    def ov_singular_values(self) -> Array:
        return singular_values(self.reads("V", "tokens"), self.writes)

    @cached_property
    def qk_eigenvalues(self) -> Array:
        """Those of QK over tokens that can differ from 0, the largest first."""
        return eigenvalues(self.queries("tokens", 0), self.reads("K", "tokens").T)

    @cached_property
    def ov_eigenvalues(self) -> Array:
        return eigenvalues(self.reads("V", "tokens"), self.writes)

    @property
    def matching(self) -> float:
        """From −1 to 1: whether tokens look for themselves."""
        return positive_share(self.qk_eigenvalues)

    @property
    def copying(self) -> float:
        """From −1 to 1: whether looking at tokens makes them more likely."""
        return positive_share(self.ov_eigenvalues)

    def to_json(self) -> dict[str, Any]:
        return {
            "head": self.head,
            "copying": self.copying,
            "matching": self.matching,
            "qk_singular_values": self.qk_singular_values.tolist(),
            "ov_singular_values": self.ov_singular_values.tolist(),
            "qk_eigenvalues": [[value.real, value.imag] for value in self.qk_eigenvalues.tolist()],
            "ov_eigenvalues": [[value.real, value.imag] for value in self.ov_eigenvalues.tolist()],
        }

    def _repr_html_(self) -> str | None:
        """What a notebook shows."""
        return offered("html")(self)


@dataclass(frozen=True)
class Circuits:
    """The circuits of every head."""

    heads: Mapping[str, HeadCircuits]
    model: Model

    def __getitem__(self, head: str) -> HeadCircuits:
        if head not in self.heads:
            raise HandloomError(f"no head {shown(head)} in this model; its heads are {', '.join(self.heads)}")
        return self.heads[head]

    def __str__(self) -> str:
        lines = ["head  copying  matching  largest of OV  largest of QK"]
        for name, one in self.heads.items():
            ov, qk = one.ov_singular_values.max(initial=0.0), one.qk_singular_values.max(initial=0.0)
            lines.append(f"{name:<4}  {one.copying:7.2f}  {one.matching:8.2f}  {ov:13.4g}  {qk:13.4g}")
        return "\n".join(lines)

    def to_json(self) -> list[dict[str, Any]]:
        return [one.to_json() for one in self.heads.values()]

    def _repr_html_(self) -> str | None:
        """What a notebook shows."""
        return offered("html")(self)


def head_circuits(model: Model | str) -> Circuits:
    """The circuits of every head of a model."""
    found = find(model).model
    check_heads(found)
    weights = fold(found)
    names = [f"{i}.{h}" for i in range(found.config.layers) for h in range(found.config.heads)]
    return Circuits({name: HeadCircuits(name, weights) for name in names}, found)


def without_rounding(product: Array, sizes: Any) -> Array:
    """A product of matrices, 0 where it is not larger than the rounding of its sums, whose terms have these sizes. So
    a circuit that is nothing is not told from its rounding errors."""
    return np.where(np.abs(product) <= ROUNDING * sizes, 0.0, product)


def check_entries(rows: int, columns: int) -> None:
    if rows * columns > MOST_ENTRIES:
        raise HandloomError(
            f"circuits: a matrix of {rows:,} × {columns:,} entries (expected up to {MOST_ENTRIES:,}); "
            "multiply some rows of its factors instead"
        )


def singular_values(left: Array, right: Array) -> Array:
    """Of left · right, (N, K) by (K, M), from the triangles of their factors: as many as can differ from 0."""
    inner = triangle(left) @ triangle(right.T).T
    found = np.linalg.svd(inner, compute_uv=False)
    return without_rounding(found, np.linalg.norm(left) * np.linalg.norm(right))


def triangle(matrix: Array) -> Array:
    """R of matrix = Q R."""
    found: Array = np.linalg.qr(matrix)[1]
    return found


def eigenvalues(left: Array, right: Array) -> Array:
    """Of left · right, (N, K) by (K, N): those that can differ from 0 are those of right · left."""
    smaller = right @ left if left.shape[1] <= len(left) else left @ right
    found = without_rounding(np.linalg.eigvals(smaller), np.linalg.norm(left) * np.linalg.norm(right))
    return found[np.argsort(-np.abs(found), kind="stable")]


def positive_share(values: Array) -> float:
    """Σ λ / Σ |λ|; 0 if there is nothing."""
    size = float(np.abs(values).sum())
    return float(values.real.sum()) / size if size > 0 else 0.0
