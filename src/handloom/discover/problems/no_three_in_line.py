"""Points of the n × n grid, no three on a line of any slope: Dudeney's problem of 1917.

    >>> in_line((0, 0), (1, 2), (2, 4)), in_line((0, 0), (1, 2), (2, 5))
    (True, False)

A row holds two points at most, so 2n is a bound. It is reached for every n from 2 to 60; Guy and Kelly conjecture that
it is not for large n.
"""

from math import gcd
from typing import Any

from handloom.discover.catalogue import sized
from handloom.discover.problem import Problem
from handloom.discover.spaces import grid

REACHED = 60  # 2n points are known for every n from 2 to this
SOURCE = "2n is a bound, and reached: Flammenkamp, J. Combin. Theory A 81 (1998); Prellberg, arXiv:2602.07751"


@sized(1, 300)
def no_three_in_line(n: int = 10) -> Problem:
    """As many points of the n × n grid as possible, no three in line."""
    return Problem(
        grid(n, n),
        forbidden=in_line,
        check=two_in_one_direction,
        best_known=1 if n == 1 else 2 * n if n <= REACHED else None,
        source="a single point" if n == 1 else SOURCE if n <= REACHED else "",
        about=f"points of the {n}×{n} grid, no three of them on a line",
    )


def in_line(a: Any, b: Any, c: Any) -> Any:
    """Whether the triangle has no area."""
    return (b[0] - a[0]) * (c[1] - a[1]) == (c[0] - a[0]) * (b[1] - a[1])


def two_in_one_direction(points: list[Any]) -> str | None:
    """A point from which two others lie in the same direction, or in opposite ones."""
    for x, y in points:
        seen: dict[tuple[int, int], Any] = {}
        for u, v in points:
            if (u, v) == (x, y):
                continue
            common = gcd(u - x, v - y) * (-1 if (u, v) < (x, y) else 1)
            direction = (u - x) // common, (v - y) // common
            if direction in seen:
                return f"{(x, y)}, {seen[direction]} and {(u, v)} are in line"
            seen[direction] = (u, v)
    return None
