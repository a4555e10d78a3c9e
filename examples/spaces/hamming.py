"""Codes: words of n binary digits, any two of which differ at d places or more; the most are A(n, d).

handloom discover examples/spaces/hamming.py:n=7,d=3 --seconds 10
"""

from handloom.discover import Problem, code, distance

A = {  # Brouwer, https://www.win.tue.nl/~aeb/codes/binary-1.html; for odd d, A(n, d) = A(n + 1, d + 1)
    3: (1, 1, 2, 2, 4, 8, 16, 20, 40, 72, 144, 256, 512),
    5: (1, 1, 1, 1, 2, 2, 2, 4, 6, 12, 24, 32, 64),
}


def problem(n: int = 7, d: int = 3) -> Problem:
    row, place = (A.get(d), n) if d % 2 else (A.get(d - 1), n - 1)
    known = row[place - 1] if row and 0 < place <= len(row) else None
    return Problem(
        code(n),
        forbidden=lambda a, b: distance(a, b) < d,
        best_known=known,
        source="the maximum: Brouwer's table of A(n, d)" if known else "",
        about=f"binary words of length {n} with distance {d} or more",
    )
