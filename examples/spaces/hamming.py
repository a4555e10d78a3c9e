"""Codes: words of n symbols, any two of which differ at d places or more; the most of q symbols are A_q(n, d).

handloom discover examples/spaces/hamming.py:n=7,d=3 --seconds 10
handloom discover examples/spaces/hamming.py:n=6,d=3,q=3 --seconds 10
"""

from handloom.discover import Problem, code, distance

A = {  # Brouwer, https://www.win.tue.nl/~aeb/codes/binary-1.html; for odd d, A(n, d) = A(n + 1, d + 1)
    3: (1, 1, 2, 2, 4, 8, 16, 20, 40, 72, 144, 256, 512),
    5: (1, 1, 1, 1, 2, 2, 2, 4, 6, 12, 24, 32, 64),
}
TERNARY = {(4, 3): 9, (5, 3): 18, (6, 3): 38, (6, 4): 18}  # ternary-1.html there


def problem(n: int = 7, d: int = 3, q: int = 2) -> Problem:
    known = binary(n, d) if q == 2 else TERNARY.get((n, d)) if q == 3 else None
    return Problem(
        code(n, q),
        forbidden=lambda a, b: distance(a, b) < d,
        best_known=known,
        source="the maximum: Brouwer's table of A(n, d)" if known else "",
        about=f"words of {n} out of {q} symbols with distance {d} or more",
    )


def binary(n: int, d: int) -> int | None:
    """The maximum, as far as it is in the table."""
    row, place = (A.get(d), n) if d % 2 else (A.get(d - 1), n - 1)
    return row[place - 1] if row and 0 < place <= len(row) else None
