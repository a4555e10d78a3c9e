"""Discovering: better constructions for a problem, by search and by a transformer that trains on the best ones.

    import handloom as hl

    def in_line(a, b, c):
        return (b[0] - a[0]) * (c[1] - a[1]) == (c[0] - a[0]) * (b[1] - a[1])

    problem = hl.discover.Problem(hl.discover.grid(8, 8), forbidden=in_line, name="no three in line")
    hl.discover(problem, seconds=5).best.score

Public: `Problem` and the spaces it is made of (`grid`, `graph`, `copies`, `subsets`, `word`, `permutation`); `verdict`,
which verifies a construction and returns a `Verdict`; `discover`, which is also what calling the package does.

The rooms: problems/ (one file per problem), search/, model/ (the transformer), loop/ (one run), records/ (the store).
The search is loaded when it is first used, because that takes a second.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from handloom.discover.problem import Problem, Verdict, verdict
from handloom.discover.spaces import copies, graph, grid, permutation, subsets, word

if TYPE_CHECKING:
    from handloom.discover.loop.start import Discovery, discover

__all__ = ["Problem", "Verdict", "copies", "discover", "graph", "grid", "permutation", "subsets", "verdict", "word"]


def __getattr__(name: str) -> Any:
    if name != "discover":
        raise AttributeError(f"module 'handloom.discover' has no attribute {name!r}; it has {', '.join(__all__)}")
    return import_module("handloom.discover.loop.start").discover


class Verb(ModuleType):
    """A package that can be called: `hl.discover(...)` runs, `hl.discover.grid` is a name in the package. Importing
    the package binds `handloom.discover` to it, so a function of that name would disappear."""

    def __call__(self, problem: str | Problem, **how: Any) -> "Discovery":
        run: Discovery = self.discover(problem, **how)
        return run


sys.modules[__name__].__class__ = Verb
