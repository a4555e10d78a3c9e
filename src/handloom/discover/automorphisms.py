"""Automorphisms of a graph: the one that shows most of its symmetry in a drawing.

    >>> turn = find_rotation(5, [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)])
    >>> turn.fold, sorted(map(sorted, turn.orbits)), turn.fixed
    (5, [[0, 1, 2, 3, 4]], ())

Some automorphisms are found by refinement: both copies of the graph get colours by their neighbours' colours, a vertex
and its image are given a colour of their own, and so on until the images of all are known. Each is checked exactly.
From these, some of their products and all their powers, one is taken that moves the vertices in orbits of one length,
as a turn of a drawing does, with the fewest orbits. With the same graph it is the same one every time. For very regular
graphs the search is cut off, and may miss some.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import lcm

import numpy as np

from handloom.core.arrays import Array

MOST_REFINEMENTS = 3_000
PRODUCTS = 60
MOST_VERTICES = 128
Edge = tuple[int, int]


@dataclass(frozen=True)
class Rotation:
    """An automorphism whose orbits have `fold` vertices each, in their order, apart from those that it fixes."""

    fold: int
    orbits: tuple[tuple[int, ...], ...]
    fixed: tuple[int, ...]


def find_rotation(vertices: int, edges: Iterable[Edge]) -> Rotation | None:
    """The automorphism with the fewest orbits of one length; None if none is found but the identity."""
    return rotation_of(vertices, tuple(sorted(map(tuple, edges)))) if 2 < vertices <= MOST_VERTICES else None


@lru_cache(maxsize=256)
def rotation_of(vertices: int, edges: tuple[Edge, ...]) -> Rotation | None:
    matrix = np.zeros((vertices, vertices), np.int64)
    for u, v in edges:
        matrix[u, v] = matrix[v, u] = 1
    found = list(dict.fromkeys(tuple(one.tolist()) for one in with_products(some_automorphisms(matrix))))
    turns = [turn for one in found for turn in turns_of(one)]
    return min(turns, key=worth, default=None)


def worth(turn: Rotation) -> tuple[int, int, int]:
    """Few orbits first; more than one vertex that does not move is hard to draw."""
    return len(turn.orbits) + 2 * len(turn.fixed), len(turn.fixed), -turn.fold


def turns_of(image: tuple[int, ...]) -> Iterator[Rotation]:
    """The powers of a permutation that have orbits of one length, apart from fixed vertices."""
    cycles = cycles_of(image)
    order = lcm(*map(len, cycles))
    for power in range(1, order):
        if order % power:
            continue
        raised = [cycle[i:] + cycle[:i] for cycle in cycles for i in [power % len(cycle)]]
        whole = {v: w for cycle, moved in zip(cycles, raised, strict=True) for v, w in zip(cycle, moved, strict=True)}
        parts = cycles_of(tuple(whole[v] for v in range(len(image))))
        lengths = {len(part) for part in parts} - {1}
        if len(lengths) == 1:
            fixed = tuple(part[0] for part in parts if len(part) == 1)
            yield Rotation(lengths.pop(), tuple(part for part in parts if len(part) > 1), fixed)


def cycles_of(image: tuple[int, ...]) -> list[tuple[int, ...]]:
    """The cycles of a permutation, each from its smallest element."""
    seen, cycles = set[int](), []
    for first in range(len(image)):
        cycle, at = [], first
        while at not in seen:
            seen.add(at)
            cycle.append(at)
            at = image[at]
        if cycle:
            cycles.append(tuple(cycle))
    return cycles


def with_products(found: list[Array]) -> list[Array]:
    """The automorphisms, and products of some of them, always the same."""
    rng, known = np.random.default_rng(0), list(found)
    for _ in range(PRODUCTS if len(found) > 1 else 0):
        a, b = (known[int(i)] for i in rng.integers(len(known), size=2))
        known.append(a[b])
    return known


class Copies:
    """Two copies of a graph, whose vertices are coloured alike as far as an automorphism may exchange them."""

    def __init__(self, matrix: Array) -> None:
        self.matrix, self.left = matrix, MOST_REFINEMENTS
        self.weights = np.random.default_rng(1).integers(1, 2**40, size=len(matrix) + 1)

    def refined(self, colours: Array) -> Array | None:
        """Colours (2, n), refined until nothing changes; None if the copies differ."""
        classes = 0
        while True:
            self.left -= 1
            sums = self.weights[colours] @ self.matrix  # of the neighbours' colours; the matrix is symmetric
            _, flat = np.unique(colours.astype(np.int64) * (1 << 50) + sums, return_inverse=True)
            colours = flat.reshape(colours.shape)
            if not np.array_equal(np.bincount(colours[0]), np.bincount(colours[1], minlength=colours[0].max() + 1)):
                return None
            if int(flat.max()) + 1 == classes:
                return colours
            classes = int(flat.max()) + 1

    def completed(self, colours: Array) -> Array | None:
        """The first automorphism that these colours allow: the image of each vertex."""
        classes = np.bincount(colours[0])
        if (classes == 1).all():
            image = np.empty(len(self.matrix), np.int64)
            image[np.argsort(colours[0])] = np.argsort(colours[1])
            return image if np.array_equal(self.matrix[image][:, image], self.matrix) else None
        shared = np.flatnonzero(classes > 1)
        target = int(shared[np.argmin(classes[shared])])
        vertex = int(np.flatnonzero(colours[0] == target)[0])
        for w in np.flatnonzero(colours[1] == target):
            if (found := self.with_image(colours, vertex, int(w))) is not None:
                return found
        return None

    def with_image(self, colours: Array, vertex: int, image: int) -> Array | None:
        """An automorphism that takes a vertex to that image."""
        if self.left <= 0:
            return None
        own = colours.copy()
        own[0, vertex] = own[1, image] = len(self.matrix)
        refined = self.refined(own)
        return None if refined is None else self.completed(refined)


def some_automorphisms(matrix: Array) -> list[Array]:
    """For some vertices, one automorphism to each vertex that it can be taken to: first those that move the first
    vertex of a class, then those that keep it, and so on."""
    copies, found = Copies(matrix), list[Array]()
    colours = copies.refined(np.zeros((2, len(matrix)), np.int64))
    while colours is not None and (np.bincount(colours[0]) > 1).any() and copies.left > 0:
        sizes = np.bincount(colours[0])
        vertex = int(np.flatnonzero(colours[0] == int(np.argmax(sizes)))[0])
        images = [int(w) for w in np.flatnonzero(colours[1] == colours[0, vertex]) if w != vertex]
        tried = [copies.with_image(colours, vertex, image) for image in images]
        found += [one for one in tried if one is not None]
        own = colours.copy()
        own[0, vertex] = own[1, vertex] = len(matrix)
        colours = copies.refined(own)
    return found
