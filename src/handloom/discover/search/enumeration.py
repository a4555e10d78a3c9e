"""All forbidden sets of rules of four and five elements: found once for a problem, on all cores.

Where the tracing of a rule (tracing.py) proves that it cannot notice certain moves, it is called only for one set of
those that the moves take to each other, and the forbidden ones are moved everywhere:

    in a grid     along an axis: only sets that touch the low side are tried. Of four points of the 40 × 40 grid one set
                  in a hundred touches two sides
    in a graph    any that keep the order of the vertices, if nothing but these are compared: only graphs on the first
                  vertices are tried, 20,475 of four edges, however large the graph

The number of calls is known before, and limited; so is the number of forbidden sets, which is all that is kept.
"""

import threading
from collections.abc import Iterator, Sequence
from itertools import chain, combinations, pairwise, product
from math import ceil, comb, prod
from weakref import WeakKeyDictionary

import numpy as np

from handloom.core.arrays import Array
from handloom.discover.problem import Problem, Rule, arity
from handloom.discover.search.compiling import Test, compiled, coordinates, kernel
from handloom.discover.search.kept import kept_code
from handloom.discover.search.result import Stop
from handloom.discover.search.triples import TableLimits, TooLarge, on_all_cores
from handloom.discover.spaces import Space, graph
from handloom.discover.tracing import Traits, coordinate_ranges, traits_of

LONGER = 8  # a rule of four or five elements takes this many times as long as one of three
FEW = 1_000_000  # sets that are tried sooner than a rule is traced
AT_ONCE = 20_000_000  # sets tried between two calls of `stop`, about
MOST_AXES = 3  # along which sets are moved
ROOM = 1_000  # forbidden sets for which a part has room at first

Known = dict[tuple[Rule, TableLimits], Array | TooLarge]
KNOWN: "WeakKeyDictionary[Problem, Known]" = WeakKeyDictionary()
LOCK = threading.Lock()


def forbidden_sets(problem: Problem, rule: Rule, stop: Stop, limits: TableLimits) -> Array:
    """The forbidden sets, one per row, ascending, each once; fewer if `stop` says so. They are kept for whoever asks
    next, for another symmetry; that they are too many is kept, too."""
    with LOCK:
        known = KNOWN.setdefault(problem, {})
        if (rule, limits) not in known:
            found: Array | TooLarge
            try:
                found = enumerated(problem, rule, stop, limits)
            except TooLarge as error:
                found = error
            if stop():
                return np.zeros((0, arity(rule)), np.int32)
            known[rule, limits] = found
        kept = known[rule, limits]
    if isinstance(kept, TooLarge):
        raise kept
    return kept


def enumerated(problem: Problem, rule: Rule, stop: Stop, limits: TableLimits) -> Array:
    space, size = problem.space, arity(rule)
    traits = traits_of(rule, size, space) if comb(len(space.elements), size) > FEW else Traits()
    if traits.by_order and space.kind == "graph" and space.sides[0] > 2 * size:
        few = graph(2 * size)
        return relabelled(tried(Problem(few, forbidden=rule), rule, (), stop, limits), few, space, limits)
    axes = sorted(traits.free)[:MOST_AXES] if is_box(space) else []
    return moved(tried(problem, rule, axes, stop, limits), space, axes, limits)


def is_box(space: Space) -> bool:
    """Whether the elements are all points of a grid, in its order, wherever it begins."""
    full = product(*(range(low, high + 1) for low, high in coordinate_ranges(space)))
    elements = (element if isinstance(element, tuple) else (element,) for element in space.arguments)
    return all(one == other for one, other in zip(elements, full, strict=False))


def tried(problem: Problem, rule: Rule, axes: Sequence[int], stop: Stop, limits: TableLimits) -> Array:
    """The forbidden sets that touch the low side of each of these axes."""
    space, size = problem.space, arity(rule)
    count = len(space.elements)
    if calls(space, size, axes) > limits.tried // LONGER:
        raise TooLarge(f"{count:,} elements have too many sets of {size}")
    trying, xy = kept_code(try_sets, compiled(problem, rule)), coordinates(space)
    touched = np.zeros(count, np.int64)  # for each element a bit for each side
    for bit, axis in enumerate(axes):
        touched |= (xy[:, axis] == xy[:, axis].min()) << bit
    those = candidates(touched, 1 << len(axes))
    firsts = [a for a in range(count) if 0 not in axes or touched[a] & 1]  # the first element is the lowest there
    parts = [part for a in firsts for part in parts_from(a, count, size)]

    def found_in(number: int) -> Array:
        none = np.zeros((0, size), np.int32)
        found: Array = none if stop() else trying(size, xy, touched, *those, *parts[number], limits.sets)
        return found

    made, total = [np.zeros((0, size), np.int32)], 0
    for found in on_all_cores(found_in, list(range(len(parts)))):  # in order, so that the same sets are too many
        made.append(found)
        total += len(found)
        too_many(total, size, limits)
    return np.concatenate(made)


def too_many(total: int, size: int, limits: TableLimits) -> None:
    """Raise an error if it is."""
    if total > limits.sets:
        raise TooLarge(f"more than {limits.sets:,} sets of {size} are forbidden")


