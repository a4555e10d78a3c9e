"""Matrices as expressions: circles, turns, identities, rows of a table, blocks, and multiples of these.

    >>> factored(1e6 * circle(11)[[1, 2, 2, 0]], np.dtype("float64"), (11,))
    '1e6 * rows(circle(11), [1, 2, 2, 0])'
    >>> factored(np.pad(3 * np.eye(2), ((1, 0), (0, 2))), np.dtype("float64"))
    'blocks([[zeros(1, 4)], [3 * eye(2), zeros(2, 2)]])'

A name is guessed from a matrix, evaluated as the reader does, and taken only if every bit is the same, in the dtype of
the model. So what is read back never depends on a guess.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby

import numpy as np

from handloom.core.arrays import Array
from handloom.write.parts.encodings import PLANE, circle, padding, turn
from handloom.write.taotp.literals import half_circle
from handloom.write.taotp.scalars import decimal, expression_of

LARGE = 100  # numbers of a matrix in which blocks of plain numbers are worth a name
LARGEST = 200  # numbers in a literal whose entries are written as expressions
SHORT_ENTRY = 6  # characters of an entry that a common factor leaves
ROUND_TO = 12  # digits to which entries are rounded when a common factor is taken out


def factored(matrix: Array, dtype: np.dtype, counts: Sequence[int] = ()) -> str:
    """The shortest text for a matrix without line breaks, or "" if there is none but its numbers. `counts` are numbers
    of points that circles may have."""
    found = [name for name in Guess(matrix, dtype, tuple(counts)).names() if len(name) < plain_length(matrix)]
    return min(found, key=len, default="")


def literal(matrix: Array) -> str:
    """A matrix or a row as a list of its numbers."""
    if matrix.ndim > 1:
        rows = (", ".join(row) for row in entries(matrix))
        return "[" + ", ".join(f"[{row}]" for row in rows) + "]"
    return f"[{', '.join(entries(matrix[None])[0])}]"


def entries(matrix: Array) -> list[list[str]]:
    """The numbers of a matrix as text."""
    write = expression_of if matrix.size <= LARGEST else decimal
    return [[write(exact(x)) for x in row] for row in matrix]


def exact(number: np.floating) -> float:
    """The float64 with the shortest decimal that is this number in its dtype."""
    short = float(str(number))
    return short if number.dtype.type(short) == number else float(number)


def plain_length(matrix: Array) -> int:
    """About how long a matrix is as decimals."""
    return sum(len(str(x)) + 2 for x in matrix[:50].ravel()) * max(1, len(matrix) // 50) + 4 * len(matrix)


def same(a: Array, b: Array) -> bool:
    """Equal in every bit, so that 0 is not −0."""
    return bool(np.array_equal(a, b) and np.array_equal(np.signbit(a), np.signbit(b)))


@dataclass(frozen=True)
class Guess:
    """Names for one matrix."""

    matrix: Array
    dtype: np.dtype
    counts: tuple[int, ...]

    def names(self) -> Iterator[str]:
        n, m = self.matrix.shape
        if same(self.matrix, np.zeros_like(self.matrix)):
            yield f"zeros({n}, {m})"
            return
        if n == m > 1:
            yield from self.multiples(f"eye({n})", np.eye(n))
        if n * m > 4:
            yield from self.multiples(f"ones({n}, {m})", np.ones((n, m)))
        if n == 1 and m > 2:
            yield from self.multiples(f"[padding({m})]", padding(m)[None])
        if m == 3:
            yield from self.on_the_circle()
        yield from self.repeated()
        yield from self.in_blocks()

    def is_it(self, value: Array) -> bool:
        return value.shape == self.matrix.shape and same(value.astype(self.dtype), self.matrix)

    def multiples(self, name: str, table: Array) -> Iterator[str]:
        """c · table, c being what the largest entry is of the table's."""
        at = np.unravel_index(np.abs(table).argmax(), table.shape)
        there, of = float(self.matrix[at]), float(table[at])
        if not np.allclose(self.matrix / of, there * (table / of) / of, rtol=1e-5, atol=1e-5 * abs(there / of)):
            return
        for c in scales(there, of):
            if c == 1 and self.is_it(table):
                yield name
            elif c == -1 and self.is_it(-table):
                yield f"-{name}" if not name.startswith("[") else f"-1 * {name}"
            elif self.is_it(c * table):
                yield f"{expression_of(c)} * {name}"

    def on_the_circle(self) -> Iterator[str]:
        n = len(self.matrix)
        if n == 3:
            yield from self.turned()
        if n > 2:
            yield from self.multiples(f"circle({n})", circle(n))
            yield from self.multiples(f"half_circle({n})", half_circle(n))
        across = self.matrix.astype(np.float64) @ PLANE.T
        angles = np.arctan2(across[:, 1], across[:, 0]) / (2 * np.pi)
        for count in self.counts:
            steps = angles * count
            which = np.rint(steps).astype(int) % max(count, 1)
            if n > 1 and np.abs(steps - np.rint(steps)).max() < 1e-6:
                yield from self.multiples(f"rows(circle({count}), {which.tolist()})", circle(count)[which])

    def turned(self) -> Iterator[str]:
        """c · turn(angle), the angle being a part of pi."""
        cosine, sine = float(self.matrix[0, 0]), float(self.matrix[0, 1]) * math.sqrt(3.0)
        part = Fraction(math.atan2(sine, cosine) / math.pi).limit_denominator(2000)
        p, q = part.numerator, part.denominator
        angles = {f"{p} * pi / {q}" if abs(p) > 1 else f"{'-' if p < 0 else ''}pi / {q}": p * math.pi / q}
        for count in self.counts:  # steps of a circle, which round differently
            if (steps := part * count / 2).denominator == 1:
                angles[f"{steps} * (2 * pi / {count})"] = steps.numerator * (2 * math.pi / count)
                angles[f"{2 * steps} * pi / {count}"] = 2 * steps.numerator * math.pi / count
        for name, angle in angles.items():
            if found := list(self.multiples(f"turn({name})", turn(angle))):
                yield from found
                return

    def repeated(self) -> Iterator[str]:
        """rows(table, which), where few rows come again and again."""
        n, m = self.matrix.shape
        if n < 4 or n * m < 16 or n > 5000:
            return
        seen: dict[bytes, int] = {}
        which = [seen.setdefault(row.tobytes(), len(seen)) for row in self.matrix]
        if len(seen) <= n // 2:
            first = [which.index(i) for i in range(len(seen))]
            table = self.matrix[first]
            yield f"rows({factored(table, self.dtype, self.counts) or literal(table)}, {which})"

    def in_blocks(self) -> Iterator[str]:
        """blocks([[…], […]]): zero rows apart from others, and in those zero and constant columns."""
        bands = [self.band(band) for band in runs(kinds_of_rows(self.matrix))]
        if all(part for parts in bands for part in parts) and (len(bands) > 1 or len(bands[0]) > 1):
            lines = ", ".join(f"[{', '.join(parts)}]" for parts in bands)
            yield f"blocks([{lines}])"

    def band(self, rows: slice) -> list[str]:
        part = self.matrix[rows]
        if not kinds_of_rows(part)[0]:
            return [f"zeros({len(part)}, {part.shape[1]})"]
        columns = runs(kinds_of_rows(part.T, constant=len(part) > 1))
        if len(columns) == 1 and len(part) == len(self.matrix):
            columns = [*threes(part.shape[1])]
        return [self.piece(part[:, one]) for one in columns]

    def piece(self, part: Array) -> str:
        """A part that has a name; in a large matrix also the numbers of a small part."""
        if part.shape == self.matrix.shape:
            return ""
        if np.any(part) and len(part) > 2 and part.shape[1] > 1 and same(part, np.tile(part[0], (len(part), 1))):
            row = factored(part[:1], self.dtype) or literal(part[:1])
            return f"rows({row}, {[0] * len(part)})"
        if name := factored(part, self.dtype, self.counts):
            return name
        return literal(part) if self.matrix.size >= LARGE and part.size <= self.matrix.size / 4 else ""


