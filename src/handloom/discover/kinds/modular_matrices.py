"""Matrices over Z_m, for a score of the matrix: determinants, ranks, permanents.

    >>> space = matrix(2, 3, modulus=5)
    >>> space.read([[0, 1, 4], [2, 2, 0]])
    (0, 1, 4, 2, 2, 0)
    >>> space.shown((0, 1, 4, 2, 2, 0))
    [[0, 1, 4], [2, 2, 0]]

A score receives the matrix as an array of two dimensions, a check its rows. Two matrices are the same if one comes from
the other by permutations of rows or of columns, by transposition, or by negation of rows or of columns (modulo 2:
exchange of 0 and 1), as far as the score does not change: that is tried on random matrices.
"""

from handloom.core import HandloomError
from handloom.core.checks import whole
from handloom.discover.spaces import MOST_ELEMENTS, Space

MOST_VALUES = 200


def matrix(rows: int, columns: int, modulus: int = 2) -> Space:
    """Matrices of that size with entries 0, …, modulus − 1."""
    whole("the number of rows", rows, 1)
    whole("the number of columns", columns, 1)
    whole("the modulus", modulus, 2)
    if modulus > MOST_VALUES or rows * columns > MOST_ELEMENTS:
        raise HandloomError(
            f"a {rows}×{columns} matrix over Z_{modulus} is too large (expected up to {MOST_ELEMENTS:,} entries,"
            f" and a modulus up to {MOST_VALUES})"
        )
    return Space("matrix", tuple(range(modulus)), rows * columns, (rows, columns))
