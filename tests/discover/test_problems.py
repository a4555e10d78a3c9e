"""The problems that come with handloom: against exhaustive search, theorems, records of others, and themselves."""

import re
from dataclasses import replace
from itertools import combinations, pairwise, permutations, product
from math import log, prod

import numpy as np
import pytest

from handloom.core import HandloomError
from handloom.discover import Problem, grid, verdict
from handloom.discover.catalogue import PROBLEMS, problem_named
from handloom.discover.problem import arity, score_argument
from handloom.discover.problems import no_five_on_a_sphere, words
from handloom.discover.problems.cap_set import KNOWN as CAPS
from handloom.discover.problems.four_cycle_free import BOUNDS, EXACT
from handloom.discover.problems.permanent_312 import FAINT, nearly, permanent
from handloom.discover.search.anneal import Annealer
from handloom.discover.search.attempts import search_for
from handloom.discover.search.symmetry import NONE, symmetries_of

SMALL = [  # of every problem of subsets
    "isosceles:n=6",
    "squares:n=5",
    "no-three-in-line:n=5",
    "four-cycle-free:n=7",
    "triangle-free:n=7",
    "cap-set:d=3",
    "cap-set:d=2",
    "sidon:n=20",
    "no-five-on-a-sphere:n=3",
    "permanent-312:n=4",
    "examples/problem.py:n=15",
]
SCORED = ["words:length=12,pattern=xyxyx,letters=2", "words:length=9", "progressions:length=12", "permanent-312:n=5"]


def forbidden_sets(problem):
    """As sets of indices, by asking the problem's own check about every few elements."""
    elements = problem.space.elements
    sizes = {arity(rule) for rule in problem.rules} | {len(some) for some in problem.sets}
    return [
        some
        for size in sizes
        for some in combinations(range(len(elements)), size)
        if problem.check([elements[i] for i in some])
    ]


def maximum(problem):
    """How many elements a legal set has at most, by trying all."""
    through = [[] for _ in problem.space.elements]
    for some in forbidden_sets(problem):
        for i in some:
            through[i].append(sum(1 << j for j in some if j != i))
    best = 0

    def grow(chosen, free, count):
        nonlocal best
        best = max(best, count)
        while free and count + free.bit_count() > best:
            low = free & -free
            free ^= low
            rests = (rest & ~chosen for rest in through[low.bit_length() - 1])
            blocked = sum({rest for rest in rests if rest & (rest - 1) == 0})
            grow(chosen | low, free & ~blocked, count + 1)

    grow(0, (1 << len(through)) - 1, 0)
    return best


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("isosceles:n={}", range(1, 6)),
        ("squares:n={}", range(1, 6)),
        ("no-three-in-line:n={}", range(1, 5)),
        ("four-cycle-free:n={}", range(2, 7)),
        ("triangle-free:n={}", range(2, 7)),
        ("cap-set:d={}", range(1, 4)),
        ("sidon:n={}", range(1, 19)),
        ("no-five-on-a-sphere:n={}", range(1, 3)),
        ("examples/problem.py:n={}", range(1, 27)),
    ],
)
def test_the_best_known_values_of_small_sizes_are_the_maxima(name, sizes):
    problems = [problem_named(name.format(size)) for size in sizes]
    assert [maximum(problem) for problem in problems] == [problem.best_known for problem in problems]


@pytest.mark.slow
def test_nine_points_of_the_cube_of_side_3_have_five_on_a_sphere():
    assert maximum(problem_named("no-five-on-a-sphere:n=3")) == 8


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_the_largest_permanents_without_312_are_powers_of_two_at_first(n):
    problem = problem_named("permanent-312", n=n)
    masks = [sum(1 << i for i in some) for some in forbidden_sets(problem)]
    legal = {m for m in range(1 << n * n) if not any(mask & m == mask for mask in masks)}
    maximal = [m for m in legal if not any(m | 1 << i in legal for i in range(n * n) if not m >> i & 1)]
    values = [permanent(np.array([m >> i & 1 for i in range(n * n)]).reshape(n, n)) for m in maximal]
    assert max(values) == problem.best_known == 2 ** (n - 1)


