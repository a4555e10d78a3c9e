"""Canonical forms: the same for all copies, different for what is different; brute force says which is which."""

import ast
import os
import random
import subprocess
import sys
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handloom.discover import graph, grid, permutation, subsets, word
from handloom.discover.search.canonical import canonical, graph_form
from handloom.discover.search.symmetry import orbits


def construction(space, edges):
    return tuple(sorted(space.index[min(e), max(e)] for e in edges))


def relabelled(space, some, order):
    return construction(space, [(order[u], order[v]) for u, v in (space.elements[i] for i in some)])


def copies_of(space, some, count, seed=0):
    rng = random.Random(seed)
    n = space.sides[0]
    return [relabelled(space, some, rng.sample(range(n), n)) for _ in range(count)]


def polarity(q):
    """Points of the projective plane, joined when they are orthogonal (Erdős and Rényi)."""
    points = [(1, a, b) for a in range(q) for b in range(q)] + [(0, 1, a) for a in range(q)] + [(0, 0, 1)]
    pairs = combinations(range(len(points)), 2)
    return len(points), [(i, j) for i, j in pairs if np.dot(points[i], points[j]) % q == 0]


def circulant(n, steps):
    return n, {(min(i, (i + s) % n), max(i, (i + s) % n)) for i in range(n) for s in steps}


