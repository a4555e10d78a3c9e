"""Points in space: points of the n × n × n cube, no three of them in line.

handloom discover examples/spaces/cube_lines.py:n=3 --seconds 10
"""

from handloom.discover import Problem, points

LARGEST = {1: 1, 2: 8, 3: 16}  # of n = 3: Moser's problem, OEIS A003142


def problem(n: int = 3) -> Problem:
    return Problem(
        points((x, y, z) for x in range(n) for y in range(n) for z in range(n)),
        forbidden=in_line,
        best_known=LARGEST.get(n),
        source="the maximum: OEIS A003142" if n == 3 else "",
        about=f"points of the cube of side {n}, no three in line",
    )


def in_line(a, b, c):
    """Whether b − a and c − a are parallel: their vector product is 0."""
    x, y, z = b[0] - a[0], b[1] - a[1], b[2] - a[2]
    u, v, w = c[0] - a[0], c[1] - a[1], c[2] - a[2]
    return y * w == z * v and z * u == x * w and x * v == y * u
