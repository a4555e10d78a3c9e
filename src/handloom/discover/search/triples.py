"""The table of thirds: for each two orbits those that may not be beside both, from rules about three elements.

A forbidden three lies in one orbit, which then is never chosen; in two, which then are apart; or in three. Three orbits
are asked about once: from the one that comes first, with its first element, for the group takes any other of it there.
Orbits come in the order of their first elements, so that this element comes before all it is asked with.
"""

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import lru_cache
from typing import Any

import numpy as np

from handloom.core import HandloomError
from handloom.core.arrays import Array
from handloom.discover.search.compiling import kernel
from handloom.discover.search.forbidden import Test
from handloom.discover.search.symmetry import Orbits

Stop = Callable[[], bool]

MOST_THIRDS = 200_000_000  # two bytes each
MOST_ORBITS = 4_096  # of a table of thirds
ALL_TRIED = 200_000_000  # threes up to which a symmetry is tried with every element
MOST_TRIED = 40_000_000_000  # sets of elements that a rule is asked about
FEW = 16  # rows from which the size of the table can be told


class TooLarge(HandloomError):
    """There is too much that is forbidden for tables of it."""


class Broken(HandloomError):
    """What is forbidden is not kept by the symmetry, which only seemed so where it was tried."""


@lru_cache(maxsize=64)
def in_any_order(test: Test) -> Test:
    """A rule is asked about elements in ascending order, so that it may be about which comes first; this one sorts
    them."""

    def ordered(xy: Array, a: int, b: int, c: int, d: int, e: int) -> bool:
        low, high = min(a, b, c), max(a, b, c)
        return test(xy, low, a + b + c - low - high, high, high, high)

    return kernel()(ordered)


@kernel()
def mark_within(test: Test, xy: Array, sorted_by_orbit: Array, starts: Array, apart: Array) -> None:
    """Which orbits a rule of three elements, in any order, keeps apart; one that is apart from itself is forbidden."""
    for first in range(len(starts) - 1):
        a = sorted_by_orbit[starts[first]]
        for second in range(first, len(starts) - 1):
            theirs = sorted_by_orbit[starts[second] : starts[second + 1]]
            for b in sorted_by_orbit[starts[first] + 1 : starts[first + 1]]:
                for c in theirs:
                    if c not in (a, b) and test(xy, a, b, c, c, c):
                        apart[first, second] = apart[second, first] = True
            for i in range(len(theirs)):
                for c in theirs[i + 1 :]:
                    if theirs[i] != a and test(xy, a, theirs[i], c, c, c):
                        apart[first, second] = apart[second, first] = True


@kernel()
def mark_thirds(test: Test, xy: Array, of: Array, a: int, rest: Array, first: int, mark: Array) -> None:
    """Which two orbits, counted from the first on, make three with this element that are forbidden."""
    for i in range(len(rest)):
        b = rest[i]
        for c in rest[i + 1 :]:
            if test(xy, a, b, c, c, c):
                mark[min(of[b], of[c]) - first, max(of[b], of[c]) - first] = True


@kernel(cache=True)
def list_row(first: int, mark: Array, apart: Array) -> Array:
    """The threes of orbits that are marked, as rows."""
    size, total = len(mark), 0
    for b in range(size):
        for c in range(b + 1, size):
            mark[b, c] &= not apart[first + b, first + c]
            total += mark[b, c]
    found = np.empty((total, 3), np.uint16)
    total = 0
    for b in range(size):
        for c in range(b + 1, size):
            if mark[b, c]:
                found[total, 0], found[total, 1], found[total, 2] = first, first + b, first + c
                total += 1
    return found


@kernel(cache=True)
def from_every_side(threes: Array, size: int) -> tuple[Array, Array]:
    """For each two orbits, a · size + b, where their thirds begin, and these in ascending order."""
    starts = np.zeros(size * size + 1, np.int64)
    for row in threes:
        for a in row:
            for b in row:
                starts[np.int64(a) * size + b + 1] += a != b
    for at in range(size * size):
        starts[at + 1] += starts[at]
    thirds, next_place = np.empty(6 * len(threes), np.uint16), starts.copy()
    for row in threes:
        for i in range(3):
            for j in range(3):
                if i != j:
                    at = np.int64(row[i]) * size + row[j]
                    thirds[next_place[at]] = row[3 - i - j]
                    next_place[at] += 1
    return starts, thirds


def table_of_thirds(
    tests: list[Test], triples: Array, xy: Array, orbits: Orbits, never: Array, apart: Array, stop: Stop
) -> tuple[Array, Array] | None:
    """For each two orbits the thirds, from rules and from listed threes of orbits, without those of which a part is
    forbidden already; None if told to stop."""
    of, count = orbits.of, len(orbits.members)
    if not tests and not len(triples):
        return np.zeros(1, np.int64), np.zeros(0, np.uint16)
    if count > MOST_ORBITS or len(tests) * count * len(of) ** 2 / 6 > MOST_TRIED:
        raise TooLarge(f"{count:,} orbits are too many for tables of three")
    listed = np.split(triples[:, 1:], np.searchsorted(triples[:, 0], np.arange(1, count)))
    sorting = [in_any_order(test) for test in tests]

    def row_of(first: int) -> Array | None:
        if stop():
            return None
        beside = ~(never | apart[first])
        beside[: first + 1] = False
        rest = np.flatnonzero(beside[of])
        element, *others = orbits.members[first]

        def marked(asked: Sequence[Test], a: int) -> Array:
            mark = np.zeros((count - first, count - first), np.bool_)
            for test in asked:
                mark_thirds(test, xy, of, a, rest, first, mark)
            return mark

        mark = marked(tests, element)
        some = others if len(of) ** 3 <= ALL_TRIED else others[:1] if first % 16 == 0 else []
        if any((marked(sorting, a) != mark).any() for a in some):
            raise Broken(f"the symmetry {orbits.name} does not keep what is forbidden")
        b, c = listed[first].T - first
        mark[b, c] |= beside[b + first] & beside[c + first]
        row: Array = list_row(first, mark, apart)
        return row

    made, total = [np.empty((0, 3), np.uint16)], 0
    rows = on_all_cores(row_of, np.flatnonzero(~never).tolist())
    for done, row in enumerate(rows, 1):  # in order: what is too large is so on every machine
        if row is None:
            return None
        made.append(row)
        total += 6 * len(row)
        share = 1 - (1 - done / count) ** 3  # of all threes of orbits, those with one of the first so many
        if total > MOST_THIRDS * (share if done >= FEW else 1):
            raise TooLarge("the table of three would be too large")
    return None if stop() else from_every_side(np.concatenate(made), count)


def on_all_cores(work: Callable[[int], Any], numbers: list[int]) -> Iterator[Any]:
    """What comes of each number, in their order. The threads are daemons: a program need not wait for a rule that
    never ends."""
    results: list[Future[Any]] = [Future() for _ in numbers]
    waiting = deque(zip(numbers, results, strict=True))

    def worker() -> None:
        while waiting:
            with suppress(IndexError):  # another one was faster
                number, result = waiting.popleft()
                try:
                    result.set_result(work(number))
                except BaseException as error:  # handed over, for who waits for it to raise
                    result.set_exception(error)

    for _ in range(os.cpu_count() or 1):
        threading.Thread(target=worker, daemon=True).start()
    try:
        for result in results:
            yield result.result()
    finally:
        waiting.clear()