PETERSEN = 10, [e for i in range(5) for e in ((i, (i + 1) % 5), (i, i + 5), (5 + i, 5 + (i + 2) % 5))]
ROOK = 16, [(i, j) for i, j in combinations(range(16), 2) if i // 4 == j // 4 or i % 4 == j % 4]
SHRIKHANDE = (
    16,
    [
        (i, j)
        for i, j in combinations(range(16), 2)
        if ((i // 4 - j // 4) % 4, (i - j) % 4) in {(0, 1), (0, 3), (1, 0), (3, 0), (1, 1), (3, 3)}
    ],
)
SYMMETRIC = {
    "petersen": PETERSEN,
    "cycle": circulant(30, [1]),
    "two cycles": (30, [*circulant(15, [1])[1], *[(u + 15, v + 15) for u, v in circulant(15, [1])[1]]]),
    "complete": (20, list(combinations(range(20), 2))),
    "empty": (20, []),
    "complete bipartite": (20, [(i, j) for i in range(10) for j in range(10, 20)]),
    "triangles": (30, [(3 * i + a, 3 * i + b) for i in range(10) for a, b in ((0, 1), (0, 2), (1, 2))]),
    "cube": (32, [(u, u | 1 << k) for u in range(32) for k in range(5) if not u >> k & 1]),
    "Paley": circulant(29, [x * x % 29 for x in range(1, 29)]),
    "rook": ROOK,
    "Shrikhande": SHRIKHANDE,
    "polarity 3": polarity(3),
    "polarity 5": polarity(5),
}


@pytest.mark.parametrize("name", SYMMETRIC)
def test_a_symmetric_graph_has_one_form_whatever_its_labels(name):
    n, edges = SYMMETRIC[name]
    space = graph(n)
    some = construction(space, edges)
    forms = {graph_form(space, copy) for copy in copies_of(space, some, 12)}
    assert len(forms) == 1
    form, exact = forms.pop()
    assert exact
    assert len(form) == len(some)


def test_graphs_that_refinement_cannot_tell_apart_have_different_forms():
    for one, other in (("rook", "Shrikhande"), ("cycle", "two cycles")):
        space = graph(SYMMETRIC[one][0])
        assert len({canonical(space, None, construction(space, SYMMETRIC[name][1])) for name in (one, other)}) == 2


@pytest.mark.parametrize(("n", "classes"), [(2, 2), (3, 4), (4, 11), (5, 34)])
def test_there_are_as_many_forms_as_graphs_up_to_isomorphism(n, classes):
    space = graph(n)
    size = len(space.elements)
    everything = [tuple(i for i in range(size) if bits >> i & 1) for bits in range(1 << size)]
    assert len({canonical(space, None, some) for some in everything}) == classes  # OEIS A000088


@settings(deadline=None, max_examples=40)
@given(st.integers(2, 6), st.data())
def test_the_form_of_a_small_graph_is_that_of_its_relabellings_and_of_nothing_else(n, data):
    space = graph(n)
    some, other = (tuple(sorted(data.draw(st.sets(st.integers(0, len(space.elements) - 1))))) for _ in range(2))
    images = {relabelled(space, some, order) for order in permutations(range(n))}
    forms = {canonical(space, None, image) for image in images}
    assert len(forms) == 1
    assert forms <= images
    assert (canonical(space, None, other) in forms) == (other in images)


@settings(deadline=None, max_examples=40)
@given(st.integers(2, 32), st.floats(0, 1), st.integers(0, 2**32))
def test_a_random_graph_and_its_copies_have_one_form(n, density, seed):
    space, rng = graph(n), random.Random(seed)
    some = tuple(i for i in range(len(space.elements)) if rng.random() < density)
    forms = {graph_form(space, copy) for copy in [some, *copies_of(space, some, 3, seed)]}
    assert len(forms) == 1
    form, exact = forms.pop()
    assert exact
    assert degrees(space, form) == degrees(space, some)
    assert canonical(space, None, form) == form


def degrees(space, some):
    return sorted(np.bincount([v for i in some for v in space.elements[i]], minlength=space.sides[0]).tolist())


@pytest.mark.parametrize("name", ["cube", "triangles", "Paley"])
def test_where_the_search_is_cut_short_the_form_is_the_same_graph_and_says_it_is_not_exact(name):
    n, edges = SYMMETRIC[name]
    space = graph(n)
    some = construction(space, edges)
    form, exact = graph_form(space, some, most=2)
    assert not exact
    assert graph_form(space, some, most=2) == (form, exact)
    assert canonical(space, None, form) == canonical(space, None, some)


@settings(deadline=None, max_examples=40)
@given(st.sampled_from(["mirror", "mirrors", "rotation-90", "diagonals", "square"]), st.sets(st.integers(0, 15)))
def test_the_form_in_a_grid_is_the_least_image(name, chosen):
    space = grid(4, 4)
    group = orbits(space, name, space.symmetries[name]).group
    some = tuple(sorted(chosen))
    images = [tuple(sorted(int(one[i]) for i in some)) for one in group]
    assert {canonical(space, group, image) for image in images} == {min(images)}


def test_a_group_may_be_a_list_of_lists():
    assert canonical(subsets(range(3)), [[0, 1, 2], [2, 1, 0]], (1, 2)) == (0, 1)


def test_words_permutations_and_subsets_without_a_group_are_their_own_forms():
    for space in (word(3), permutation(3), grid(2, 2), subsets(range(9))):
        assert canonical(space, None, (1, 0, 2)) == (1, 0, 2)
    assert canonical(grid(2, 2), np.arange(4)[None], ()) == ()


def test_all_paths_of_two_edges_have_one_form():
    space = graph(4)
    paths = [construction(space, [(a, b), (b, c)]) for a, b, c in permutations(range(4), 3)]
    assert len(set(paths)) == 12
    assert len({canonical(space, None, path) for path in paths}) == 1


KERNELS = """
from numba.core.dispatcher import Dispatcher
from handloom.discover.catalogue import problem_named
from handloom.discover.search import labelling, orbit_search
from handloom.discover.search.attempts import Attempt, Searches
from handloom.discover.search.canonical import graph_form
problem = problem_named("four-cycle-free:n=7")
graph_form(problem.space, Searches(problem, ["none"]).attempt(Attempt("none", 0, 100)).result.construction)
kernels = [*vars(labelling).items(), *vars(orbit_search).items()]
print({name: len(kernel.signatures) for name, kernel in kernels if isinstance(kernel, Dispatcher)})
"""


def test_every_kernel_is_compiled_for_one_type_of_whole_numbers(tmp_path):
    """A plain 0 is a type of its own for Numba: with it the first form of a graph took twice as long to compile. The
    cache is an empty one, since what is loaded from a cache has not asked for what it calls."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", KERNELS], env=environment, capture_output=True, text=True, check=True)
    counts = ast.literal_eval(done.stdout)
    assert counts["refine"] == counts["shift"] == 1
    assert {name: count for name, count in counts.items() if count != 1} == {}
