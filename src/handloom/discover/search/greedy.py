"""A first construction, in plain Python: elements in a random order, each taken if nothing forbids it.

>>> from handloom.discover.spaces import subsets
>>> even = Problem(subsets(range(5)), forbidden=lambda a, b: (b - a) % 2 == 1)
>>> len(greedy(even, seed=0))
3

How far it comes depends on how often rules were asked, and not on the clock: one seed gives one construction.
"""

import random
from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any

import numpy as np

from handloom.discover.problem import Problem, arity, asked
from handloom.discover.spaces import Construction

LEAST_ASKED, MOST_ASKED = 200, 50_000  # questions to rules; of most rules all of them take a fraction of a second


def greedy(problem: Problem, seed: int, stop: Callable[[], bool] = lambda: False) -> Construction:
    """As many elements as can be taken with MOST_ASKED questions, or with fewer if `stop` says so; of words and
    permutations the first one."""
    space, order = problem.space, list(range(len(problem.space.elements)))
    if not space.is_subset:
        return tuple(range(space.length)) if space.kind == "permutation" else (0,) * space.length
    random.Random(seed).shuffle(order)
    chosen, left = list[int](), MOST_ASKED
    rows_of, missing = listed(problem)

    def over() -> bool:
        return left == 0 or (left <= MOST_ASKED - LEAST_ASKED and stop())

    for new in order:
        if over():
            break
        inside = rows_of(new)
        if (missing[inside] == 1).any():
            continue
        for forbidden in answers(problem, chosen, new):
            left -= 1
            if forbidden or (left % 100 == 0 and over()):
                break
        else:
            chosen.append(new)
            missing[inside] -= 1
    return tuple(sorted(chosen))


def listed(problem: Problem) -> tuple[Callable[[int], Any], Any]:
    """Which of the listed sets an element is in, and of each set how many of its elements are not chosen yet."""
    rows = problem.set_rows
    row, column = np.nonzero(rows >= 0)
    elements = rows[row, column]
    row = row[np.argsort(elements, kind="stable")]
    starts = np.concatenate([[0], np.cumsum(np.bincount(elements, minlength=len(problem.space.elements)))])
    return lambda element: row[starts[element] : starts[element + 1]], (rows >= 0).sum(axis=1)


def answers(problem: Problem, chosen: list[int], new: int) -> Iterator[bool]:
    """What the rules say of an element with each few of those that are chosen: whether they are forbidden."""
    elements = problem.space.elements
    for rule in problem.rules:
        for others in combinations(chosen, arity(rule) - 1):
            yield asked(problem, rule, [elements[i] for i in sorted((*others, new))])


def allowed(problem: Problem, chosen: list[int], new: int) -> bool:
    """Whether no rule forbids an element beside those that are chosen."""
    return not any(answers(problem, chosen, new))