def calls(space: Space, size: int, axes: Sequence[int]) -> int:
    """How many sets of elements touch the low side of each of these axes: all, without those that miss one, …"""
    sides = [high - low + 1 for low, high in coordinate_ranges(space)]
    parts = chain.from_iterable(combinations(axes, k) for k in range(len(axes) + 1))
    count = len(space.elements)
    return sum(
        (-1) ** len(missed) * comb(count // prod(sides[k] for k in missed) * prod(sides[k] - 1 for k in missed), size)
        for missed in parts
    )


def candidates(touched: Array, masks: int) -> tuple[Array, Array, Array]:
    """For each set of sides the elements that touch them all, and how many; and where those begin that come after each
    element."""
    count = len(touched)
    last, ends, after = (
        np.zeros((masks, count), np.int64),
        np.zeros(masks, np.int64),
        np.zeros((masks, count), np.int64),
    )
    for mask in range(masks):
        those = np.flatnonzero(touched & mask == mask)
        last[mask, : len(those)], ends[mask] = those, len(those)
        after[mask] = np.searchsorted(those, np.arange(count), side="right")
    return last, ends, after


def parts_from(a: int, count: int, size: int) -> Iterator[tuple[int, int, int]]:
    """The first element with ranges for the second, none of which takes long."""
    pieces = min(count - a, ceil(comb(count - a - 1, size - 1) / AT_ONCE))
    ends = [a + 1 + (count - a - 1) * piece // max(1, pieces) for piece in range(pieces + 1)]
    yield from ((a, begin, end) for begin, end in pairwise(ends))


@kernel()
def try_sets(
    test: Test,
    size: int,
    xy: Array,
    touched: Array,
    last: Array,
    ends: Array,
    after: Array,
    a: int,
    begin: int,
    end: int,
    most: int,
) -> Array:
    """The forbidden sets of four or five elements with this first one and a second one in this range, that touch all
    sides; some of them, if there are more than `most`."""
    out, found, sides, count = np.empty((ROOM, size), np.int32), 0, len(last) - 1, len(touched)
    for b in range(begin, end):
        for c in range(b + 1, count):
            for d in range(c + 1, count) if size == 5 else range(c, c + 1):  # of four, the last one is the fourth
                missed = sides & ~(touched[a] | touched[b] | touched[c] | touched[d])
                start = after[missed, d]
                hits = 0  # they are only counted: what does not depend on the last one is then computed once
                for i in range(start, ends[missed]):
                    e = last[missed, i]
                    if test(xy, a, b, c, d if size == 5 else e, e):
                        hits += 1
                while hits:
                    e = last[missed, start]
                    start += 1
                    if test(xy, a, b, c, d if size == 5 else e, e):
                        hits -= 1
                        if found == len(out):
                            out = grown(out)
                        out[found, 0], out[found, 1], out[found, 2] = a, b, c
                        out[found, 3] = d
                        out[found, size - 1] = e
                        found += 1
        if found > most:
            break
    return out[:found]


@kernel(cache=True)
def grown(rows: Array) -> Array:
    """The same rows with room for as many more."""
    larger = np.empty((2 * len(rows), rows.shape[1]), np.int32)
    for i in range(len(rows)):
        for k in range(rows.shape[1]):
            larger[i, k] = rows[i, k]
    return larger


def moved(rows: Array, space: Space, axes: Sequence[int], limits: TableLimits) -> Array:
    """All copies of these sets that are moved along the axes, as far as there is room."""
    xy, sides = coordinates(space), [high - low + 1 for low, high in coordinate_ranges(space)]
    room = [sides[axis] - np.ptp(xy[:, axis][rows], axis=1) for axis in axes] if len(rows) else []
    copies = prod(room, start=np.ones(len(rows), np.int64))
    too_many(int(copies.sum()), rows.shape[1], limits)
    which = np.arange(len(rows))
    for axis, most in zip(axes, room, strict=False):
        times = most[which]
        steps = np.arange(times.sum()) - np.repeat(np.cumsum(times) - times, times)
        rows = np.repeat(rows, times, axis=0) + (steps * prod(sides[axis + 1 :]))[:, None].astype(np.int32)
        which = np.repeat(which, times)
    return rows


def relabelled(rows: Array, few: Space, space: Space, limits: TableLimits) -> Array:
    """All copies in a large graph of the sets of edges in a small one, with the vertices in the same order."""
    ends, size = coordinates(few)[rows].reshape(len(rows), -1), rows.shape[1]
    vertices = space.sides[0]
    number = np.zeros((vertices, vertices), np.int32)
    number[tuple(coordinates(space).T)] = np.arange(len(space.elements))
    made, total = [np.zeros((0, size), np.int32)], 0
    for used in range(2, few.sides[0] + 1):
        exactly = [set(row) == set(range(used)) for row in ends.tolist()]
        total += sum(exactly) * comb(vertices, used)
        too_many(total, size, limits)
        if any(exactly):
            chosen = chain.from_iterable(combinations(range(vertices), used))
            to = np.fromiter(chosen, np.int16, comb(vertices, used) * used).reshape(-1, used)
            here = ends[exactly].reshape(-1, size, 2)
            made.append(number[to[:, here[..., 0]], to[:, here[..., 1]]].reshape(-1, size))
    return np.concatenate(made)
