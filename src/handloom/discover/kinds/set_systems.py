"""Set systems: families of subsets of {1, …, n}, such as designs, antichains and intersecting families.

    >>> from handloom.discover.problem import Problem, verdict
    >>> pairs = set_system(4, 2)
    >>> pairs.elements[:3], pairs.arguments[:3]
    (((1, 2), (1, 3), (2, 3)), (3, 5, 6))
    >>> disjoint = Problem(pairs, forbidden=lambda a, b: a & b == 0)
    >>> verdict(disjoint, pairs.read([[1, 2], [3, 4]])).reason
    '{1, 2}, {3, 4} is forbidden'

Rules receive each set as a number whose bits are its members, 1 being the lowest: `a & b` is the intersection, `a | b`
the union, `a ^ b` the symmetric difference, and `a & b == a` says that a is in b. `cardinality` counts members. A check
receives tuples of members, and records list them. Symmetries permute 1, …, n, some of them in circles: `turn-k`.
"""

from itertools import combinations
from typing import Any

from handloom.core import HandloomError
from handloom.core.checks import whole
from handloom.core.errors import shown
from handloom.discover.spaces import Map, Space, check_elements, in_circles

MOST_POINTS = 62  # the bits of a number in compiled rules
LONGEST_TURN = 12


def set_system(points: int, *sizes: int) -> Space:
    """Families of subsets of {1, …, points}: of those of the given sizes, by default of all subsets."""
    whole("the number of points", points, 1)
    if points > MOST_POINTS:
        raise HandloomError(f"{points} points are too many for a set system (expected up to {MOST_POINTS})")
    for one in sizes:
        if type(one) is not int or not 0 <= one <= points:
            raise HandloomError(f"size={shown(one)} of a set must be a whole number from 0 to {points}")
    if not sizes and points > 16:
        raise HandloomError(f"all subsets of {points} points are too many; give their sizes, such as 3")
    asked = sorted(set(sizes)) or range(points + 1)
    masks = sorted(sum(1 << v for v in some) for k in asked for some in combinations(range(points), k))
    sets = tuple(tuple(v + 1 for v in range(points) if mask >> v & 1) for mask in masks)
    turns = {f"turn-{k}": (turned(points, k),) for k in range(2, min(points, LONGEST_TURN) + 1)}
    kept = {} if set(map(len, sets)) != {points - len(some) for some in sets} else {"complement": (opposite(points),)}
    every = (exchange(1, 2), turned(points, points)) if points > 1 else ()
    return Space("set system", check_elements(sets), len(sets), (points,), {**turns, **kept}, every)


def turned(points: int, k: int) -> Map:
    """The points in circles of k, each turned by one."""
    moved = in_circles(points, k)
    return lambda some: tuple(sorted(moved(v - 1) + 1 for v in some))


def exchange(u: int, v: int) -> Map:
    other = {u: v, v: u}
    return lambda some: tuple(sorted(other.get(w, w) for w in some))


def opposite(points: int) -> Map:
    """Each set to its complement."""
    return lambda some: tuple(v for v in range(1, points + 1) if v not in some)


def cardinality(some: Any) -> Any:
    """How many members a set has, given as the bits of a number: for rules.

    >>> cardinality(0b1011 & 0b0110)
    1
    """
    members = 0
    while some:
        some &= some - 1
        members += 1
    return members
