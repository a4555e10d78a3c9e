"""Colourings of 1, 2, 3, … that have no arithmetic progression of one colour for as long as possible.

    >>> import numpy as np
    >>> until(3)(np.array([0, 0, 1, 1, 0, 0, 1, 1, 0]))  # the first, the fifth and the ninth are 0
    8

Van der Waerden's theorem says that every colouring has one in the end; how soon at the latest is his number W. The
score is how many places are coloured before there is one, so the best is W − 1.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from handloom.discover.catalogue import sized, within
from handloom.discover.problem import Problem
from handloom.discover.spaces import word

EXACT = {(2, 3): 8, (2, 4): 34, (2, 5): 177, (2, 6): 1131, (3, 3): 26, (3, 4): 292, (4, 3): 75}  # W − 1
BOUNDS = {(2, 7): 3703, (3, 5): 2173, (3, 6): 11191, (4, 4): 1048, (4, 5): 17705, (5, 3): 170, (5, 4): 2254}
MAXIMUM = "the maximum: Chvátal; Beeler and O'Neil; Stevens and Shantaram; Kouril and Paul; Monroe"
BOUND = "a lower bound: Rabung and Lotts, Electronic J. Combin. 19 (2012)"


@sized(1, 2000)
def progressions(length: int = 40, colours: int = 2, terms: int = 4) -> Problem:
    """Colourings of this length whose first progression of `terms` terms comes as late as possible."""
    within("progressions: colours", colours, 1, 10)
    within("progressions: terms", terms, 2, 20)
    longest, source = known(colours, terms)
    score = until(terms)
    return Problem(
        word(length, "0123456789"[:colours]),
        score=score,
        check=otherwise(terms, lambda digits: int(score(np.array([int(digit) for digit in digits])))),
        best_known=None if longest is None else min(length, longest),
        source=source,
        about=f"{length} places in {colours} colours without {terms} of one colour in arithmetic progression for long",
    )


def known(colours: int, terms: int) -> tuple[int | None, str]:
    """How many places can be coloured."""
    if colours == 1 or terms == 2:
        return colours * (terms - 1), "the maximum: each colour fills terms − 1 places"
    if (colours, terms) in EXACT:
        return EXACT[colours, terms], MAXIMUM
    return BOUNDS.get((colours, terms)), BOUND if (colours, terms) in BOUNDS else ""


def until(terms: int) -> Callable[[Any], Any]:
    """The score: how many places there are before the last one of a progression."""

    def score(w: Any) -> Any:
        for end in range(len(w)):
            for step in range(1, end // (terms - 1) + 1):
                k = 1
                while k < terms and w[end - k * step] == w[end]:
                    k += 1
                if k == terms:
                    return end
        return len(w)

    return score


def otherwise(terms: int, score: Callable[[list[str]], int]) -> Callable[[list[str]], str | None]:
    """A check of the score by the places of each colour, as the bits of a number."""

    def progression(digits: list[str]) -> bool:
        for colour in set(digits):
            places = sum(1 << i for i, digit in enumerate(digits) if digit == colour)
            for step in range(1, len(digits)):
                begins = places
                for k in range(1, terms):
                    begins &= places >> k * step
                if begins:
                    return True
        return False

    def check(digits: list[str]) -> str | None:
        free = score(digits)
        if progression(digits[:free]) or (free < len(digits) and not progression(digits[: free + 1])):
            return f"the first progression does not end where the score says, behind {free} places"
        return None

    return check
