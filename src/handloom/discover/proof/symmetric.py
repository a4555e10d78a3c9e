"""Symmetry of a family of forbidden sets, and how a model breaks it.

Of all images of a construction under a group, one is the first in lexical order. A model that asks for x ≥ x∘g, for
some permutations g of the group and one order of the elements, keeps that one (Crawford, Ginsberg, Luks and Roy, 1996):
so it has the same maximum. Every generator is checked on all forbidden sets here, not on samples as for the search.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import gcd
from typing import Any, Literal

import numpy as np

from handloom.core.arrays import Array
from handloom.discover.proof.family import Family
from handloom.discover.search.symmetry import MOST_MAPS, closure
from handloom.discover.spaces import Map, Space, turned_circles

MOST_BROKEN = 200  # permutations that a model is made smaller by


@dataclass(frozen=True, eq=False)
class Group:
    """The symmetries that were found of a family: all relabellings of a graph, a list of maps, or some of very many."""

    kind: Literal["relabelling", "listed", "large"]
    maps: Array  # (maps, elements): of all relabellings the exchanges of two vertices, of a large group some maps
    generators: tuple[Array, ...] = ()

    @property
    def broken(self) -> Array:
        """The permutations that a model breaks: any of the group will do."""
        moves = (self.maps != np.arange(self.maps.shape[1])).any(axis=1)
        return self.maps[moves][:MOST_BROKEN]

    def __str__(self) -> str:
        return "relabelling" if self.kind == "relabelling" else f"{len(self.maps)} symmetries"


def group_of(space: Space, family: Family, given: Sequence[Map] = (), most: int = MOST_MAPS) -> Group:
    """The symmetries of a family: those that its space and its problem name, and affine maps modulo the side of a
    cube. Above `most` maps only some are listed; with most=0 affine maps are not tried."""
    if space.kind == "graph" and all(family.is_kept_by(map) for map in relabellings(space)):
        pairs = combinations(range(space.sides[0]), 2)
        return Group("relabelling", np.array([relabelled(space, exchange(u, v)) for u, v in pairs]))
    named = [*given, *(one for maps in space.symmetries.values() for one in maps)]
    if most:
        named += affine_maps(space)
    size = len(space.elements)
    tried = [np.array([space.index[one(element)] for element in space.elements]) for one in named]
    if space.kind == "list":
        tried.append(np.arange(size)[::-1])
    kept = {moved.tobytes(): moved for moved in tried if family.is_kept_by(moved)}
    generators = tuple(kept.values())
    found = closure(generators, size, most or MOST_MAPS)
    if found is None:
        return Group("large", some_products(generators, size), generators)
    return Group("listed", found, generators)


def affine_maps(space: Space) -> list[Map]:
    """Of the points of a cube of side m: one coordinate plus 1, times a unit, or plus another one, modulo m."""
    if space.kind != "grid" or len(set(space.sides)) > 1 or space.sides[0] < 2:
        return []
    m, axes = space.sides[0], range(len(space.sides))

    def adding(to: int, what: tuple[int, ...], one: int = 0, times: int = 1) -> Map:
        def moved(p: Any) -> Any:
            new = (times * p[to] + one + sum(k * x for k, x in zip(what, p, strict=True))) % m
            return (*p[:to], new, *p[to + 1 :])

        return moved

    none = (0,) * len(axes)
    units = [k for k in range(2, m) if gcd(k, m) == 1]
    shears = [adding(i, tuple(int(k == j) for k in axes)) for i in axes for j in axes if i != j]
    return [*(adding(i, none, 1) for i in axes), *(adding(i, none, times=k) for i in axes for k in units), *shears]


def some_products(generators: Sequence[Array], size: int) -> Array:
    """The shortest products of generators, as many as a model breaks."""
    found = {np.arange(size).tobytes(): np.arange(size)}
    new = [*found.values()]
    while len(found) <= MOST_BROKEN and new:
        grown = {image.tobytes(): image for image in (one[step] for one in new for step in generators)}
        new = [image for name, image in grown.items() if name not in found]
        found |= {image.tobytes(): image for image in new}
    return np.array([*found.values()][: MOST_BROKEN + 1])


def relabellings(space: Space) -> list[Array]:
    """Two permutations of the vertices that generate all, as they move the edges."""
    vertices = space.sides[0]
    turn: Any = turned_circles(vertices, vertices)
    return [
        relabelled(space, exchange(0, 1)),
        np.array([space.index[turn(edge)] for edge in space.elements]),
    ]


def exchange(u: int, v: int) -> dict[int, int]:
    return {u: v, v: u}


def relabelled(space: Space, to: dict[int, int]) -> Array:
    """Where a permutation of the vertices takes each edge."""
    images = [tuple(sorted(to.get(end, end) for end in edge)) for edge in space.elements]
    return np.array([space.index[edge] for edge in images])


def break_symmetry(model: Any, x: Sequence[Any], moved: Array, backwards: bool = False) -> None:
    """Ask for x ≥ x∘moved in lexical order, from the first element on, or from the last."""
    order = [int(i) for i in np.flatnonzero(moved != np.arange(len(moved)))]
    equal: list[Any] = []  # whether all elements before are the same in both; nothing stands for yes
    for i in reversed(order) if backwards else order:
        one, other = x[i], x[int(moved[i])]
        differs = [~same for same in equal]
        model.add_bool_or([*differs, one, ~other])
        still = model.new_bool_var("")
        for side in ([one, other], [~one, ~other]):
            model.add_bool_or([*differs, still, *side])
        model.add_bool_or([~still, one, ~other])  # so that each solution is found once
        model.add_bool_or([~still, ~one, other])
        for same in equal:
            model.add_implication(still, same)
        equal = [still]
