"""Search by score: known optima by brute force, the same result however it is run, legal states, bad scores."""

import math
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from functools import cache, partial
from itertools import combinations, permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handloom.core import HandloomError
from handloom.discover import Problem, copies, graph, grid, permutation, subsets, verdict, word
from handloom.discover.problem import score_argument
from handloom.discover.search import anneal
from handloom.discover.search.anneal import Annealer, cycles
from handloom.discover.search.compiling import fast

LETTERS = "abcdef"
WEIGHTS = np.random.default_rng(0).integers(1, 20, (10, 10))


def is_square(w, end, half):
    same = 0
    for k in range(half):
        same += w[end - k] == w[end - k - half]
    return same == half


def square_free(w):
    """How long the longest block is in which no block stands twice in a row."""
    best, begin = 0, 0
    for end in range(len(w)):
        for half in range(1, len(w)):
            while end - 2 * half + 1 >= begin and is_square(w, end, half):
                begin = end - 2 * half + 2
        best = max(best, end - begin + 1)
    return best


def safe_queens(p):
    """Minus the pairs of queens that attack each other along a diagonal."""
    attacks = 0
    for i in range(len(p)):
        for j in range(i):
            attacks += abs(p[i] - p[j]) == i - j
    return -attacks


def cut(x):
    """The weight of the edges between what is chosen and what is not. It spoils what it was given."""
    total = 0.0
    for i in range(len(x)):
        for j in range(i):
            if x[i] != x[j]:
                total += WEIGHTS[i, j]
    x[:] = 7
    return total


def permanent(a):
    """By the rows, for every set of columns the number of ways."""
    n = len(a)
    ways = np.zeros(1 << n, np.int64)
    ways[0] = 1
    for row in range(n):
        for columns in range((1 << n) - 1, -1, -1):
            total = 0
            for c in range(n):
                if columns >> c & 1 and a[row, c]:
                    total += ways[columns ^ (1 << c)]
            ways[columns] = total
    return ways[-1]


def pattern_312(a, b, c):
    return a[0] < b[0] < c[0] and b[1] < c[1] < a[1]


def edges(matrix):
    return matrix.sum() // 2


def is_ten(a):
    return a == 10


def same_sums(a, b, c, d):
    return a + d == b + c  # asked in ascending order, no other sums can be the same


def round_five(a, b, c, d, e):
    return (a + b + c + d + e) % 10 == 0


def squares(x):
    total = 0
    for i in range(len(x)):
        total += x[i] * (i + 1) ** 2
    return total


@cache
def annealer(name):
    """Compiled once for all tests."""
    c4 = [(0, 1), (1, 2), (2, 3), (0, 3)]
    problem = {
        "word": lambda: Problem(word(20, "abc"), score=square_free),
        "queens": lambda: Problem(permutation(8), score=safe_queens),
        "cut": lambda: Problem(subsets(range(10)), score=cut),
        "permanent": lambda: Problem(grid(4, 4), forbidden=pattern_312, score=permanent),
        "permanent 3": lambda: Problem(grid(3, 3), forbidden=pattern_312, score=permanent),
        "graph": lambda: Problem(graph(7), forbidden=copies(graph(7), c4), score=edges),
        "sums": lambda: Problem(subsets(range(1, 12)), [is_ten, same_sums, round_five, (9, 11)], squares),
        "touchy": lambda: Problem(word(8, LETTERS), score=touchy),
        "plain": lambda: Problem(word(8, LETTERS), score=plain_touchy),
    }[name]()
    return Annealer(problem)


def brute_force(problem):
    """The best score of all subsets that are legal."""
    size = len(problem.space.elements)
    legal = (verdict(problem, some) for k in range(size + 1) for some in combinations(range(size), k))
    return max(found.score for found in legal if found.reason is None)


def checked(name, seed, steps, start=None):
    """The result of a run, which is legal and has the score it says."""
    found = annealer(name).run(seed, steps, start)
    assert verdict(annealer(name).problem, found.construction) == (found.score, None)
    return found


@pytest.mark.slow
def test_words_without_squares_over_three_letters_are_found():
    assert annealer("word").note is None
    assert [checked("word", seed, 20_000).score for seed in range(3)] == [20] * 3  # Thue: there are such words