def longest(ends_badly, letters):
    """How long a word can be of which no beginning ends badly, by trying all; new letters come in order."""
    best, left = 0, [""]
    while left:
        word = left.pop()
        best = max(best, len(word))
        grown = [word + letter for letter in "abcd"[: min(letters, len(set(word)) + 1)]]
        left += [word for word in grown if not ends_badly(word)]
    return best


def with_pattern_at_its_end(pattern):
    groups = (f"(?P={v})" if v in pattern[:i] else f"(?P<{v}>.+)" for i, v in enumerate(pattern))
    return re.compile("".join(groups) + r"\Z").search


def with_progression_at_its_end(terms):
    def ends_badly(word):
        last = len(word) - 1
        steps = range(1, last // (terms - 1) + 1)
        return any(len(set(word[last - (terms - 1) * step :: step])) == 1 for step in steps)

    return ends_badly


@pytest.mark.parametrize(
    ("pattern", "letters"),
    [
        *[("xyx", 1), ("xyx", 2), ("xyx", 3)],
        *[(pattern, 2) for pattern in ("xx", "xxyx", "yxyy", "xyyx", "xxyy", "xyxy", "xxyxx")],
        *[pytest.param(pattern, 2, marks=pytest.mark.slow) for pattern in ("xyxyy", "xyxzxyx")],
    ],
)
def test_how_long_a_pattern_can_be_avoided(pattern, letters):
    found = longest(with_pattern_at_its_end(pattern), letters)
    assert found == problem_named("words", length=300, pattern=pattern, letters=letters).best_known


@pytest.mark.parametrize(("colours", "terms"), [(2, 3), (1, 4), (3, 2), pytest.param(3, 3, marks=pytest.mark.slow)])
def test_the_least_van_der_waerden_numbers(colours, terms):
    found = longest(with_progression_at_its_end(terms), colours)
    assert found == problem_named("progressions", length=40, colours=colours, terms=terms).best_known


def test_thues_words_avoid_cubes_overlaps_and_squares():
    thue = [n.bit_count() % 2 for n in range(302)]
    for pattern in ("xxx", "xyxyx"):
        problem = problem_named("words", length=60, pattern=pattern, letters=2)
        assert verdict(problem, tuple(thue[:60])) == (60, None)
    free = tuple(1 + b - a for a, b in pairwise(thue))  # has no square
    assert verdict(problem_named("words", length=150, pattern="xx", letters=3), free[:150]) == (150, None)


def test_quadratic_residues_avoid_progressions():
    """Berlekamp's colouring with the prime 11: squares in one colour, the two ends in different ones."""
    squares = {k * k % 11 for k in range(1, 11)}
    colours = tuple(int(k % 11 in squares or k == 33) for k in range(34))
    assert verdict(problem_named("progressions", length=34, colours=2, terms=4), colours) == (34, None)


@pytest.mark.parametrize("q", [2, 3, 5])
def test_polarity_graphs_are_as_large_as_four_cycle_free_graphs_can_be(q):
    points = [p for p in product(range(q), repeat=3) if next((x for x in p if x), 0) == 1]
    problem = problem_named("four-cycle-free", n=len(points))
    edges = [
        [i, j]
        for (i, a), (j, b) in combinations(enumerate(points), 2)
        if sum(x * y for x, y in zip(a, b, strict=True)) % q == 0
    ]
    assert verdict(problem, problem.space.read(edges)) == (problem.best_known, None)


def test_the_cap_set_of_112_points_is_a_union_of_orbits_of_the_even_mirrors():
    """Ten triples of six coordinates, every two in two triples, with all signs; and the even signs of all six."""
    triples = ["012", "013", "024", "035", "045", "125", "134", "145", "234", "235"]
    points = {
        tuple(1 + dict(zip(triple, signs, strict=True)).get(i, 0) for i in "012345")
        for triple in triples
        for signs in product((-1, 1), repeat=3)
    } | {tuple(1 + s for s in signs) for signs in product((-1, 1), repeat=6) if prod(signs) == 1}
    problem = problem_named("cap-set", d=6)
    assert verdict(problem, problem.space.read(list(map(list, points)))) == (112, None)
    for one in symmetries_of(problem)["even-mirrors"]:
        assert {one(point) for point in points} == points


def test_a_record_of_others_without_five_points_on_a_sphere():
    """36 points for n = 13: issue 4 of google-deepmind/alphaevolve_repository_of_problems."""
    points = [
        *[(0, 1, 12), (0, 3, 7), (0, 9, 10), (0, 12, 0), (1, 4, 1), (1, 6, 4), (1, 12, 11), (2, 6, 12), (2, 8, 1)],
        *[(3, 1, 10), (3, 5, 7), (3, 7, 10), (4, 3, 5), (4, 8, 3), (5, 0, 0), (5, 2, 2), (5, 11, 3), (6, 0, 4)],
    ]
    points += [(12 - x, 12 - y, 12 - z) for x, y, z in points]
    problem = problem_named("no-five-on-a-sphere", n=13)
    assert len(points) == problem.best_known
    assert problem.check(points) is None
    assert not any(no_five_on_a_sphere.on_a_sphere(*some) for some in combinations(points[:24], 5))


def test_the_tables_of_best_known_values_have_no_slips():
    def values(name, sizes):
        return [best for size in sizes if (best := problem_named(name.format(size)).best_known) is not None]

    for name, sizes in (
        ("isosceles:n={}", range(1, 101)),
        ("squares:n={}", range(1, 17)),
        ("permanent-312:n={}", range(1, 21)),
    ):
        assert (found := values(name, sizes)) == sorted(found)
    spheres = values("no-five-on-a-sphere:n={}", range(1, 41))
    assert spheres == sorted(spheres)
    assert len(spheres) == 40
    assert all(best <= 4 * n for n, best in enumerate(spheres, 1))  # a layer has four at most
    graphs = EXACT + BOUNDS
    assert all(graphs[n] <= graphs[n - 1] * (n + 1) // (n - 1) for n in range(2, len(graphs)))  # take out a vertex
    assert all(below * 2 <= above <= below * 3 for below, above in pairwise(CAPS))


@pytest.mark.parametrize("n", range(1, 12))
def test_a_grid_has_n_squared_times_n_squared_minus_one_over_twelve_squares(n):
    sets = {frozenset(some) for some in problem_named("squares", n=n).sets}
    assert len(sets) == n * n * (n * n - 1) // 12
    assert all(0 <= x < n and 0 <= y < n for some in sets for x, y in some)


def random_subsets(problem, rng, count=300):
    """Some with little in them, some with much."""
    size = len(problem.space.elements)
    for _ in range(count):
        chosen = rng.choice(size, rng.integers(0, min(size, 9) + 1), replace=False)
        yield tuple(sorted(chosen.tolist()))


@pytest.mark.parametrize("name", SMALL)
def test_what_is_forbidden_and_the_check_agree(name):
    problem = problem_named(name)
    elements, outcomes = problem.space.elements, set()
    for construction in random_subsets(problem, np.random.default_rng(1)):
        chosen = [elements[i] for i in construction]
        broken = any(rule(*some) for rule in problem.rules for some in combinations(chosen, arity(rule)))
        broken = broken or any(set(some) <= set(chosen) for some in problem.sets)
        assert broken == (problem.check(chosen) is not None), chosen
        outcomes.add(broken)
    assert outcomes == {False, True}


def test_every_few_elements_are_forbidden_in_any_order():
    for name in SMALL:
        problem = problem_named(name)
        for rule in problem.rules:
            for some in random_subsets(problem, np.random.default_rng(2), 60):
                if len(some) >= arity(rule):
                    few = [problem.space.elements[i] for i in some[: arity(rule)]]
                    assert len({bool(rule(*order)) for order in permutations(few)}) == 1


@pytest.mark.parametrize("name", SMALL)
def test_compiled_rules_say_what_plain_ones_say(name):
    numba = pytest.importorskip("numba")
    problem, rng = problem_named(name), np.random.default_rng(3)
    for rule in problem.rules:
        fast = numba.njit(rule)
        for _ in range(300):
            some = rng.choice(len(problem.space.elements), arity(rule), replace=False)
            few = [problem.space.elements[i] for i in some]
            assert bool(fast(*few)) == bool(rule(*few)), few


@pytest.mark.parametrize("name", SCORED)
def test_compiled_scores_are_the_plain_ones(name):
    numba = pytest.importorskip("numba")
    problem, rng = problem_named(name), np.random.default_rng(4)
    space, fast = problem.space, numba.njit(problem.score)
    seen = set()
    for _ in range(200):
        full = 0.2 + 0.8 * rng.random()
        some = np.flatnonzero(rng.random(len(space.elements)) < full) if space.is_subset else None
        drawn = rng.integers(0, len(space.elements), space.length) if some is None else some
        array = score_argument(space, tuple(drawn.tolist()))
        assert fast(array) == problem.score(array)
        seen.add(int(problem.score(array)))
    assert len(seen) > 4


@pytest.mark.parametrize("name", ["words:length=14,pattern=xyxzxyx,letters=2", "words:length=11", *SCORED[:3]])
def test_the_score_of_every_random_word_passes_its_check(name):
    problem, rng = problem_named(name), np.random.default_rng(5)
    for _ in range(100):
        drawn = tuple(rng.integers(0, len(problem.space.elements), problem.space.length).tolist())
        assert verdict(problem, drawn).reason is None


def test_a_wrong_score_of_a_word_is_noticed():
    for wrong in (0, 2, 4):
        assert "xx is not where the score says" in words.otherwise("xx", lambda _, wrong=wrong: wrong)(list("abab"))
    assert words.otherwise("xx", lambda _: 3)(list("abab")) is None


def test_the_permanent_is_rysers_and_the_sum_over_permutations():
    rng = np.random.default_rng(6)
    for n in (1, 2, 3, 5, 6):
        for _ in range(5):
            matrix = (rng.random((n, n)) < 0.7).astype(np.int64)
            sums = sum(prod(matrix[i, p[i]] for i in range(n)) for p in permutations(range(n)))
            ryser = sum(
                (-1) ** (n - len(some)) * prod(int(matrix[i, list(some)].sum()) for i in range(n))
                for size in range(1, n + 1)
                for some in combinations(range(n), size)
            )
            assert permanent(matrix) == sums == ryser
    assert permanent(np.ones((12, 12), np.int64)) == 479001600


@pytest.mark.parametrize("name", SMALL)
def test_every_symmetry_keeps_what_is_legal_and_the_score(name):
    problem = problem_named(name)
    space, rng = problem.space, np.random.default_rng(7)
    kept = symmetries_of(problem)
    assert kept or name.startswith("sidon")
    for maps in kept.values():
        for one in maps:
            assert {one(element) for element in space.elements} == set(space.elements)
            for construction in random_subsets(problem, rng, 100):
                image = tuple(sorted(space.index[one(space.elements[i])] for i in construction))
                assert verdict(problem, construction).score == verdict(problem, image).score


def test_no_other_mirror_of_the_square_keeps_312():
    problem, square = problem_named("permanent-312", n=4), grid(4, 4).symmetries
    for name in ("mirror", "diagonal", "rotation-180", "rotation-90"):
        (one, *_) = square[name]
        assert problem.check([one(cell) for cell in ((0, 2), (1, 0), (2, 1))]) is None


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_full_name_makes_the_same_problem_again(name):
    problem = problem_named(name)
    again = problem_named(problem.name)
    assert again.name == problem.name
    assert again.space == problem.space
    assert problem.about
    assert problem.best_known is not None
    assert problem.source
    assert (
        verdict(problem, problem.space.read([]) if problem.space.is_subset else (0,) * problem.space.length).reason
        is None
    )


def test_names_have_all_parameters():
    assert problem_named("isosceles").name == "isosceles:n=16"
    assert problem_named("words:letters=2", pattern="xxx").name == "words:length=50,pattern=xxx,letters=2"
    assert problem_named("examples/problem.py:n=12").name == "problem:n=12"


@pytest.mark.parametrize(("name", "least"), [("isosceles:n=5", 1), ("triangle-free:n=5", 2), ("words:length=5", 1)])
def test_smaller_sizes_come_largest_first(name, least):
    sizes = [int(re.search(r"(?:n|length)=(\d+)", make().name)[1]) for make in problem_named(name).smaller]
    assert sizes == list(range(4, least - 1, -1))


@pytest.mark.parametrize("size", [0, -3, 10**9])
@pytest.mark.parametrize("name", PROBLEMS)
def test_a_size_out_of_range_is_refused_with_the_range(name, size):
    key = {"cap-set": "d", "words": "length", "progressions": "length"}.get(name, "n")
    with pytest.raises(HandloomError, match=rf"{name}: {key}={size} must be a whole number from \d to [\d,]+$"):
        problem_named(f"{name}:{key}={size}")


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("isoscles", "no problem and no file 'isoscles'; did you mean isosceles?"),
        ("nothing", "no problem and no file 'nothing'; there are isosceles, "),
        ("mine.py", "no problem and no file 'mine.py'"),
        ("", "no problem and no file ''"),
        ("isosceles:m=3", "isosceles has no parameter 'm'; write isosceles:n=16"),
        ("isosceles:n=x", "isosceles: n=x is not a whole number"),
        ("isosceles:n=" + "9" * 5000, "isosceles: n="),
        ("words:letters=0", "words: letters=0 must be a whole number from 1 to 26"),
        ("words:pattern=abc", "words: pattern='abc' must be from 2 to 8 of the letters x, y and z"),
        ("progressions:terms=1", "progressions: terms=1 must be a whole number from 2 to 20"),
        ("progressions:colours=11", "progressions: colours=11 must be a whole number from 1 to 10"),
    ],
)
def test_a_name_that_says_nothing_is_refused_in_one_line(name, complaint):
    with pytest.raises(HandloomError) as refusal:
        problem_named(name)
    assert complaint in str(refusal.value)
    assert "\n" not in str(refusal.value)


