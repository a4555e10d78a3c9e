"""How many optimal constructions there are, and how many up to symmetry.

The solver lists those that symmetry breaking leaves, at least one per class. A class is as large as the group divided
by the symmetries that the construction has itself, so the total is a sum over classes: no class is counted by guessing.
"""

from collections.abc import Iterable
from math import factorial

import numpy as np

from handloom.core.arrays import Array
from handloom.discover.proof.symmetric import Group
from handloom.discover.search.canonical import graph_form, least_image
from handloom.discover.spaces import Construction, Space

MOST_LEAVES = 1_000_000  # of the search for a graph's form: a form that is not exact is not counted


def classes_of(space: Space, group: Group, found: Iterable[Construction]) -> dict[Construction, int] | None:
    """One construction per class, with the size of the class; None if a graph's form is too long to find."""
    sizes: dict[Construction, int] = {}
    for construction in found:
        form, exact = form_in(space, group, construction)
        if not exact:
            return None
        if form not in sizes:
            sizes[form] = class_size(space, group, form)
    return sizes


def form_in(space: Space, group: Group, construction: Construction) -> tuple[Construction, bool]:
    if group.kind == "relabelling":
        return graph_form(space, construction, MOST_LEAVES)
    return least_image(group.maps, construction), True


def class_size(space: Space, group: Group, construction: Construction) -> int:
    """The number of different images of a construction."""
    if group.kind == "relabelling":
        return factorial(space.sides[0]) // automorphisms(adjacency(space, construction))
    images = np.sort(group.maps[:, list(construction)], axis=1)
    return len(np.unique(images, axis=0))


def adjacency(space: Space, construction: Construction) -> Array:
    matrix = np.zeros(space.sides * 2, np.bool_)
    for i in construction:
        u, v = space.elements[i]
        matrix[u, v] = matrix[v, u] = True
    return matrix


def automorphisms(matrix: Array) -> int:
    """Their number: the product, over the vertices in turn, of how many places each can go to when those before stay.

    >>> automorphisms(np.ones((4, 4), bool)), automorphisms(np.eye(4, k=1, dtype=bool) | np.eye(4, k=-1, dtype=bool))
    (24, 2)
    """
    vertices, product = len(matrix), 1
    for fixed in range(vertices):
        stay = [*range(fixed)]
        product *= sum(extends(matrix, [*stay, to]) for to in range(fixed, vertices))
    return product


def extends(matrix: Array, images: list[int]) -> bool:
    """Whether an automorphism begins with these images of the first vertices."""
    last = len(images) - 1
    to = images[-1]
    if matrix[last].sum() != matrix[to].sum() or (matrix[last, :last] != matrix[to, images[:-1]]).any():
        return False
    if len(images) == len(matrix):
        return True
    return any(extends(matrix, [*images, new]) for new in range(len(matrix)) if new not in images)