def test_eight_queens_are_placed():
    assert max(safe_queens(np.array(p)) for p in permutations(range(8))) == 0
    assert [checked("queens", seed, 10_000).score for seed in range(3)] == [0] * 3


def test_the_largest_cut_of_a_graph_is_found():
    best = max(cut(np.array(x)) for x in product((0, 1), repeat=10))
    assert annealer("cut").note is None
    assert [checked("cut", seed, 5_000).score for seed in range(3)] == [best] * 3


@pytest.mark.slow
def test_the_largest_permanent_of_4_by_4_without_312_is_that_of_all_of_them():
    problem = annealer("permanent").problem
    threes = {sum(1 << i for i in some) for some in combinations(range(16), 3) if is_312(problem, some)}
    legal = [m for m in range(1 << 16) if not any(m & three == three for three in threes)]
    best = max(permanent(np.array([m >> i & 1 for i in range(16)]).reshape(4, 4)) for m in legal)
    assert [checked("permanent", seed, 20_000).score for seed in range(5)] == [best] * 5


def is_312(problem, some):
    return pattern_312(*[problem.space.elements[i] for i in some])


@pytest.mark.slow
def test_the_largest_permanent_of_3_by_3_without_312_is_that_of_all_of_them():
    best = brute_force(annealer("permanent 3").problem)
    assert [checked("permanent 3", seed, 2_000).score for seed in range(5)] == [best] * 5


@pytest.mark.slow
def test_the_largest_permanent_of_4_by_4_without_312_is_found():
    assert annealer("permanent").note is None
    assert [checked("permanent", seed, 10_000).score for seed in range(3)] == [8] * 3  # by brute force, above


def test_the_most_edges_without_a_4_cycle_are_found_where_the_copies_are_listed():
    assert annealer("graph").note is None
    assert [checked("graph", seed, 20_000).score for seed in range(3)] == [9] * 3  # OEIS A006855


def test_rules_of_one_four_and_five_elements_and_a_listed_pair_hold_together():
    best = brute_force(annealer("sums").problem)
    assert annealer("sums").note is None
    assert [checked("sums", seed, 20_000).score for seed in range(3)] == [best] * 3


@pytest.mark.parametrize("name", ["word", "cut", "permanent"])
def test_a_seed_gives_the_same_whatever_the_time_and_the_threads(name):
    wanted = [checked(name, seed, 3_000) for seed in range(4)]
    assert len({found.construction for found in wanted}) > 1 or name != "word"
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda seed: annealer(name).run(seed, 3_000), range(4))) == wanted
    step_by_step = copy(annealer(name))
    step_by_step.chunk = 0.0
    assert [step_by_step.run(seed, 3_000) for seed in range(2)] == wanted[:2]


def test_a_run_that_is_stopped_has_the_best_so_far():
    asked = []
    found = annealer("cut").run(1, 10**12, stop=lambda: len(asked) >= 3 or asked.append(0))
    assert 3 <= found.steps < 10**12
    assert verdict(annealer("cut").problem, found.construction).score == found.score
    assert annealer("cut").run(1, 10, stop=lambda: True).steps == 0


def test_a_score_that_numba_cannot_compile_takes_the_same_steps():
    slow = Annealer(Problem(subsets(range(10)), score=partial(cut)))
    assert slow.note is not None
    assert "\n" not in slow.note
    for seed in range(3):
        quick, found = annealer("cut").run(seed, 150), slow.run(seed, 150)
        assert (found.construction, found.score, found.note) == (quick.construction, quick.score, slow.note)


def test_no_steps_give_the_start_itself():
    assert annealer("cut").run(0, 0, (1, 2, 5)).construction == (1, 2, 5)
    assert annealer("queens").run(0, 0, (1, 0, 2, 3, 4, 5, 6, 7)).construction == (1, 0, 2, 3, 4, 5, 6, 7)
    assert annealer("permanent").run(0, 0, (0, 5, 10, 15)).construction == (0, 5, 10, 15)


def test_of_a_start_that_is_not_legal_as_much_is_kept_as_can_be():
    assert annealer("permanent").run(0, 0, (2, 4, 9, 99, 4, -1)).construction == (2, 4)  # (0, 2), (1, 0), (2, 1)
    assert annealer("queens").run(0, 0, (3, 3, 9)).construction == (3, 0, 1, 2, 4, 5, 6, 7)
    assert annealer("word").run(0, 0, (2, 7, 1)).construction == (2, 0, 1, *[0] * 17)


