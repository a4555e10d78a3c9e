"""Set systems, codes, matrices, groups and points: known maxima, forms up to symmetry, tokens, files and pictures."""

import json
import random
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest

from handloom.core import HandloomError
from handloom.discover import Problem, abelian_group, cardinality, code, matrix, points, set_system, verdict
from handloom.discover.catalogue import problem_named
from handloom.discover.model.codec import Codec
from handloom.discover.records.exchange import Lines, Written, as_text, constructions
from handloom.discover.search.anneal import random_start
from handloom.discover.search.attempts import Attempt, Searches, symmetry_names
from handloom.discover.search.canonical import form_of
from handloom.discover.search.symmetry import as_indices, orbits, symmetries_of
from handloom.studio.board import board_of
from handloom.view.svg.constructions import svg

EXAMPLES = Path(__file__).parents[2] / "examples" / "spaces"
SPACES = {
    "sets": set_system(4),
    "blocks": set_system(6, 3),
    "code": code(4),
    "ternary code": code(3, 3),
    "cyclic group": abelian_group(12),
    "product group": abelian_group(3, 3),
    "plane points": points([(0, 0), (2, 1), (4, 2), (3, 5)]),
    "cube": points(product(range(3), repeat=3)),
    "line": points([(1,), (4,), (7,)]),
    "matrix": matrix(2, 3, 5),
    "wide values": matrix(3, 3, 40),
}
SUBSETS = {name: space for name, space in SPACES.items() if space.is_subset}
KNOWN = {
    "antichain.py:n=4": 6,  # Sperner
    "hamming.py:n=6,d=3": 8,
    "hamming.py:n=7,d=3": 16,  # the Hamming code
    "determinant.py:n=4": 16,  # Hadamard
    "modular_sidon.py:n=13": 4,  # Singer
    "cube_lines.py:n=3": 16,  # Moser
    "covering.py:v=7,k=3,t=2": 7,  # the Fano plane
    "queens.py:n=6": 3,
}


def best_of(problem, attempts=2, steps=3000):
    searches, names = Searches(problem, symmetry_names(problem)), symmetry_names(problem)
    tasks = [Attempt(name, seed, steps) for name in names for seed in range(attempts)]
    found = [outcome.result for outcome in map(searches.attempt, tasks) if outcome]
    return max(found, key=lambda one: problem.merit(one.score))


@pytest.mark.parametrize(
    ("name", "best"),
    [pytest.param(*one, marks=[pytest.mark.slow] * ("sidon" in one[0])) for one in KNOWN.items()],  # three rules
)
def test_the_examples_reach_what_is_known(name, best):
    problem = problem_named(EXAMPLES / name)
    found = best_of(problem)
    assert verdict(problem, found.construction).score == found.score == best == problem.best_known


def share_a_member(a, b):
    return a & b == 0


def sum_is_0(a, b, c):
    return (a[0] + b[0] + c[0]) % 3 + (a[1] + b[1] + c[1]) % 3 + (a[2] + b[2] + c[2]) % 3 == 0


@pytest.mark.parametrize(
    ("space", "rule", "best"),
    [
        (set_system(5, 2), share_a_member, 4),  # Erdős, Ko and Rado: a star
        (set_system(6, 3), lambda a, b: cardinality(a & b) > 1, 4),  # a packing of pairs by triples
        pytest.param(abelian_group(3, 3, 3), sum_is_0, 9, marks=pytest.mark.slow),  # cap sets
    ],
    ids=["intersecting", "packing", "cap set"],
)
def test_small_problems_of_each_space_reach_their_maxima(space, rule, best):
    problem = Problem(space, forbidden=rule)
    assert verdict(problem, best_of(problem, 1, 1000).construction).score == best


def some_of(space, seed):
    rng = random.Random(seed)
    return tuple(sorted(rng.sample(range(len(space.elements)), rng.randint(1, min(9, len(space.elements))))))


@pytest.mark.parametrize("space", SUBSETS.values(), ids=SUBSETS)
def test_every_symmetry_permutes_the_elements_and_preserves_the_form(space):
    form = form_of(Problem(space))
    maps = [one for some in space.symmetries.values() for one in some] + [*space.generators]
    assert set(symmetries_of(Problem(space))) == set(space.symmetries)
    for seed in range(8):
        some = some_of(space, seed)
        assert len(form(some)) == len(some)
        assert form(form(some)) == form(some)
        for one in maps:
            if space.kind == "set system" and one is space.symmetries.get("complement", (None,))[0]:
                continue  # it relabels no points
            moved = as_indices(space, "any", one)
            assert form(tuple(sorted(moved[list(some)].tolist()))) == form(some)


@pytest.mark.parametrize(
    ("space", "classes"),
    [
        (set_system(4, 2), 11),  # graphs on 4 vertices, OEIS A000088
        (set_system(3), 80),  # families of subsets of three points, OEIS A003180
        (code(2), 6),  # subsets of a square's corners
        (code(3), 22),  # and of a cube's: OEIS A000616
        (abelian_group(7), 10),  # necklaces up to units: subsets of Z_7 under x ↦ ax + b
        (points([(0, 0), (0, 1), (1, 0), (1, 1)]), 6),
    ],
)
def test_there_are_as_many_forms_as_classes(space, classes):
    form, every = form_of(Problem(space)), range(len(space.elements))
    forms = {form(some) for k in range(len(every) + 1) for some in combinations(every, k)}
    assert len(forms) == classes


def absolute(x):
    return abs(x[0, 0] * x[1, 1] - x[0, 1] * x[1, 0])


