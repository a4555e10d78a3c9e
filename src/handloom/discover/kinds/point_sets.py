"""Sets of points in space: of any list of points of R^d with whole coordinates.

    >>> cube = points([(x, y, z) for x in range(3) for y in range(3) for z in range(3)])
    >>> [*cube.symmetries]
    ['mirror-x', 'mirror-y', 'mirror-z', 'antipodal', 'swap-xy', 'swap-xz', 'swap-yz', 'cycle']
    >>> [*points([(0, 0), (1, 0), (2, 0), (0, 1)]).symmetries]
    []

Symmetries are the isometries that permute coordinates and change signs, around the centre of the points, as far as they
take the list to itself. Others, such as the turns of a hexagon, are given with `symmetries`.
"""

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any

from handloom.core import HandloomError
from handloom.core.errors import shown
from handloom.discover.spaces import Map, Maps, Space, maps_by_name, subsets

AXES = "xyzw"
Signs = tuple[int, ...]


def points(listed: Iterable[Sequence[int]], symmetries: Maps | None = None) -> Space:
    """Subsets of a list of points, each a tuple of whole coordinates, all of one dimension."""
    found = [tuple(one) if isinstance(one, list | tuple) else (one,) for one in listed]
    if not found or len({len(one) for one in found}) > 1:
        raise HandloomError(f"points of different dimensions, or none: {shown(found[:3])}; give some of one dimension")
    plain = subsets(found)  # checks them
    maps = isometries(plain.elements) if symmetries is None else maps_by_name(symmetries)
    generators = tuple(one for some in maps.values() for one in some) if symmetries is None else ()
    return Space("point set", plain.elements, plain.length, (len(found[0]),), maps, generators)


def isometries(listed: Sequence[Any]) -> dict[str, tuple[Map, ...]]:
    """By name those that take the list to itself."""
    d, there = len(listed[0]), set(listed)
    names = AXES[:d] if d <= len(AXES) else [f"-{i}" for i in range(d)]
    twice = [min(x) + max(x) for x in zip(*listed, strict=True)]  # the centre
    plus, same = (1,) * d, tuple(range(d))
    ways: dict[str, tuple[Signs, Signs]] = {}
    for i in range(d):
        ways[f"mirror-{names[i]}"] = (tuple(-1 if j == i else 1 for j in range(d)), same)
    ways["antipodal"] = ((-1,) * d, same)
    for i, j in combinations(range(d), 2):
        exchanged = tuple({i: j, j: i}.get(k, k) for k in range(d))
        ways[f"swap-{names[i]}{names[j]}"] = (plus, exchanged)
        if d == 2:
            ways["rotation-90"] = ((1, -1), exchanged)
    if d > 2:
        ways["cycle"] = (plus, (*range(1, d), 0))
    moved = {name: map_of(signs, axes, twice) for name, (signs, axes) in ways.items() if d > 1 or name == "antipodal"}
    kept = {name: one for name, one in moved.items() if all(one(p) in there for p in listed)}
    return {name: (one,) for name, one in kept.items() if any(one(p) != p for p in listed)}


def map_of(signs: Signs, axes: Signs, twice: Sequence[int]) -> Map:
    """p ↦ c + M(p − c), for twice the centre c; a point off the whole numbers is None."""

    def moved(p: Any) -> Any:
        far = [2 * p[k] - twice[k] for k in axes]
        image = [sign * x + centre for sign, x, centre in zip(signs, far, twice, strict=True)]
        return None if any(x % 2 for x in image) else tuple(x // 2 for x in image)

    return moved
