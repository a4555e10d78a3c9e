"""A family of forbidden sets: what a solver is given of a problem.

    >>> from handloom.discover import grid
    >>> problem = Problem(grid(1, 3), forbidden=lambda a, b, c: True, name="not all three")
    >>> family = forbidden_family(problem)
    >>> family.rows.tolist()
    [[0, 1, 2]]
    >>> family.within([0, 1]).rows.tolist()
    []

They are the tables of the search (search/conflicts.py), for single elements, written out as rows.
"""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from handloom.core import HandloomError
from handloom.core.arrays import Array
from handloom.discover.problem import Problem
from handloom.discover.search.conflicts import Conflicts, conflicts
from handloom.discover.search.result import Stop, never_stop
from handloom.discover.search.symmetry import NONE, orbits_of
from handloom.discover.search.triples import TooLarge

MOST_SETS = 1_000_000


class Family:
    """Sets of the elements 0, …, size − 1 of which none may be chosen whole: one per row, in order, −1 in front."""

    def __init__(self, size: int, rows: Array) -> None:
        self.size = size
        self.rows: Array = in_order(rows)

    @cached_property
    def key(self) -> tuple[int, int, bytes]:
        """Equal for equal families."""
        return self.size, self.rows.shape[1], self.rows.tobytes()

    @cached_property
    def sets(self) -> list[tuple[int, ...]]:
        return [tuple(i for i in row if i >= 0) for row in self.rows.tolist()]

    def within(self, elements: Sequence[int]) -> "Family":
        """The sets that lie within these elements, which are numbered anew."""
        place = np.full(self.size + 1, -2)
        place[list(elements)] = np.arange(len(elements))
        place[-1] = -1
        rows = place[self.rows]
        return Family(len(elements), rows[(rows > -2).all(axis=1)])

    def is_kept_by(self, moved: Array) -> bool:
        """Whether a permutation of the elements takes every forbidden set to a forbidden set."""
        image = Family(self.size, np.append(moved, -1)[self.rows])
        return image.key == self.key


def in_order(rows: Array) -> Array:
    """The distinct rows in lexical order, each ascending, without columns that no row needs."""
    rows = np.sort(rows.astype(np.int32), axis=1)
    rows = rows[:, (rows >= 0).any(axis=0)]
    return np.unique(rows, axis=0) if rows.size else np.zeros((0, 1), np.int32)


def greedy_size(family: Family) -> int:
    """The size of a legal set: the elements in order, each taken if it completes nothing forbidden."""
    sets_of: dict[int, list[set[int]]] = {}
    for some in family.sets:
        sets_of.setdefault(max(some), []).append({*some} - {max(some)})
    taken = set[int]()
    for i in range(family.size):
        if not any(others <= taken for others in sets_of.get(i, ())):
            taken.add(i)
    return len(taken)


def forbidden_family(problem: Problem, stop: Stop = never_stop) -> Family | None:
    """All forbidden sets of a problem's elements; None if `stop` says so."""
    try:
        tables = conflicts(problem, orbits_of(problem, NONE), stop)
    except TooLarge as error:
        raise HandloomError(f"{problem}: too large for a proof ({error}); choose a smaller size") from error
    if tables is None:
        return None
    parts = [np.flatnonzero(tables.never)[:, None], pairs_of(tables), triples_of(tables), tables.sets]
    total = sum(map(len, parts))
    if total > MOST_SETS:
        raise HandloomError(
            f"{problem}: {total:,} sets are forbidden, too many for a proof (expected up to {MOST_SETS:,});"
            " choose a smaller size"
        )
    wide = max(part.shape[1] for part in parts)
    padded = [np.pad(part, ((0, 0), (wide - part.shape[1], 0)), constant_values=-1) for part in parts]
    return Family(len(tables.weights), np.concatenate(padded))


def pairs_of(tables: Conflicts) -> Array:
    first = np.repeat(np.arange(len(tables.weights)), np.diff(tables.pair_starts))
    return np.stack([first, tables.pairs], axis=1)[first < tables.pairs]


def triples_of(tables: Conflicts) -> Array:
    count = len(tables.weights)
    if len(tables.triple_starts) == 1:
        return np.zeros((0, 3), np.int64)
    pair = np.repeat(np.arange(count * count), np.diff(tables.triple_starts))
    first, second, third = pair // count, pair % count, tables.triples.astype(np.int64)
    return np.stack([first, second, third], axis=1)[(first < second) & (second < third)]
