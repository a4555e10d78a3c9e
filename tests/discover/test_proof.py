"""Proofs of optimality: encodings against the verifier and brute force, bounds against known values, counts against
enumeration; and what happens to a solver that lies, or is interrupted."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from itertools import chain, combinations

import numpy as np
import pytest

import handloom as hl
from handloom.core import HandloomError
from handloom.discover import Problem, copies, graph, grid, subsets, verdict
from handloom.discover.catalogue import problem_named
from handloom.discover.records.store import Store

pytest.importorskip("ortools", reason="NO ortools: nothing of `handloom prove` is tested; `make setup` installs it")

from handloom.discover.proof import bounding
from handloom.discover.proof.bounding import CLAUSES, CLIQUES, modelled
from handloom.discover.proof.family import forbidden_family, greedy_size
from handloom.discover.proof.fixing import fixed_elements
from handloom.discover.proof.optima import automorphisms
from handloom.discover.proof.parts import Parts
from handloom.discover.proof.proof import Proof, SolverRun
from handloom.discover.proof.solver import NEVER, Ended, solutions
from handloom.discover.proof.symmetric import Group, group_of


def square(a, b, c, d):
    """Whether four points, in the order of the grid, are the corners of a square, of any slope."""
    closed = a[0] + d[0] == b[0] + c[0] and a[1] + d[1] == b[1] + c[1]
    u, v, x, y = b[0] - a[0], b[1] - a[1], c[0] - a[0], c[1] - a[1]
    return closed and u * u + v * v == x * x + y * y and u * x + v * y == 0


def squares(n):
    return Problem(grid(n, n), forbidden=square, name=f"squares:n={n}")


def without_k23(n):
    space = graph(n)
    return Problem(space, forbidden=copies(space, [(u, v) for u in (0, 1) for v in (2, 3, 4)]), name=f"k23:n={n}")


def uneven(size=9):
    """Forbidden sets of one to six elements, without any symmetry."""
    rng = np.random.default_rng(5)
    sets = [rng.choice(size, k, replace=False).tolist() for k in (1, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5, 6)]
    return Problem(subsets(range(size)), forbidden=sets, name="uneven")


def chosen_in(size):
    return chain.from_iterable(combinations(range(size), k) for k in range(size + 1))


def legal(problem):
    return {some for some in chosen_in(len(problem.space.elements)) if verdict(problem, some).reason is None}


SMALL = {
    "isosceles": lambda: problem_named("isosceles:n=3"),
    "squares": lambda: squares(3),
    "box": lambda: Problem(grid(2, 4), forbidden=lambda a, b, c: b[1] - a[1] == c[1] - b[1], name="box"),
    "sidon": lambda: problem_named("sidon:n=9"),
    "cap": lambda: problem_named("cap-set:d=2"),
    "four-cycles": lambda: problem_named("four-cycle-free:n=5"),
    "triangles": lambda: problem_named("triangle-free:n=5"),
    "k23": lambda: without_k23(5),
    "uneven": uneven,
}


def no_group(family):
    return Group("listed", np.arange(family.size)[None])


def enumerated(encoding, family, group, parts=()):
    model, x = modelled(encoding, family, group, [*parts])
    return solutions(model, x, NEVER, 10**6, lambda: False, lambda best, bound: None)


def parts_of(problem, family):
    """The bounds of parts, by brute force."""

    def bound(space, inner, parts):
        sets = [set(some) for some in inner.sets]
        return max(len(some) for some in chosen_in(inner.size) if not any(one <= set(some) for one in sets))

    return Parts(bound).of(problem.space, family)


@pytest.mark.parametrize("encoding", [CLAUSES, CLIQUES], ids=lambda one: one.add.__name__)
@pytest.mark.parametrize("name", SMALL)
def test_of_all_subsets_an_encoding_allows_those_that_the_verifier_does(name, encoding):
    problem = SMALL[name]()
    family = forbidden_family(problem)
    right = legal(problem)
    assert enumerated(encoding, family, no_group(family)) == right
    assert enumerated(encoding, family, no_group(family), parts_of(problem, family)) == right


@pytest.mark.parametrize("encoding", [CLAUSES, CLIQUES], ids=lambda one: one.add.__name__)
@pytest.mark.parametrize("name", SMALL)
def test_breaking_symmetry_keeps_one_of_each_class_at_least_and_loses_no_size(name, encoding):
    problem = SMALL[name]()
    family = forbidden_family(problem)
    group = group_of(problem.space, family)
    kept, right = enumerated(encoding, family, group), legal(problem)
    assert kept <= right
    sizes = Counter(map(len, right))
    assert set(map(len, kept)) == set(sizes)
    if group.kind == "listed":
        images = {tuple(sorted(moved[list(some)].tolist())) for some in kept for moved in group.maps}
        assert images == right


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("name", [name for name in SMALL if name not in ("four-cycles", "triangles", "k23")])
def test_fixed_elements_are_in_some_legal_set_of_every_size_from_the_least_on(name, last):
    problem = SMALL[name]()
    family = forbidden_family(problem)
    generators, right = [*group_of(problem.space, family).maps], legal(problem)
    for least in range(1, max(map(len, right)) + 1):
        taken, kept = fixed_elements(family, generators, least, parts_of(problem, family), last)
        sizes = {len(some) for some in right if {*taken} <= {*some}}
        assert {len(some) for some in right if len(some) >= least} <= sizes
        assert all(family.is_kept_by(moved) and (moved[[*taken]] == taken).all() for moved in kept)


def test_of_a_cap_set_of_dimension_d_one_more_than_d_points_are_fixed_under_all_affine_maps():
    for d, least in ((2, 4), (3, 9)):
        problem = problem_named("cap-set", d=d)
        family = forbidden_family(problem)
        group = group_of(problem.space, family)
        taken, _ = fixed_elements(family, group.generators or [*group.maps], least)
        assert len(taken) == d + 1
        assert greedy_size(family) == 2**d  # all points of 0 and 1


def best_of(problem):
    right = legal(problem)
    most = max(map(len, right))
    return most, sum(len(some) == most for some in right)


@pytest.mark.parametrize("name", SMALL)
def test_bound_and_count_are_those_of_brute_force(name):
    problem = SMALL[name]()
    proof = hl.prove(problem, count=True, store=None)
    assert (proof.best, proof.count.total) == best_of(problem)
    assert proof.optimal
    assert proof.checked or proof.bound == len(problem.space.elements)
    assert verdict(problem, problem.space.read(proof.construction)).score == proof.best
    assert proof.count.classes <= proof.count.total


def test_classes_of_graphs_are_those_of_all_relabellings():
    problem = problem_named("four-cycle-free:n=5")
    most, _ = best_of(problem)
    every = [some for some in legal(problem) if len(some) == most]
    space, ends = problem.space, range(5)
    from itertools import permutations

    def relabelled(some, to):
        return tuple(sorted(space.index[tuple(sorted(to[v] for v in space.elements[i]))] for i in some))

    forms = {min(relabelled(some, to) for to in permutations(ends)) for some in every}
    assert hl.prove(problem, count=True, store=None).count.classes == len(forms)


def test_automorphisms_of_known_graphs():
    petersen = np.zeros((10, 10), bool)
    corners = [*combinations(range(5), 2)]
    for i, j in combinations(range(10), 2):
        petersen[i, j] = petersen[j, i] = not set(corners[i]) & set(corners[j])
    assert automorphisms(petersen) == 120
    assert automorphisms(np.zeros((9, 9), bool)) == 362880


def test_a_symmetry_is_believed_only_if_it_keeps_every_forbidden_set():
    """Of 16 points all threes of a row but one are forbidden: a test on samples might not see it."""
    rows = [some for some in combinations(grid(4, 4).elements, 3) if len({p[0] for p in some}) == 1]
    whole, lacking = (forbidden_family(Problem(grid(4, 4), forbidden=sets)) for sets in (rows, rows[1:]))
    all_maps, fewer = (group_of(grid(4, 4), family).maps for family in (whole, lacking))
    assert 1 < len(fewer) < len(all_maps)
    assert all(lacking.is_kept_by(moved) for moved in fewer)
    assert not all(lacking.is_kept_by(moved) for moved in all_maps)
    one_less = copies(graph(5), [(0, 1), (1, 2), (2, 0)])[1:]
    family = forbidden_family(Problem(graph(5), forbidden=one_less))
    assert group_of(graph(5), family).kind != "relabelling"


KNOWN = {"isosceles:n=4": 6, "isosceles:n=5": 7, "four-cycle-free:n=8": 11, "cap-set:d=3": 9, "sidon:n=18": 6}


@pytest.mark.parametrize("name", KNOWN)
def test_small_problems_are_optimal_where_the_literature_says(name):
    proof = hl.prove(name, store=None)
    assert proof.best == proof.bound == KNOWN[name]
    assert proof.checked
    assert proof.again.encoding != proof.first.encoding
    assert proof.again.seed != proof.first.seed


def test_k23_free_graphs_of_eight_vertices_have_16_edges():
    proof = hl.prove(without_k23(8), store=None)
    assert (proof.best, proof.bound, proof.checked) == (16, 16, True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("problem", "most"),
    [
        *((lambda n=n: problem_named(f"isosceles:n={n}"), most) for n, most in ((6, 9), (7, 10), (8, 13))),
        *((lambda n=n: problem_named(f"four-cycle-free:n={n}"), m) for n, m in ((9, 13), (10, 16), (11, 18), (12, 21))),
        (lambda: squares(6), 21),
        (lambda: without_k23(10), 22),
        (lambda: problem_named("cap-set:d=4"), 20),
    ],
)
def test_larger_problems_are_optimal_where_the_literature_says(problem, most):
    proof = hl.prove(problem(), store=None)
    assert (proof.best, proof.bound, proof.checked) == (most, most, True)


def test_a_solution_that_the_verifier_refuses_ends_the_proof(monkeypatch):
    lie = Ended(True, (0, 1, 2), 3)
    monkeypatch.setattr(bounding, "run_solver", lambda *words: lie)
    with pytest.raises(HandloomError, match="CP-SAT found what the verifier refuses"):
        hl.prove("isosceles:n=3", store=None)


def test_a_bound_that_is_too_low_is_found_by_the_second_run(monkeypatch):
    """A first run that forbids too much: one more set than the problem."""

    def too_much(model, x, family):
        CLAUSES.add(model, x, family)
        model.add(sum(x) <= 3)

    wrong = bounding.Encoding("too much", too_much, False)
    monkeypatch.setattr(bounding, "CLAUSES", wrong)
    with pytest.raises(HandloomError, match=r"two runs disagree, 3 was proved and then 4 elements found \(legal\)"):
        hl.prove("isosceles:n=3", store=None)


def test_without_time_for_a_proof_the_bound_still_holds(tmp_path):
    store = Store.open(tmp_path / "a.sqlite")
    proof = hl.prove("isosceles:n=10", 3, store=store.path)
    assert proof.bound >= 18 >= proof.best
    assert not proof.optimal
    assert proof.trivial or f"isosceles:n=10: at most {proof.bound}, proved in" in str(proof)


def test_the_number_of_all_elements_is_no_bound_and_is_not_kept(tmp_path, monkeypatch):
    from handloom.discover.records.proofs import proof_of

    store = Store.open(tmp_path / "a.sqlite")
    no_time = SolverRun("a clause per forbidden set", 0, None, 0.0)
    monkeypatch.setattr(bounding.Proving, "first_run", lambda self, family: (family.size, no_time))
    proof = hl.prove("isosceles:n=5", store=store.path)
    assert str(proof) == "isosceles:n=5: no bound yet; the best is 7 of 25 elements, verified"
    assert proof_of(store, "isosceles:n=5") is None
    assert store.best("isosceles:n=5").score == 7


def test_the_bound_that_is_shown_never_rises():
    shown = []
    proving = bounding.Proving(problem_named("isosceles:n=5"), None, 0, None, lambda one: shown.append(one.bound))
    tell = proving.news("maximising", 9)
    for bound in (None, 12, 8, 25):
        tell(None, bound)
    assert shown == [9, 9, 8, 8]


def test_a_proof_is_kept_with_the_record_and_a_weaker_one_does_not_replace_it(tmp_path):
    from handloom.discover.records.proofs import keep_proof, proof_of, proved

    store = Store.open(tmp_path / "a.sqlite")
    proof = hl.prove("isosceles:n=4", count=True, store=store.path)
    record = store.best("isosceles:n=4")
    assert record.score == 6
    kept = proof_of(store, "isosceles:n=4")
    assert kept["bound"] == 6
    assert kept["count"]["total"] == proof.count.total == 4
    assert proved(kept, record.score).startswith("optimal (proved in ")
    assert proved(kept, 7) == "above the bound of 6: the proof is of another problem"
    weaker = Proof(**{**vars(proof), "bound": 9, "count": None})
    keep_proof(store, weaker)
    assert proof_of(store, "isosceles:n=4") == kept
    assert hl.prove("isosceles:n=4", store=store.path).best == 6
    assert len(store.records("isosceles:n=4")) == 1


def test_what_is_not_a_number_of_elements_is_refused():
    for name in ("permanent-312:n=4", "words", "progressions"):
        with pytest.raises(HandloomError, match="a proof needs a score that is the number of chosen elements"):
            hl.prove(name, store=None)
    with pytest.raises(HandloomError, match=r"seconds=-1 must be a number of at least 0"):
        hl.prove("isosceles:n=3", -1, store=None)


def test_ctrl_c_ends_a_proof_with_the_bound_so_far(tmp_path):
    words = [sys.executable, "-m", "handloom", "prove", "isosceles:n=14"]
    run = subprocess.Popen(
        words, cwd=tmp_path, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ
    )
    for line in run.stderr:
        if "parts" in line or "maximising" in line:
            break
    time.sleep(1)
    run.send_signal(signal.SIGINT)
    out, err = run.communicate(timeout=60)
    assert run.returncode == 130, err
    assert out.startswith(("isosceles:n=14: at most ", "isosceles:n=14: no bound yet"))
    assert "Traceback" not in err
