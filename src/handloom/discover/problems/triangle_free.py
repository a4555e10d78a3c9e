"""Graphs with as many edges as possible and no triangle.

    >>> adjacent_with_common_neighbour([(0, 1), (1, 2), (0, 2)])
    '0, 1 and 2 are a triangle'

Mantel proved in 1907 that half of the vertices joined to the other half is best: a problem to try a search on.
"""

from typing import Any

from handloom.discover.catalogue import sized
from handloom.discover.problem import Problem
from handloom.discover.spaces import copies, graph

TRIANGLE = ((0, 1), (1, 2), (2, 0))


@sized(2, 100)
def triangle_free(n: int = 20) -> Problem:
    """As many edges as possible on n vertices without a triangle."""
    space = graph(n)
    return Problem(
        space,
        forbidden=copies(space, TRIANGLE),
        check=adjacent_with_common_neighbour,
        best_known=n * n // 4,
        source="the maximum: Mantel's theorem",
        about=f"graphs on {n} vertices without a triangle",
    )


def adjacent_with_common_neighbour(edges: list[Any]) -> str | None:
    """An edge whose ends have a common neighbour."""
    beside: dict[int, set[int]] = {}
    for u, v in edges:
        beside.setdefault(u, set()).add(v)
        beside.setdefault(v, set()).add(u)
    for u, v in edges:
        if common := beside[u] & beside[v]:
            return f"{u}, {v} and {min(common)} are a triangle"
    return None
