"""Canonical forms: one of all constructions that are the same up to symmetry, so that each is kept once.

    >>> from handloom.discover.spaces import graph
    >>> path = graph(3)  # its edges are 01, 02, 12
    >>> canonical(path, None, (0, 1)), canonical(path, None, (0, 2)), canonical(path, None, (1, 2))
    ((1, 2), (1, 2), (1, 2))

A subset's form is its least image under a group of permutations of the elements. Without a group a graph may be
relabelled in every way, and the form is the one with the least matrix (labelling.py). So may set systems, codes and
matrices, which are written as graphs for it (relabelled.py).

Very symmetric graphs may have too many leaves. Their form is still the same graph in another order, and the same every
time, but their copies may have other forms: `graph_form` returns whether it is exact.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from handloom.core.arrays import Array
from handloom.discover.problem import Problem
from handloom.discover.search.labelling import MOST_LEAVES, best_order
from handloom.discover.search.relabelled import relabelled_form
from handloom.discover.search.symmetry import MOST_MAPS, as_indices, broken_by, closure, symmetries_of
from handloom.discover.spaces import Construction, Map, Space, turned_circles

MOST_MOVED = 4_000_000  # elements times maps of a group: a form then takes some milliseconds


def canonical(space: Space, group: Array | Sequence[Sequence[int]] | None, construction: Construction) -> Construction:
    """The form of a construction: under a group, whose rows are permutations of the elements' indices (a closed one, as
    symmetry.py makes it); without a group, for a graph under all relabellings; for anything else itself."""
    if not space.is_subset:
        return construction
    if group is not None:
        return least_image(group, construction)
    return graph_form(space, construction)[0] if space.kind == "graph" else construction


def form_of(problem: Problem) -> Callable[[Construction], Construction]:
    """A function from a problem's constructions to their forms, under all its symmetries; if these are too many, under
    the largest of its named groups that is small enough."""
    space, known = problem.space, symmetries_of(problem)
    if space.kind == "graph" and problem.score is None and not problem.required_maps and all_alike(problem):
        return lambda construction: canonical(space, None, construction)
    if not problem.required_maps and (form := relabelled_form(problem)) is not None:
        return form
    named = [one for maps in known.values() for one in maps]
    ways = [[*named, *unnamed(problem)], named, *sorted(known.values(), key=len, reverse=True)]
    maps = ([as_indices(space, "all", one) for one in way] for way in ways)
    groups = (closure(way, len(space.elements), MOST_MOVED // len(space.elements)) for way in maps)
    group = next((one for one in groups if one is not None), np.zeros((0, 0), np.int64))
    if problem.required_maps:
        group = normaliser(group, [as_indices(space, "required", one) for one in problem.required_maps])
    return lambda construction: canonical(space, group, construction)


def unnamed(problem: Problem) -> list[Map]:
    """The symmetries of the space, beside those with names, that the problem has."""
    if problem.score is not None or problem.symmetries is not None:
        return []
    return [one for one in problem.space.generators if broken_by(problem, "unnamed", (one,)) is None]


def normaliser(group: Array, required: Sequence[Array]) -> Array:
    """The permutations that take every construction with the required symmetry to one that has it too: g of the group
    for which g s g⁻¹ is in the group of the required maps for each s of these."""
    needed = closure(required, len(required[0]), MOST_MAPS)
    if needed is None:
        return group[:0]
    there = {one.tobytes() for one in needed}
    kept = [g for g in group if all(g[s[np.argsort(g)]].tobytes() in there for s in required)]
    return np.array(kept)


def all_alike(problem: Problem) -> bool:
    """Whether a problem of graphs is the same for every numbering of the vertices."""
    vertices = problem.space.sides[0]

    def exchange(edge: Any) -> Any:
        return tuple(sorted(1 - v if v < 2 else v for v in edge))

    return broken_by(problem, "numbering", (exchange, turned_circles(vertices, vertices))) is None


def least_image(group: Array | Sequence[Sequence[int]], construction: Construction) -> Construction:
    """The least of a subset's images."""
    if not len(group) or not construction:
        return construction
    images = np.sort(np.asarray(group)[:, list(construction)], axis=1)
    return tuple(images[np.lexsort(images.T[::-1])[0]].tolist())


def graph_form(space: Space, construction: Construction, most: int = MOST_LEAVES) -> tuple[Construction, bool]:
    """The form of a graph, and whether it is exact: whether all copies of the graph have it."""
    n = space.sides[0]
    matrix = np.zeros((n, n), np.uint8)
    edges = np.array([space.elements[i] for i in construction], np.int64).reshape(-1, 2)
    matrix[edges[:, 0], edges[:, 1]] = matrix[edges[:, 1], edges[:, 0]] = 1
    order, exact = best_order(matrix, most)
    form = matrix[order][:, order]
    return tuple(np.flatnonzero(form[np.triu_indices(n, 1)]).tolist()), exact
