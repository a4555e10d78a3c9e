"""Points of the n × n × n grid, no five on a sphere or a plane.

    >>> on_a_sphere((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1))
    True

Five points are on a sphere or a plane when some A·(x² + y² + z²) + B·x + C·y + D·z + E is 0 at all of them: when the
determinant with these five columns is 0. Three points in line are allowed, and so are four on a circle while there is
no fifth.
"""

from itertools import combinations
from math import gcd
from typing import Any

from handloom.discover.catalogue import sized
from handloom.discover.problem import Problem
from handloom.discover.spaces import grid

EXACT = (1, 4, 8)  # for n = 1, 2, 3
BOUNDS = (  # for n = 4, 5, …, 40
    *(11, 14, 18, 21, 23, 26, 28, 31, 33, 36, 38, 42, 44, 46, 48, 51, 54, 56, 59, 62, 64, 66, 70, 72, 74, 76, 80, 82),
    *(85, 86, 90, 91, 94, 96, 99, 102, 104),
)
SOURCES = (  # up to which n
    (3, "the maximum, by exhaustive search"),
    (6, "Charton, Ellenberg, Wagner, Williamson, PatternBoost, arXiv:2411.00566"),
    (12, "Georgiev, Gómez-Serrano, Tao, Wagner, arXiv:2511.02864"),
    (40, "google-deepmind/alphaevolve_repository_of_problems issues 4 and 6, 2026"),
)
Point = tuple[int, int, int]


@sized(1, 40)
def no_five_on_a_sphere(n: int = 4) -> Problem:
    """As many points of the n × n × n grid as possible, no five on a sphere or a plane."""
    return Problem(
        grid(n, n, n),
        forbidden=on_a_sphere,
        check=two_on_one_sphere,
        best_known=(EXACT + BOUNDS)[n - 1],
        source=next(source for most, source in SOURCES if n <= most),
        about=f"points of the {n}×{n}×{n} grid, no five of them on a sphere or a plane",
    )


def on_a_sphere(a: Any, b: Any, c: Any, d: Any, e: Any) -> Any:
    """The determinant, with the first point moved to the origin: a 4 × 4 one, by its 2 × 2 minors."""
    bx, by, bz = b[0] - a[0], b[1] - a[1], b[2] - a[2]
    cx, cy, cz = c[0] - a[0], c[1] - a[1], c[2] - a[2]
    dx, dy, dz = d[0] - a[0], d[1] - a[1], d[2] - a[2]
    ex, ey, ez = e[0] - a[0], e[1] - a[1], e[2] - a[2]
    bb, cc = bx * bx + by * by + bz * bz, cx * cx + cy * cy + cz * cz
    dd, ee = dx * dx + dy * dy + dz * dz, ex * ex + ey * ey + ez * ez
    determinant = (
        (bx * cy - by * cx) * (dz * ee - dd * ez)
        - (bx * cz - bz * cx) * (dy * ee - dd * ey)
        + (bx * cc - bb * cx) * (dy * ez - dz * ey)
        + (by * cz - bz * cy) * (dx * ee - dd * ex)
        - (by * cc - bb * cy) * (dx * ez - dz * ex)
        + (bz * cc - bb * cz) * (dx * ey - dy * ex)
    )
    return determinant == 0


def two_on_one_sphere(points: list[Point]) -> str | None:
    """Three points and two more that choose the same of all the spheres and planes through the three."""
    for three in combinations(range(len(points)), 3):
        a, b, c = (points[i] for i in three)
        seen: dict[tuple[int, int], Point] = {}
        for d in points[three[2] + 1 :]:
            chosen = which(a, b, c, d)
            if chosen in seen:
                return f"{a}, {b}, {c}, {seen[chosen]} and {d} are on a sphere or a plane"
            if chosen == (0, 0) and len(points) > 4:
                return f"{a}, {b}, {c} and {d} are on a circle or a line, and so on a sphere or a plane with any other"
            seen[chosen] = d
    return None


def which(a: Point, b: Point, c: Point, d: Point) -> tuple[int, int]:
    """Which sphere or plane through a, b and c the point d is on; (0, 0) if on all.

    They are those of a pencil, s·S + t·P = 0: S is the sphere with a great circle through the three and P their plane.
    If they are in line, S and P are two planes through that line. It is chosen by the ratio of S(d) and P(d).
    """
    u, v, w = less(b, a), less(c, a), less(d, a)
    normal = cross(u, v)
    if any(normal):
        centre = cross(less(times(dot(u, u), v), times(dot(v, v), u)), normal)  # times 2·|normal|²
        first, second = dot(normal, normal) * dot(w, w) - dot(w, centre), dot(w, normal)
    else:
        first, second = (dot(w, plane) for plane in two_planes(u))
    common = gcd(first, second) * (-1 if (first, second) < (0, 0) else 1)
    return (first // common, second // common) if common else (0, 0)


def two_planes(u: Point) -> tuple[Point, Point]:
    """The normals of two planes that have this direction in common."""
    normals = [cross(u, axis) for axis in ((1, 0, 0), (0, 1, 0), (0, 0, 1))]
    return next((p, q) for p, q in combinations(normals, 2) if any(cross(p, q)))


def less(p: Point, q: Point) -> Point:
    return p[0] - q[0], p[1] - q[1], p[2] - q[2]


def times(factor: int, p: Point) -> Point:
    return factor * p[0], factor * p[1], factor * p[2]


def dot(p: Point, q: Point) -> int:
    return p[0] * q[0] + p[1] * q[1] + p[2] * q[2]


def cross(p: Point, q: Point) -> Point:
    return p[1] * q[2] - p[2] * q[1], p[2] * q[0] - p[0] * q[2], p[0] * q[1] - p[1] * q[0]
