"""Bounds of parts: what is true of every legal construction because it is legal within a part of the space.

The maximum of a 7 × 8 grid bounds every 7 × 8 window of the 8 × 8 grid, and the maximum of 11 vertices bounds what is
left of a graph on 12 when one vertex is taken away. Parts are bounded smallest first, each with the bounds of the parts
in it. Two parts share a bound only if their forbidden sets are the same, element by element, which is looked up here.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from math import prod

from handloom.discover.proof.family import Family
from handloom.discover.proof.symmetric import Group
from handloom.discover.spaces import Space, graph, grid, subsets

MOST_PARTS = 10_000
MOST_IMAGES = 5_000  # of parts under a large group
MOST_WORK = 300_000_000  # parts times forbidden sets: looking these up takes seconds

Bound = Callable[[Space, Family, "list[BoundedPart]"], int | None]  # an upper bound; None: there was no time for one
Box = tuple[tuple[int, ...], tuple[int, ...]]  # its first corner, its sides


@dataclass(frozen=True)
class BoundedPart:
    """Elements of which at most `bound` can be chosen."""

    elements: tuple[int, ...]
    bound: int


class Parts:
    """The bounds found so far, by the forbidden sets of a part."""

    def __init__(self, bound: Bound) -> None:
        self.bound = bound
        self.known: dict[tuple[str, tuple[int, int, bytes]], int | None] = {}

    def of(self, space: Space, family: Family) -> list[BoundedPart]:
        """The parts of a space with their bounds."""
        if space.kind == "graph":
            return self.without_a_vertex(space, family)
        return self.in_boxes(space, family)

    def look_up(self, space: Space, family: Family, inner: Callable[[], list[BoundedPart]]) -> int | None:
        name = (f"{space.kind} {space.sides}", family.key)
        if name not in self.known:
            self.known[name] = self.bound(space, family, inner()) if len(family.rows) else family.size
        return self.known[name]

    def without_a_vertex(self, space: Space, family: Family) -> list[BoundedPart]:
        """Of a graph the edges that do not meet a vertex, if these are the same problem for all vertices."""
        vertices = space.sides[0]
        if vertices < 4:
            return []
        ends = range(vertices)
        left = [tuple(i for i, edge in enumerate(space.elements) if v not in edge) for v in ends]
        families = [family.within(elements) for elements in left]
        if len({one.key for one in families}) > 1:
            return []
        smaller = graph(vertices - 1)
        bound = self.look_up(smaller, families[0], lambda: self.of(smaller, families[0]))
        return [] if bound is None else [BoundedPart(elements, bound) for elements in left]

    def in_boxes(self, space: Space, family: Family) -> list[BoundedPart]:
        """Of a grid all smaller boxes, of a list all intervals; those only that say more than two halves of them."""
        sides = space.sides or (len(space.elements),)
        boxes = sorted(boxes_in(sides), key=lambda box: prod(box[1]))
        if len(boxes) > MOST_PARTS or len(boxes) * len(family.rows) > MOST_WORK:
            return []
        bounds: dict[Box, int] = {}
        found: list[BoundedPart] = []
        for box in boxes:
            elements = elements_in(box, sides)
            within = family.within(elements)
            inner = as_space(space, box, elements)
            bound = self.look_up(inner, within, lambda there=elements: inside(found, there))  # type: ignore[misc]
            if bound is None:
                break
            bounds[box] = bound
            if all(bounds[low] + bounds[high] > bound for low, high in halves(box)):
                found.append(BoundedPart(elements, bound))
        return [part for part in found if part.bound < len(part.elements)]


def boxes_in(sides: tuple[int, ...]) -> Iterator[Box]:
    """The boxes of a grid but the whole: their corners and sides."""
    for shape in product(*(range(1, side + 1) for side in sides)):
        if shape != sides:
            corners = product(*(range(side - wide + 1) for side, wide in zip(sides, shape, strict=True)))
            yield from ((corner, shape) for corner in corners)


def elements_in(box: Box, sides: tuple[int, ...]) -> tuple[int, ...]:
    """The indices of a box's points, ordered along its sides from the shortest to the longest, so that boxes that lie
    and stand are numbered alike."""
    corner, shape = box
    axes = sorted(range(len(sides)), key=lambda axis: (shape[axis], axis))
    steps = [prod(sides[axis + 1 :]) for axis in range(len(sides))]
    first = sum(at * step for at, step in zip(corner, steps, strict=True))
    return tuple(
        first + sum(at * steps[axis] for at, axis in zip(point, axes, strict=True))
        for point in product(*(range(shape[axis]) for axis in axes))
    )


def as_space(space: Space, box: Box, elements: tuple[int, ...]) -> Space:
    """A box as a space of its own, without the axes along which it has one point."""
    return (
        grid(*(sorted(side for side in box[1] if side > 1) or [1]))
        if space.kind == "grid"
        else subsets(range(len(elements)))
    )


def halves(box: Box) -> Iterator[tuple[Box, Box]]:
    """The ways to cut a box in two."""
    corner, shape = box
    for axis, side in enumerate(shape):
        for wide in range(1, side):
            low = (*shape[:axis], wide, *shape[axis + 1 :])
            high = (*shape[:axis], side - wide, *shape[axis + 1 :])
            yield (corner, low), ((*corner[:axis], corner[axis] + wide, *corner[axis + 1 :]), high)


def inside(found: list[BoundedPart], elements: tuple[int, ...]) -> list[BoundedPart]:
    """The parts that lie within these elements, numbered as there."""
    place = {element: i for i, element in enumerate(elements)}
    some = [part for part in found if part.bound < len(part.elements) and place.keys() >= {*part.elements}]
    return [BoundedPart(tuple(place[i] for i in part.elements), part.bound) for part in some]


def with_images(parts: list[BoundedPart], group: Group) -> list[BoundedPart]:
    """Parts and their images under a large group, as planes of every direction are those of a coordinate. (The images
    of boxes under a small group are mostly boxes.)"""
    if group.kind != "large":
        return parts
    found = {tuple(sorted(part.elements)): part.bound for part in parts}
    new = [*found]
    while new and len(found) < MOST_IMAGES:
        images = [(one, tuple(sorted(moved[[*one]].tolist()))) for one in new for moved in group.generators]
        fresh = {image: found[one] for one, image in images if image not in found}
        found |= fresh
        new = [*fresh]
    return [BoundedPart(elements, bound) for elements, bound in found.items()]
