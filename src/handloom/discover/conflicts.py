"""Tables of what is forbidden, for orbits of elements: from them the search knows at once what an orbit blocks.

    never         orbits that are forbidden by themselves
    pairs         for each orbit those that may not be beside it
    thirds        for each two orbits those that may not be beside both
    sets          forbidden sets of four orbits or more (of three, if there are many orbits), each a row, and for
                  each orbit its rows

A set of which a part is forbidden already is left out. Tables of thirds are made a row at a time, all cores at work.
The row of an orbit needs only those forbidden triples that have its first element, for the group takes any other there.
"""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from math import comb
from typing import Any, NamedTuple

import numpy as np

from handloom.core import HandloomError
from handloom.discover.compiling import kernel
from handloom.discover.problem import Problem, arity
from handloom.discover.rules import Test, compiled, coordinates
from handloom.discover.symmetry import Orbits

Array = np.ndarray[Any, Any]

MOST_THIRDS = 200_000_000  # two bytes each
MOST_SETS = 6_000_000
MANY = 2_000  # orbits from which on listed threes are kept as sets
MOST_ORBITS = 4_096  # of a table of thirds
ALL_TRIED = 200_000_000  # threes up to which a symmetry is tried with every element
MOST_TRIED = 40_000_000_000  # sets of elements that a rule is asked about


class Conflicts(NamedTuple):
    """The tables. Those of pairs, thirds and rows are lists one after the other, with where each begins."""

    weights: Array  # (M,) how many elements an orbit has
    never: Array  # (M,)
    pair_starts: Array  # (M + 1,)
    pairs: Array
    third_starts: Array  # (M · M + 1,), or (1,) if there are none
    thirds: Array
    sets: Array  # (H, k), filled up with −1
    row_starts: Array  # (M + 1,)
    rows: Array  # of sets


Stop = Callable[[], bool]


def never_stop() -> bool:
    return False


class TooLarge(HandloomError):
    """There is too much that is forbidden for tables of it."""


class Broken(HandloomError):
    """What is forbidden is not kept by the symmetry, which only seemed so where it was tried."""


def conflicts(problem: Problem, orbits: Orbits, stop: Stop = never_stop) -> Conflicts | None:
    """The tables for a problem under a symmetry; None if told to stop."""
    tests = [(arity(rule), compiled(problem, rule)) for rule in problem.rules]
    xy, of = coordinates(problem.space) if tests else np.zeros((1, 1), np.int64), orbits.of
    count = len(orbits.members)
    never, apart = np.zeros(count, np.bool_), np.zeros((count, count), np.bool_)
    rows = [listed_sets(problem, orbits)]
    for size, test in tests:
        if size == 1:
            never[[of[a] for a in range(len(of)) if test(xy, a, a, a, a, a)]] = True
        elif size == 2:
            mark_pairs(test, xy, of, apart)
        elif size > 3:
            rows.append(tried_sets(test, size, xy, of, stop))
    if stop():
        return None
    sets = distinct(rows, count)
    sizes = (sets >= 0).sum(axis=1)
    never[sets[sizes == 1, 0]] = True
    apart[sets[sizes == 2, 0], sets[sizes == 2, 1]] = apart[sets[sizes == 2, 1], sets[sizes == 2, 0]] = True
    threes = [test for size, test in tests if size == 3]
    least = (
        3 if count > MANY and not threes else 4
    )  # the table has a place for any two orbits; few threes do not need it
    thirds = table_of_thirds(threes, sets[(sizes == 3) & (sizes < least), :3], xy, orbits, apart, stop)
    if thirds is None:
        return None
    never |= apart.diagonal()
    apart[never] = apart[:, never] = False
    thirds = without_idle(*thirds, never, apart)
    if lopsided(*thirds, count):
        raise Broken(f"{problem}: the symmetry {orbits.name} does not keep what is forbidden")
    return Conflicts(orbits.weights, never, *lists(apart), *thirds, *incidence(sets[sizes >= least], never, apart))


def listed_sets(problem: Problem, orbits: Orbits) -> Array:
    """The sets that a problem lists, as rows of orbits, with −1 where there is none."""
    rows: Array = problem.set_rows
    return np.where(rows < 0, -1, orbits.of[rows])