@settings(deadline=None, max_examples=40)
@given(
    st.sampled_from(["word", "queens", "cut", "permanent", "graph", "sums"]),
    st.lists(st.integers(-3, 30) | st.integers(), max_size=40),
    st.integers(-(2**70), 2**70),
    st.integers(-5, 60),
)
def test_any_start_leads_to_something_legal_that_is_not_worse(name, start, seed, steps):
    begin, found = checked(name, seed, 0, tuple(start)), checked(name, seed, steps, tuple(start))
    assert found.score >= begin.score
    assert found.steps == max(0, steps)


@settings(deadline=None, max_examples=30)
@given(st.sampled_from(["word", "queens", "cut", "permanent", "graph", "sums"]), st.integers(0, 2**32))
def test_every_state_on_the_way_is_legal_and_undone_exactly(name, seed):
    one, problem = annealer(name), annealer(name).problem
    _, conflict, propose, undo = one.kernels
    state = one.begin(seed, anneal.random_start(problem.space, seed))
    for step in range(40):
        before = state.flat.copy()
        propose(conflict, state)
        construction = one.read(state.flat)
        assert problem.space.read(problem.space.shown(construction)) == construction
        assert verdict(problem, construction).reason is None
        assert (score_argument(problem.space, construction).reshape(-1) == state.flat).all()
        if step % 2:
            undo(state)
            assert (state.flat == before).all()


def touchy(w):
    """A score that goes wrong in some places."""
    if w[0] == 1:
        raise ValueError("no such\nword")
    if w[0] == 2:
        return math.nan
    if w[0] == 3:
        return w[w[1] + 8] + 0.0
    if w[0] == 4:
        return 1.0 / w[5]
    return -math.inf if w[0] == 5 else 1.0


def plain_touchy(w):
    values = {0: 1, 1: None, 2: "many", 3: 10**400, 4: 2j, 5: w[0] == 5}
    return values[w[0].item()]


@pytest.mark.parametrize("name", ["touchy", "plain"])
@pytest.mark.parametrize("letter", range(1, 6))
def test_a_score_that_raises_or_is_no_number_is_told_in_one_line(name, letter):
    for start in ((letter, *[0] * 7), (0,) * 8):
        with pytest.raises(HandloomError, match=r"score|touchy") as caught:
            annealer(name).run(0, 1_000, start)
        assert "\n" not in str(caught.value)


def test_an_error_in_a_compiled_score_says_where_it_is():
    with pytest.raises(HandloomError, match=r"touchy, line \d+, raised ValueError: no such word"):
        annealer("touchy").run(0, 0, (1,))
    with pytest.raises(HandloomError, match=r"touchy, line \d+, raised IndexError"):
        annealer("touchy").run(0, 0, (3,))


@pytest.mark.slow
def test_a_rule_that_raises_is_told_in_one_line():
    def apart(a, b):
        return 6 // (a[0] - b[0]) > 9

    broken = Annealer(Problem(grid(3, 3), forbidden=apart, score=edges))
    with pytest.raises(HandloomError, match=r"apart, line \d+, raised ZeroDivisionError") as caught:
        broken.run(0, 100, (0, 1, 2))
    assert "\n" not in str(caught.value)


def test_a_problem_without_a_score_and_a_forbidden_stranger_are_refused():
    with pytest.raises(HandloomError, match="needs a score"):
        Annealer(Problem(grid(2, 2)))
    with pytest.raises(HandloomError, match="not an element"):
        Annealer(Problem(subsets(range(3)), forbidden=[(1, 7)], score=squares))


def test_functions_that_a_score_calls_are_compiled_with_it_even_if_they_call_themselves():
    offset = 1

    def factorial(n):
        return 1 if n <= offset else n * factorial(n - 1)

    def more(n):
        return factorial(n) + offset

    compiled = fast(more)
    assert [compiled(n) for n in (1, 3, 5)] == [2, 7, 121]
    assert compiled.signatures  # it was not Python that ran


@given(st.integers(0, 10**15))
def test_cycles_fill_the_steps_and_grow(steps):
    ends = cycles(steps)
    lengths = np.diff(ends, prepend=0)
    assert ends[-1] == steps
    assert (np.diff(lengths) >= 0).all()
