"""Symmetry: which permutations of the elements keep a problem what it is, and the orbits that a search moves as one.

A construction that is looked for under a symmetry is a union of orbits. There are fewer of them than of elements, and
that is most of the gain: a mirror halves the problem, the group of the square cuts it to an eighth.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, islice

import numpy as np

from handloom.core import HandloomError
from handloom.core.arrays import Array
from handloom.core.errors import shown, told
from handloom.discover.problem import Problem, arity, asked
from handloom.discover.spaces import Map, Space, maps_by_name

NONE = "none"
MOST_MAPS = 5_000  # in a group; more would take longer than they save
TRIED = 500  # sets of elements on which a symmetry is tried


@dataclass(frozen=True, eq=False)
class Orbits:
    """The elements that go together under a group."""

    name: str
    group: Array  # (maps, elements): where each map takes each element
    of: Array  # (elements,): the orbit of each
    members: tuple[Array, ...]  # the elements of each orbit, the least first

    @property
    def first(self) -> Array:
        return np.array([orbit[0] for orbit in self.members], np.int64)

    @property
    def weights(self) -> Array:
        return np.array([len(orbit) for orbit in self.members], np.int64)


def orbits(space: Space, name: str, maps: Sequence[Map]) -> Orbits:
    """The orbits of the group that the maps generate."""
    group = closure([as_indices(space, name, one) for one in maps], len(space.elements), MOST_MAPS)
    if group is None:
        raise HandloomError(f"the symmetry {shown(name)} has more than {MOST_MAPS:,} maps; give fewer generators")
    least, of = np.unique(group.min(axis=0), return_inverse=True)
    order = np.argsort(of, kind="stable")
    ends = np.cumsum(np.bincount(of, minlength=len(least)))
    return Orbits(name, group, of.astype(np.int64), tuple(np.split(order, ends[:-1])))


@lru_cache(maxsize=256)
def as_indices(space: Space, name: str, one: Map) -> Array:
    """A map of elements as a permutation of their indices."""
    try:
        images = [one(element) for element in space.elements]
        unknown = [image for image in images if image not in space.index]
    except Exception as error:
        raise HandloomError(f"the symmetry {shown(name)}: {told(error)}") from error
    if unknown or len(set(images)) < len(images):
        what = f"takes an element to {shown(unknown[0])}" if unknown else "takes two elements to one"
        raise HandloomError(f"the symmetry {shown(name)} {what}; it must take every element to another of the space")
    return np.array([space.index[image] for image in images], np.int64)


def closure(generators: Sequence[Array], size: int, most: int) -> Array | None:
    """All products of the generators; None if they are more than that."""
    found = {np.arange(size).tobytes(): np.arange(size)}
    new = list(found.values())
    while new:
        grown = [generator[one] for one in new for generator in generators]
        new = [image for image in {image.tobytes(): image for image in grown}.values() if image.tobytes() not in found]
        found |= {image.tobytes(): image for image in new}
        if len(found) > most:
            return None
    return np.array(list(found.values()))


@lru_cache(maxsize=64)
def symmetries_of(problem: Problem) -> dict[str, tuple[Map, ...]]:
    """The symmetries that a problem has, by name: what it says, or those of its space that keep what is forbidden."""
    space = problem.space
    if not space.is_subset:
        return {}
    if problem.symmetries is not None:
        given = maps_by_name(problem.symmetries)
        for name, maps in given.items():
            if (broken := broken_by(problem, name, maps)) is not None:
                raise HandloomError(
                    f"the symmetry {shown(name)} does not keep what is forbidden: {broken}; leave it out of symmetries"
                )
        return dict(given)
    if problem.score is not None:
        return {}  # whether a score is kept only its author can say
    return {name: maps for name, maps in space.symmetries.items() if broken_by(problem, name, maps) is None}


def broken_by(problem: Problem, name: str, maps: Sequence[Map]) -> str | None:
    """Elements that are forbidden while their images are not, or the other way round; None if none were found."""
    space = problem.space
    rng = np.random.default_rng(0)
    for one in maps:
        moved = as_indices(space, name, one)
        for rule in problem.rules:
            drawn = np.sort(rng.integers(0, len(space.elements), (TRIED, arity(rule))), axis=1)
            near = combinations(range(len(space.elements)), arity(rule))  # neighbours are forbidden more often
            for some in [*map(tuple, drawn[(np.diff(drawn) > 0).all(axis=1)].tolist()), *islice(near, TRIED)]:
                here = [space.elements[i] for i in some]
                there = [space.elements[i] for i in sorted(moved[list(some)])]
                if asked(problem, rule, here) != asked(problem, rule, there):
                    return f"{', '.join(map(str, here))} and {', '.join(map(str, there))} differ"
        if (lost := lost_set(problem.set_rows, moved)) is not None:
            return f"{', '.join(str(space.elements[i]) for i in lost)} is forbidden and its image is not"
    return None


def lost_set(rows: Array, moved: Array) -> list[int] | None:
    """One of the listed sets whose image is not listed."""
    images = np.sort(np.where(rows < 0, -1, moved[rows]), axis=1)
    listed, seen = np.sort(numbers(rows, len(moved))), numbers(images, len(moved))
    lost = rows[listed[np.minimum(np.searchsorted(listed, seen), len(listed) - 1)] != seen] if len(rows) else rows
    return lost[0][lost[0] >= 0].tolist() if len(lost) else None


def numbers(rows: Array, size: int) -> Array:
    """A number for each row; sets so long that numbers are not enough are told apart by chance, all but surely."""
    places = [pow(size + 1, power, 2**63) for power in range(rows.shape[1])]
    with np.errstate(over="ignore"):
        return (rows + 1) @ np.array(places, np.int64)


@lru_cache(maxsize=64)
def orbits_of(problem: Problem, name: str) -> Orbits:
    """The orbits of a problem's symmetry of that name; of none, every element by itself."""
    known = symmetries_of(problem)
    if name != NONE and name not in known:
        raise HandloomError(f"{problem} has no symmetry {shown(name)}; it has {', '.join([NONE, *known])}")
    return orbits(problem.space, name, known.get(name, ()))
