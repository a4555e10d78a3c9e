"""Virtual heads: a head that reads what another wrote moves it on, as one head would that is both at once.

    >>> from handloom.core.registry import offered
    >>> found = virtual_heads(offered("program")("book/search"), "4 0 8 0 1 3 0 8 0")
    >>> len(found.pairs)
    16

A head is a linear map of the stream, if its pattern A is held fixed: (A ⊗ W) x, which moves rows by A (T × T) and
changes each by W = (W_V W_O)ᵀ (D × D). The product of two is again of that kind (Elhage et al. 2021),

    (A ⊗ W) (A' ⊗ W') = A A' ⊗ W W',

so the later head reads, of what the earlier one wrote, the positions that the product of their patterns says. How much
that is, on an input: `share`, the length of what a virtual head writes against all that its later head writes.
"""

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from handloom.core import HandloomError, Model, reference
from handloom.core.arrays import Array
from handloom.core.finding import find
from handloom.core.registry import offered
from handloom.read.attention import check_heads
from handloom.read.head_circuits import FoldedWeights, HeadCircuits, eigenvalues, fold, positive_share, without_rounding


@dataclass(frozen=True)
class Term:
    """A ⊗ W: rows x (T, D) become A x Wᵀ."""

    A: Array
    W: Array

    def __call__(self, x: Array) -> Array:
        moved: Array = self.A @ x @ self.W.T
        return moved

    def __matmul__(self, other: "Term") -> "Term":
        """This one after the other."""
        return Term(self.A @ other.A, self.W @ other.W)


@dataclass(frozen=True)
class VirtualHead:
    """Two heads as one, on an input: where it looks, how much of what the later head writes is its doing, and whether
    it copies (as `head_circuits` has it)."""

    first: str
    second: str
    pattern: Array  # (T, T)
    share: float
    copying: float

    def __str__(self) -> str:
        return f"{self.first} → {self.second}  share {self.share:.2f}  copying {self.copying:.2f}"

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "pattern": self.pattern.tolist()}


@dataclass(frozen=True)
class VirtualHeads:
    """All pairs of an earlier and a later head, the largest share first."""

    pairs: tuple[VirtualHead, ...]
    tokens: tuple[str, ...]

    def __getitem__(self, pair: tuple[str, str]) -> VirtualHead:
        found = {(one.first, one.second): one for one in self.pairs}
        if pair not in found:
            raise HandloomError(f"no virtual head {pair!r} in this model; a head is followed by one of a later layer")
        return found[pair]

    def __str__(self) -> str:
        return "\n".join(map(str, self.pairs)) or "one layer has no virtual heads"

    def to_json(self) -> list[dict[str, Any]]:
        return [one.to_json() for one in self.pairs]

    def _repr_html_(self) -> str | None:
        """What a notebook shows."""
        return offered("html")(self)


def virtual_heads(model: Model | str, text: str | list[int]) -> VirtualHeads:
    """The virtual heads of a model on an input, a text or token ids. Norms are linear with the scales of this run."""
    found = find(model).model
    check_heads(found)
    weights = fold(found)
    ids = found.vocab.encode(text) if isinstance(text, str) else text
    want = ["*.pattern", "*.result", "*.resid_pre", *(["*.ln1_scale"] if found.config.norm != "none" else [])]
    trace = reference.forward(weights.model, ids, want)[1]
    names = [f"{i}.{h}" for i, h in np.ndindex(found.config.layers, found.config.heads)]
    pairs = [
        joined(first, second, weights, trace)
        for first, second in product(names, names)
        if int(first.partition(".")[0]) < int(second.partition(".")[0])
    ]
    tokens = tuple(found.vocab.tokens[i] for i in ids)
    return VirtualHeads(tuple(sorted(pairs, key=lambda one: -one.share)), tokens)


def joined(first: str, second: str, weights: FoldedWeights, trace: Any) -> VirtualHead:
    earlier, later = (term(name, weights, trace) for name in (first, second))
    layer = second.partition(".")[0]
    read = trace[f"{first.partition('.')[0]}.resid_pre"] / scale(first, trace)
    passed = earlier(read) / scale(second, trace)
    whole = float(np.linalg.norm(trace[f"{layer}.result"][int(second.partition(".")[2])]))
    share = float(np.linalg.norm(later(passed))) / whole if whole > 0 else 0.0
    return VirtualHead(first, second, (later @ earlier).A, share, copying(first, second, weights))


def term(head: str, weights: FoldedWeights, trace: Any) -> Term:
    """A head as A ⊗ W; norms are folded into W, but for their scales."""
    layer, _, h = head.partition(".")
    one = HeadCircuits(head, weights)
    return Term(trace[f"{layer}.pattern"][int(h)], (weights.centred(one.of("W_V").T).T @ one.of("W_O")).T)


def scale(head: str, trace: Any) -> Any:
    """What the head's norm divides each position by, (T, 1); 1 without norms."""
    found = trace.get(f"{head.partition('.')[0]}.ln1_scale")
    return 1.0 if found is None else found[:, None]


def copying(first: str, second: str, weights: FoldedWeights) -> float:
    """The copying score of two heads as one, from the tokens to the logits."""
    earlier, later = HeadCircuits(first, weights), HeadCircuits(second, weights)
    out, into = weights.centred(earlier.of("W_O")), later.of("W_V")
    between = without_rounding(out @ into, np.abs(out) @ np.abs(into))  # (K, K)
    return positive_share(eigenvalues(earlier.reads("V", "tokens") @ between, later.writes))
