"""0/1 matrices without the pattern 312, with a permanent as large as possible.

    >>> is_312((0, 2), (1, 0), (2, 1)), is_312((0, 1), (1, 0), (2, 2))
    (True, False)

The pattern is three 1s in rows from the top down, the first to the right of the third and the second to its left. The
permanent is how many permutations fit onto the 1s. Brualdi and Cao asked how large it can be. Most matrices have
permanent 0, so that a search by it would not know where to go: it climbs the logarithm of a permanent in which a 0
counts a little too.
"""

import math
from typing import Any

import numpy as np

from handloom.discover.catalogue import sized
from handloom.discover.problem import Problem
from handloom.discover.spaces import grid

EXACT = (1, 2, 4, 8, 16, 32, 64, 120)  # for n = 1, 2, …, 8
BOUNDS = {9: 225, 10: 424, 11: 795, 12: 1484, 13: 2809, 16: 18488, 19: 122256, 20: 227264}
FAINT = 0.02
MAXIMUM = "the maximum: OEIS A343844"
BOUND = "Charton, Ellenberg, Wagner, Williamson, PatternBoost, arXiv:2411.00566, and its code"


@sized(1, 20)
def permanent_312(n: int = 10) -> Problem:
    """An n × n matrix without 312, its permanent as large as possible."""
    exact = (EXACT[n - 1], MAXIMUM) if n <= len(EXACT) else None
    best, source = exact or (BOUNDS.get(n), BOUND if n in BOUNDS else "")
    return Problem(
        grid(n, n),
        forbidden=is_312,
        score=permanent,
        guide=nearly,
        check=a_312,
        symmetries={"antidiagonal": (lambda p: (n - 1 - p[1], n - 1 - p[0]),)},  # the others make 312 another pattern
        best_known=best,
        source=source,
        about=f"{n}×{n} matrices of 0 and 1 without the pattern 312, for a large permanent",
    )


def is_312(a: Any, b: Any, c: Any) -> Any:
    """Whether the three cells, from the top down, are the pattern."""
    if a > b:
        a, b = b, a
    if b > c:
        b, c = c, b
    if a > b:
        a, b = b, a
    return a[0] < b[0] < c[0] and b[1] < c[1] < a[1]


def permanent(matrix: Any) -> Any:
    """Row by row: in how many ways the rows so far can take just these columns, for each set of columns."""
    n = len(matrix)
    ways = np.zeros(1 << n, np.int64)
    rows = np.zeros(1 << n, np.int64)  # how many rows have taken these columns: how many they are
    ways[0] = 1
    for columns in range((1 << n) - 1):
        if columns:
            rows[columns] = rows[columns & (columns - 1)] + 1
        if ways[columns]:
            for j in range(n):
                if matrix[rows[columns], j] and columns & (1 << j) == 0:
                    ways[columns | (1 << j)] += ways[columns]
    return ways[(1 << n) - 1]


def nearly(matrix: Any) -> Any:
    """The logarithm of the permanent of the matrix with FAINT for 0."""
    n = len(matrix)
    ways = np.zeros(1 << n, np.float64)
    rows = np.zeros(1 << n, np.int64)
    ways[0] = 1.0
    for columns in range((1 << n) - 1):
        if columns:
            rows[columns] = rows[columns & (columns - 1)] + 1
        for j in range(n):
            if columns & (1 << j) == 0:
                ways[columns | (1 << j)] += ways[columns] * (1.0 if matrix[rows[columns], j] else FAINT)
    return math.log(ways[(1 << n) - 1])


def a_312(cells: list[Any]) -> str | None:
    """A cell with others above it, the highest to its right higher than the lowest to its left."""
    for i, j in cells:
        left = [cell for cell in cells if cell[0] < i and cell[1] < j]
        right = [cell for cell in cells if cell[0] < i and cell[1] > j]
        if left and right and min(right)[0] < max(left)[0]:
            return f"{min(right)}, {max(left)} and {(i, j)} are the pattern 312"
    return None
