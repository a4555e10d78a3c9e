"""Small scores, required sets and required symmetries: against brute force, in the whole loop, and what is refused."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handloom.core import HandloomError
from handloom.discover import Problem, discover, graph, grid, matrix, permutation, subsets, verdict, word
from handloom.discover.proof import prove
from handloom.discover.records.store import Store
from handloom.discover.search.anneal import Annealer
from handloom.discover.search.attempts import Attempt, Searches, symmetry_names
from handloom.discover.search.canonical import form_of
from handloom.discover.search.greedy import greedy
from handloom.discover.search.symmetry import NONE, orbits_of
from handloom.view.pages.discovery import against

SETS = st.lists(st.sets(st.integers(0, 7), min_size=1, max_size=4).map(sorted), min_size=1, max_size=8)
SQUARES = [(i, j) for i in range(5) for j in range(5)]
ATTACKED = [
    [b for b in SQUARES if 0 in (a[0] - b[0], a[1] - b[1]) or abs(a[0] - b[0]) == abs(a[1] - b[1])] for a in SQUARES
]
WEIGHTS = np.random.default_rng(0).integers(-9, 10, (4, 4))


def smallest(problem):
    """The least score of all legal subsets, by trying all."""
    indices = range(len(problem.space.elements))
    found = (verdict(problem, some).score for k in range(len(indices) + 1) for some in combinations(indices, k))
    return min(score for score in found if score is not None)


def weight(x):
    return (WEIGHTS * x).sum() + 3 * (x[:, 0] * x[:, 1]).sum()


def in_line(a, b, c):
    return (b[0] - a[0]) * (c[1] - a[1]) == (c[0] - a[0]) * (b[1] - a[1])


@settings(max_examples=25, deadline=None)
@given(SETS)
def test_the_complement_of_a_largest_set_without_required_ones_is_a_smallest_cover(required):
    problem = Problem(subsets(range(8)), required=required, minimise=True)
    found = Searches(problem, [NONE]).attempt(Attempt(NONE, 0, 500))
    assert verdict(problem, found.result.construction).score == found.result.score == smallest(problem)
    assert verdict(problem, greedy(problem, 0)).score is not None


def test_a_cover_is_searched_from_a_start_and_is_no_worse_than_it():
    problem = Problem(grid(5, 5), required=ATTACKED, minimise=True)
    row = problem.space.read([[2, j] for j in range(5)])
    found = Searches(problem, [NONE]).attempt(Attempt(NONE, 0, 2000, row))
    assert (found.before, found.legal) == (5, True)
    assert found.result.score == 3  # OEIS A075458


def test_the_least_weight_of_a_cover_is_annealed():
    rows = [[(i, j) for j in range(4)] for i in range(4)]
    problem = Problem(grid(4, 4), score=weight, minimise=True, required=rows)
    found = Searches(problem, [NONE]).attempt(Attempt(NONE, 0, 4000)).result
    assert verdict(problem, found.construction).score == found.score == smallest(problem)


@pytest.mark.slow
def test_a_covers_weight_on_a_graph_is_that_of_the_chosen_edges():
    problem = Problem(graph(4), required=[[(0, 1), (2, 3)]], score=lambda a: (a * a.T).sum(), minimise=True)
    found = Searches(problem, [NONE]).attempt(Attempt(NONE, 0, 500)).result
    assert found.score == 2  # one edge, from both ends


def test_a_run_keeps_the_smallest_and_says_so(tmp_path):
    problem = Problem(grid(5, 5), required=ATTACKED, minimise=True, name="queens", best_known=4)
    model = {"learn": 3, "samples": 8, "layers": 1, "width": 16, "feedback": 1.0}
    how = {"store": tmp_path / "r.sqlite", "attempts": 20, **model}
    found = discover(problem, generations=2, steps=100, **how)
    assert found.best.score == found.to_json()["best"] == 3
    assert found.sentence().startswith("queens: 3 (best known: 4), which would be new, verified")
    assert found.lines[0]["searched"]["min"] == 3 <= found.lines[0]["searched"]["mean"]
    scores = [member.score for member in found.state.ledger.pool.best()]
    assert scores == sorted(scores)
    store = Store.open(tmp_path / "r.sqlite")
    kept = [record.score for record in store.records("queens")]
    assert kept == sorted(kept)
    assert (kept[0], store.best("queens").minimise) == (3, True)
    assert discover(problem, until=5, **how).best.score <= 5
    with pytest.raises(HandloomError, match="their scores were to be small"):
        discover(Problem(grid(5, 5), name="queens"), generations=1, **how)


def test_scores_below_0_are_better_than_a_first_one_of_0(tmp_path):
    problem = Problem(matrix(2, 2, 3), score=lambda x: -x.sum(), minimise=True, name="sum")
    found = discover(problem, store=tmp_path / "r.sqlite", generations=1, attempts=2, model=False)
    assert (found.records[0].score, found.best.score) == (0, -8)
    assert [record.minimise for record in Store.open(tmp_path / "r.sqlite").records("sum")] == [True, True]


def test_better_than_the_best_known_is_below_it_where_scores_are_to_be_small():
    assert against(3, 4, minimise=True) == ("good", "1 below the best known value, 4")
    assert against(5, 4, minimise=True)[0] == against(3, 4)[0] == ""


def images(maps, some):
    return {tuple(sorted(int(one[i]) for i in some)) for one in maps}


def mirrored(p):
    return 3 - p[0], p[1]


REQUIRED = {"name": "rotation-180", "diagonal": "diagonal", "map": mirrored, "both": ("rotation-180", mirrored)}


@pytest.mark.parametrize("symmetry", REQUIRED.values(), ids=REQUIRED)
def test_what_a_symmetry_requires_is_found_and_anything_else_is_refused(symmetry):
    problem = Problem(grid(4, 4), forbidden=in_line, symmetry=symmetry)
    plain, maps = Problem(grid(4, 4), forbidden=in_line), orbits_of(problem, NONE).group
    found = [greedy(problem, seed) for seed in range(3)]
    searches = Searches(problem, symmetry_names(problem))
    found += [searches.attempt(Attempt(name, 0, 300)).result.construction for name in symmetry_names(problem)]
    for some in found:
        assert images(maps, some) == {some}
        assert verdict(problem, some).score == len(some)
        form = form_of(problem)(some)
        assert verdict(problem, form).score == len(some)  # the form has the symmetry too
    assert max(map(len, found)) == 8
    lone = (1,)
    assert verdict(plain, lone).score == 1
    assert "its image" in verdict(problem, lone).reason


@pytest.mark.parametrize(
    "forbidden", [(), in_line, [[(0, 0), (1, 1)], [(3, 0), (2, 2), (1, 1)]]], ids=["", "rule", "sets"]
)
def test_annealing_moves_whole_orbits_of_a_required_symmetry(forbidden):
    problem = Problem(grid(4, 4), score=weight, minimise=True, forbidden=forbidden, symmetry="rotation-180")
    orbits = orbits_of(problem, NONE)
    unions = (np.concatenate([[], *some]) for k in range(9) for some in combinations(orbits.members, k))
    legal = (verdict(problem, tuple(sorted(map(int, one)))).score for one in unions)
    found = Annealer(problem).run(0, 3000, start=(0, 1, 2))
    assert images(orbits.group, found.construction) == {found.construction}
    assert found.score == min(score for score in legal if score is not None)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"minimise": True}, "the empty set is the smallest"),
        ({"required": [[1]]}, "required is for minimise=True"),
        ({"required": [[1]], "minimise": True, "forbidden": [[2]]}, "required and forbidden sets in one problem"),
        ({"symmetry": "mirror"}, "symmetry='mirror': no such symmetry here; it has none"),
        ({"symmetry": 3}, "symmetry=3 must be a name, a map of elements, or a list"),
        ({"symmetry": ["mirror"]}, "symmetry='mirror': no such symmetry here; it has none"),
        ({"symmetry": []}, r"symmetry=\[\] must be a name, a map of elements, or a list"),
    ],
)
def test_what_does_not_go_together_is_refused(given, said):
    with pytest.raises(HandloomError, match=said):
        Problem(subsets([1, 2]), **given)


def test_sets_and_symmetries_of_words_are_refused():
    for more, said in (({"required": [[0]]}, "required is for subsets; raise"), ({"symmetry": "x"}, "is for subsets")):
        with pytest.raises(HandloomError, match=said):
            Problem(permutation(3), score=len, minimise=True, **more)
    with pytest.raises(HandloomError, match="forbidden is for subsets; lower the score of a bad word"):
        Problem(word(3), score=len, forbidden=[[0]])


def test_a_required_set_is_of_elements_of_the_space():
    problem = Problem(subsets([1, 2]), required=[[3]], minimise=True)
    with pytest.raises(HandloomError, match="required contains 3, which is not an element"):
        Searches(problem, [NONE]).attempt(Attempt(NONE, 0, 1))


def test_a_required_symmetry_that_does_not_preserve_what_is_forbidden_is_refused():
    problem = Problem(subsets([1, 2, 3]), forbidden=[[1, 2]], symmetry=lambda x: 4 - x)
    with pytest.raises(HandloomError, match="required symmetry does not preserve what is forbidden"):
        symmetry_names(problem)


def test_a_proof_of_a_problem_with_required_sets_or_symmetry_is_refused():
    pytest.importorskip("ortools")
    cover = Problem(subsets([1, 2]), required=[[1]], minimise=True)
    mirrored = Problem(grid(3, 3), forbidden=in_line, symmetry="mirror")
    for problem, what in ((cover, "required sets"), (mirrored, "a required symmetry")):
        with pytest.raises(HandloomError, match=f"this has {what}"):
            prove(problem, store=None)
