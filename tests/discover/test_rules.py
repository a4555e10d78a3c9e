"""Rules of four and five elements: what tracing proves of them, the sets that are found, and the verifier's loop."""

import os
import subprocess
import sys
from itertools import combinations

import numpy as np
import pytest

from handloom.discover import Problem, exhaustive, graph, grid, subsets, verdict
from handloom.discover.problem import arity
from handloom.discover.search.attempts import search_for
from handloom.discover.search.enumeration import calls, enumerated, forbidden_sets, is_box
from handloom.discover.search.greedy import greedy
from handloom.discover.search.kept import NoDigest, digest_of
from handloom.discover.search.symmetry import NONE
from handloom.discover.search.triples import TableLimits, TooLarge
from handloom.discover.tracing import traits_of

LIMITS = TableLimits()


def square(a, b, c, d):
    """Whether four points, in the order of the grid, are the corners of a square, of any slope."""
    closed = a[0] + d[0] == b[0] + c[0] and a[1] + d[1] == b[1] + c[1]
    u, v, x, y = b[0] - a[0], b[1] - a[1], c[0] - a[0], c[1] - a[1]
    return closed and u * u + v * v == x * x + y * y and u * x + v * y == 0


def four_cycle(a, b, c, d):  # 01 02 13 23, 01 03 12 23, 02 03 12 13: edges in the order of the graph
    first = a[0] == b[0] and a[1] == c[0] and b[1] == d[0] and c[1] == d[1]
    second = a[0] == b[0] and a[1] == c[0] and c[1] == d[0] and b[1] == d[1]
    third = a[0] == b[0] and a[1] == c[0] == d[0] and False
    return first or second or third


def sloped(a, b, c, d):
    """Moved along the second axis it is the same, along the first it is not."""
    return a[0] + b[0] == c[0] and d[1] - c[1] == b[1] - a[1] and d[0] > 3


def uneven(a, b, c, d):
    """No move leaves it as it is."""
    return (a[0] * 3 + b[1] * 5 + c[0] * c[1] + d[0] * 7) % 61 == 0


def symmetric_five(a, b, c, d, e):
    return a[0] + e[0] == b[0] + d[0] and a[1] + e[1] == 2 * c[1] and d[1] - b[1] == 2


def by_trying(problem):
    size = arity(problem.rules[0])
    elements = problem.space.elements
    return {some for some in combinations(range(len(elements)), size) if problem.rules[0](*(elements[i] for i in some))}


@pytest.mark.parametrize(
    ("space", "rule", "free", "by_order"),
    [
        (grid(6, 6), square, {0, 1}, False),
        (grid(6, 5), sloped, {1}, False),
        (grid(5, 6), uneven, set(), False),
        (grid(4, 4), symmetric_five, {0, 1}, False),
        (graph(9), four_cycle, set(), True),
    ],
)
def test_the_sets_found_are_those_that_trying_all_finds(space, rule, free, by_order, monkeypatch):
    monkeypatch.setattr("handloom.discover.search.enumeration.FEW", 0)  # so that moves are used
    problem = Problem(space, forbidden=rule)
    traits = traits_of(rule, arity(rule), space)
    assert (traits.whole, traits.free, traits.by_order) == (True, free, by_order)
    found = enumerated(problem, rule, lambda: False, LIMITS)
    assert sorted(map(tuple, found.tolist())) == sorted(by_trying(problem))


def test_squares_of_a_large_grid_are_as_many_as_the_formula_says():
    problem = Problem(grid(24, 24), forbidden=square)
    assert len(forbidden_sets(problem, square, lambda: False, LIMITS)) == 24 * 24 * (24 * 24 - 1) // 12
    assert calls(problem.space, 4, [0, 1]) < calls(problem.space, 4, []) / 30


def test_a_set_touches_a_side_as_often_as_counting_says():
    space = grid(3, 4)
    touching = [
        some for some in combinations(space.elements, 4) if min(p[0] for p in some) == min(p[1] for p in some) == 0
    ]
    assert calls(space, 4, [0, 1]) == len(touching)


def test_only_a_whole_grid_in_its_order_is_moved_in():
    assert is_box(grid(3, 4))
    assert is_box(subsets(range(5, 9)))
    assert not is_box(subsets([3, 1, 2]))
    assert not is_box(subsets([1, 2, 4]))
    assert not is_box(graph(5))


