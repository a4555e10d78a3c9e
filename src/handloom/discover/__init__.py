"""Discovering: better constructions for a problem, by search and by a transformer that learns from the best ones.

    from handloom.discover import Problem, discover, grid

    def in_line(a, b, c):
        return (b[0] - a[0]) * (c[1] - a[1]) == (c[0] - a[0]) * (b[1] - a[1])

    discover(Problem(grid(8, 8), forbidden=in_line, name="no three in line"), seconds=5).best.score

What searches is loaded when it is first used, for it takes a second.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from handloom.discover.problem import Problem, Verdict, verdict
from handloom.discover.spaces import copies, graph, grid, permutation, subsets, word

if TYPE_CHECKING:
    from handloom.discover.loop.runs import discover as discover

__all__ = ["Problem", "Verdict", "copies", "discover", "graph", "grid", "permutation", "subsets", "verdict", "word"]


def __getattr__(name: str) -> Any:
    if name != "discover":
        raise AttributeError(f"module 'handloom.discover' has no attribute {name!r}; it has {', '.join(__all__)}")
    return import_module("handloom.discover.loop.runs").discover
