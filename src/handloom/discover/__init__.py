"""Discovering: better constructions for a problem, by search and by a transformer that trains on the best ones.

    import handloom as hl

    def in_line(a, b, c):
        return (b[0] - a[0]) * (c[1] - a[1]) == (c[0] - a[0]) * (b[1] - a[1])

    problem = hl.discover.Problem(hl.discover.grid(8, 8), forbidden=in_line, name="no three in line")
    hl.discover(problem, seconds=5).best.score

Public: `Problem` and the spaces it is made of (`grid`, `graph`, `copies`, `subsets`, `word`, `permutation`, `points`;
`set_system` with `cardinality`, `code` with `distance`, `abelian_group`, `matrix`); `verdict`, which verifies a
construction and returns a `Verdict`; `discover`, which is also what calling the package does.

The rooms: problems/ (one file per problem), search/, model/ (the transformer), loop/ (one run), records/ (the store).
Names are loaded when they are first used: the search takes a second, and the help of a command needs none of it.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from handloom.discover.loop.plan import Plan
from handloom.learn.settings import option_lines, options_of

if TYPE_CHECKING:
    from handloom.discover.kinds.groups import abelian_group
    from handloom.discover.kinds.hamming_space import code, distance
    from handloom.discover.kinds.modular_matrices import matrix
    from handloom.discover.kinds.point_sets import points
    from handloom.discover.kinds.set_systems import cardinality, set_system
    from handloom.discover.loop.start import Discovery, discover
    from handloom.discover.problem import Problem, Verdict, verdict
    from handloom.discover.spaces import copies, graph, grid, permutation, subsets, word

__all__ = [
    "Problem",
    "Verdict",
    "abelian_group",
    "cardinality",
    "code",
    "copies",
    "discover",
    "distance",
    "graph",
    "grid",
    "matrix",
    "permutation",
    "points",
    "set_system",
    "subsets",
    "verdict",
    "word",
]
__doc__ = f"""{__doc__}
hl.discover(problem, seconds=…, generations=…, until=…) searches until one of these is reached, or until Ctrl-C. Records
are kept in the file records.sqlite, or in store=…; with folder=True the run has a folder under runs/. watch=print shows
its progress. The other options, with their defaults:

{option_lines(options_of(Plan))}
"""
MODULE_OF = {
    "discover": "loop.start",
    **dict.fromkeys(("Problem", "Verdict", "verdict"), "problem"),
    **dict.fromkeys(("set_system", "cardinality"), "kinds.set_systems"),
    **dict.fromkeys(("code", "distance"), "kinds.hamming_space"),
    "abelian_group": "kinds.groups",
    "points": "kinds.point_sets",
    "matrix": "kinds.modular_matrices",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'handloom.discover' has no attribute {name!r}; it has {', '.join(__all__)}")
    return getattr(import_module(f"handloom.discover.{MODULE_OF.get(name, 'spaces')}"), name)


class Verb(ModuleType):
    """A package that can be called: `hl.discover(...)` runs, `hl.discover.grid` is a name in the package. Importing
    the package binds `handloom.discover` to it, so a function of that name would disappear."""

    def __call__(self, problem: "str | Problem", **how: Any) -> "Discovery":
        run: Discovery = self.discover(problem, **how)
        return run


sys.modules[__name__].__class__ = Verb
