"""Symmetry: which permutations of the elements preserve a problem, and the orbits that a search moves as one.

A search under a symmetry looks for a union of orbits. There are fewer orbits than elements, which is most of the gain:
a mirror halves the problem, the group of the square cuts it to an eighth.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, islice

import numpy as np

from handloom.core import HandloomError
from handloom.core.arrays import Array
from handloom.core.errors import in_users_code, shown
from handloom.discover.problem import Problem, arity, call_rule
from handloom.discover.spaces import Map, Space, maps_by_name

NONE = "none"
MOST_MAPS = 5_000  # in a group; a larger one costs more time than it saves
TRIED = 500  # sets of elements on which a symmetry is tested


@dataclass(frozen=True, eq=False)
class Orbits:
    """The sets of elements that a group moves among themselves."""

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
    with in_users_code(f"the symmetry {shown(name)}"):
        images = [one(element) for element in space.elements]
        unknown = [image for image in images if image not in space.index]
    if unknown or len(set(images)) < len(images):
        what = f"takes an element to {shown(unknown[0])}" if unknown else "takes two elements to one"
        raise HandloomError(f"the symmetry {shown(name)} {what}; expected: a permutation of the elements of the space")
    return np.array([space.index[image] for image in images], np.int64)


def closure(generators: Sequence[Array], size: int, most: int) -> Array | None:
    """All products of the generators; None if there are more than `most`."""
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
    """A problem's symmetries by name: the given ones, or those of its space that preserve what is forbidden."""
    space = problem.space
    if not space.is_subset:
        return {}
    if problem.symmetries is not None:
        given = maps_by_name(problem.symmetries)
        for name, maps in given.items():
            if (broken := broken_by(problem, name, maps)) is not None:
                raise HandloomError(
                    f"the symmetry {shown(name)} does not preserve what is forbidden: {broken}; leave it out"
                )
        return dict(given)
    if problem.score is not None:
        return {}  # only its author knows what preserves a score
    return {name: maps for name, maps in space.symmetries.items() if broken_by(problem, name, maps) is None}


def broken_by(problem: Problem, name: str, maps: Sequence[Map]) -> str | None:
    """Elements that are forbidden while their images are not, or vice versa; None if none were found."""
    space = problem.space
    rng = np.random.default_rng(0)
    for one in maps:
        moved = as_indices(space, name, one)
        for rule in problem.rules:
            drawn = np.sort(rng.integers(0, len(space.elements), (TRIED, arity(rule))), axis=1)
            near = combinations(range(len(space.elements)), arity(rule))  # neighbours: they are forbidden more often
            for some in [*map(tuple, drawn[(np.diff(drawn) > 0).all(axis=1)].tolist()), *islice(near, TRIED)]:
                image = sorted(moved[list(some)])
                answers = [call_rule(problem, rule, [space.arguments[i] for i in one]) for one in (some, image)]
                if answers[0] != answers[1]:
                    names = [", ".join(space.name(space.elements[i]) for i in one) for one in (some, image)]
                    return f"{names[0]} and {names[1]} differ"
        for rows, what in ((problem.set_rows, "forbidden"), (problem.required_rows, "required")):
            if (lost := lost_set(rows, moved)) is not None:
                return f"{', '.join(space.name(space.elements[i]) for i in lost)} is {what} and its image is not"
    return None


def lost_set(rows: Array, moved: Array) -> list[int] | None:
    """A listed set whose image is not listed."""
    images = np.sort(np.where(rows < 0, -1, moved[rows]), axis=1)
    listed, seen = np.sort(numbers(rows, len(moved))), numbers(images, len(moved))
    lost = rows[listed[np.minimum(np.searchsorted(listed, seen), len(listed) - 1)] != seen] if len(rows) else rows
    return lost[0][lost[0] >= 0].tolist() if len(lost) else None


def numbers(rows: Array, size: int) -> Array:
    """One number per row, modulo 2^64: exact for short rows, a hash for longer ones, which almost never collides."""
    places = [pow(size + 1, power, 2**63) for power in range(rows.shape[1])]
    with np.errstate(over="ignore"):
        return (rows + 1) @ np.array(places, np.int64)


@lru_cache(maxsize=64)
def orbits_of(problem: Problem, name: str) -> Orbits:
    """The orbits of a problem's symmetry of that name, and of what its constructions must have; for NONE, and if
    nothing is required, every element by itself."""
    known, needed = symmetries_of(problem), problem.required_maps
    if name != NONE and name not in known:
        raise HandloomError(f"{problem} has no symmetry {shown(name)}; it has {', '.join([NONE, *known])}")
    if needed and problem.score is None and (broken := broken_by(problem, "required", needed)) is not None:
        raise HandloomError(
            f"{problem}: the required symmetry does not preserve what is forbidden: {broken}; require another"
        )
    return orbits(problem.space, name, (*known.get(name, ()), *needed))


def adds_to_required(problem: Problem, name: str) -> bool:
    """Whether a symmetry, together with the required one, joins orbits of that one, and is a group that can be used."""
    alone = len(orbits_of(problem, NONE).members)
    try:
        return len(orbits_of(problem, name).members) < alone
    except HandloomError:  # more than MOST_MAPS maps together
        return False
