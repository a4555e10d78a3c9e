"""Numbers as tokens, as in the papers of François Charton.

    >>> for name in ENCODINGS:
    ...     print(name, *encoding(name).encode(3.14))
    P10 + 3 1 4 E-2
    P1000 + 314 E-2
    B1999 314 E-2
    FP15 FP314/-2
    >>> encoding("P10").decode(["-", "6", "0", "2", "E21"]), encoding("P10").decode(["-", "6"])
    (-6.02e+23, None)
    >>> write_integer(-160, base=10), write_integer(-160, base=100), read_integer(["+", "1", "60"], base=100)
    (['-', '1', '6', '0'], ['-', '1', '60'], 160)

Real numbers are rounded to three significant digits and written as mantissa · 10^exponent ("Linear algebra with
transformers", 2021); integers are a sign and their digits in some base, the largest first ("Learning the greatest
common divisor", 2023). All numbers of one real encoding have the same number of tokens, zero too.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from handloom.core import HandloomError
from handloom.core.errors import shown

ENCODINGS = ("P10", "P1000", "B1999", "FP15")


@dataclass(frozen=True)
class Encoding:
    """`slots` are the tokens that may stand at each place of a number, and `spell` chooses them, given the sign, the
    mantissa's three digits and the exponent. Joined, the tokens are a numeral that Python reads."""

    name: str
    slots: tuple[Sequence[str], ...]
    exponents: range
    spell: Callable[[str, str, int], list[str]]

    @cached_property
    def tokens(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(token for slot in self.slots for token in slot))

    @property
    def width(self) -> int:
        """The number of tokens of a number."""
        return len(self.slots)

    @property
    def largest(self) -> float:
        return float(f"999e{self.exponents[-1]}")

    def encode(self, value: float) -> list[str]:
        """A number, rounded to three digits; numbers too small for the exponents are written as zero."""
        if not math.isfinite(value):
            raise HandloomError(f"{value} is not a number that {self.name} can write; give a finite one")
        digits, power = f"{abs(value):.2e}".split("e")
        mantissa, exponent = digits[0] + digits[2:], int(power) - 2
        if exponent > self.exponents[-1]:
            raise HandloomError(f"{value:.3g} is too large for {self.name}: it writes numbers up to {self.largest:.3g}")
        if mantissa == "000" or exponent < self.exponents[0]:
            return self.spell("+", "000", 0)
        return self.spell("-" if value < 0 else "+", mantissa, exponent)

    def decode(self, tokens: Sequence[str]) -> float | None:
        """The number that these tokens spell, or None. Mantissas with leading zeros are read too: + 31 E-1 is 3.1."""
        if len(tokens) != self.width or not all(map(frozenset.__contains__, self._allowed, tokens)):
            return None
        numeral = "".join(tokens)
        return float(numeral[2:].replace("/", "e") if self.name == "FP15" else numeral)

    @cached_property
    def _allowed(self) -> tuple[frozenset[str], ...]:
        return tuple(map(frozenset, self.slots))


@cache
def encoding(name: str) -> Encoding:
    """One of the four encodings of real numbers, by the name it has in the paper."""
    signs, digits = "+-", "0123456789"
    exponents = range(-100, 101)
    powers = [f"E{exponent}" for exponent in exponents]
    match name:
        case "P10":
            return Encoding(
                name, (signs, digits, digits, digits, powers), exponents, lambda s, m, e: [s, *m, f"E{e}"]
            )  # fmt: skip
        case "P1000":
            thousand = [str(mantissa) for mantissa in range(1000)]
            return Encoding(name, (signs, thousand, powers), exponents, lambda s, m, e: [s, str(int(m)), f"E{e}"])
        case "B1999":
            mantissas = [str(mantissa) for mantissa in range(-999, 1000)]
            return Encoding(name, (mantissas, powers), exponents, lambda s, m, e: [str(int(s + m)), f"E{e}"])
        case "FP15":
            # 16 exponents, so that there are about as many tokens as the paper's 30,000: 28,801.
            few = range(-9, 7)
            mantissas = [str(mantissa) for mantissa in (*range(-999, -99), *range(100, 1000))]
            numbers = ["FP0/0", *(f"FP{mantissa}/{e}" for e in few for mantissa in mantissas)]
            return Encoding(name, (numbers,), few, lambda s, m, e: [f"FP{int(s + m)}/{e}"])
    raise HandloomError(f"encoding={shown(name)} is not one of {', '.join(ENCODINGS)}")


def write_integer(value: int, base: int = 10) -> list[str]:
    """A sign, and the digits without leading zeros."""
    rest, digits = abs(value), [abs(value) % base]
    while rest := rest // base:
        digits.append(rest % base)
    return ["-" if value < 0 else "+", *map(str, reversed(digits))]


def read_integer(tokens: Sequence[str], base: int = 10) -> int | None:
    """The integer that these tokens spell, or None. An integer has one spelling: no leading zeros, no -0."""
    sign, *digits = tokens or [""]
    if sign not in ("+", "-") or not digits or (digits[0] == "0" and (len(digits) > 1 or sign == "-")):
        return None
    total = 0
    for digit in digits:
        if not (digit.isascii() and digit.isdigit() and int(digit) < base):
            return None
        total = base * total + int(digit)
    return -total if sign == "-" else total
