"""Sums of numbers without leading zeros, and products: the last two exercises of the book's chapter 6.

>>> unpadded_addition(2).answer("84+88=")
'172'
>>> multiplication(2).answer("07*08=")
'0056'
"""

from collections.abc import Iterator
from itertools import product

import numpy as np

from handloom.core import Vocab
from handloom.tasks.sums import EQUALS, PLUS, Pair, padded, pairs, spell, value
from handloom.tasks.task import Ids, Task, whole_within

BOS, EOS = 12, 13


def unpadded_vocab() -> Vocab:
    return Vocab.of("0123456789+=", bos="<bos>", eos="<eos>")


def product_vocab() -> Vocab:
    """× takes the place of + in a sum."""
    return Vocab.of("0123456789*=")


def unpadded_addition(digits: int = 2) -> Task:
    """The sum of two numbers of up to that many digits, without leading zeros, between <bos> and <eos>."""
    whole_within("digits", digits, 1, 18)  # numbers that NumPy can draw

    def draw(rng: np.random.Generator) -> Pair:
        a, b = (int(rng.integers(0, 10 ** rng.integers(1, digits + 1))) for _ in range(2))
        return a, b

    return pairs(
        digits,
        kind=f"up to {digits} digit{'s' * (digits != 1)} without zeros in front",
        vocab=unpadded_vocab(),
        read=lambda ids: read_unpadded(ids, digits),
        ask=ask_unpadded,
        answer=lambda a, b: [*shortest(a + b), EOS],
        draw=draw,
        hard=lambda: beside_powers(digits),
    )


def read_unpadded(ids: Ids, digits: int) -> Pair | None:
    """The two numbers of a question: <bos> a + b =, each in its shortest spelling."""
    if ids[:1] != [BOS] or ids[-1:] != [EQUALS] or ids.count(PLUS) != 1:
        return None
    at = ids.index(PLUS)
    a, b = ids[1:at], ids[at + 1 : -1]
    for number in (a, b):
        if not 1 <= len(number) <= digits or max(number) > 9 or number != shortest(value(number)):
            return None
    return value(a), value(b)


def shortest(number: int) -> Ids:
    """A number's digits without leading zeros."""
    return [int(digit) for digit in str(number)]


def ask_unpadded(a: int, b: int) -> Ids:
    return [BOS, *shortest(a), PLUS, *shortest(b), EQUALS]


def multiplication(digits: int = 2) -> Task:
    """The product of two numbers of that many digits, in twice as many digits, with leading zeros."""
    return padded(
        digits, product_vocab(), lambda a, b: spell(a * b, 2 * digits), lambda: beside_powers(digits)
    )  # fmt: skip


def beside_powers(digits: int) -> Iterator[Pair]:
    """All pairs of powers of ten, their neighbours, halves and fifths: where lengths change, and where products are a
    power of ten (2 · 50) or one less (99 · 101), so that the smallest difference decides a digit."""
    around = (1, 0), (1, -1), (1, 1), (2, 0), (5, 0)
    edges = {part * 10**place + more for place in range(digits) for part, more in around}
    yield from product(sorted(n for n in {*edges, 10**digits - 1} if n < 10**digits), repeat=2)
