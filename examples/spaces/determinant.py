"""Matrices over Z_m: n × n matrices of 1 and −1, written as 0 and 1, with a large determinant.

    handloom discover examples/spaces/determinant.py:n=6 --seconds 10

Hadamard's bound, the square root of n^n, is reached for n = 1, 2, 4 and perhaps for all multiples of 4.
"""

from handloom.discover import Problem, matrix

LARGEST = (1, 2, 4, 16, 48, 160, 576, 4096, 14336, 73728, 327680)  # OEIS A003433, for n = 1, 2, …


def problem(n: int = 4) -> Problem:
    return Problem(
        matrix(n, n),
        score=lambda bits: determinant(1 - 2 * bits),
        best_known=LARGEST[n - 1] if n <= len(LARGEST) else None,
        source="the maximum: OEIS A003433" if n <= len(LARGEST) else "",
        about=f"{n} × {n} matrices of 1 and −1 with a large determinant",
    )


def determinant(a):
    """Its absolute value, by Bareiss's elimination: every division is exact."""
    n, before = len(a), 1
    for k in range(n - 1):
        row = k
        while row < n and a[row, k] == 0:
            row += 1
        if row == n:
            return 0 * a[0, 0]
        for j in range(n):
            a[k, j], a[row, j] = a[row, j], a[k, j]
        for i in range(k + 1, n):
            for j in range(k + 1, n):
                a[i, j] = (a[i, j] * a[k, k] - a[i, k] * a[k, j]) // before
        before = a[k, k]
    return abs(a[n - 1, n - 1])
