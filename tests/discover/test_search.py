"""The search for subsets: tables of what is forbidden, and steps; by brute force and known values."""

from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

from handloom.core import HandloomError
from handloom.discover import Problem, graph, grid, subsets, verdict
from handloom.discover.catalogue import problem_named
from handloom.discover.loop.executors import Threads
from handloom.discover.search import orbit_search
from handloom.discover.search.anneal import Annealer
from handloom.discover.search.attempts import Attempt, Searches, search_for, symmetry_names
from handloom.discover.search.compiling import compiled
from handloom.discover.search.conflicts import conflicts
from handloom.discover.search.greedy import greedy
from handloom.discover.search.orbit_search import OrbitSearch
from handloom.discover.search.symmetry import NONE, orbits, orbits_of
from handloom.discover.search.triples import TableLimits, TooLarge

# Tables of what is forbidden


def is_legal(tables, chosen):
    """By the tables alone, of a set of orbits."""
    if any(tables.never[a] for a in chosen):
        return False
    starts, count = tables.triple_starts, len(tables.weights)
    for a in chosen:
        if chosen & set(tables.pairs[tables.pair_starts[a] : tables.pair_starts[a + 1]].tolist()):
            return False
        for b in chosen - {a} if len(starts) > 1 else ():
            if chosen & set(tables.triples[starts[a * count + b] : starts[a * count + b + 1]].tolist()):
                return False
    return not any(chosen.issuperset(row[row >= 0].tolist()) for row in tables.sets)


def unions(made):
    """All unions of orbits: the orbits, and the elements."""
    numbers = range(len(made.members))
    for chosen in chain.from_iterable(combinations(numbers, size) for size in range(len(numbers) + 1)):
        yield set(chosen), tuple(sorted(int(i) for orbit in chosen for i in made.members[orbit]))


def check_tables(problem, symmetry):
    made = orbits_of(problem, symmetry)
    tables = conflicts(problem, made)
    assert tables is not None
    for chosen, construction in unions(made):
        assert is_legal(tables, chosen) == (verdict(problem, construction).reason is None), (symmetry, construction)
    check_incidence(tables)


