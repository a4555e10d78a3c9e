"""Numbers as text: the shortest expression that a reader evaluates to the same bits.

    >>> [expression_of(x) for x in (4096.0, 1e8, -0.0, 2 / math.sqrt(6), 4096 * math.sqrt(2 / 7), -math.pi / 50)]
    ['4096', '1e8', '-0.0', '2 / sqrt(6)', '8192 / sqrt(14)', '-pi / 50']

Roots of fractions and multiples of pi are looked for; a candidate counts only if it gives the very number.
"""

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache

MOST_ZEROS = 3  # at the end of a number that is written out
LONGER = 8  # characters by which an expression may be longer than the decimal
SHORT = 9  # characters of a number that needs no better name
LARGEST_DENOMINATOR = 2000
NEAR = 1e-13  # how near, as a share, a number must be to an expression that is tried
FACTORS = (2, 3, 5, 7)


def decimal(number: float) -> str:
    """The shortest decimal that reads as this number."""
    text = repr(float(number)).replace("e+", "e")
    if not text.endswith(".0") or text == "-0.0":
        return text
    whole = text[:-2]
    digits = whole.rstrip("0")
    zeros = len(whole) - len(digits)
    return f"{digits}e{zeros}" if zeros > MOST_ZEROS and digits else whole


def expression_of(number: float) -> str:
    """A short decimal, or an expression for a number that has none."""
    text = decimal(number)
    return text if len(text) <= SHORT else long_expression(number)


@lru_cache(maxsize=2**14)
def long_expression(number: float) -> str:
    text = decimal(number)
    if not math.isfinite(number) or not 1e-100 < abs(number) < 1e100:
        return text
    sign, size = ("-" if number < 0 else ""), abs(number)
    found = [name for name, value in candidates(size) if value == size and len(name) <= len(text) + LONGER]
    return sign + min(found, key=len) if found else text


def candidates(x: float) -> Iterator[tuple[str, float]]:
    """Expressions near x with their values, computed as the reader does."""
    yield from roots(x)
    for k in (2.0, 3.0):  # keys are multiplied by √d_head
        for name, value in roots(x / math.sqrt(k)):
            yield f"{name} * sqrt({k:.0f})", value * math.sqrt(k)
    turns = Fraction(x / math.pi).limit_denominator(LARGEST_DENOMINATOR)
    if near(float(turns) * math.pi, x):
        p, q = turns.numerator, turns.denominator
        yield (f"{p} * " if p > 1 else "") + "pi" + (f" / {q}" if q > 1 else ""), p * math.pi / q


def roots(x: float) -> Iterator[tuple[str, float]]:
    """a · √(p / q), a / √q and √p / b."""
    square = Fraction(x * x).limit_denominator(LARGEST_DENOMINATOR)
    if not near(float(square), x * x):
        return
    p, q = square.numerator, square.denominator
    a, rest = square_part(p)
    inside = f"{rest} / {q}" if q > 1 else f"{rest}"
    if rest <= LARGEST_DENOMINATOR:
        yield (f"{a} * " if a > 1 else "") + f"sqrt({inside})", a * math.sqrt(rest / q)
    for k in (1, 2, 3, 5, 6, 7, 10):
        root = math.isqrt(p * k)
        if root * root == p * k:
            yield f"{root} / sqrt({q * k})", root / math.sqrt(q * k)
        root = math.isqrt(q * k)
        if root * root == q * k and p * k <= LARGEST_DENOMINATOR:
            yield f"sqrt({p * k}) / {root}", math.sqrt(p * k) / root


def square_part(number: int) -> tuple[int, int]:
    """a and b with a² b = number, as far as small factors go."""
    a = 1
    for factor in FACTORS:
        while number % (factor * factor) == 0:
            number, a = number // (factor * factor), a * factor
    return a, number


def near(a: float, b: float) -> bool:
    return abs(a - b) <= NEAR * abs(b)
