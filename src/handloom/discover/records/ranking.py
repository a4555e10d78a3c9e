"""The rank of a score: text by which SQLite sorts records as their scores do, the best last."""

from decimal import Decimal

from handloom.discover.problem import Number, Problem


def rank_of(problem: Problem, score: Number) -> str:
    """The rank of a score, which also shows whether it was to be small: that of 0 by a mark."""
    return rank(problem.merit(score)) + ("~" if problem.minimise and not score else "")


def rank(score: Number) -> str:
    """Text that sorts like the numbers, even if they are too large for SQLite, or too close for a float.

    >>> sorted([2, 10**30 + 1, -1.5, 10**30, 0, -10, 0.25], key=rank)
    [-10, -1.5, 0, 0.25, 2, 1000000000000000000000000000000, 1000000000000000000000000000001]
    """
    exact = Decimal(score)
    digits = "".join(map(str, exact.as_tuple().digits)).rstrip("0")
    text = f"{exact.adjusted() + 5000:04}{digits}"  # the exponent, then the digits
    if not exact:
        return "1"
    return f"2{text}" if exact > 0 else f"0{text.translate(str.maketrans('0123456789', '9876543210'))}~"
