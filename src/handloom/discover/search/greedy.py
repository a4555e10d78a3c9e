"""A first construction, in plain Python: elements in a random order, each taken if nothing forbids it.

>>> from handloom.discover.spaces import subsets
>>> even = Problem(subsets(range(5)), forbidden=lambda a, b: (b - a) % 2 == 1)
>>> len(greedy(even, seed=0))
3

How far it comes depends on the number of calls of rules, not on the clock: one seed gives one construction.
"""

import random
from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any

import numpy as np

from handloom.discover.problem import Problem, arity, call_rule
from handloom.discover.search.result import Stop, never_stop
from handloom.discover.spaces import Construction

LEAST_CALLS, MOST_CALLS = 200, 50_000  # of rules; for most rules all of them take a fraction of a second
LOOK = 100  # calls between two calls of `stop`


def greedy(problem: Problem, seed: int, stop: Stop = never_stop) -> Construction:
    """The elements that can be taken with MOST_CALLS calls of rules, or with fewer if `stop` says so; of words and
    permutations the first one."""
    space = problem.space
    if not space.is_subset:
        return tuple(range(space.length)) if space.kind == "permutation" else (0,) * space.length
    if problem.complement is not None:
        return problem.others(greedy(problem.complement, seed, stop))
    order = together(problem)
    random.Random(seed).shuffle(order)
    chosen, left = list[int](), MOST_CALLS
    rows_of, missing = listed(problem)

    def over() -> bool:
        return left == 0 or (left <= MOST_CALLS - LEAST_CALLS and stop())

    def take(new: int) -> bool:
        nonlocal left
        inside = rows_of(new)
        if (missing[inside] == 1).any():
            return False
        for forbidden in answers(problem, chosen, new):
            left -= 1
            if forbidden or (left % LOOK == 0 and over()):
                return False
        chosen.append(new)
        missing[inside] -= 1
        return True

    for orbit in order:
        if over():
            break
        before = len(chosen)
        if not all(map(take, orbit)):
            for one in chosen[before:]:
                missing[rows_of(one)] += 1
            del chosen[before:]
    return tuple(sorted(chosen))


def together(problem: Problem) -> list[list[int]]:
    """The elements that can only be taken together: the orbits of the required symmetry."""
    if not problem.required_maps:
        return [[i] for i in range(len(problem.space.elements))]
    from handloom.discover.search.symmetry import NONE, orbits_of

    return [members.tolist() for members in orbits_of(problem, NONE).members]


def listed(problem: Problem) -> tuple[Callable[[int], Any], Any]:
    """A function from an element to its listed sets; and for each set the number of elements not chosen yet."""
    rows = problem.set_rows
    row, column = np.nonzero(rows >= 0)
    elements = rows[row, column]
    row = row[np.argsort(elements, kind="stable")]
    starts = np.concatenate([[0], np.cumsum(np.bincount(elements, minlength=len(problem.space.elements)))])
    return lambda element: row[starts[element] : starts[element + 1]], (rows >= 0).sum(axis=1)


def answers(problem: Problem, chosen: list[int], new: int) -> Iterator[bool]:
    """What the rules return for an element with every few of the chosen ones: whether they are forbidden."""
    elements = problem.space.arguments
    for rule in problem.rules:
        for others in combinations(chosen, arity(rule) - 1):
            yield call_rule(problem, rule, [elements[i] for i in sorted((*others, new))])


def allowed(problem: Problem, chosen: list[int], new: int) -> bool:
    """Whether no rule forbids an element beside the chosen ones."""
    return not any(answers(problem, chosen, new))
