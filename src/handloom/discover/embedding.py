"""A construction of a smaller size as the beginning of one of a larger size.

    >>> from handloom.discover.spaces import graph, grid, permutation, word
    >>> [grid(3, 3).shown(c) for c in embedded(grid(2, 2), (0, 3), grid(3, 3))][:2]
    [[[0, 0], [1, 1]], [[0, 1], [1, 2]]]
    >>> embedded(graph(3), (0, 2), graph(4)), embedded(permutation(2), (1, 0), permutation(3))
    ([(0, 3)], [(1, 0, 2)])
    >>> embedded(word(2), (1, 1), word(4))
    [(1, 1, 0, 0), (0, 0, 1, 1), (0, 1, 1, 0)]

A grid in a larger grid may be moved to any place, and one of fewer dimensions is a layer. A graph gets vertices
without edges, a permutation fixed places at its end. What is not legal in the larger size, its search repairs.
"""

from itertools import product

from handloom.discover.spaces import Construction, Element, Space

MOST_PLACES = 9  # of a grid in a larger one


def embedded(small: Space, construction: Construction, large: Space) -> list[Construction]:
    """The constructions of the larger space that hold the smaller one; none if it does not fit."""
    if small.kind != large.kind:
        return []
    if small.kind == "word":
        return words(small, construction, large)
    if small.kind == "permutation":
        rest = range(small.length, large.length)
        return [(*construction, *rest)] if small.length <= large.length else []
    if not small.is_subset:
        return []
    chosen = [small.elements[i] for i in construction]
    ways = grids(small, chosen, large) if small.kind == "grid" else [chosen]
    found = [tuple(sorted(large.index[one] for one in way if one in large.index)) for way in ways]
    return [one for one in dict.fromkeys(found) if len(one) == len(construction)]


def grids(small: Space, chosen: list[Element], large: Space) -> list[list[Element]]:
    """Points moved to the corners, the middle and other places; with more dimensions, first into a layer."""
    more = len(large.sides) - len(small.sides)
    sides = (1,) * more + small.sides
    if more < 0 or any(a > b for a, b in zip(sides, large.sides, strict=True)):
        return []
    points = [(0,) * more + tuple(point) for point in chosen]
    room = [sorted({0, (b - a + 1) // 2, b - a}) for a, b in zip(sides, large.sides, strict=True)]
    moves = list(product(*room))[:MOST_PLACES]
    return [[tuple(x + by for x, by in zip(point, move, strict=True)) for point in points] for move in moves]


def words(small: Space, construction: Construction, large: Space) -> list[Construction]:
    """The word at the beginning, at the end and in the middle, filled up with the first letter."""
    if small.elements != large.elements or small.length > large.length:
        return []
    room = large.length - small.length
    places = dict.fromkeys((0, room, room // 2))
    return [(0,) * at + construction + (0,) * (room - at) for at in places]
