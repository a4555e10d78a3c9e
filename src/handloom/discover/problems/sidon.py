"""Sidon sets: numbers below n whose sums of two, a number twice included, are all different.

    >>> repeated_sum([0, 1, 4, 6]), repeated_sum([0, 1, 3, 4])
    (None, '0 + 4 = 1 + 3')

Sums are different just when differences are, so a Sidon set is a Golomb ruler: its numbers are the marks. A ruler with
k marks fits into 0, …, n − 1 when its length is n − 1 at most, and so the largest Sidon set has as many numbers as the
largest optimal ruler of such a length has marks.
"""

from typing import Any

from handloom.discover.catalogue import sized
from handloom.discover.problem import Problem, Rule
from handloom.discover.spaces import subsets

RULERS = (  # the length of the shortest ruler with 1, 2, … marks
    *(0, 1, 3, 6, 11, 17, 25, 34, 44, 55, 72, 85, 106, 127),
    *(151, 177, 199, 216, 246, 283, 333, 356, 372, 425, 480, 492, 553, 585),
)


@sized(1, 1000)
def sidon(n: int = 100) -> Problem:
    """As many numbers below n as possible with all sums of two different."""
    known = n <= RULERS[-1] + 1  # how long a ruler with one more mark must be nobody knows
    return Problem(
        subsets(range(n)),  # the mirror is a symmetry too, but no Sidon set of four is its own image
        forbidden=RULES,
        check=repeated_sum,
        best_known=sum(length < n for length in RULERS) if known else None,
        source="the maximum: optimal Golomb rulers, OEIS A003022" if known else "",
        about=f"numbers below {n} whose sums of two are all different",
    )


def in_the_middle(a: Any, b: Any, c: Any) -> Any:
    """Whether one of them is halfway between the others: twice it is their sum."""
    return a + b == 2 * c or b + c == 2 * a or c + a == 2 * b


def two_equal_sums(a: Any, b: Any, c: Any, d: Any) -> Any:
    """Whether two of them have the sum of the other two."""
    return a + b == c + d or a + c == b + d or a + d == b + c


RULES: tuple[Rule, ...] = (in_the_middle, two_equal_sums)


def repeated_sum(numbers: list[int]) -> str | None:
    """A sum of two numbers that is that of two others as well."""
    seen: dict[int, str] = {}
    for i, a in enumerate(numbers):
        for b in numbers[i:]:
            if a + b in seen:
                return f"{seen[a + b]} = {a} + {b}"
            seen[a + b] = f"{a} + {b}"
    return None