def common_factor(matrix: Array, dtype: np.dtype) -> tuple[str, Array]:
    """The text of c, and the matrix with short entries that c times is this one; "" if there is none."""
    if matrix.size > LARGEST:
        return "", matrix
    sizes, often = np.unique(np.abs(matrix[matrix != 0]), return_counts=True)
    found = []
    for size in map(exact, sizes[np.argsort(-often, kind="stable")][:4]):
        rest = rounded(matrix.astype(np.float64) / size)
        short = all(len(decimal(x)) <= SHORT_ENTRY for x in rest.ravel())
        if short and len(decimal(size)) > SHORT_ENTRY and same((size * rest).astype(dtype), matrix):
            found.append((expression_of(size), rest))
    return min(found, key=lambda one: len(one[0]) + len(literal(one[1])), default=("", matrix))


def scales(there: float, of: float) -> Iterator[float]:
    """Factors that may have made this number of that one: the quotient, and the short decimals and roots near it."""
    c = there / of
    if not math.isfinite(c) or c == 0:
        return
    yield from dict.fromkeys((c, float(f"{c:.12g}"), float(f"{c:.6g}"), *roots_near(c)))


def roots_near(c: float) -> Iterator[float]:
    square = Fraction(c * c).limit_denominator(100) if 1e-50 < abs(c) < 1e50 else Fraction(0)
    if square and abs(float(square) / (c * c) - 1) < 1e-12:
        yield math.copysign(math.sqrt(float(square)), c)


def rounded(matrix: Array) -> Array:
    """To some digits, zeros of either sign kept."""
    with np.errstate(divide="ignore"):
        digits = ROUND_TO - np.ceil(np.log10(np.abs(matrix)))
    return np.array(
        [x if not np.isfinite(d) else round(float(x), int(d)) for x, d in zip(matrix.flat, digits.flat, strict=True)]
    ).reshape(matrix.shape)


def kinds_of_rows(matrix: Array, constant: bool = False) -> list[int]:
    """0 of a row of zeros, 1 of others; with `constant`, 2 of a row in which one number stands again and again."""
    zero = ~(np.any(matrix, axis=1) | np.signbit(matrix).any(axis=1))
    kinds = np.where(zero, 0, 1)
    if constant:
        kinds = np.where(~zero & (matrix == matrix[:, :1]).all(axis=1), 2, kinds)
    return kinds.tolist()


def runs(kinds: Sequence[int]) -> list[slice]:
    """Where equal neighbours begin and end."""
    found, at = [], 0
    for _, group in groupby(kinds):
        found.append(slice(at, at := at + len(list(group))))
    return found


def threes(width: int) -> Iterator[slice]:
    """The whole cut into threes, for circles side by side."""
    if width % 3 or width == 3:
        yield slice(0, width)
    else:
        yield from (slice(first, first + 3) for first in range(0, width, 3))
