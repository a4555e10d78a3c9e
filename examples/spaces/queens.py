"""Required sets: queens that attack or occupy every square of the n × n board, as few as can be.

    handloom discover examples/spaces/queens.py:n=8 --seconds 10
    handloom discover examples/spaces/queens.py:n=9,symmetry=rotation-180 --seconds 10

With a symmetry, only boards that have it count, and the verifier refuses others.
"""

from handloom.discover import Problem, grid

LEAST = (1, 1, 1, 2, 3, 3, 4, 5, 5, 5, 5, 6, 7, 8, 9, 9, 9, 9)  # OEIS A075458, for n = 1, 2, …


def problem(n: int = 8, symmetry: str = "none") -> Problem:
    squares = [(i, j) for i in range(n) for j in range(n)]
    known = symmetry == "none" and n <= len(LEAST)
    return Problem(
        grid(n, n),
        required=[[queen for queen in squares if attacks(queen, square)] for square in squares],
        minimise=True,
        symmetry=None if symmetry == "none" else symmetry,
        best_known=LEAST[n - 1] if known else None,
        source="the minimum: OEIS A075458" if known else "",
        about=f"queens that attack or occupy every square of the {n} × {n} board",
    )


def attacks(a, b):
    return a[0] == b[0] or a[1] == b[1] or abs(a[0] - b[0]) == abs(a[1] - b[1])