def distinct(parts: list[Array], count: int) -> Array:
    """The rows of all, each once: sorted, an orbit once in a row, then −1."""
    wide = max(3, *(part.shape[1] for part in parts))
    rows = np.concatenate([np.pad(part, ((0, 0), (0, wide - part.shape[1])), constant_values=-1) for part in parts])
    rows = np.where(rows < 0, count, rows)
    rows.sort(axis=1)
    rows[:, 1:][rows[:, 1:] == rows[:, :-1]] = count
    rows.sort(axis=1)
    rows = np.unique(rows, axis=0) if len(rows) < 2 or (count + 1) ** wide >= 2**62 else once(rows, count + 1)
    return np.where(rows == count, -1, rows)


def once(rows: Array, base: int) -> Array:
    """The same as unique rows, by way of a number for each row, which is much faster."""
    places = base ** np.arange(rows.shape[1] - 1, -1, -1)
    numbers = np.unique(rows @ places)
    return numbers[:, None] // places % base


def lists(apart: Array) -> tuple[Array, Array]:
    """For each row where its True entries begin, and the entries."""
    starts = np.concatenate([[0], np.cumsum(apart.sum(axis=1))])
    return starts, np.nonzero(apart)[1]


def incidence(sets: Array, never: Array, apart: Array) -> tuple[Array, Array, Array]:
    """The sets of which no part is forbidden already; and for each orbit the numbers of its sets, with their starts."""
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


@kernel(no_cpython_wrapper=True)
def ordered(test: Test, xy: Array, a: int, b: int, c: int) -> bool:
    """A rule is asked about elements in ascending order, so that it may be about which comes first."""
    low, high = min(a, b, c), max(a, b, c)
    return test(xy, low, a + b + c - low - high, high, high, high)


@kernel()
def mark_pairs(test: Test, xy: Array, of: Array, apart: Array) -> None:
    """Which orbits a rule of two elements keeps apart; one that is apart from itself is forbidden."""
    for a in range(len(of)):
        for b in range(a + 1, len(of)):
            if test(xy, a, b, b, b, b):
                apart[of[a], of[b]] = apart[of[b], of[a]] = True


@kernel()
def mark_thirds(test: Test, xy: Array, of: Array, a: int, mark: Array) -> None:
    """Which two orbits make three with the orbit of this element that are forbidden; of these two one may be that orbit
    again, or both may be the same."""
    for b in range(len(of)):
        if b != a:
            for c in range(b + 1, len(of)):
                if c != a and ordered(test, xy, a, b, c):
                    mark[of[b], of[c]] = mark[of[c], of[b]] = True


def marked(tests: list[Test], xy: Array, of: Array, a: int, count: int) -> Array:
    """The two orbits that make forbidden threes with an element."""
    mark = np.zeros((count, count), np.bool_)
    for test in tests:
        mark_thirds(test, xy, of, a, mark)
    return mark


@kernel(cache=True)
def list_row(orbit: int, mark: Array, apart: Array) -> tuple[Array, Array]:
    """A row of the table: for each other orbit how many thirds there are, and which. Threes that are really two go to
    `apart`."""
    size = len(mark)
    for b in range(size):
        if mark[b, b] or mark[orbit, b]:
            apart[orbit, b] = apart[b, orbit] = True
    counts, total = np.zeros(size, np.int64), 0
    room = 0
    for b in range(size):
        for c in range(size):
            room += mark[b, c]
    found = np.empty(room, np.uint16)
    for b in range(size):
        if b != orbit:
            begin = total
            for c in range(size):
                if mark[b, c] and c != b and c != orbit:
                    found[total] = c
                    total += 1
            counts[b] = total - begin
    return counts, found[:total]


@kernel(cache=True)
def without_idle(starts: Array, thirds: Array, never: Array, apart: Array) -> tuple[Array, Array]:
    """The table without threes of which a part is forbidden already."""
    size, total = len(never), 0
    kept = np.zeros(len(starts), np.int64)
    for at in range(len(starts) - 1):
        a, b = at // size, at % size
        idle = never[a] or never[b] or apart[a, b]
        for i in range(starts[at], starts[at + 1]):
            c = thirds[i]
            if not (idle or never[c] or apart[a, c] or apart[b, c]):
                thirds[total] = c
                total += 1
        kept[at + 1] = total
    return kept, thirds[:total].copy()


