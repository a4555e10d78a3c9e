"""Cap sets: points with coordinates modulo 3, no three of them on a line, which is to say with sum 0.

    >>> on_a_line((0, 1, 2), (1, 1, 1), (2, 1, 0)), on_a_line((0, 1, 2), (1, 1, 1), (2, 1, 1))
    (True, False)

Every map x ↦ Ax + b modulo 3 keeps lines. Among them, with the coordinates written as −1, 0 and 1, are changes of
signs: `even-mirrors` are all those of an even number of coordinates. The cap sets of 112 points in dimension 6 are
unions of few of their orbits. Under `paired-mirrors`, the first two signs together, the next two, and so on, a search
of seconds finds 236 points in dimension 7.
"""

from typing import Any

from handloom.discover.catalogue import sized
from handloom.discover.problem import Problem
from handloom.discover.spaces import Map, Symmetries, grid

KNOWN = (2, 4, 9, 20, 45, 112, 236, 512)  # in dimension 1, 2, …
EXACT = 6  # up to this dimension
MAXIMUM = "the maximum: OEIS A090245; in dimension 6 Potechin, 2008"
BOUND = "Romera-Paredes et al., Mathematical discoveries from program search, Nature 2023"


@sized(1, 8)
def cap_set(d: int = 6) -> Problem:
    """As many points as possible in dimension d."""
    space = grid(*[3] * d)
    return Problem(
        space,
        forbidden=on_a_line,
        check=third_of_a_line,
        symmetries={**space.symmetries, **sign_changes(d)},
        best_known=KNOWN[d - 1] if d <= len(KNOWN) else None,
        source=MAXIMUM if d <= EXACT else BOUND if d <= len(KNOWN) else "",
        about=f"points of dimension {d} modulo 3, no three of them on a line",
    )


def sign_changes(d: int) -> Symmetries:
    """Changes of two signs at once: of any two coordinates, or of the first two, the next two, and so on."""
    if d < 3:
        return {}
    return {
        "even-mirrors": tuple(mirror(0, i) for i in range(1, d)),
        "paired-mirrors": tuple(mirror(i, i + 1) for i in range(0, d - 1, 2)),
    }


def mirror(*coordinates: int) -> Map:
    return lambda p: tuple(2 - x if i in coordinates else x for i, x in enumerate(p))


def on_a_line(a: Any, b: Any, c: Any) -> Any:
    """Whether the sum is 0 modulo 3."""
    i = 0
    while i < len(a) and (a[i] + b[i] + c[i]) % 3 == 0:
        i += 1
    return i == len(a)


def third_of_a_line(points: list[Any]) -> str | None:
    """Two points and the third of their line, which is there too."""
    there = set(points)
    for i, a in enumerate(points):
        for b in points[i + 1 :]:
            third = tuple(-(x + y) % 3 for x, y in zip(a, b, strict=True))
            if third in there:
                return f"{a}, {b} and {third} are on a line"
    return None
