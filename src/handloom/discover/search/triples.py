"""The table of triples: for each two orbits, the third ones that may not be chosen beside both, from rules of three.

A forbidden triple of elements lies in one orbit, which then is never chosen; in two, which then are apart; or in three.
Three orbits are tested once: from the first of them, with its first element, because the group takes any other element
of that orbit there. Orbits are ordered by their first elements, so this element comes before all others of the test.
"""

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from handloom.core import HandloomError
from handloom.core.arrays import Array
from handloom.discover.search.compiling import Test, kernel
from handloom.discover.search.kept import kept_code
from handloom.discover.search.result import Stop
from handloom.discover.search.symmetry import Orbits

ALL_TRIED = 200_000_000  # triples of elements up to which a symmetry is tested with every element of an orbit
FEW_ROWS = 16  # rows after which the size of the whole table is estimated


@dataclass(frozen=True)
class TableLimits:
    """How large the tables of what is forbidden may become before annealing, which has none, is used instead."""

    triples: int = 400_000_000  # entries of the table of triples, two bytes each
    orbits: int = 4_096  # of a table of triples
    tried: int = 50_000_000_000  # sets of elements on which a rule is called: minutes, at some nanoseconds each
    sets: int = 6_000_000  # forbidden sets of four or more


class TooLarge(HandloomError):
    """The tables of what is forbidden would be too large."""


class Broken(HandloomError):
    """The symmetry does not preserve what is forbidden, although the samples tried before suggested it."""


@lru_cache(maxsize=64)
def in_any_order(test: Test) -> Test:
    """The rule with its three elements sorted first: rules are called in ascending order, and may depend on it."""

    def ordered(xy: Array, a: int, b: int, c: int, d: int, e: int) -> bool:
        low, high = min(a, b, c), max(a, b, c)
        return test(xy, low, a + b + c - low - high, high, high, high)

    return kernel()(ordered)


@kernel()
def mark_within(test: Test, xy: Array, sorted_by_orbit: Array, starts: Array, apart: Array) -> None:
    """Mark the orbits that a rule of three elements, in any order, keeps apart; one apart from itself is forbidden."""
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
def mark_triples(test: Test, xy: Array, of: Array, a: int, rest: Array, first: int, mark: Array) -> None:
    """Mark the pairs of orbits, counted from the first, that form a forbidden triple with this element."""
    for i in range(len(rest)):
        b = rest[i]
        for c in rest[i + 1 :]:
            if test(xy, a, b, c, c, c):
                mark[min(of[b], of[c]) - first, max(of[b], of[c]) - first] = True


@kernel(cache=True)
def list_row(first: int, mark: Array, apart: Array) -> Array:
    """The marked triples of orbits, as rows."""
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
def from_every_side(triples: Array, size: int) -> tuple[Array, Array]:
    """For each two orbits, a · size + b, where their third orbits begin, and these in ascending order."""
    starts = np.zeros(size * size + 1, np.int64)
    for row in triples:
        for a in row:
            for b in row:
                starts[np.int64(a) * size + b + 1] += a != b
    for at in range(size * size):
        starts[at + 1] += starts[at]
    third, next_place = np.empty(6 * len(triples), np.uint16), starts.copy()
    for row in triples:
        for i in range(3):
            for j in range(3):
                if i != j:
                    at = np.int64(row[i]) * size + row[j]
                    third[next_place[at]] = row[3 - i - j]
                    next_place[at] += 1
    return starts, third


def table_of_triples(
    tests: list[Test],
    listed: Array,
    xy: Array,
    orbits: Orbits,
    never: Array,
    apart: Array,
    stop: Stop,
    limits: TableLimits,
) -> tuple[Array, Array] | None:
    """For each two orbits the third ones of forbidden triples, from rules and from listed triples of orbits, without
    triples that contain a forbidden orbit or pair; None if `stop` says so."""
    count = len(orbits.members)
    if not tests and not len(listed):
        return np.zeros(1, np.int64), np.zeros(0, np.uint16)
    if count > limits.orbits or len(tests) * count * len(orbits.of) ** 2 / 6 > limits.tried:
        raise TooLarge(f"{count:,} orbits are too many for a table of triples")
    row_of = row_maker(tests, listed, xy, orbits, never, apart, stop)
    made, total = [np.empty((0, 3), np.uint16)], 0
    rows = on_all_cores(row_of, np.flatnonzero(~never).tolist())
    for done, row in enumerate(rows, 1):  # in order, so that the same tables are too large on every machine
        if row is None:
            return None
        made.append(row)
        total += 6 * len(row)
        share = 1 - (1 - done / count) ** 3  # of all triples of orbits, those with one of the first `done`
        if total > limits.triples * (share if done >= FEW_ROWS else 1):
            raise TooLarge("the table of triples would be too large")
    return None if stop() else from_every_side(np.concatenate(made), count)


def row_maker(
    tests: list[Test], listed: Array, xy: Array, orbits: Orbits, never: Array, apart: Array, stop: Stop
) -> Callable[[int], Array | None]:
    """A function from an orbit to the forbidden triples of which it is the first; None if `stop` says so."""
    of, count = orbits.of, len(orbits.members)
    by_first = np.split(listed[:, 1:], np.searchsorted(listed[:, 0], np.arange(1, count)))
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
                kept_code(mark_triples, test)(xy, of, a, rest, first, mark)
            return mark

        mark = marked(tests, element)
        some = others if len(of) ** 3 <= ALL_TRIED else others[:1] if first % 16 == 0 else []
        if any((marked(sorting, a) != mark).any() for a in some):
            raise Broken(f"the symmetry {orbits.name} does not preserve what is forbidden")
        b, c = by_first[first].T - first
        mark[b, c] |= beside[b + first] & beside[c + first]
        row: Array = list_row(first, mark, apart)
        return row

    return row_of


def on_all_cores(work: Callable[[int], Any], numbers: list[int]) -> Iterator[Any]:
    """The result for each number, in their order. The threads are daemons: a program need not wait for a rule that
    never ends."""
    results: list[Future[Any]] = [Future() for _ in numbers]
    waiting = deque(zip(numbers, results, strict=True))

    def worker() -> None:
        while waiting:
            with suppress(IndexError):  # another thread took the last one
                number, result = waiting.popleft()
                try:
                    result.set_result(work(number))
                except BaseException as error:  # raised again in the thread that waits for the result
                    result.set_exception(error)

    for _ in range(os.cpu_count() or 1):
        threading.Thread(target=worker, daemon=True).start()
    try:
        for result in results:
            yield result.result()
    finally:
        waiting.clear()
