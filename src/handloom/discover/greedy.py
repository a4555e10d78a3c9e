"""A first construction, in plain Python: elements in a random order, each taken if nothing forbids it.

>>> from handloom.discover.spaces import subsets
>>> even = Problem(subsets(range(5)), forbidden=lambda a, b: (b - a) % 2 == 1)
>>> len(greedy(even, seed=0))
3
"""

import random
import time
from itertools import combinations

from handloom.discover.problem import Problem, arity, asked
from handloom.discover.spaces import Construction

LONGEST = 0.5  # seconds


def greedy(problem: Problem, seed: int) -> Construction:
    """As many as can be taken in half a second; of words and permutations the first one."""
    space, rng = problem.space, random.Random(seed)
    if not space.is_subset:
        return tuple(range(space.length)) if space.kind == "permutation" else (0,) * space.length
    ends, chosen = time.monotonic() + LONGEST, list[int]()
    order = list(range(len(space.elements)))
    rng.shuffle(order)
    rows, missing = problem.set_rows, (problem.set_rows >= 0).sum(axis=1)  # of each listed set, how many are not chosen
    for new in order:
        if time.monotonic() > ends:
            break
        inside = (rows == new).any(axis=1)
        if not (missing[inside] == 1).any() and allowed(problem, chosen, new):
            chosen.append(new)
            missing[inside] -= 1
    return tuple(sorted(chosen))


def allowed(problem: Problem, chosen: list[int], new: int) -> bool:
    """Whether no rule forbids an element beside those that are chosen."""
    elements = problem.space.elements
    for rule in problem.rules:
        for others in combinations(chosen, arity(rule) - 1):
            if asked(problem, rule, [elements[i] for i in sorted((*others, new))]):
                return False
    return True
