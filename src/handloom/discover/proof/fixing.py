"""Elements that a model chooses beforehand, because a symmetry takes some construction to one that has them.

    >>> square = Family(4, np.array([[0, 3], [1, 2]]))
    >>> fixed_elements(square, [np.array([1, 3, 0, 2])], least=2)[0]
    (0,)

Of the elements that may be chosen beside those fixed so far, the symmetries that keep these make orbits. If without the
largest orbit there is no construction of `least` elements, one has an element of that orbit, and an image of it has the
first of them. In the space of dimension d modulo 3 this fixes d + 1 points, of which no map moves one. The
symmetries that keep them all are returned too, for the model to break.
"""

from collections.abc import Sequence

import numpy as np

from handloom.core.arrays import Array
from handloom.discover.proof.family import Family
from handloom.discover.proof.parts import BoundedPart

MOST_GENERATORS = 60  # of those that keep an element: any of them generate symmetries


def fixed_elements(
    family: Family, generators: Sequence[Array], least: int, parts: Sequence[BoundedPart] = (), last: bool = False
) -> tuple[tuple[int, ...], list[Array]]:
    """The fixed elements, and symmetries that keep each of them. With last=True an orbit's last element is taken."""
    taken, kept = list[int](), list(generators)
    while True:
        free = allowed_beside(family, taken)
        orbits = orbits_of(kept, free)
        largest = max(orbits, key=len, default=[])
        rest = {*taken, *free} - {*largest}
        if not largest or most_within(rest, parts) >= least:
            return tuple(taken), kept
        element = max(largest) if last else min(largest)
        taken.append(element)
        kept = stabiliser(kept, element, family.size)


def allowed_beside(family: Family, taken: Sequence[int]) -> list[int]:
    """The elements that complete no forbidden set with those taken."""
    there = {*taken}
    lacking = ({*some} - there for some in family.sets)
    refused = {i for few in lacking if len(few) == 1 for i in few}
    return [i for i in range(family.size) if i not in there and i not in refused]


def most_within(elements: set[int], parts: Sequence[BoundedPart]) -> int:
    """An upper bound for constructions of these elements."""
    bounds = (part.bound + len(elements.difference(part.elements)) for part in parts)
    return min([len(elements), *bounds])


def orbits_of(generators: Sequence[Array], elements: Sequence[int]) -> list[list[int]]:
    """The orbits of elements, which the symmetries must take to one another."""
    left, found = set(elements), list[list[int]]()
    for first in elements:
        if first in left:
            orbit = [*paths(generators, first)]
            left.difference_update(orbit)
            found.append(orbit)
    return found


def paths(generators: Sequence[Array], first: int) -> dict[int, Array | None]:
    """The orbit of an element, and for each of its elements a symmetry that takes the first one there."""
    reached: dict[int, Array | None] = {first: None}
    new = [first]
    for element in new:
        for moved in generators:
            image, way = int(moved[element]), reached[element]
            if image not in reached:
                reached[image] = moved if way is None else moved[way]
                new.append(image)
    return reached


def stabiliser(generators: Sequence[Array], element: int, size: int) -> list[Array]:
    """Symmetries that keep an element, by Schreier's lemma; the first of them if there are very many."""
    same, found = np.arange(size), dict[bytes, Array]()
    ways = {there: same if way is None else way for there, way in paths(generators, element).items()}
    for there, way in ways.items():
        for moved in generators:
            back = np.argsort(ways[int(moved[there])])
            image = back[moved[way]]
            if (image != same).any():
                found.setdefault(image.tobytes(), image)
    return spread(list(found.values()))


def spread(maps: list[Array]) -> list[Array]:
    """Up to MOST_GENERATORS of the maps, from all over the list."""
    step = max(1, -(-len(maps) // MOST_GENERATORS))
    return maps[::step]