USES = "from handloom.discover import Problem, grid\n"


@pytest.mark.parametrize(
    ("code", "complaint"),
    [
        (
            "x = 1",
            "mine.py: there is no problem in it; define problem, a Problem, or a function problem() that makes one",
        ),
        ("problem = 5", "mine.py: there is no problem in it"),
        ("x = 1\nx / 0", "mine.py, line 2: ZeroDivisionError: division by zero"),
        ("def problem(:", "mine.py, line 1: SyntaxError: "),
        ("raise SystemExit", "mine.py, line 1: SystemExit: "),
        ("def problem(n: int = 3):\n    return n", "mine.py: problem() gave 3; it must give a Problem"),
        ("def problem(n: int = 3):\n    return 1 / (n - 3)", "mine.py, line 2: ZeroDivisionError"),
        ("def problem(n):\n    return n", "mine.py: its parameter 'n' must be int, float or str and have a default"),
        (USES + "problem = Problem(grid(0, 3))", "mine.py, line 2: a side of a grid=0 must be a whole number"),
        (USES + "problem = Problem(5)", "mine.py, line 2: a problem's space is 5"),
    ],
)
def test_what_is_wrong_in_a_users_file_is_said_in_one_line(tmp_path, code, complaint):
    (tmp_path / "mine.py").write_text(code)
    with pytest.raises(HandloomError) as refusal:
        problem_named(tmp_path / "mine.py")
    assert complaint in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_a_users_problem_may_be_an_object_or_a_function(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(USES + "problem = Problem(grid(3, 3))")
    assert problem_named(path).name == "mine"
    assert problem_named(path).smaller == ()
    with pytest.raises(HandloomError, match=r"mine.py: its problem takes no parameters; make it a function"):
        problem_named(f"{path}:n=3")
    path.write_text(USES + "def problem(n=3, wide: int = 2):\n    return Problem(grid(n, wide))")
    problem = problem_named(f"{path}:wide=5", n=4)
    assert (problem.name, problem.space.sides) == ("mine:n=4,wide=5", (4, 5))
    assert [make().space.sides for make in problem.smaller] == [(3, 5), (2, 5), (1, 5)]


def test_smaller_problems_are_made_when_they_are_called(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(USES + "def problem(n: int = 7):\n    assert n > 5, n\n    return Problem(grid(n))")
    problem = problem_named(path)
    assert problem.smaller[0]().name == "mine:n=6"
    with pytest.raises(HandloomError, match=r"mine.py, line 3: AssertionError: 5"):
        problem.smaller[1]()


def test_a_users_own_smaller_problems_are_kept(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(USES + "def problem(n: int = 7):\n    return Problem(grid(n), smaller=(lambda: 1,))")
    assert [make() for make in problem_named(path).smaller] == [1]


def test_the_guide_of_permanents_is_the_logarithm_of_a_permanent_in_which_a_0_counts_a_little():
    rng = np.random.default_rng(0)
    for n in range(1, 6):
        matrix = rng.integers(0, 2, (n, n))
        rows = [np.prod([1.0 if matrix[i, p[i]] else FAINT for i in range(n)]) for p in permutations(range(n))]
        assert nearly(matrix) == pytest.approx(log(sum(rows)))


@pytest.mark.slow
def test_with_a_guide_large_permanents_are_found():
    best = problem_named("permanent-312:n=8")
    found = [search_for(best, NONE).run(seed, 20_000) for seed in range(3)]
    assert max(one.score for one in found) == best.best_known
    assert all(verdict(best, one.construction) == (one.score, None) for one in found)


@pytest.mark.slow
def test_without_the_guide_a_search_does_not_know_where_to_go():
    problem = problem_named("permanent-312:n=9")
    guided, alone = Annealer(problem), Annealer(replace(problem, guide=None))
    assert min(guided.run(i, 20_000).score for i in (0, 1)) > max(alone.run(i, 20_000).score for i in (0, 1))


def no_number(a):
    return "far"


def not_finite(a):
    return 1.0 / (a.sum() - a.sum())


def raising(a):
    raise KeyError("lost")


@pytest.mark.parametrize(
    ("guide", "words"),
    [
        (no_number, "its guide is 'far'; it must be a finite number"),
        (not_finite, "its guide is .*; it must be a finite number"),
        (raising, "its guide: raising, line .*lost"),
    ],
)
def test_a_guide_that_gives_no_number_is_said_to_be_so(guide, words):
    problem = Problem(grid(2, 2), score=lambda a: a.sum(), guide=guide, name="p")
    with pytest.raises(HandloomError, match=words) as caught:
        Annealer(problem).run(0, 100)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("what", ["score", "guide", "check"])
def test_what_is_not_a_function_is_refused(what):
    functions = {"score": lambda a: 1, "guide": lambda a: 1.0, "check": lambda a: None} | {what: "climb"}
    with pytest.raises(HandloomError, match=f"{what}='climb' must be a function"):
        Problem(grid(2, 2), **functions)


def test_a_guide_without_a_score_is_refused():
    with pytest.raises(HandloomError, match="give the problem a score too"):
        Problem(grid(2, 2), guide=lambda a: 0.0)
