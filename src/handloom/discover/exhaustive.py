"""Every few of the chosen elements put to a rule, for the verifier: is one of these sets forbidden?

Up to MOST_PLAIN sets the rule is called as plain Python. Of 460 points there are 1.8 billion sets of four, for which
that would take a quarter of an hour. Then the rule is compiled, on one condition: its tracing (tracing.py) shows that
it computes with nothing but whole numbers, none of which leaves 64 bits, so that compiled code computes what Python
does.
Beside it the plain rule is called for SAMPLE of the sets, and for the forbidden one that was found.

Nothing of the search is used but what compiles a rule. Without that condition everything is plain Python.
"""

import random
from collections.abc import Sequence
from functools import lru_cache
from importlib.util import find_spec
from itertools import combinations
from math import comb
from typing import Any

from handloom.core.arrays import Array
from handloom.discover.problem import Problem, Rule, arity
from handloom.discover.spaces import Element
from handloom.discover.tracing import traits_of

MOST_PLAIN = 1_000_000  # sets; about half a second
SAMPLE = 5_000

traits = lru_cache(maxsize=64)(traits_of)


def first_forbidden(problem: Problem, rule: Rule, construction: Sequence[int]) -> tuple[Element, ...] | None:
    """A set of chosen elements that the rule forbids, as it receives them, if there is one."""
    chosen, size = [problem.space.arguments[i] for i in construction], arity(rule)
    if comb(len(chosen), size) > MOST_PLAIN and may_be_compiled(problem, rule):
        found = by_compiled(problem, rule, construction)
        if found is None:
            return sampled(rule, chosen)
        if rule(*found):
            return found
    return next((some for some in combinations(chosen, size) if rule(*some)), None)


def may_be_compiled(problem: Problem, rule: Rule) -> bool:
    """Whether compiled code is proven to compute what the rule does."""
    return arity(rule) >= 3 and find_spec("numba") is not None and traits(rule, arity(rule), problem.space).whole


def sampled(rule: Rule, chosen: Sequence[Element]) -> tuple[Element, ...] | None:
    """A forbidden set among some that are drawn, by the plain rule."""
    draws = random.Random(0)
    for _ in range(SAMPLE):
        places = sorted(draws.sample(range(len(chosen)), arity(rule)))
        if rule(*(some := tuple(chosen[place] for place in places))):
            return some
    return None


def by_compiled(problem: Problem, rule: Rule, construction: Sequence[int]) -> tuple[Element, ...] | None:
    """A forbidden set by the compiled rule."""
    import numpy as np

    from handloom.discover.search.compiling import compiled, coordinates
    from handloom.discover.search.kept import kept_code

    finding = kept_code(find_from(), compiled(problem, rule))
    rows = coordinates(problem.space)[list(construction)]
    found, size = np.zeros(5, np.int64), arity(rule)
    for a in range(len(rows)):  # one after the other, so that Ctrl-C is heard
        if finding(size, rows, a, found):
            places = found[[*range(size - 1), 4]]
            return tuple(problem.space.arguments[construction[place]] for place in places)
    return None


@lru_cache(maxsize=1)
def find_from() -> Any:
    """The loop over the sets with one first element, compiled."""
    from handloom.discover.search.compiling import kernel

    def find(test: Any, size: int, rows: Array, a: int, found: Array) -> bool:
        count = len(rows)
        for b in range(a + 1, count):
            for c in range(b + 1, count) if size > 3 else range(b, b + 1):
                for d in range(c + 1, count) if size > 4 else range(c, c + 1):
                    hits = 0
                    for e in range(d + 1, count):
                        hits += test(rows, a, b, c if size > 3 else e, d if size > 4 else e, e)
                    if hits:
                        for e in range(d + 1, count):
                            if test(rows, a, b, c if size > 3 else e, d if size > 4 else e, e):
                                found[0], found[1], found[2], found[3], found[4] = a, b, c, d, e
                                return True
        return False

    return kernel()(find)
