"""Proposals without a model. What a model proposes must lead the search further than these, or it has not helped.

    random      as many elements as a construction of the pool has, each equally likely
    marginals   each cell by itself, as often chosen as in the pool
    redrawn     a construction of the pool, in which each choice is drawn again with a probability of a fifth

    >>> import numpy as np
    >>> from handloom.discover.spaces import grid
    >>> pool = [(0, 3), (0, 2)]
    >>> rng = np.random.default_rng(0)
    >>> sorted({some for _ in range(40) for some in proposed("marginals", grid(2, 2), pool, 1, rng)})
    [(0,), (0, 2), (0, 2, 3), (0, 3)]

Where the model writes constructions by orbits, these choose orbits too, so that nothing but the model differs.
"""

from collections.abc import Callable, Sequence

import numpy as np

from handloom.core.arrays import Array
from handloom.discover.model.orbit_writing import Orbitwise
from handloom.discover.spaces import Construction, Space

REDRAWN = 0.2  # the share of a construction that is drawn again

Drawing = Callable[[Array, int, np.random.Generator], Array]


def proposed(
    kind: str,
    space: Space,
    pool: Sequence[Construction],
    count: int,
    rng: np.random.Generator,
    orbits: Orbitwise | None = None,
) -> list[Construction]:
    """`count` proposals of a kind from the constructions of the pool."""
    if not space.is_subset:
        draw = OF_PERMUTATIONS if space.kind == "permutation" else OF_WORDS
        rows = np.array(pool, np.int64)
        return [tuple(draw[kind](rows, len(space.elements), rng).tolist()) for _ in range(count)]
    chosen = cells(space, pool, orbits)
    drawn = (np.flatnonzero(OF_SUBSETS[kind](chosen, chosen.shape[1], rng)).tolist() for _ in range(count))
    return [(orbits.read(one) if orbits else tuple(one)) or () for one in drawn]


def cells(space: Space, constructions: Sequence[Construction], orbits: Orbitwise | None = None) -> Array:
    """Which elements, or orbits, each of the constructions has."""
    chosen = np.zeros((len(constructions), orbits.most if orbits else len(space.elements)), bool)
    for row, construction in zip(chosen, constructions, strict=True):
        row[orbits.write(construction) if orbits else list(construction)] = True
    return chosen


def one_of(rows: Array, rng: np.random.Generator) -> Array:
    return rows[rng.integers(len(rows))]


def random_subset(rows: Array, size: int, rng: np.random.Generator) -> Array:
    return rng.permutation(one_of(rows, rng))


def subset_by_cells(rows: Array, size: int, rng: np.random.Generator) -> Array:
    return rng.random(size) < rows.mean(axis=0)


def redrawn_subset(rows: Array, size: int, rng: np.random.Generator) -> Array:
    """Some of the chosen exchanged for others: as many are chosen as before."""
    row = one_of(rows, rng).copy()
    out = np.flatnonzero(row)[rng.random(int(row.sum())) < REDRAWN]
    row[out] = False
    row[rng.choice(np.flatnonzero(~row), len(out), replace=False)] = True
    return row


def random_word(rows: Array, size: int, rng: np.random.Generator) -> Array:
    return rng.integers(size, size=rows.shape[1])


def word_by_places(rows: Array, size: int, rng: np.random.Generator) -> Array:
    return np.array([one_of(rows, rng)[place] for place in range(rows.shape[1])])


def redrawn_word(rows: Array, size: int, rng: np.random.Generator) -> Array:
    word = one_of(rows, rng)
    return np.where(rng.random(len(word)) < REDRAWN, rng.integers(size, size=len(word)), word)


def random_permutation(rows: Array, size: int, rng: np.random.Generator) -> Array:
    return rng.permutation(size)


def permutation_by_places(rows: Array, size: int, rng: np.random.Generator) -> Array:
    """Place by place, as often as in the pool, of the values that are left; any of these if the pool has none there."""
    left, values = np.ones(size, bool), np.zeros(size, np.int64)
    for place in rng.permutation(size):
        fitting = rows[left[rows[:, place]], place]
        values[place] = rng.choice(fitting if len(fitting) else np.flatnonzero(left))
        left[values[place]] = False
    return values


def redrawn_permutation(rows: Array, size: int, rng: np.random.Generator) -> Array:
    values = one_of(rows, rng).copy()
    places = np.flatnonzero(rng.random(size) < REDRAWN)
    values[places] = rng.permutation(values[places])
    return values


OF_SUBSETS: dict[str, Drawing] = {"random": random_subset, "marginals": subset_by_cells, "redrawn": redrawn_subset}
OF_WORDS: dict[str, Drawing] = {"random": random_word, "marginals": word_by_places, "redrawn": redrawn_word}
OF_PERMUTATIONS: dict[str, Drawing] = {
    "random": random_permutation,
    "marginals": permutation_by_places,
    "redrawn": redrawn_permutation,
}
NULLS = tuple(OF_SUBSETS)
