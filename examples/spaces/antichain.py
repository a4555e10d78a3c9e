"""Set systems: subsets of {1, …, n}, none of them in another.

    handloom discover examples/spaces/antichain.py:n=5 --seconds 10

Sperner proved in 1928 that the sets of n/2 members, rounded down, are the most.
"""

from math import comb

from handloom.discover import Problem, set_system


def problem(n: int = 4) -> Problem:
    return Problem(
        set_system(n),
        forbidden=one_in_the_other,
        check=subset_of_another,
        best_known=comb(n, n // 2),
        source="the maximum: Sperner's theorem",
        about=f"subsets of {{1, …, {n}}}, none in another",
    )


def one_in_the_other(a, b):
    """Each set is a number whose bits are its members."""
    return a & b == a or a & b == b


def subset_of_another(sets):
    """The same, checked another way: here each set is a tuple of its members."""
    for a in map(set, sets):
        for b in map(set, sets):
            if a < b:
                return f"{a} is in {b}"
