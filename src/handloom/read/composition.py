"""Composition: how strongly a head reads what an earlier head wrote, from the weights alone.

    >>> from handloom.core.registry import offered
    >>> print(composition(offered("program")("book/search")).top(1)[0])
    0.3 → 1.2.q 2.06 (p = 0.0025)

An earlier head writes through A = W_V W_O, a later one reads through B: its queries through W_Q W_Kᵀ, its keys through
W_K W_Qᵀ, its values through W_V W_O, with norms folded in. Elhage et al. 2021 compare ‖A B‖ / (‖A‖ ‖B‖) with random
matrices that are drawn. No need: if a random rotation R stood between them,

    E ‖A R B‖² = ‖A‖² ‖B‖² / D,

exactly, whatever their spectra are. So what is given here is ‖A B‖ √D / (‖A‖ ‖B‖), and 1 is random. `p` is the share of
random rotations that give as much. Only the singular values of A and B matter then, and of a rotation only a corner as
large as their rank, so that the same few thousand small matrices serve all pairs.

Weights alone can mislead: on book/search the largest value belongs to a head that the answer does not need.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from handloom.core import HandloomError, Model
from handloom.core.arrays import Array
from handloom.core.checks import whole
from handloom.core.errors import shown
from handloom.core.finding import find
from handloom.core.registry import offered
from handloom.core.seeds import Elsewhere, generator
from handloom.read.attention import check_heads
from handloom.read.head_circuits import FoldedWeights, HeadCircuits, fold

KINDS = ("q", "k", "v")
ROTATIONS = 400
DIGITS = 9  # to which values are equal


@dataclass(frozen=True)
class Composed:
    """How strongly the queries, keys or values (`kind`) of one head read another: 1 is random; p is the share of random
    rotations that give as much."""

    source: str
    target: str
    kind: str
    value: float
    p: float

    def __str__(self) -> str:
        return f"{self.source} → {self.target}.{self.kind} {self.value:.2f} (p = {self.p:.2g})"


@dataclass(frozen=True)
class Composition:
    """All pairs of an earlier and a later head."""

    pairs: tuple[Composed, ...]
    rotations: int

    def top(self, count: int = 10) -> list[Composed]:
        """The largest, the largest first; of equal ones, whatever they are rounded to, the first."""
        return sorted(self.pairs, key=lambda one: -round(one.value, DIGITS))[:count]

    def value(self, source: str, target: str, kind: str) -> float:
        for one in self.pairs:
            if (one.source, one.target, one.kind) == (source, target, kind):
                return one.value
        raise HandloomError(
            f"composition: no pair {shown((source, target, kind))}; a head composes with an earlier one"
        )

    def __str__(self) -> str:
        most = 12
        more = f"\n… and {len(self.pairs) - most} more" if len(self.pairs) > most else ""
        return "\n".join(map(str, self.top(most))) + more + f"\n(1 is random; p of {self.rotations} rotations)"

    def to_json(self) -> list[dict[str, Any]]:
        return [dict(vars(one)) for one in self.top(len(self.pairs))]

    def _repr_html_(self) -> str | None:
        """What a notebook shows."""
        return offered("html")(self)


def composition(
    model: Model | str, kinds: Sequence[str] | None = None, rotations: int = ROTATIONS, seed: int = 0
) -> Composition:
    """How strongly each head reads each earlier one: `kinds` are q, k and v. With rotary positions q and k depend
    on how far apart two tokens are, so that by default only v is given."""
    found = find(model).model
    check_heads(found)
    weights, kinds = fold(found), defined_kinds(found, kinds)
    heads = [HeadCircuits(f"{i}.{h}", weights) for i, h in np.ndindex(found.config.layers, found.config.heads)]
    corners = squared_corners(found.config.d_model, found.config.d_head, whole("rotations", rotations, 1), seed)
    writers = {one.head: factors(written_by(one, weights)) for one in heads}
    readers = {
        (one.head, kind): reader(factors(read_by(one, kind, weights)), corners) for one, kind in product(heads, kinds)
    }
    pairs = (
        composed(source.head, target.head, kind, writers[source.head], readers[target.head, kind])
        for source, target, kind in product(heads, heads, kinds)
        if int(source.head.partition(".")[0]) < int(target.head.partition(".")[0])
    )
    return Composition(tuple(pairs), rotations)


def defined_kinds(model: Model, kinds: Sequence[str] | None) -> tuple[str, ...]:
    rotary = model.config.positions == "rotary"
    chosen = tuple(kinds) if kinds is not None else ("v",) if rotary else KINDS
    if unknown := [kind for kind in chosen if kind not in KINDS]:
        raise HandloomError(f"composition: no kind {shown(unknown[0])} (expected some of {', '.join(KINDS)})")
    if rotary and set(chosen) - {"v"}:
        raise HandloomError(
            "composition: with rotary positions that of queries and keys depends on the offset (expected kinds=['v'])"
        )
    return chosen


Factors = tuple[Array, Array, Array]  # u (D, r), s (r,), v (r, D): a matrix of rank r


def written_by(head: HeadCircuits, weights: FoldedWeights) -> tuple[Array, Array]:
    """W_V W_O as two factors, as the next norm passes on what it writes."""
    return weights.centred(head.of("W_V").T).T, weights.centred(head.of("W_O"))


def read_by(head: HeadCircuits, kind: str, weights: FoldedWeights) -> tuple[Array, Array]:
    """What a head's queries, keys or values make of what was written, as two factors."""
    first, second = {"q": ("W_Q", "W_K"), "k": ("W_K", "W_Q"), "v": ("W_V", "W_O")}[kind]
    left, right = weights.centred(head.of(first).T).T, head.of(second)
    return left, weights.centred(right) if kind == "v" else weights.centred(right.T)


def factors(matrix: tuple[Array, Array]) -> Factors:
    """The singular value decomposition of left · right, (D, K) by (K, D), from those of its small factors."""
    (a, r), (b, t) = np.linalg.qr(matrix[0]), np.linalg.qr(matrix[1].T)
    u, s, v = np.linalg.svd(r @ t.T)
    return a @ u, s, v @ b.T


Reader = tuple[Array, Array, Array]  # u (D, r), squares of s (r,), and of random rotations times these (rotations, r)


def reader(reads: Factors, corners: Array) -> Reader:
    u, s, _ = reads
    return u, s**2, corners @ s**2


def composed(source: str, target: str, kind: str, writes: Factors, reads: Reader) -> Composed:
    (_, a, v), (u, squares, rotated) = writes, reads
    size = float((a**2).sum() * squares.sum())
    if size == 0:
        return Composed(source, target, kind, 0.0, 1.0)
    D = v.shape[1]
    square = float(a**2 @ (v @ u) ** 2 @ squares) * D / size  # 1 on average over rotations
    as_much = int((rotated @ a**2 * D / size >= square).sum())
    return Composed(source, target, kind, float(np.sqrt(square)), (1 + as_much) / (1 + len(rotated)))


def squared_corners(width: int, d_head: int, count: int, seed: int) -> Array:
    """The squares of the entries in a corner of random rotations of the stream, (count, r, r) with r = min(D, K)."""
    return np.stack(list(corners_of(width, min(width, d_head), count, generator(seed, Elsewhere.ROTATIONS)))) ** 2


def corners_of(width: int, rank: int, count: int, rng: np.random.Generator) -> Iterator[Array]:
    """Q of a Gaussian matrix, (D, r), is the first columns of a random rotation, but for the signs of columns."""
    for _ in range(count):
        yield np.linalg.qr(rng.normal(size=(width, rank)))[0][:rank]
