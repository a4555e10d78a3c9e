"""The search for a canonical order of a graph's vertices, compiled by Numba. Edges may have colours, and vertices too.

    >>> path = np.zeros((3, 3), np.uint8)
    >>> path[0, 1] = path[1, 0] = path[1, 2] = path[2, 1] = 1
    >>> [int(v) for v in best_order(path)[0]], [int(v) for v in best_order(path, classes=(2, 1))[0]]
    ([0, 2, 1], [0, 1, 2])

The vertices are coloured by their neighbours' colours until nothing changes (refinement); in the first smallest class
that is left each vertex in turn gets a colour of its own (individualisation), and so on until all colours differ, which
is an order of the vertices. Of these orders, the leaves of the search, the one with the least matrix is the best
(McKay, Piperno: Practical graph isomorphism II). Two leaves with one matrix are an automorphism; if that moves only the
vertices that were tried at one place, the second of them need not be searched again.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from handloom.core.arrays import Array
from handloom.discover.search.compiling import int64_constant, kernel

MOST_LEAVES = 2_000  # and branches cut off, of a graph
ZERO = int64_constant(0)
FIRST, BEST = int64_constant(0), int64_constant(1)  # of the leaves


class Tree(NamedTuple):
    """The path of the search from the root to its position, one row per depth, and the leaves to compare with."""

    order: Array  # (depth, n) the vertices, class after class
    start: Array  # (depth, n) where the class of a vertex begins in this order
    size: Array  # (depth, n) how many the class has that begins there
    target: Array  # (depth,) where the class begins of which each vertex is tried
    next: Array  # (depth,) which is tried next
    picked: Array  # (depth,) the vertex that was tried last
    trace: Array  # (depth,) a number that is the same for copies of the graph: how the classes were split
    joined: Array  # (depth, n) vertices that known automorphisms take to each other, as a forest
    leaves: Array  # (2, n) the order of the first leaf, and that of the best one
    paths: Array  # (2, depth) the vertices that were picked on the way there
    best_trace: Array  # (depth,)
    best_depth: Array  # (1,)
    links: Array  # (n,) where the refinement counts the neighbours in a class


def best_order(matrix: Array, most: int = MOST_LEAVES, classes: Sequence[int] = ()) -> tuple[Array, bool]:
    """The best order of the vertices, and whether all leaves were searched. `classes` are the sizes of classes of
    vertices, the first ones first, that are never exchanged with others."""
    n = len(matrix)
    whole = np.int64
    tree = Tree(
        order=np.tile(np.arange(n), (n, 1)),
        start=np.zeros((n, n), whole),
        size=np.full((n, n), n, whole),
        target=np.zeros(n, whole),
        next=np.zeros(n, whole),
        picked=np.zeros(n, whole),
        trace=np.zeros(n, np.uint64),
        joined=np.zeros((n, n), whole),
        leaves=np.zeros((2, n), whole),
        paths=np.zeros((2, n), whole),
        best_trace=np.zeros(n, np.uint64),
        best_depth=np.full(1, -1, whole),
        links=np.zeros(n, whole),
    )
    sizes = np.array(classes or (n,), whole)
    begins = np.cumsum(sizes) - sizes
    tree.start[0] = np.repeat(begins, sizes)
    tree.size[0, begins] = sizes
    return tree.leaves[1], bool(explore(matrix, tree, most))


@kernel(cache=True)
def explore(matrix: Array, t: Tree, most: int) -> bool:
    """Search the tree, depth first."""
    depth, ends = ZERO, 0
    t.trace[0] = refine(matrix, t.order[0], t.start[0], t.size[0], t.links)
    arrived = True
    while depth >= 0:
        if arrived:
            cut = worse(t, depth)
            leaf = not cut and not aim(t, depth)
            if cut or leaf:
                ends += 1
                depth = compare(matrix, t, depth) if leaf else depth - 1
                if ends >= most:
                    return depth < 0
        arrived = depth >= 0 and pick(t, depth)
        if arrived:
            individualise(t, depth)
            depth += 1
            t.trace[depth] = refine(matrix, t.order[depth], t.start[depth], t.size[depth], t.links)
        else:
            depth -= 1
    return True


@kernel(cache=True, no_cpython_wrapper=True)
def refine(matrix: Array, order: Array, start: Array, size: Array, count: Array) -> Any:
    """Split classes by how many neighbours their vertices have in each class, until none can be split; the trace."""
    n, trace, changed = len(order), np.uint64(1469598103934665603), True
    while changed:
        changed = False
        by = 0
        while by < n:
            for v in range(n):
                count[v] = 0
                for i in range(by, by + size[by]):
                    count[v] += matrix[v, order[i]]
            at = ZERO
            while at < n:
                end = at + size[at]
                changed |= split(order, start, size, at, count)
                while at < end:  # FNV-1a, of what does not depend on the labels
                    trace = (trace ^ np.uint64((by * n + at) * n + count[order[at]])) * np.uint64(1099511628211)
                    at += size[at]
            by += size[by]
    return trace


@kernel(cache=True, no_cpython_wrapper=True)
def split(order: Array, start: Array, size: Array, at: int, count: Array) -> bool:
    """Split a class by a number of each vertex; whether there were two different numbers."""
    end = at + size[at]
    for i in range(at + 1, end):
        v, j = order[i], i
        while j > at and count[order[j - 1]] > count[v]:
            order[j] = order[j - 1]
            j -= 1
        order[j] = v
    begin = at
    for i in range(at, end):
        if count[order[i]] != count[order[begin]]:
            begin = i
        start[order[i]] = begin
        size[begin] = i + 1 - begin
    return begin > at


@kernel(cache=True, no_cpython_wrapper=True)
def worse(t: Tree, depth: int) -> bool:
    """Whether no leaf below can be better than the best one, nor the same, by the traces so far."""
    for d in range(min(depth, t.best_depth[0]) + 1):
        if t.trace[d] != t.best_trace[d]:
            return t.trace[d] > t.best_trace[d]
    return depth > t.best_depth[0] >= 0


@kernel(cache=True, no_cpython_wrapper=True)
def aim(t: Tree, depth: int) -> bool:
    """Choose the first smallest class of more than one vertex; False if there is none."""
    n, at, least = len(t.order), 0, 0
    while at < n:
        size = t.size[depth, at]
        if size > 1 and (least == 0 or size < least):
            least, t.target[depth] = size, at
        at += size
    t.next[depth] = 0
    for v in range(n):
        t.joined[depth, v] = v
    return least > 0


@kernel(cache=True, no_cpython_wrapper=True)
def pick(t: Tree, depth: int) -> bool:
    """The next vertex to try, not one that an automorphism takes to a vertex tried before."""
    first = t.target[depth]
    while t.next[depth] < t.size[depth, first]:
        at = first + t.next[depth]
        t.next[depth] += 1
        new = True
        for i in range(first, at):
            new &= root(t.joined[depth], t.order[depth, i]) != root(t.joined[depth], t.order[depth, at])
        if new:
            t.picked[depth] = t.order[depth, at]
            return True
    return False


@kernel(cache=True, no_cpython_wrapper=True)
def individualise(t: Tree, depth: int) -> None:
    """One depth further, where the picked vertex is a class of its own, in front of the rest of its class."""
    below, at, v = depth + 1, t.target[depth], t.picked[depth]
    for i in range(len(t.order)):
        t.order[below, i], t.start[below, i], t.size[below, i] = t.order[depth, i], t.start[depth, i], t.size[depth, i]
    end = at + t.size[depth, at]
    for i in range(at, end):
        if t.order[below, i] == v:
            t.order[below, i] = t.order[below, at]
        t.start[below, t.order[below, i]] = at + 1
    t.order[below, at], t.start[below, v] = v, at
    t.size[below, at], t.size[below, at + 1] = 1, end - at - 1


@kernel(cache=True, no_cpython_wrapper=True)
def compare(matrix: Array, t: Tree, depth: int) -> int:
    """A leaf: keep it if it is the first or the best; if it equals one of these, note the automorphism. Returns the
    depth at which to continue."""
    if t.best_depth[0] < 0:
        keep(t, FIRST, depth)
        keep(t, BEST, depth)
        return depth - 1
    better = t.best_depth[0] > depth
    for d in range(min(depth, t.best_depth[0]) + 1):
        better |= t.trace[d] != t.best_trace[d]  # not worse, so less
    sign = -1 if better else difference(matrix, t.order[depth], t.leaves[1])
    if sign < 0:
        keep(t, BEST, depth)
    elif sign == 0:
        return join(t, BEST, depth)
    if difference(matrix, t.order[depth], t.leaves[0]) == 0:
        return join(t, FIRST, depth)
    return depth - 1


@kernel(cache=True, no_cpython_wrapper=True)
def keep(t: Tree, which: int, depth: int) -> None:
    """As the first leaf, or as the best one."""
    for i in range(len(t.order)):
        t.leaves[which, i], t.paths[which, i] = t.order[depth, i], t.picked[i]
        if which:
            t.best_trace[i] = t.trace[i]
    if which:
        t.best_depth[0] = depth


@kernel(cache=True, no_cpython_wrapper=True)
def difference(matrix: Array, one: Array, other: Array) -> int:
    """Which of two orders gives the lesser matrix: −1 the one, 1 the other, 0 both the same."""
    for i in range(len(one)):
        for j in range(i):
            if matrix[one[i], one[j]] != matrix[other[i], other[j]]:
                return -1 if matrix[one[i], one[j]] < matrix[other[i], other[j]] else 1
    return 0


@kernel(cache=True, no_cpython_wrapper=True)
def join(t: Tree, which: int, depth: int) -> int:
    """An automorphism takes one leaf to the other, and keeps what was picked where their paths were one; that depth."""
    parting = 0
    while t.picked[parting] == t.paths[which, parting]:
        parting += 1
    for d in range(parting + 1):
        for i in range(len(t.order)):
            one, other = root(t.joined[d], t.leaves[which, i]), root(t.joined[d], t.order[depth, i])
            t.joined[d, max(one, other)] = min(one, other)
    return parting


@kernel(cache=True, no_cpython_wrapper=True)
def root(joined: Array, v: int) -> int:
    while joined[v] != v:
        v = joined[v]
    return v
