"""Where the vertices of a graph are drawn: on circles, by the orbits of an automorphism, which turns the picture.

    >>> places = layout(5, [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)])
    >>> places[0]  # on a circle of radius 1, y downwards
    (0.0, -1.0)
    >>> sorted(round(y, 3) for x, y in places)
    [-1.0, -0.309, -0.309, 0.809, 0.809]

Each orbit is a circle on which the automorphism is a turn; a vertex that it fixes is the centre. Which orbit is where,
and turned by how much, is chosen so that edges are short and pass no other vertex. Of an automorphism of order 2 the
picture is a mirror image of itself. A graph in which no symmetry is found is one circle.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import combinations
from math import gcd, tau

import numpy as np

from handloom.core.arrays import Array
from handloom.discover.automorphisms import Edge, Rotation, find_rotation

CLOSE = 0.045  # of a vertex to an edge that passes it, for a circle of radius 1
PASSES = 3  # over all circles
MOST_STEPS = 8  # ways to go round a circle that are tried
MOST_RINGS = 12


def layout(vertices: int, edges: Sequence[Edge]) -> list[tuple[float, float]] | None:
    """The places of the vertices, in a circle of radius 1 around the origin; None for a graph without symmetry."""
    return layout_of(vertices, tuple(sorted(map(tuple, edges))))


@lru_cache(maxsize=256)
def layout_of(vertices: int, edges: tuple[Edge, ...]) -> list[tuple[float, float]] | None:
    turn = find_rotation(vertices, edges) if edges else None
    if turn is None or (turn.fold > 2 and len(turn.orbits) > MOST_RINGS):
        return None
    ends = np.array(edges)
    places = mirrored(turn, vertices, ends) if turn.fold == 2 else turned(turn, vertices, ends)
    return [(float(x), float(y)) for x, y in places]


# Turns


def turned(turn: Rotation, vertices: int, ends: Array) -> Array:
    """Circles around each other: the cheapest of several ways to go round them."""
    steps = [j for j in range(1, turn.fold // 2 + 1) if gcd(j, turn.fold) == 1][:MOST_STEPS]
    found = [settled(Circles(turn, step), vertices, ends) for step in steps or [1]]
    return min(found, key=lambda one: one[0])[1]


class Circles:
    """The orbits of a turn as circles: their order from the outermost, and the quarters of a step each is turned by."""

    def __init__(self, turn: Rotation, step: int) -> None:
        self.turn, self.step = turn, step
        self.order = list(range(len(turn.orbits)))
        self.shifts = [0] * len(turn.orbits)

    def places(self, vertices: int) -> Array:
        places, count = np.zeros((vertices, 2)), len(self.order)
        for ring, orbit in enumerate(self.order):
            around = np.arange(self.turn.fold) * self.step + (self.shifts[orbit] - self.shifts[self.order[0]]) / 4
            angles = tau * around / self.turn.fold
            radius = 1 - 0.8 * ring / count
            places[list(self.turn.orbits[orbit])] = radius * np.stack([np.sin(angles), -np.cos(angles)], 1)
        if len(self.turn.fixed) > 1:
            angles = tau * np.arange(len(self.turn.fixed)) / len(self.turn.fixed)
            places[list(self.turn.fixed)] = 0.1 * np.stack([np.sin(angles), -np.cos(angles)], 1)
        return places


def settled(circles: Circles, vertices: int, ends: Array) -> tuple[float, Array]:
    """Turn and exchange circles while that makes the picture cheaper; its cost, and the places."""
    best = cost(circles.places(vertices), ends)
    for _ in range(PASSES):
        before = best
        for ways in choices(circles):
            for change in ways:
                old = circles.order[:], circles.shifts[:]
                circles.order, circles.shifts = change
                now = cost(circles.places(vertices), ends)
                if now < best - 1e-9:
                    best = now
                else:
                    circles.order, circles.shifts = old
        if best == before:
            break
    return best, circles.places(vertices)


def choices(circles: Circles) -> Iterator[list[tuple[list[int], list[int]]]]:
    """For each circle all ways to turn it; then all ways to exchange two of them."""
    for orbit in range(1, len(circles.order)):
        order, shifts = circles.order, circles.shifts
        yield [(order, [*shifts[:orbit], s, *shifts[orbit + 1 :]]) for s in range(4 * circles.turn.fold)]
    for i, j in combinations(range(len(circles.order)), 2):
        order = circles.order[:]
        order[i], order[j] = order[j], order[i]
        yield [(order, circles.shifts)]


def cost(places: Array, ends: Array) -> float:
    """The length of all edges, and as much as a diameter for each vertex that an edge passes too closely."""
    start, end = places[ends[:, 0]], places[ends[:, 1]]
    way = end - start  # (E, 2)
    square = (way**2).sum(1)
    if (square < CLOSE**2).any():
        return float("inf")
    from_start = places[None] - start[:, None]  # (E, n, 2)
    share = ((from_start * way[:, None]).sum(2) / square[:, None]).clip(0, 1)
    beside = from_start - share[..., None] * way[:, None]
    near = (beside**2).sum(2) < CLOSE**2
    rows = np.arange(len(ends))
    near[rows, ends[:, 0]] = near[rows, ends[:, 1]] = False
    return float(np.sqrt(square).sum() + 2 * near.sum())


# Mirrors


def mirrored(turn: Rotation, vertices: int, ends: Array) -> Array:
    """Pairs on the left and the right of one circle, and what the mirror fixes on its axis."""
    pairs, fixed = [list(pair) for pair in turn.orbits], list(turn.fixed)
    best = cost(mirror_places(pairs, fixed, vertices), ends)
    for _ in range(PASSES):
        before = best
        for i, j in combinations(range(len(pairs)), 2):
            for flip in (False, True):
                new = pairs[:]
                new[i], new[j] = pairs[j], pairs[i][::-1] if flip else pairs[i]
                if (now := cost(mirror_places(new, fixed, vertices), ends)) < best - 1e-9:
                    best, pairs = now, new
        if best == before:
            break
    return mirror_places(pairs, fixed, vertices)


def mirror_places(pairs: list[list[int]], fixed: list[int], vertices: int) -> Array:
    """On the circle the first two of those fixed are its top and its bottom, the others lie between."""
    places = np.zeros((vertices, 2))
    ends, inner = fixed[:2], fixed[2:]
    count = 2 * len(pairs) + len(ends)
    first = 1.0 if ends else 0.5
    for i, (right, left) in enumerate(pairs):
        angle = tau * (first + i) / count
        places[right], places[left] = (np.sin(angle), -np.cos(angle)), (-np.sin(angle), -np.cos(angle))
    for v, y in zip(ends, (-1.0, 1.0), strict=False):
        places[v] = 0.0, y
    for i, v in enumerate(inner, 1):
        places[v] = 0.0, 1.6 * i / (len(inner) + 1) - 0.8
    return places
