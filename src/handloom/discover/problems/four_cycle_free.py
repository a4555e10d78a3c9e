"""Graphs with as many edges as possible in which no four make a cycle.

    >>> two_common_neighbours([(0, 2), (1, 2), (0, 3), (1, 3)])
    '0 and 1 have the common neighbours 2 and 3'

About half of n^(3/2) edges is the truth for large n (Erdős, Rényi and Sós); the largest small graphs are known.
"""

from itertools import combinations
from typing import Any

from handloom.discover.catalogue import sized
from handloom.discover.problem import Problem
from handloom.discover.spaces import copies, graph

EXACT = (
    *(0, 1, 3, 4, 6, 7, 9, 11, 13, 16, 18, 21, 24, 27, 30, 33, 36, 39, 42, 46),  # for n = 1, …, 20
    *(50, 52, 56, 59, 63, 67, 71, 76, 80, 85, 90, 92, 96, 102, 106, 110, 113, 117, 122, 127),  # for n = 21, …, 40
)
BOUNDS = (132, 137, 142, 148, 154, 157, 163, 168, 174)  # for n = 41, …, 49
FOUR_CYCLE = ((0, 1), (1, 2), (2, 3), (3, 0))


@sized(2, 50)
def four_cycle_free(n: int = 20) -> Problem:
    """As many edges as possible on n vertices without a cycle of four."""
    space = graph(n)
    known = EXACT + BOUNDS
    proved = "the maximum: OEIS A006855" if n <= len(EXACT) else "OEIS A006855, a lower bound of McKay"
    return Problem(
        space,
        forbidden=copies(space, FOUR_CYCLE),
        check=two_common_neighbours,
        best_known=known[n - 1] if n <= len(known) else None,
        source=proved if n <= len(known) else "",
        about=f"graphs on {n} vertices without a cycle of four",
    )


def two_common_neighbours(edges: list[Any]) -> str | None:
    """Two vertices with two common neighbours: these four make a cycle."""
    beside: dict[int, set[int]] = {}
    for u, v in edges:
        beside.setdefault(u, set()).add(v)
        beside.setdefault(v, set()).add(u)
    for u, v in combinations(sorted(beside), 2):
        if len(common := sorted(beside[u] & beside[v])) > 1:
            return f"{u} and {v} have the common neighbours {common[0]} and {common[1]}"
    return None
