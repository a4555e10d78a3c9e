"""Images of a construction under the symmetries of its problem: for a model they are as good to train on as itself.

>>> import numpy as np
>>> from handloom.discover.catalogue import problem_named
>>> image = images_of(problem_named("isosceles:n=4"))
>>> rng = np.random.default_rng(0)
>>> sorted({image((1,), rng) for _ in range(60)})    # the point (0, 1), turned and mirrored
[(1,), (2,), (4,), (7,), (8,), (11,), (13,), (14,)]
"""

from collections.abc import Callable

import numpy as np

from handloom.core.arrays import Array
from handloom.discover.problem import Problem
from handloom.discover.search.canonical import MOST_MOVED, all_alike, normaliser, unnamed
from handloom.discover.search.symmetry import as_indices, closure, symmetries_of
from handloom.discover.spaces import Construction

WORD = 20  # generators in a random product, where a group is too large to list

Image = Callable[[Construction, np.random.Generator], Construction]


def images_of(problem: Problem, symmetry: str | None = None) -> Image:
    """A function that draws an image. With a symmetry, only maps are drawn that take constructions with it to such."""
    space, known = problem.space, symmetries_of(problem)
    if not space.is_subset:
        return lambda construction, rng: construction
    if space.kind == "graph" and not symmetry and not problem.required_maps and all_alike(problem):
        return relabelled(problem)
    maps = [as_indices(space, "image", one) for named in known.values() for one in named]
    maps += [as_indices(space, "image", one) for one in unnamed(problem)]
    group = closure(maps, len(space.elements), MOST_MOVED // len(space.elements)) if maps else None
    kept = [*known.get(symmetry or "", ()), *problem.required_maps]
    if group is not None and kept:
        group = normaliser(group, [as_indices(space, "kept", one) for one in kept])
    if group is not None and len(group):
        rows = group
        return lambda construction, rng: moved(construction, rows[rng.integers(len(rows))])
    if maps and not kept:
        return lambda construction, rng: by_products(construction, maps, rng)
    return lambda construction, rng: construction


def moved(construction: Construction, one: Array) -> Construction:
    return tuple(sorted(one[list(construction)].tolist()))


def by_products(construction: Construction, maps: list[Array], rng: np.random.Generator) -> Construction:
    """The image under a product of random generators."""
    for choice in rng.integers(len(maps), size=WORD):
        construction = moved(construction, maps[choice])
    return construction


def relabelled(problem: Problem) -> Image:
    """Of a graph: with its vertices in a random order."""
    space, vertices = problem.space, problem.space.sides[0]

    def image(construction: Construction, rng: np.random.Generator) -> Construction:
        new = rng.permutation(vertices)
        edges = (sorted((int(new[u]), int(new[v]))) for u, v in (space.elements[i] for i in construction))
        return tuple(sorted(space.index[u, v] for u, v in edges))

    return image