@kernel(cache=True)
def lopsided(starts: Array, thirds: Array, size: int) -> bool:
    """Whether some three are forbidden from one side and not from another, so that a search would lose count."""
    for at in range(len(starts) - 1):
        back = at % size * size + at // size
        if starts[at + 1] - starts[at] != starts[back + 1] - starts[back]:
            return True
        for i in range(starts[at + 1] - starts[at]):
            if thirds[starts[at] + i] != thirds[starts[back] + i]:
                return True
    return False


def table_of_thirds(
    tests: list[Test], triples: Array, xy: Array, orbits: Orbits, apart: Array, stop: Stop
) -> tuple[Array, Array] | None:
    """For each two orbits the thirds; None if told to stop."""
    of, count = orbits.of, len(orbits.members)
    if not tests and not len(triples):
        return np.zeros(1, np.int64), np.zeros(0, np.uint16)
    if count > MOST_ORBITS or len(tests) * count * len(of) ** 2 / 2 > MOST_TRIED:
        raise TooLarge(f"{count:,} orbits are too many for tables of three")
    beside = [np.zeros((0, 2), np.int64)] * count
    for one, others in ((0, [1, 2]), (1, [0, 2]), (2, [0, 1])):
        order = np.argsort(triples[:, one], kind="stable")
        parts = np.split(triples[order][:, others], np.searchsorted(triples[order, one], np.arange(1, count)))
        beside = [np.concatenate(both) for both in zip(beside, parts, strict=True)]
    total = done = 0

    def row_of(orbit: int) -> tuple[Array, Array] | None:
        nonlocal total, done
        if stop():
            return None
        first, *others = orbits.members[orbit]
        mark = marked(tests, xy, of, first, count)
        some = others if len(of) ** 3 <= ALL_TRIED else others[:1] if orbit % 16 == 0 else []
        if any((marked(tests, xy, of, other, count) != mark).any() for other in some):
            raise Broken(f"the symmetry {orbits.name} does not keep what is forbidden")
        b, c = beside[orbit].T
        mark[b, c] = mark[c, b] = True
        row = list_row(orbit, mark, apart)
        total += len(row[1])
        done += 1
        if total / done * count > MOST_THIRDS and (done >= 16 or total > MOST_THIRDS):
            raise TooLarge("the table of three would be too large")
        return row

    made = [row for row in on_all_cores(row_of, count) if row is not None]
    if len(made) < count:
        return None
    starts = np.concatenate([[0], np.cumsum(np.concatenate([counts for counts, _ in made]))])
    return starts, np.concatenate([found for _, found in made])


def on_all_cores(work: Callable[[int], Any], count: int) -> Iterator[Any]:
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        try:
            yield from pool.map(work, range(count))
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


@kernel()
def try_sets(test: Test, size: int, xy: Array, of: Array, a: int, out: Array) -> int:
    """Forbidden sets of four or five elements, this one the first; how many, and as many as there is room for."""
    found = 0
    for b in range(a + 1, len(of)):
        for c in range(b + 1, len(of)):
            for d in range(c + 1, len(of)):
                for e in range(d + 1 if size == 5 else d, len(of) if size == 5 else d + 1):
                    if test(xy, a, b, c, d, e):
                        if found < len(out):
                            out[found] = (of[a], of[b], of[c], of[d], of[e])
                        found += 1
    return found


def tried_sets(test: Test, size: int, xy: Array, of: Array, stop: Stop) -> Array:
    """All forbidden sets of four or five elements, as rows of orbits; not all if told to stop."""
    if comb(len(of), size) > MOST_TRIED // 8:
        raise TooLarge(f"{len(of):,} elements have too many sets of {size}")
    total = 0

    def sets_from(a: int) -> Array:
        nonlocal total
        out = np.empty((0, 5), np.int32)
        while not stop() and (found := try_sets(test, size, xy, of, a, out)) > len(out):
            if total + found > MOST_SETS:
                raise TooLarge(f"more than {MOST_SETS:,} sets of {size} are forbidden")
            out = np.empty((found, 5), np.int32)
        total += len(out)
        return out

    return np.concatenate(list(on_all_cores(sets_from, len(of)))).astype(np.int64)
