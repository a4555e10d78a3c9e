"""The directions of the residual stream that a model's notes name: the truth that features are held against.

A compiled model has them as `truth` → `variables`, each with the vector that writes it. Other written models have
`readings`, the vectors that read each number, or only `directions`, the names of dimensions. Where only the reading is
known, what writes a number is the smallest vector that changes this number by 1 and no other named one (under layer
norm, nor the mean): the pseudo-inverse of all that reads.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from handloom.core import Model
from handloom.core.arrays import Array

SAME = 0.999  # cosine from which two directions are one
STILL = 1e-3  # deviation along a direction, as a share of the length of a vector, up to which nothing varies


@dataclass(frozen=True)
class Known:
    """A name, and what writes and what reads its k numbers."""

    name: str
    writes: Array  # (k, D)
    reads: Array  # (k, D)


def known_directions(model: Model) -> list[Known]:
    """The named directions of a model, each once; those that only balance the stream are left out."""
    variables = model.notes.get("truth", {}).get("variables", [])
    if variables:
        return distinct(
            [Known(v["name"], *(np.array([v[key]], float) for key in ("writes", "reads"))) for v in variables]
        )
    if readings := model.notes.get("readings"):
        numbers = {name: np.array(one["vectors"], float) for name, one in readings.items() if one["kind"] != "ballast"}
        return distinct(list(from_reads(numbers, model)))
    found = []
    for name, place in model.notes.get("directions", {}).items():
        first, end = place if isinstance(place, list | tuple) else (place, place + 1)
        own = np.eye(model.config.d_model)[first:end]
        found.append(Known(name, own, own))
    return distinct(found)


def from_reads(numbers: dict[str, Array], model: Model) -> Iterator[Known]:
    """Directions of which the reading vectors (k, D) are known. A name whose vectors depend on those of earlier names,
    such as a token that several numbers make up, is left out."""
    fixed = np.ones((1, model.config.d_model)) if model.config.norm == "layer" else np.zeros((0, model.config.d_model))
    kept: dict[str, Array] = {}
    for name, vectors in numbers.items():
        more = np.vstack([fixed, *kept.values(), vectors])
        if np.linalg.matrix_rank(more) == len(more):
            kept[name] = vectors
    if not kept:
        return
    writes = np.linalg.pinv(np.vstack([*kept.values(), fixed])).T
    first = 0
    for name, vectors in kept.items():
        yield Known(name, writes[first : first + len(vectors)], vectors)
        first += len(vectors)


def distinct(known: Sequence[Known]) -> list[Known]:
    """Without those along which another one is written: some programs use a dimension twice."""
    found: list[Known] = []
    for one in known:
        if not any(len(one.writes) == len(other.writes) and same_span(one, other) for other in found):
            found.append(one)
    return found


def same_span(one: Known, other: Known) -> bool:
    return bool(np.linalg.svd(basis(one.writes) @ basis(other.writes).T)[1].min() >= SAME)


def basis(vectors: Array) -> Array:
    """An orthonormal basis (k, D) of what vectors span."""
    _, sizes, rows = np.linalg.svd(vectors, full_matrices=False)
    return np.asarray(rows[sizes > 1e-9 * sizes[0]])


def varying(known: Sequence[Known], x: Array) -> list[Known]:
    """Those whose numbers vary in vectors (N, D)."""
    whole = np.sqrt(((x - x.mean(0)) ** 2).sum(1).mean())
    return [one for one in known if moves(one, x) > STILL * whole]


def moves(one: Known, x: Array) -> float:
    """How far, in the mean square, a name's numbers move the stream."""
    values = x @ one.reads.T  # (N, k)
    return float(np.sqrt((((values - values.mean(0)) @ one.writes) ** 2).sum(1).mean()))


def best_cosines(features: Array, known: Sequence[Known]) -> Array:
    """For each known direction the largest cosine with one of the features (D, n), of either sign."""
    unit = features / np.maximum(np.linalg.norm(features, axis=0), 1e-300)
    return np.array([np.linalg.norm(basis(one.writes) @ unit, axis=0).max() for one in known])