@pytest.mark.parametrize(
    ("score", "classes"),
    [
        (lambda x: x.sum(), 6),  # rows, columns and transposition
        (lambda x: x[0].sum() * 5 + x[1].sum(), 10),  # only columns
        (lambda x: x[0, 0] + 2 * x[0, 1] + 4 * x[1, 0] + 8 * x[1, 1], 16),
        (lambda x: absolute(1 - 2 * x), 2),  # signs of rows and columns too
    ],
    ids=["rows and columns", "columns", "nothing", "signs"],
)
def test_matrices_have_as_many_forms_as_the_score_tells_classes_apart(score, classes):
    problem = Problem(matrix(2, 2), score=score)
    form = form_of(problem)
    forms = {form(one) for one in product(range(2), repeat=4)}
    assert len(forms) == classes
    assert all(form(one) == one for one in forms)


def test_forms_of_matrices_over_z_3_keep_the_determinant_and_are_the_same_for_all_images():
    problem, rng = Problem(matrix(3, 3, 3), score=lambda x: determinant(x) ** 2), np.random.default_rng(0)
    form = form_of(problem)
    for _ in range(20):
        one = rng.integers(3, size=(3, 3))
        signs, order = rng.choice([1, -1], 3), rng.permutation(3)
        other = (signs[:, None] * one[order]).T[rng.permutation(3)] % 3
        forms = {form(tuple(a.flatten().tolist())) for a in (one, other)}
        assert len(forms) == 1
        (only,) = forms
        assert verdict(problem, only).score == determinant(one) ** 2


def determinant(x):
    y = (x + 1) % 3 - 1
    a, b, c = y[0], y[1], y[2]
    return a[0] * (b[1] * c[2] - b[2] * c[1]) - a[1] * (b[0] * c[2] - b[2] * c[0]) + a[2] * (b[0] * c[1] - b[1] * c[0])


@pytest.mark.parametrize("space", SPACES.values(), ids=SPACES)
def test_constructions_are_written_and_read_in_every_way(space):
    found = [some_of(space, seed) if space.is_subset else random_start(space, seed) for seed in range(6)]
    found += [()] if space.is_subset else []
    codec = Codec.of("cells", space)
    for one in found:
        value = json.loads(json.dumps(space.shown(one)))
        assert space.read(value) == one
        assert constructions(space, Written(None, value)) == [one]
        lines = tuple(as_text(space.shown(one), space).splitlines())
        assert constructions(space, Written(None, Lines(lines))) == [one]
        for tokens in (codec, *([Codec.of("sparse", space)] if space.is_subset else [])):
            assert tokens.decode(tokens.encode(one)[1:]) == (one, False)
            assert len(set(tokens.vocab.tokens)) == len(tokens.vocab.tokens)
        assert svg(space, one).startswith("<svg")
    shown = [space.shown(one) for one in found if one]
    assert constructions(space, Written(None, shown)) == [one for one in found if one]
    assert json.dumps(board_of(space))


def test_messages_name_sets_words_and_points_as_people_write_them():
    def wrong(space, value):
        with pytest.raises(HandloomError) as error:
            space.read(value)
        return str(error.value)

    assert "[1, 9] is not an element here; write a list of sets of numbers from 1 to 4" in wrong(
        set_system(4), [[1, 9]]
    )
    assert "'0120' is not an element here; write a list of words such as '1111'" in wrong(code(4), ["0120"])
    assert "is not such a matrix; write a list of rows, 2×3 numbers from 0 to 4" in wrong(
        matrix(2, 3, 5), [[1, 2], [3]]
    )
    assert "7 is not an element here" in wrong(matrix(1, 1, 5), [[7]])
    assert "such as [2, 2]" in wrong(abelian_group(3, 3), [3])
    problem = Problem(code(3), forbidden=[[(0, 0, 0), (1, 1, 1)]])
    assert verdict(problem, (0, 7)).reason == "000, 111 is forbidden"


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: set_system(63, 2), "63 points are too many"),
        (lambda: set_system(20), "all subsets of 20 points are too many"),
        (lambda: set_system(4, 5), "size=5 of a set must be a whole number from 0 to 4"),
        (lambda: code(20), "more than 100,000 words"),
        (lambda: code(10**9, 36), "more than 100,000 words"),
        (lambda: code(2, 37), "37 symbols are too many"),
        (abelian_group, "needs the orders"),
        (lambda: points([(1, 2), (3,)]), "points of different dimensions"),
        (lambda: points([(1, 2.5)]), "each must be a whole number"),
        (lambda: matrix(2, 2, 300), "too large"),
        (lambda: Problem(matrix(2, 2)), "a problem of matrices needs a score"),
    ],
)
def test_what_is_no_space_is_refused(make, said):
    with pytest.raises(HandloomError, match=said):
        make()


def test_groups_of_symmetries_are_as_large_as_is_known():
    def order(space, name):
        return len(orbits(space, name, space.symmetries[name]).group)

    group = abelian_group(13)
    assert [name for name in group.symmetries if name.startswith("times")] == [
        "times-3",
        "times-5",
        "times-4",
        "times-2",
    ]
    assert [order(group, name) for name in ("negation", "times-3", "times-2", "translate-13")] == [2, 3, 12, 13]
    assert order(set_system(6, 3), "turn-6") == 6
    assert order(set_system(6, 3), "complement") == 2
    assert [order(code(5, 3), name) for name in ("add-one", "cyclic", "reverse", "turn-2")] == [3, 5, 2, 2]
    cube = points(product(range(3), repeat=3))
    assert len(orbits(cube, "all", cube.generators).group) == 48
