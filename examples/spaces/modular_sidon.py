"""Subsets of an abelian group: Sidon sets of Z_n, all of whose sums of two are different.

    handloom discover examples/spaces/modular_sidon.py:n=57 --seconds 10

Singer's difference sets have q + 1 elements modulo q² + q + 1, for every prime power q.
"""

from handloom.discover import Problem, abelian_group

SINGER = {q * q + q + 1: q + 1 for q in (2, 3, 4, 5, 7, 8, 9, 11, 13)}


def problem(n: int = 31) -> Problem:
    def equal_differences(a, b, c, d):
        """Two of the four sums a + b = c + d, a + c = b + d, a + d = b + c are different unless this holds."""
        return (a + b - c - d) % n == 0 or (a + c - b - d) % n == 0 or (a + d - b - c) % n == 0

    def doubled(a, b, c):
        return (2 * a - b - c) % n == 0 or (2 * b - a - c) % n == 0 or (2 * c - a - b) % n == 0

    def both_doubled(a, b):
        return (2 * a - 2 * b) % n == 0

    return Problem(
        abelian_group(n),
        forbidden=[equal_differences, doubled, both_doubled],
        check=lambda some: repeated_difference(some, n),
        best_known=SINGER.get(n),
        source="the maximum: a perfect difference set of Singer" if n in SINGER else "",
        about=f"residues modulo {n} whose sums of two are all different",
    )


def repeated_difference(some, n):
    seen = {}
    for a in some:
        for b in some:
            if a != b and (a - b) % n in seen:
                return f"{a} − {b} = {seen[(a - b) % n]} modulo {n}"
            seen[(a - b) % n] = f"{a} − {b}"
