"""Tables of what is forbidden, for orbits of elements: from them the search reads what an orbit blocks.

    never         orbits that are forbidden by themselves
    pairs         for each orbit those that may not be beside it
    triples       for each two orbits the third ones that may not be beside both (triples.py)
    sets          forbidden sets of four orbits or more (of three, if there are many orbits), one per row, and for
                  each orbit its rows

A set that contains a smaller forbidden one is left out.
"""

from itertools import combinations
from typing import NamedTuple

import numpy as np

from handloom.core.arrays import Array
from handloom.discover.problem import Problem, arity
from handloom.discover.search.compiling import Test, compiled, coordinates, kernel
from handloom.discover.search.enumeration import forbidden_sets
from handloom.discover.search.kept import kept_code
from handloom.discover.search.result import Stop, never_stop
from handloom.discover.search.symmetry import Orbits
from handloom.discover.search.triples import TableLimits, in_any_order, mark_within, table_of_triples

MANY = 2_000  # orbits above which listed triples are kept as sets


class Conflicts(NamedTuple):
    """The tables. Those of pairs, triples and rows are lists one after the other, with where each begins."""

    weights: Array  # (M,) how many elements an orbit has
    never: Array  # (M,)
    pair_starts: Array  # (M + 1,)
    pairs: Array
    triple_starts: Array  # (M · M + 1,), or (1,) if there are none
    triples: Array
    sets: Array  # (H, k), filled up with −1
    row_starts: Array  # (M + 1,)
    rows: Array  # of sets


DEFAULT = TableLimits()


def conflicts(
    problem: Problem, orbits: Orbits, stop: Stop = never_stop, limits: TableLimits = DEFAULT
) -> Conflicts | None:
    """The tables for a problem under a symmetry; None if `stop` says so."""
    tests = [(arity(rule), rule, compiled(problem, rule)) for rule in problem.rules]
    xy, of = coordinates(problem.space) if tests else np.zeros((1, 1), np.int64), orbits.of
    count = len(orbits.members)
    never, apart = np.zeros(count, np.bool_), np.zeros((count, count), np.bool_)
    rows = [listed_sets(problem, orbits)]
    for size, rule, test in tests:
        if size == 1:
            kept_code(mark_single, test)(xy, of, never)
        elif size == 2:
            kept_code(mark_pairs, test)(xy, of, apart)
        elif size == 3:
            starts = np.cumsum([0, *orbits.weights])
            kept_code(mark_within, in_any_order(test))(xy, np.concatenate(orbits.members), starts, apart)
        else:
            rows.append(of[forbidden_sets(problem, rule, stop, limits)])
    if stop():
        return None
    sets = distinct(rows, count)
    sizes = (sets >= 0).sum(axis=1)
    never[sets[sizes == 1, 0]] = True
    apart[sets[sizes == 2, 0], sets[sizes == 2, 1]] = apart[sets[sizes == 2, 1], sets[sizes == 2, 0]] = True
    never |= apart.diagonal()
    apart[never] = apart[:, never] = False
    rules_of_three = [test for size, _, test in tests if size == 3]
    # The table has an entry for any two orbits; few triples do not need it.
    least = 3 if count > MANY and not rules_of_three else 4
    listed = sets[(sizes == 3) & (sizes < least), :3]
    triples = table_of_triples(rules_of_three, listed, xy, orbits, never, apart, stop, limits)
    if triples is None:
        return None
    return Conflicts(orbits.weights, never, *lists(apart), *triples, *incidence(sets[sizes >= least], never, apart))


def listed_sets(problem: Problem, orbits: Orbits) -> Array:
    """The sets that a problem lists, as rows of orbits, filled up with −1."""
    rows: Array = problem.set_rows
    return np.where(rows < 0, -1, orbits.of[rows])


def distinct(parts: list[Array], count: int) -> Array:
    """The distinct rows of all parts: sorted, each orbit once per row, then −1."""
    wide = max(3, *(part.shape[1] for part in parts))
    rows = np.concatenate([np.pad(part, ((0, 0), (0, wide - part.shape[1])), constant_values=-1) for part in parts])
    rows = np.where(rows < 0, count, rows)
    rows.sort(axis=1)
    rows[:, 1:][rows[:, 1:] == rows[:, :-1]] = count
    rows.sort(axis=1)
    rows = np.unique(rows, axis=0) if len(rows) < 2 or (count + 1) ** wide >= 2**62 else once(rows, count + 1)
    return np.where(rows == count, -1, rows)


def once(rows: Array, base: int) -> Array:
    """The distinct rows, by way of one number per row, which is much faster than np.unique of rows."""
    places = base ** np.arange(rows.shape[1] - 1, -1, -1)
    numbers = np.unique(rows @ places)
    return numbers[:, None] // places % base


def lists(apart: Array) -> tuple[Array, Array]:
    """Where the True entries of each row begin, and their columns."""
    starts = np.concatenate([[0], np.cumsum(apart.sum(axis=1))])
    return starts, np.nonzero(apart)[1]


def incidence(sets: Array, never: Array, apart: Array) -> tuple[Array, Array, Array]:
    """The sets without a smaller forbidden one; and for each orbit the numbers of its sets, with their starts."""
    inside = sets >= 0
    idle = (never[sets] & inside).any(axis=1)
    for i, j in combinations(range(sets.shape[1]), 2):
        idle |= apart[sets[:, i], sets[:, j]] & inside[:, i] & inside[:, j]
    sets, inside = sets[~idle], inside[~idle]
    row, _ = np.nonzero(inside)
    orbit = sets[inside]
    order = np.argsort(orbit, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(orbit, minlength=len(never)))])
    return sets, starts, row[order]


@kernel()
def mark_single(test: Test, xy: Array, of: Array, never: Array) -> None:
    """Mark the orbits of elements that a rule of one element forbids."""
    for a in range(len(of)):
        if test(xy, a, a, a, a, a):
            never[of[a]] = True


@kernel()
def mark_pairs(test: Test, xy: Array, of: Array, apart: Array) -> None:
    """Mark the orbits that a rule of two elements keeps apart; one apart from itself is forbidden."""
    for a in range(len(of)):
        for b in range(a + 1, len(of)):
            if test(xy, a, b, b, b, b):
                apart[of[a], of[b]] = apart[of[b], of[a]] = True
