"""Points of the n × n grid of which no three make an isosceles triangle, a problem of Jordan Ellenberg.

    >>> is_isosceles((0, 0), (1, 2), (2, 4)), is_isosceles((0, 0), (1, 2), (2, 5))
    (True, False)

Flat triangles count: no point is the midpoint of two others. It is the problem of Wagner's talk.
"""

from typing import Any

from handloom.discover.catalogue import sized
from handloom.discover.problem import Problem
from handloom.discover.spaces import grid

EXACT = (1, 2, 4, 6, 7, 9, 10, 13, 16, 18)  # for n = 1, 2, …, 10
TALK = "Wagner, Transformers and Makemore"
OWN = "found by handloom's search"
REPORTED: dict[int, tuple[int | None, str]] = {
    11: (18, OWN),
    12: (20, OWN),
    16: (28, TALK),
    21: (38, OWN),
    25: (44, "reported value, not checked here"),
    27: (48, TALK),
    32: (58, "MendelEvolve, google-deepmind/alphaevolve_repository_of_problems issue 10, 2026"),
    64: (112, "Georgiev, Gómez-Serrano, Tao, Wagner, arXiv:2511.02864"),
    100: (164, "Georgiev, Gómez-Serrano, Tao, Wagner, arXiv:2511.02864"),
}


@sized(1, 300)
def isosceles(n: int = 16) -> Problem:
    """As many points of the n × n grid as possible without an isosceles triangle."""
    exact = (EXACT[n - 1], f"the maximum: {TALK}") if n <= len(EXACT) else None
    best, source = exact or REPORTED.get(n, (None, ""))
    return Problem(
        grid(n, n),
        forbidden=is_isosceles,
        check=two_at_one_distance,
        best_known=best,
        source=source,
        about=f"points of the {n}×{n} grid, no three of them an isosceles triangle",
    )


def is_isosceles(a: Any, b: Any, c: Any) -> Any:
    """Whether two of the three sides are as long, squared."""
    ab = (a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2
    bc = (b[0] - c[0]) ** 2 + (b[1] - c[1]) ** 2
    ca = (c[0] - a[0]) ** 2 + (c[1] - a[1]) ** 2
    return ab == bc or bc == ca or ca == ab


def two_at_one_distance(points: list[Any]) -> str | None:
    """A point that is as far from one as from another."""
    for x, y in points:
        seen: dict[int, Any] = {}
        for u, v in points:
            distance = (u - x) * (u - x) + (v - y) * (v - y)
            if distance in seen:
                return f"{(x, y)} is as far from {seen[distance]} as from {(u, v)}"
            seen[distance] = (u, v)
    return None