def check_incidence(tables):
    """The tables are the same read from any side: without that a search loses count."""
    count = len(tables.weights)
    neighbours = [set(part.tolist()) for part in np.split(tables.pairs, tables.pair_starts[1:-1])]
    assert all(a in neighbours[b] and a != b for a in range(count) for b in neighbours[a])
    if len(tables.triple_starts) > 1:
        parts = np.split(tables.triples, tables.triple_starts[1:-1])
        threes = [(at // count, at % count, int(c)) for at, part in enumerate(parts) for c in part]
        assert len(set(threes)) == len(threes)
        assert all({(b, a, c), (c, a, b)} <= set(threes) and len({a, b, c}) == 3 for a, b, c in threes)
    for orbit in range(count):
        rows = tables.rows[tables.row_starts[orbit] : tables.row_starts[orbit + 1]]
        assert sorted(rows.tolist()) == [number for number, row in enumerate(tables.sets) if orbit in row]


SMALL = [grid(3, 3), grid(2, 5), grid(2, 2, 2), grid(10), graph(5), subsets(range(3, 12))]


@st.composite
def listed_problems(draw):
    """Listed sets of 1 to 5 elements; half of the time with all their images under a symmetry."""
    space = draw(st.sampled_from(SMALL))
    index = st.integers(0, len(space.elements) - 1)
    drawn = draw(st.lists(st.sets(index, min_size=1, max_size=5), max_size=6))
    if not space.symmetries or draw(st.booleans()):
        return Problem(space, forbidden=[[space.elements[i] for i in some] for some in drawn]), NONE
    name = draw(st.sampled_from(sorted(space.symmetries)))
    group = orbits(space, name, space.symmetries[name]).group
    images = {frozenset(one[list(some)].tolist()) for one in group for some in drawn}
    forbidden = [[space.elements[i] for i in some] for some in images]
    told = {name: space.symmetries[name]}
    return Problem(space, forbidden=forbidden, symmetries=told), draw(st.sampled_from([name, NONE]))


@settings(max_examples=40)
@given(listed_problems())
def test_tables_of_listed_sets_say_what_trying_all_unions_of_orbits_says(drawn):
    check_tables(*drawn)


def alone(a):
    return a[0] == 1 and a[1] == 1


def near(a, b):
    return abs(a[0] - b[0]) + abs(a[1] - b[1]) == 1


def in_line(a, b, c):
    return (b[0] - a[0]) * (c[1] - a[1]) == (c[0] - a[0]) * (b[1] - a[1])


def isosceles(a, b, c):
    ab = (a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2
    bc = (b[0] - c[0]) ** 2 + (b[1] - c[1]) ** 2
    ca = (c[0] - a[0]) ** 2 + (c[1] - a[1]) ** 2
    return ab == bc or bc == ca or ca == ab


def rectangle(a, b, c, d):
    return a[0] == b[0] and c[0] == d[0] and a[1] == c[1] and b[1] == d[1] and a[1] != b[1] and a[0] != c[0]


def balanced(a, b, c, d, e):
    return a[0] + b[0] + c[0] + d[0] + e[0] == 5 and a[1] + b[1] + c[1] + d[1] + e[1] == 5


LINES = Problem(grid(3, 3), forbidden=in_line, name="lines")
RECTANGLES = Problem(grid(3, 3), forbidden=rectangle, name="rectangles")


@pytest.mark.parametrize(
    ("space", "forbidden", "symmetries"),
    [
        (grid(3, 3), [alone, rectangle, balanced, [(0, 0), (2, 2)], [(0, 2), (2, 0)]], (NONE, "mirror", "rotation-90")),
        (grid(3, 4), [near, isosceles, [(0, 0), (0, 3), (2, 0), (2, 3)]], (NONE, "mirror", "rotation-180", "mirrors")),
    ],
)
def test_tables_of_rules_say_what_trying_all_unions_of_orbits_says(space, forbidden, symmetries):
    problem = Problem(space, forbidden=forbidden)
    for symmetry in symmetries:
        check_tables(problem, symmetry)


def test_rules_of_numbers_and_of_edges_make_tables_too():
    sums = Problem(subsets([1, 2, 3, 5, 6, 8, 9, 11]), forbidden=lambda a, b, c: a + b == c)
    triangle = Problem(
        graph(5),
        forbidden=lambda a, b, c: a[0] == b[0] and a[1] == c[0] and b[1] == c[1],  # (u, v), (u, w), (v, w)
    )
    check_tables(sums, NONE)
    for symmetry in (NONE, "turn-3", "turn-5"):
        check_tables(triangle, symmetry)


def test_a_rule_gets_its_elements_in_the_order_of_the_space():
    """The rules forbid whatever comes to them in another order; so nothing is forbidden."""
    numbers = subsets(range(0, 27, 3))
    falling = [
        lambda a, b: a >= b,
        lambda a, b, c: a >= b or b >= c,
        lambda a, b, c, d: a >= b or b >= c or c >= d,
        lambda a, b, c, d, e: a >= b or b >= c or c >= d or d >= e,
    ]
    told = {"mirror": (lambda x: 24 - x,)}
    problem = Problem(numbers, forbidden=falling, symmetries=told)
    for symmetry in (NONE, "mirror"):
        tables = conflicts(problem, orbits_of(problem, symmetry))
        assert not tables.never.any()
        assert len(tables.pairs) == len(tables.triples) == len(tables.sets) == 0


def rare(a, b, c):
    """Three in a corner of the grid, so few that trying some sets of elements does not find one."""
    return a[0] >= 11 and b[0] >= 11 and c[0] >= 11 and a[1] > 8 and b[1] > 4


@pytest.mark.slow
def test_a_search_is_legal_even_under_a_symmetry_that_only_seems_to_hold():
    problem = Problem(grid(14, 14), forbidden=rare, name="rare")
    for symmetry in symmetry_names(problem):
        if (made := search_for(problem, symmetry)) is not None:
            if isinstance(made, OrbitSearch):
                check_incidence(made.tables)
            found = made.run(seed=0, steps=3_000, start=None, stop=lambda: False)
            assert verdict(problem, found.construction).reason is None, symmetry


# The search


def recomputed(tables, chosen):
    """How many forbidden sets each orbit would complete, from scratch."""
    count, blocked = len(tables.weights), np.where(tables.never, 1 << 20, 0)
    for a in chosen:
        for b in tables.pairs[tables.pair_starts[a] : tables.pair_starts[a + 1]]:
            blocked[b] += 1
        for b in chosen if len(tables.triple_starts) > 1 else ():
            at = a * count + b
            if a < b:
                for c in tables.triples[tables.triple_starts[at] : tables.triple_starts[at + 1]]:
                    blocked[c] += 1
    for row in tables.sets:
        left = set(row[row >= 0].tolist()) - chosen
        if len(left) == 1:
            blocked[left.pop()] += 1
    return blocked


def check_state(problem, made, state):
    """The state is what one computes from what is chosen."""
    tables, orbit_count = made.tables, len(made.orbits.members)
    chosen = set(np.flatnonzero(state.chosen).tolist())
    blocked = recomputed(tables, chosen)
    assert state.blocked.tolist() == blocked.tolist()
    wanted = [
        chosen,
        {i for i in range(orbit_count) if blocked[i] == 0} - chosen,
        {i for i in range(orbit_count) if blocked[i] == 1},
        {i for i in range(orbit_count) if blocked[i] == 2},
    ]
    for which, members in enumerate(wanted):
        listed = state.lists[which, : state.counts[which]].tolist()
        assert sorted(listed) == sorted(members)
        assert all(state.place[orbit] == at for at, orbit in enumerate(listed))
    assert state.filled.tolist() == [len(chosen & set(row.tolist())) for row in tables.sets]
    assert state.numbers[orbit_search.SCORE] == sum(len(made.orbits.members[i]) for i in chosen)
    assert verdict(problem, made.union(state.chosen)) == (state.numbers[orbit_search.SCORE], None)
    assert verdict(problem, made.union(state.best)) == (state.numbers[orbit_search.BEST], None)


PROBLEMS = [  # with pairs, with threes, with sets of four, with all of these
    Problem(grid(4, 5), forbidden=[[(x, y), (x + 1, y)] for x in range(3) for y in range(5)], name="pairs"),
    problem_named("isosceles:n=6"),
    problem_named("four-cycle-free:n=8"),
    Problem(graph(6), forbidden=[*problem_named("four-cycle-free:n=6").sets, [(0, 1), (2, 3)], [(4, 5)]], name="mixed"),
]
SEARCHES = {}


def search_of(problem, symmetry):
    """Made once, for the rules take their time to be compiled."""
    if (problem, symmetry) not in SEARCHES:
        SEARCHES[problem, symmetry] = search_for(problem, symmetry)
    return SEARCHES[problem, symmetry]


@pytest.mark.parametrize("boldness", [0.0, 0.1])
@pytest.mark.parametrize("problem", PROBLEMS, ids=str)
def test_after_any_steps_the_state_is_what_one_computes_from_scratch(problem, boldness):
    for symmetry in symmetry_names(problem):
        made = search_of(problem, symmetry)
        for seed in range(3) if made else ():
            state = orbit_search.state_of_start(made.tables, seed)
            for steps in (1, 2, 7, 40, 333, 2_500):  # with more steps than patience: through ruins too
                orbit_search.make_steps(made.tables, state, steps, 100, 1, boldness)
                check_state(problem, made, state)


@settings(max_examples=20)
@given(listed_problems(), st.integers(0, 2**70), st.lists(st.integers(0, 8)), st.integers(0, 300))
def test_the_state_of_any_small_problem_is_right_and_its_best_is_the_maximum(drawn, seed, start, steps):
    problem, symmetry = drawn
    made = search_for(problem, symmetry)
    if made is None:  # nothing can be chosen under that symmetry
        return
    state = orbit_search.state_of_start(made.tables, seed, [i for i in start if i < len(made.orbits.members)])
    check_state(problem, made, state)
    orbit_search.make_steps(made.tables, state, steps, 20)
    check_state(problem, made, state)
    orbit_search.make_steps(made.tables, state, steps, 1_000, 1, 0.05)
    check_state(problem, made, state)
    orbit_search.make_steps(made.tables, state, 3_000, 20)
    best = max(len(some) for _, some in unions(made.orbits) if verdict(problem, some).reason is None)
    assert state.numbers[orbit_search.BEST] == best


@pytest.mark.parametrize("problem", PROBLEMS, ids=str)
def test_a_search_in_many_short_runs_is_the_same_as_in_one_long_one(problem):
    more = (orbit_search.PATIENCE, orbit_search.TENURE, 0.05)
    made = search_of(problem, NONE)
    one, many = orbit_search.state_of_start(made.tables, 7), orbit_search.state_of_start(made.tables, 7)
    orbit_search.make_steps(made.tables, one, 5_000, *more)
    for steps in (1, 10, 100, 1_000, 889, 3_000):
        orbit_search.make_steps(made.tables, many, steps, *more)
    for a, b in zip(one, many, strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_quarter_of_the_searches_move_among_equal_scores_and_the_others_are_of_every_boldness():
    drawn = np.array([orbit_search.boldness_of((3 << 40) + i) for i in range(2_000)])
    least, most = orbit_search.BOLDNESS
    assert 0.22 < (drawn == 0).mean() < 0.28
    bold = np.sort(drawn[drawn > 0])
    assert least <= bold[0] < 1.05 * least
    assert most / 1.05 < bold[-1] <= most
    assert np.median(bold) == pytest.approx((least * most) ** 0.5, rel=0.2)


def test_the_same_seed_gives_the_same_and_other_seeds_do_not():
    made = search_of(PROBLEMS[1], NONE)
    found = [made.run(seed, 300).construction for seed in range(20)]
    assert found == [made.run(seed, 300).construction for seed in range(20)]
    assert len(set(found)) > 10


@given(st.sets(st.integers(0, 35)))
def test_a_start_that_is_not_legal_is_repaired(start):
    problem, made = PROBLEMS[1], search_of(PROBLEMS[1], NONE)
    repaired = made.run(0, 0, tuple(sorted(start)))
    assert verdict(problem, repaired.construction) == (repaired.score, None)
    assert set(repaired.construction) <= start
    if verdict(problem, tuple(sorted(start))).reason is None:
        assert set(repaired.construction) == start
    for new in start - set(repaired.construction):  # nothing more than needed was dropped
        assert verdict(problem, tuple(sorted({*repaired.construction, new}))).reason is not None


def test_a_start_keeps_the_orbits_of_which_it_has_most():
    problem = Problem(grid(4, 4), forbidden=[[(0, 1), (0, 0)], [(3, 1), (3, 0)]], name="p")
    made = search_for(problem, "mirror")
    start = tuple(sorted(problem.space.index[point] for point in [(0, 0), (0, 1), (3, 1)]))
    assert problem.space.shown(made.run(0, 0, start).construction) == [[0, 1], [3, 1]]
    assert made.whole_share(start) == pytest.approx(2 / 3)


def best_of(name, steps, symmetry=NONE):
    problem = problem_named(name)
    found = search_of_name(name, symmetry).run(1, steps)
    assert verdict(problem, found.construction) == (found.score, None)
    return found.score


def search_of_name(name, symmetry):
    return search_for(problem_named(name), symmetry)


@pytest.mark.parametrize(
    ("n", "most"),
    [
        (1, 1),
        (3, 4),
        (8, 13),
        *(pytest.param(*one, marks=pytest.mark.slow) for one in [(2, 2), (4, 6), (5, 7), (6, 9), (7, 10)]),
    ],
)
def test_isosceles_free_sets_reach_the_known_maximum(n, most):
    assert best_of(f"isosceles:n={n}", 60_000) == most


@pytest.mark.parametrize("n", [3, 8, *(pytest.param(n, marks=pytest.mark.slow) for n in (2, 4, 5, 6, 7))])
def test_no_three_in_line_reaches_two_in_every_row(n):
    assert best_of(f"no-three-in-line:n={n}", 200_000) == 2 * n


@pytest.mark.parametrize(
    ("d", "most"), [(2, 4), (4, 20), *(pytest.param(*one, marks=pytest.mark.slow) for one in [(1, 2), (3, 9)])]
)
def test_cap_sets_reach_the_known_maximum(d, most):
    assert best_of(f"cap-set:d={d}", 60_000) == most


def test_bold_steps_find_larger_sets_without_squares_than_steps_among_equal_scores():
    """Of eight searches each, of as many steps; the best known is 67."""
    made = search_of_name("squares:n=12", NONE)

    def scores(boldness):
        for seed in range(8):
            state = orbit_search.state_of_start(made.tables, seed)
            orbit_search.make_steps(
                made.tables, state, 100_000, 10**6 if boldness else orbit_search.PATIENCE, 1, boldness
            )
            yield int(state.numbers[orbit_search.BEST])

    shy, bold = [*scores(0.0)], [*scores(0.05)]
    assert sum(bold) > sum(shy)
    assert max(bold) >= 66


@pytest.mark.parametrize(("n", "most"), list(enumerate((1, 3, 4, 6, 7, 9, 11, 13, 16), 2)))
def test_graphs_without_cycles_of_four_reach_the_known_maximum(n, most):
    assert best_of(f"four-cycle-free:n={n}", 60_000) == most


def test_a_search_under_a_symmetry_gives_unions_of_its_orbits():
    problem = PROBLEMS[1]
    for symmetry in symmetry_names(problem):
        made = search_of(problem, symmetry)
        if made:
            found = made.run(3, 2_000)
            assert all(set(one[list(found.construction)]) == set(found.construction) for one in made.orbits.group)
            assert made.whole_share(found.construction) == 1


@pytest.mark.parametrize("limit", ["triples", "tried", "orbits", pytest.param("sets", marks=pytest.mark.slow)])
def test_tables_that_would_be_too_large_raise_an_error(limit):
    limits, problem = TableLimits(**{limit: 3}), RECTANGLES if limit == "sets" else LINES
    with pytest.raises(TooLarge):
        conflicts(problem, orbits_of(problem, NONE), limits=limits)
    assert search_for(problem, "mirror", limits=limits) is None


@pytest.mark.slow
def test_a_problem_too_large_for_tables_is_left_to_the_annealer():
    made = search_for(LINES, NONE, limits=TableLimits(tried=5))
    assert isinstance(made, Annealer)
    found = made.run(0, 3_000, None, lambda: False)
    assert verdict(LINES, found.construction) == (found.score, None)
    assert found.score == 6


# Rules


def in_a_set(a, b):
    return {a: 1, "b": b} == frozenset(range(a)) or str(a) in {"x": b}


def raising(a, b):
    if a + b > 9:
        raise RuntimeError("a and b\nare too large")
    return False


def test_a_rule_that_numba_cannot_compile_gives_one_line():
    problem = Problem(subsets(range(6)), forbidden=in_a_set, name="sets")
    with pytest.raises(
        HandloomError, match=r"sets: Numba cannot compile what is forbidden: .*; use plain arithmetic"
    ) as e:
        compiled(problem, in_a_set)
    assert "\n" not in str(e.value)
    assert len(str(e.value)) < 300


def test_a_rule_that_raises_gives_one_line():
    problem = Problem(subsets(range(9)), forbidden=raising, name="raising")
    workers = Threads(Searches(problem, [NONE]), 1)
    with pytest.raises(HandloomError, match="RuntimeError") as e:
        list(workers.outcomes([Attempt(NONE, 0, 10)], lambda: False))
    workers.close()
    assert "\n" not in str(e.value)


def test_a_rule_that_raises_for_elements_that_are_not_distinct_is_never_asked_about_them():
    def ratio(a, b):
        return 6 % (b - a) == 5

    check_tables(Problem(subsets(range(6)), forbidden=ratio), NONE)


def test_elements_of_a_forbidden_set_must_be_in_the_space():
    with pytest.raises(HandloomError, match=r"forbidden contains \(3, 3\), which is not an element of the space"):
        search_for(Problem(grid(3, 3), forbidden=[[(0, 0), (3, 3)]], name="outside", symmetries={}), NONE)


@njit
def draws(state, most, count):
    return [orbit_search.below(state, most) for _ in range(count)], [orbit_search.unit(state) for _ in range(count)]


def test_the_numbers_of_a_search_are_spread_evenly():
    """below() and unit() of xorshift64*: each of k values about as often as the others (chi squared)."""
    state = orbit_search.state_of_start(search_of(PROBLEMS[1], NONE).tables, 5)
    whole, units = map(np.array, draws(state, 7, 14_000))
    assert ((np.bincount(whole, minlength=7) - 2_000) ** 2 / 2_000).sum() < 30
    assert units.min() >= 0
    assert units.max() < 1
    assert ((np.histogram(units, 7, (0, 1))[0] - 2_000) ** 2 / 2_000).sum() < 30


def test_a_slow_rule_can_be_stopped_soon_after_the_first_questions():
    asked = []
    slow = Problem(subsets(range(300)), forbidden=lambda a, b: bool(asked.append(a)), name="slow")
    assert greedy(slow, 0, stop=lambda: True)
    assert len(asked) <= 400
