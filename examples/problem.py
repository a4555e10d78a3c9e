"""A problem of one's own: numbers from 1 to n, no three of them in arithmetic progression.

    handloom discover examples/problem.py --seconds 20
    handloom discover examples/problem.py:n=100 --seconds 60

Erdős and Turán asked in 1936 how many there can be.
"""

from handloom.discover import Problem, subsets

FIRST = (1, 2, 4, 5, 9, 11, 13, 14, 20, 24, 26, 30, 32, 36, 40, 41, 51, 54, 58, 63, 71, 74)  # n with 1, 2, … numbers


def problem(n: int = 54) -> Problem:
    return Problem(
        subsets(range(1, n + 1), symmetries={"mirror": (lambda x: n + 1 - x,)}),
        forbidden=in_progression,
        check=with_its_middle,
        best_known=sum(first <= n for first in FIRST) if n < 78 else None,
        source="OEIS A003002 and A065825" if n < 78 else "",
        about=f"numbers from 1 to {n}, no three in arithmetic progression",
    )


def in_progression(a, b, c):
    """Compiled by the search: whole numbers, arithmetic and comparisons."""
    return a + b == 2 * c or a + c == 2 * b or b + c == 2 * a


def with_its_middle(numbers):
    """The same, checked another way: plain Python of any kind; returns what is wrong."""
    there = set(numbers)
    for a in numbers:
        for b in numbers:
            if a < b and (a + b) % 2 == 0 and (a + b) // 2 in there:
                return f"{a}, {(a + b) // 2} and {b} are in progression"
