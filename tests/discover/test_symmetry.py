"""Symmetries of spaces and problems: groups, orbits, and what does not hold."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handloom.core import HandloomError
from handloom.discover import Problem, graph, grid, subsets
from handloom.discover.search.attempts import symmetry_names
from handloom.discover.search.canonical import canonical
from handloom.discover.search.symmetry import orbits, orbits_of, symmetries_of

SPACES = {
    "square": grid(4, 4),
    "odd square": grid(5, 5),
    "rectangle": grid(3, 5),
    "row": grid(6),
    "cube": grid(3, 3, 3),
    "box": grid(2, 3, 4),
    "graph": graph(7),
}


@pytest.mark.parametrize("space", SPACES.values(), ids=SPACES)
def test_a_group_is_closed_and_its_orbits_partition_the_elements(space):
    assert space.symmetries
    for name, maps in space.symmetries.items():
        made = orbits(space, name, maps)
        group = {tuple(one) for one in made.group.tolist()}
        assert len(group) == len(made.group)
        assert tuple(range(len(space.elements))) in group
        assert all(tuple(a[i] for i in b) in group for a in group for b in group)
        assert sorted(np.concatenate(made.members).tolist()) == list(range(len(space.elements)))
        for number, members in enumerate(made.members):
            assert set(made.of[members]) == {number}
            assert {image[members[0]] for image in group} == set(members.tolist())
            assert made.first[number] == min(members)
            assert made.weights[number] == len(members)


@pytest.mark.parametrize(
    ("space", "sizes"),
    [
        (grid(4, 4), {"mirror": 2, "mirrors": 4, "rotation-180": 2, "rotation-90": 4, "diagonal": 2, "diagonals": 4}),
        (grid(4, 4), {"square": 8}),
        (grid(3, 5), {"mirror": 2, "mirrors": 4, "rotation-180": 2}),
        (grid(3, 3, 3), {"mirror": 2, "mirrors": 4, "antipodal": 2, "cycle": 3, "antipodal-cycle": 6}),
        (grid(6), {"mirror": 2}),
        (graph(7), {f"turn-{k}": k for k in range(2, 8)}),
    ],
)
def test_every_named_symmetry_generates_a_group_of_the_known_size(space, sizes):
    for name, size in sizes.items():
        assert len(orbits(space, name, space.symmetries[name]).group) == size


def test_the_orbits_of_a_point_are_those_one_draws_by_hand():
    space = grid(4, 4)

    def orbit(name, point):
        made = orbits(space, name, space.symmetries[name])
        return {space.elements[i] for i in made.members[made.of[space.index[point]]]}

    assert orbit("mirror", (0, 1)) == {(0, 1), (3, 1)}
    assert orbit("mirrors", (0, 1)) == {(0, 1), (3, 1), (0, 2), (3, 2)}
    assert orbit("rotation-180", (0, 1)) == {(0, 1), (3, 2)}
    assert orbit("rotation-90", (0, 1)) == {(0, 1), (1, 3), (3, 2), (2, 0)}
    assert orbit("diagonal", (0, 1)) == {(0, 1), (1, 0)}
    assert orbit("diagonals", (0, 1)) == {(0, 1), (1, 0), (3, 2), (2, 3)}
    assert len(orbit("square", (0, 1))) == 8
    assert orbit("square", (0, 0)) == {(0, 0), (0, 3), (3, 0), (3, 3)}


def test_a_turn_of_a_graph_moves_whole_circles_of_vertices_and_leaves_the_rest():
    turn = graph(7).symmetries["turn-3"][0]
    assert [turn(edge) for edge in ((0, 1), (1, 2), (0, 2), (3, 5), (5, 6), (0, 6))] == [
        *((1, 2), (0, 2), (0, 1)),
        *((3, 4), (3, 6), (1, 6)),
    ]


def beside(a, b):
    """Neighbours in a row of the grid: kept by mirrors and by half a turn, not by a quarter or by a diagonal."""
    return a[1] == b[1] and (a[0] - b[0]) * (a[0] - b[0]) == 1


def test_a_symmetry_of_the_space_that_does_not_hold_is_dropped():
    assert set(symmetries_of(Problem(grid(4, 4), forbidden=beside))) == {"mirror", "mirrors", "rotation-180"}
    assert not symmetries_of(Problem(grid(4, 4), forbidden=[[(0, 1), (2, 1)]]))
    assert not symmetries_of(Problem(grid(4, 4), score=lambda chosen: chosen[0].sum()))


@pytest.mark.parametrize("forbidden", [beside, [[(0, 1), (2, 1)]]])
def test_a_symmetry_that_is_declared_and_does_not_hold_is_refused(forbidden):
    space = grid(4, 4)
    told = {"rotation-90": space.symmetries["rotation-90"]}
    with pytest.raises(HandloomError, match=r"'rotation-90' does not preserve what is forbidden: .*leave it out"):
        symmetry_names(Problem(space, forbidden=forbidden, symmetries=told))


@pytest.mark.parametrize("one", [lambda x: x + 1, lambda x: 0, lambda x: "a"])
def test_a_map_that_is_no_permutation_of_the_elements_is_refused(one):
    problem = Problem(subsets(range(6)), forbidden=[[0, 1]], symmetries={"odd": (one,)})
    with pytest.raises(HandloomError, match=r"the symmetry 'odd' takes .* expected: a permutation of the elements"):
        symmetry_names(problem)


def test_an_unknown_symmetry_is_refused_with_those_that_there_are():
    with pytest.raises(HandloomError, match="no symmetry 'square'; it has none, mirror"):
        orbits_of(Problem(grid(6), forbidden=[[(0,), (5,)]]), "square")


@given(st.sets(st.integers(0, 15)), st.sampled_from(["mirror", "rotation-90", "square"]))
def test_a_canonical_form_is_the_same_for_all_images_and_is_one_of_them(chosen, name):
    space = grid(4, 4)
    group = orbits(space, name, space.symmetries[name]).group
    images = [tuple(sorted(one[list(chosen)].tolist())) for one in group]
    forms = {canonical(space, group, image) for image in images}
    assert len(forms) == 1
    assert forms <= set(images)


@pytest.mark.parametrize("element", [2.5, "x", True, (), (1, "x"), [1], ((0, 1), (2, 3))])
def test_elements_that_are_not_whole_numbers_are_refused(element):
    with pytest.raises(HandloomError, match="is not an element; each must be a whole number"):
        subsets([1, element])
