"""Constructions with a symmetry, written by their orbits: one symbol per orbit, so that every string has the symmetry.

>>> from handloom.discover.spaces import grid
>>> square = grid(2, 2)
>>> rows = Orbitwise((square,), (0, 0, 1, 1))       # the two points of a row are one orbit
>>> rows.write((2, 3)), rows.read([1, 0, 1])
([1], (0, 1, 2, 3))
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from handloom.discover.spaces import Construction, Space


@dataclass(frozen=True)
class Orbitwise:
    """The orbits that are chosen, in ascending order."""

    spaces: tuple[Space, ...]
    of: tuple[int, ...]  # the orbit of each element

    letters: ClassVar[bool] = False
    between: ClassVar[str] = ""
    opening: ClassVar[tuple[int, ...]] = ()

    @cached_property
    def members(self) -> list[list[int]]:
        """The elements of each orbit."""
        found: list[list[int]] = [[] for _ in range(max(self.of) + 1)]
        for element, orbit in enumerate(self.of):
            found[orbit].append(element)
        return found

    @cached_property
    def names(self) -> list[str]:
        """An orbit is named by its first element."""
        space = self.spaces[0]
        return ["".join(space.name(space.elements[members[0]]).split()) for members in self.members]

    @property
    def most(self) -> int:
        return len(self.members)

    def whole(self, construction: Construction) -> bool:
        """Whether a construction is a union of orbits."""
        return len(construction) == sum(len(self.members[orbit]) for orbit in {self.of[i] for i in construction})

    def write(self, construction: Construction, space: Space | None = None) -> list[int]:
        """The orbits of which a construction has anything."""
        return sorted({self.of[i] for i in construction})

    def read(self, symbols: Sequence[int]) -> Construction | None:
        return tuple(sorted(element for orbit in set(symbols) for element in self.members[orbit]))
