"""Points of the n × n grid of which no four are the corners of a square, of any slope.

    >>> corners((1, 0), 2, 1)
    ((1, 0), (3, 1), (0, 2), (2, 3))
    >>> third_and_fourth([(1, 0), (3, 1), (0, 2), (2, 3)])
    '(0, 2), (1, 0), (2, 3) and (3, 1) are a square'

From the corner p one side goes along (a, b) and the other along (−b, a), so that each square has one name with a > 0
and b ≥ 0. The squares are listed: a rule of four points would be asked of every four.
"""

from typing import Any

from handloom.discover.catalogue import sized
from handloom.discover.problem import Problem
from handloom.discover.spaces import grid

EXACT = (1, 3, 6, 10, 15, 21, 27, 34, 42, 50)  # for n = 1, 2, …, 10
BOUNDS = (58, 67, 76, 86, 95, 106)  # for n = 11, …, 16
SOURCE = "OEIS A240443"

Point = tuple[int, int]


@sized(1, 40)
def squares(n: int = 12) -> Problem:
    """As many points of the n × n grid as possible without the corners of a square."""
    known = EXACT + BOUNDS
    source = f"the maximum: {SOURCE}" if n <= len(EXACT) else f"{SOURCE}, lower bounds of Israel and Karpov"
    return Problem(
        grid(n, n),
        forbidden=squares_in(n),
        check=third_and_fourth,
        best_known=known[n - 1] if n <= len(known) else None,
        source=source if n <= len(known) else "",
        about=f"points of the {n}×{n} grid, no four of them the corners of a square",
    )


def corners(p: Point, a: int, b: int) -> tuple[Point, Point, Point, Point]:
    """The square with a corner p and sides along (a, b) and (−b, a)."""
    x, y = p
    return p, (x + a, y + b), (x - b, y + a), (x + a - b, y + a + b)


def squares_in(n: int) -> list[tuple[Point, ...]]:
    """All squares of the grid, each once: a square that stands askew fits into an upright one of side a + b."""
    return [
        corners((x, y), a, b)
        for a in range(1, n)
        for b in range(n - a)
        for x in range(b, n - a)
        for y in range(n - a - b)
    ]


def third_and_fourth(points: list[Any]) -> str | None:
    """Two points whose distance, turned by a right angle, leads from them to two others."""
    there = set(points)
    for x, y in points:
        for u, v in points:
            across, up = u - x, v - y
            third, fourth = (x - up, y + across), (u - up, v + across)
            if (across, up) != (0, 0) and third in there and fourth in there:
                a, b, c, d = sorted([(x, y), (u, v), third, fourth])
                return f"{a}, {b}, {c} and {d} are a square"
    return None
