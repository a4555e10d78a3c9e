"""Heads of two models matched by what they do: how alike their attention is on the same inputs.

    print(match_heads("compiled/induction", "runs/induction-1"))

Two heads are compared by the cosine of their patterns on the same rows, less what even attention would give: 1 is the
same attention everywhere, 0 is nothing in common beyond chance. Two heads that attend evenly have 1. Weights play no
part, so that a written head of width 2 can match a trained one of width 16.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from handloom.core import HandloomError, Model
from handloom.core.arrays import Array
from handloom.core.finding import find
from handloom.core.reference import forward
from handloom.core.registry import offered
from handloom.read.attention import check_averages, check_heads
from handloom.read.heads import heads
from handloom.read.inputs import pairs_of
from handloom.tasks import task_of

ROWS = 64
EVEN = 1e-12  # mean square, per position, below which a pattern is even


@dataclass(frozen=True)
class HeadMatch:
    """A head of one model, the most similar one of the other, and how similar they are."""

    head: str
    name: str
    other: str
    other_name: str
    similarity: float


@dataclass(frozen=True, eq=False)
class HeadMatches:
    """The best match of each head, and the similarities of all, (heads, other heads)."""

    matches: tuple[HeadMatch, ...]
    similarity: Array
    others: tuple[str, ...]

    def __str__(self) -> str:
        wide = max(len(f"{one.head} {one.name}") for one in self.matches)
        return "\n".join(
            f"{f'{one.head} {one.name}':{wide}}  {one.similarity:.2f}  {one.other} {one.other_name}"
            for one in self.matches
        )

    def to_json(self) -> list[dict[str, Any]]:
        return [asdict(one) for one in self.matches]

    def _repr_html_(self) -> str | None:
        """What a notebook shows."""
        return offered("html")(self)


def match_heads(model: Model | str, other: Model | str, count: int = ROWS, seed: int = 0) -> HeadMatches:
    """For each head of a model the most similar head of another model of the same task."""
    (mine, folder), (its, _) = find(model), find(other)
    for one in (mine, its):
        check_heads(one)
        check_averages(one, "two models to match")
    if mine.vocab.tokens != its.vocab.tokens:
        raise HandloomError(
            f"two models to match: {mine.vocab.sample()} against {its.vocab.sample()} (expected the same tokens); "
            "choose models of one task"
        )
    rows = [batch.clean for batch in pairs_of(mine, task_of(mine, folder), count, seed)]
    alike = similarities(mine, its, rows)
    names, other_names = ({one.head: one.name for one in heads(m, seed=seed)} for m in (model, other))
    ids, others = list(names), list(other_names)
    found = tuple(
        HeadMatch(head, names[head], others[j], other_names[others[j]], float(alike[i, j]))
        for i, (head, j) in enumerate(zip(ids, alike.argmax(1), strict=True))
    )
    return HeadMatches(found, alike, tuple(others))


def similarities(model: Model, other: Model, rows: Sequence[Array]) -> Array:
    """The cosine of the patterns of each head and each head of another model, (heads, other heads)."""
    products: Array = np.zeros(())
    mine, its = np.zeros(()), np.zeros(())
    for ids in rows:
        a, b = uneven_patterns(model, ids), uneven_patterns(other, ids)
        products, mine, its = products + a @ b.T, mine + (a * a).sum(1), its + (b * b).sum(1)
    even, other_even = (size <= EVEN * sum(ids.size for ids in rows) for size in (mine, its))
    products = np.where(np.logical_or.outer(even, other_even), 0.0, products)
    sizes = np.sqrt(np.outer(np.where(even, 1.0, mine), np.where(other_even, 1.0, its)))
    alike: Array = np.where(np.logical_and.outer(even, other_even), 1.0, products / sizes)
    return alike


def uneven_patterns(model: Model, ids: Array) -> Array:
    """The patterns of all heads on rows (B, T) less even attention, (heads, B · T · T)."""
    trace = forward(model, ids, "*.pattern")[1]
    patterns = np.concatenate([trace[f"{i}.pattern"] for i in range(model.config.layers)], axis=1)  # (B, heads, T, T)
    T = ids.shape[1]
    even = np.tri(T) / np.arange(1, T + 1)[:, None] if model.config.causal else np.full((T, T), 1 / T)
    flat: Array = (patterns - even).swapaxes(0, 1).reshape(patterns.shape[1], -1)
    return flat