@pytest.mark.parametrize(
    ("rule", "whole"),
    [
        (lambda a, b, c: (a - b) ** 2 == abs(c - a) % 7, True),
        (lambda a, b, c: a * 2**61 == b, False),  # leaves 64 bits,
        (lambda a, b, c: a / 2 == b, False),  # computes with fractions,
        (lambda a, b, c: {1: 2}.get(a) == b, False),  # looks something up,
        (lambda a, b, c: [0, 1, 1, 0, 1, 0, 1, 1, 1][a] == 1, False),
        (lambda a, b, c: any(a + i < b * c for i in range(20)), True),
    ],
)
def test_what_cannot_be_traced_is_not_said_to_be_whole(rule, whole):
    assert traits_of(rule, 3, subsets(range(9))).whole == whole


def test_a_rule_that_forbids_nothing_or_nearly_everything_is_searched_too():
    nothing = search_for(Problem(grid(7, 7), forbidden=lambda a, b, c, d: a[0] > d[0]), NONE)
    assert nothing.run(0, 500).score == 49
    crowded = Problem(grid(7, 7), forbidden=lambda a, b, c, d: a[0] + b[0] + c[0] + d[0] > 1)
    made = search_for(crowded, NONE, limits=TableLimits(sets=1_000))  # too many: the rule is asked instead
    found = made.run(0, 300)
    assert verdict(crowded, found.construction) == (found.score, None)
    with pytest.raises(TooLarge, match="more than 1,000 sets of 4 are forbidden"):
        forbidden_sets(crowded, crowded.rules[0], lambda: False, TableLimits(sets=1_000))


def test_the_verifier_says_the_same_compiled_and_in_plain_python(monkeypatch):
    rng = np.random.default_rng(1)
    for space, rule in ((grid(6, 6), square), (grid(4, 4), symmetric_five), (grid(5, 6), uneven)):
        problem, reasons = Problem(space, forbidden=rule), set()
        for count in (6, 8, 12, 16):
            construction = tuple(sorted(rng.choice(len(space.elements), count, replace=False).tolist()))
            monkeypatch.setattr(exhaustive, "MOST_PLAIN", 10**9)
            plain = verdict(problem, construction)
            monkeypatch.setattr(exhaustive, "MOST_PLAIN", 0)
            compiled = verdict(problem, construction)
            assert plain == compiled  # the same first forbidden set, too
            reasons.add(plain.reason is None)
        first = greedy(problem, 0)
        assert verdict(problem, first) == (len(first), None)


def test_code_is_kept_under_a_digest_of_all_that_it_reads():
    def made(number, inner=lambda x: x + 1):
        return lambda a, b: a + number == inner(b)

    assert digest_of(made(3)) == digest_of(made(3))
    assert len({digest_of(one) for one in (made(3), made(4), made(3.0), made(3, lambda x: x + 2))}) == 4
    assert digest_of(lambda a: np.abs(a) > 1) != digest_of(lambda a: np.sign(a) > 1)
    table = np.arange(4)
    before = digest_of(lambda a: table[a] > 1)
    table[0] = 9
    assert digest_of(lambda a: table[a] > 1) != before
    with pytest.raises(NoDigest):
        digest_of(made(object()))


KEPT_NAMES = """
import gc, sys
from numba.core.dispatcher import Dispatcher
from handloom.discover import Problem, grid
from handloom.discover.search.attempts import Attempt, Searches

def problem(modulus):
    def rule(a, b, c, d):
        return (7 * a[0] + 5 * b[0] + 3 * c[1] + d[1]) % modulus == 0
    return Problem(grid(3, 3), forbidden=rule, name=f"modulo {modulus}")

for modulus in map(int, sys.argv[1:]):
    Searches(problem(modulus), ["none"]).attempt(Attempt("none", 0, 50))
names = [made.fndesc.mangled_name for one in gc.get_objects() if isinstance(one, Dispatcher)
         for made in one.overloads.values() if "function_0" in one.py_func.__code__.co_freevars
         or "function_0" in one.py_func.__code__.co_names]
print(len(names), len(set(names)))
"""


def test_what_two_programs_have_compiled_is_told_apart_in_a_third(tmp_path):
    """Numba numbers functions of one name, in each process anew: code of two rules kept by two programs had one name,
    and a third program that loaded both failed now and then."""
    for moduli in (["6"], ["7"], ["6", "7"]):
        done = subprocess.run(
            [sys.executable, "-c", KEPT_NAMES, *moduli],
            env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        )
    count, different = map(int, done.stdout.split())
    assert count == different >= 4
