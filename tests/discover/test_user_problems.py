"""Problems as users write them: scores that are large or odd, symmetries, rules with defaults, and what is refused."""

import random

import numpy as np
import pytest

from handloom.core import HandloomError
from handloom.discover import Problem, subsets, verdict, word
from handloom.discover.search.attempts import search_for
from handloom.discover.search.symmetry import NONE, symmetries_of


def power(row):
    product = 1
    for x in row:
        product *= 1000 * x + 7
    return product


def test_a_score_is_exact_however_large():
    problem = Problem(word(30, "ab"), score=power)
    assert verdict(problem, (1,) * 30).score == 1007**30
    with pytest.raises(HandloomError, match="beyond 1e"):
        verdict(Problem(word(200, "ab"), score=power), (1,) * 200)


def test_a_score_is_exact_also_where_arrays_overflow_and_nothing_is_said():
    problem = Problem(word(30, "ab"), score=lambda w: np.prod(1000 * w + 7))
    assert verdict(problem, (1,) * 30).score == 1007**30


def test_a_score_of_functions_that_take_no_python_numbers_is_asked_with_numpys():
    problem = Problem(word(4, "abc"), score=lambda w: int(np.bincount(w).max()))
    assert verdict(problem, (2, 2, 2, 0)).score == 3
    problem = Problem(word(64, "ab"), score=lambda w: np.bincount(w)[1] * np.int64(2) ** 62 * np.int64(2))
    with pytest.raises(HandloomError, match="exceed 64 bits"):
        verdict(problem, (1,) * 64)


@pytest.mark.parametrize(
    ("score", "value"),
    [
        (lambda w: np.logical_and(w[1:], w[:-1]).sum(), 3),  # of Python's numbers it would be 5,
        (lambda w: sum(~(w[i] == w[i + 1]) for i in range(3)), 2),  # and this −4
        (lambda w: np.bincount(w).size / (1 + np.exp(1000.0)), 0.0),  # no whole number overflows here
    ],
)
def test_a_score_is_what_numpy_makes_of_it(score, value):
    assert verdict(Problem(word(4, "abc"), score=score), (1, 2, 2, 1)).score == value


def test_a_score_that_is_an_array_is_no_number():
    with pytest.raises(HandloomError, match="not a number"):
        verdict(Problem(word(3), score=lambda w: w), (0, 1, 1))


def test_a_symmetry_may_be_one_function_or_several():
    space = subsets([1, 2, 3])
    for symmetries in ({"x": lambda v: 4 - v}, {"x": [lambda v: 4 - v]}):
        problem = Problem(space, forbidden=[[1, 2], [2, 3]], symmetries=symmetries)
        assert symmetries_of(problem)["x"][0](1) == 3
    for wrong in ({"x": 3}, {"x": [3]}, [lambda v: v]):
        with pytest.raises(HandloomError, match=r"function|dict"):
            Problem(space, symmetries=wrong)
    with pytest.raises(HandloomError, match="function"):
        subsets([1], symmetries={"x": 3})


def test_a_rule_is_about_what_has_no_default():
    space = subsets(range(6))
    assert verdict(Problem(space, forbidden=lambda a, b, k=2: b - a == k), (0, 2)).reason == "0, 2 is forbidden"
    for rule in (lambda *some: True, lambda a, *, k: True, lambda a, **more: True):
        with pytest.raises(HandloomError, match="each by name"):
            Problem(space, forbidden=rule)
    with pytest.raises(HandloomError, match="Numba cannot compile"):
        search_for(Problem(space, forbidden=lambda a, b, f=power: f((a, b)) == 3), NONE)


def test_what_a_library_raises_is_told_by_the_line_that_called_it():
    with pytest.raises(HandloomError, match=r"<lambda>, line \d+, raised IndexError"):
        verdict(Problem(word(3), score=lambda w: random.choice([])), (0, 0, 0))


def test_what_a_problem_says_of_itself_is_looked_at():
    with pytest.raises(HandloomError, match="best_known='three' must be a number"):
        Problem(subsets([1]), best_known="three")
    with pytest.raises(HandloomError, match="must be a number"):
        Problem(subsets([1]), best_known=np.int64(3))
    with pytest.raises(HandloomError, match="letters=2 must be a string"):
        word(3, 2)
