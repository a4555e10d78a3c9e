"""Words that avoid a pattern for as long as possible: `xx` is a square, `xxx` a cube, `xyxyx` an overlap.

    >>> import numpy as np
    >>> until("xx")(np.array([0, 1, 0, 2, 0, 1, 0, 1, 2]))  # abacabab has the square abab
    7

Each of x, y and z stands for some letters, the same wherever it is in the pattern. The score is how many letters a word
has before the pattern is there for the first time. Thue showed that three letters can avoid squares for ever, and two
letters cubes and overlaps. Patterns such as `xyx` cannot be avoided for ever; how long they can is known in few cases.
"""

import re
from collections.abc import Callable
from string import ascii_lowercase
from typing import Any

import numpy as np

from handloom.core import HandloomError
from handloom.core.errors import shown
from handloom.discover.catalogue import sized, within
from handloom.discover.problem import Problem
from handloom.discover.spaces import word

FOR_EVER = {"xx": 3, "xxx": 2, "xyxyx": 2}  # with this many letters or more
THUE = "as long as one likes: Thue, 1906 and 1912"
ZIMIN = "the maximum: Cooper and Rorabaugh, Bounds on Zimin word avoidance, arXiv:1409.3080"
TRIED_ALL = "the maximum, by exhaustive search"
LONGEST: dict[str, tuple[int | None, str]] = {  # with two letters
    "xx": (3, TRIED_ALL),
    "xxyx": (9, TRIED_ALL),
    "xyyx": (10, TRIED_ALL),
    "xxyy": (11, TRIED_ALL),
    "xyxy": (18, TRIED_ALL),
    "xxyxx": (18, TRIED_ALL),
    "xyxyy": (38, TRIED_ALL),
    "xyxzxyx": (28, ZIMIN),
}


@sized(1, 300)
def words(length: int = 50, pattern: str = "xx", letters: int = 3) -> Problem:
    """Words of this length with the pattern as late as possible."""
    within("words: letters", letters, 1, 26)
    if not re.fullmatch("[xyz]{2,8}", pattern):
        raise HandloomError(
            f"words: pattern={shown(pattern)} must be from 2 to 8 of the letters x, y and z, such as xyxyx"
        )
    alphabet = ascii_lowercase[:letters]
    longest, source = known(pattern, letters)
    score = until(pattern)
    return Problem(
        word(length, alphabet),
        score=score,
        check=otherwise(pattern, lambda text: int(score(np.array([alphabet.index(letter) for letter in text])))),
        best_known=None if longest is None else min(length, longest),
        source=source,
        about=f"words of {length} letters out of {alphabet} that avoid {pattern} for long",
    )


def known(pattern: str, letters: int) -> tuple[int | None, str]:
    """How long the pattern can be avoided; as long as the same pattern with other variables or read backwards."""
    for same in (renamed(pattern), renamed(pattern[::-1])):
        if letters >= FOR_EVER.get(same, 27):
            return 10**9, THUE
        if same == "xyx":  # a letter that is there again must be right beside itself, and not a third time
            return 2 * letters, ZIMIN
        if letters == 2 and same in LONGEST:
            return LONGEST[same]
    return None, ""


def renamed(pattern: str) -> str:
    """With x as its first variable, y as the next, and z."""
    order = "".join(dict.fromkeys(pattern))
    return "".join("xyz"[order.index(variable)] for variable in pattern)


def until(pattern: str) -> Callable[[Any], Any]:
    """The score: of how many letters the longest part from the beginning without the pattern is."""
    places = tuple(sorted(set(pattern)).index(variable) for variable in pattern)
    first = tuple(places.index(place) for place in places)  # where the same variable is for the first time
    counts = tuple(places.count(place) for place in range(3))
    size, second, third = len(places), min(counts[1], 1), min(counts[2], 1)  # 0: not in the pattern
    seconds, thirds = max(counts[1], 1), max(counts[2], 1)

    def score(w: Any) -> Any:
        starts = np.zeros(size + 1, np.int64)
        lengths = np.zeros(3, np.int64)
        for end in range(size, len(w) + 1):
            for x in range(1, end // counts[0] + 1):
                rest = end - counts[0] * x
                for y in range(second, second * rest // seconds + 1):
                    for z in range(third, third * (rest - counts[1] * y) // thirds + 1):
                        lengths[0], lengths[1], lengths[2] = x, y, z
                        starts[0] = rest - counts[1] * y - counts[2] * z
                        same = True
                        for k in range(size):
                            starts[k + 1] = starts[k] + lengths[places[k]]
                            for i in range(lengths[places[k]]):
                                if w[starts[k] + i] != w[starts[first[k]] + i]:
                                    same = False
                                    break
                            if not same:
                                break
                        if same:
                            return end - 1
        return len(w)

    return score


def otherwise(pattern: str, score: Callable[[list[str]], int]) -> Callable[[list[str]], str | None]:
    """A check of the score by a regular expression."""
    there = re.compile("".join(f"(?P={v})" if v in pattern[:i] else f"(?P<{v}>.+)" for i, v in enumerate(pattern)))

    def check(letters: list[str]) -> str | None:
        text, free = "".join(letters), score(letters)
        if there.search(text[:free]) or (free < len(text) and not there.search(text[: free + 1])):
            return f"{pattern} is not where the score says, behind {free} letters"
        return None

    return check
