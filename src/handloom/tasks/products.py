"""Sums of numbers without zeros in front, and products: what the last two exercises of the book's chapter 6 ask for.

>>> unpadded_addition(2).answer("84+88=")
'172'
>>> multiplication(2).answer("07*08=")
'0056'
"""

from collections.abc import Iterable, Iterator

import numpy as np

from handloom.core import Vocab
from handloom.tasks.sums import EQUALS, PLUS, spell, value
from handloom.tasks.task import Ids, Task

TIMES, BOS, EOS = PLUS, 12, 13  # × stands where + does in a sum


def unpadded_vocab() -> Vocab:
    return Vocab.of("0123456789+=", bos="<bos>", eos="<eos>")


def unpadded_addition(digits: int = 2) -> Task:
    """The sum of two numbers of up to that many digits, without zeros in front, between <bos> and <eos>."""
    most = 10**digits

    def oracle(ids: Ids) -> Ids | None:
        numbers = read_unpadded(ids, digits)
        return None if numbers is None else [*shortest(sum(numbers)), EOS]

    def draw(rng: np.random.Generator) -> Ids:
        a, b = (int(rng.integers(0, 10 ** rng.integers(1, digits + 1))) for _ in range(2))
        return ask_unpadded(a, b)

    def hard() -> Iterator[Ids]:
        edges = sorted({n for place in range(digits + 1) for n in (10**place - 1, 10**place) if n < most})
        yield from (ask_unpadded(a, b) for a in edges for b in edges)

    return Task(
        takes=f"two numbers of up to {digits} digit{'s' * (digits != 1)} without zeros in front, such as 4+8=",
        vocab=unpadded_vocab(),
        oracle=oracle,
        draw=draw,
        count=most**2,
        every=lambda: (ask_unpadded(a, b) for a in range(most) for b in range(most)),
        hard=hard,
    )


def read_unpadded(ids: Ids, digits: int) -> tuple[int, int] | None:
    """The two numbers of a question: <bos> a + b =, each as it is spelled when spelled shortest."""
    if ids[:1] != [BOS] or ids[-1:] != [EQUALS] or ids.count(PLUS) != 1:
        return None
    at = ids.index(PLUS)
    a, b = ids[1:at], ids[at + 1 : -1]
    for number in (a, b):
        if not 1 <= len(number) <= digits or max(number) > 9 or number != shortest(value(number)):
            return None
    return value(a), value(b)


def shortest(number: int) -> Ids:
    """A number's digits without zeros in front."""
    return [int(digit) for digit in str(number)]


def ask_unpadded(a: int, b: int) -> Ids:
    return [BOS, *shortest(a), PLUS, *shortest(b), EQUALS]


def multiplication(digits: int = 1) -> Task:
    """The product of two numbers of that many digits, in twice as many digits, with zeros in front."""
    most = 10**digits

    def oracle(ids: Ids) -> Ids | None:
        a, times, b, equals = ids[:digits], ids[digits : digits + 1], ids[digits + 1 : -1], ids[-1:]
        if len(ids) != 2 * digits + 2 or (times, equals) != ([TIMES], [EQUALS]) or max([*a, *b]) > 9:
            return None
        return spell(value(a) * value(b), 2 * digits)

    def draw(rng: np.random.Generator) -> Ids:
        a, b = rng.integers(0, 10, (2, digits)).tolist()
        return [*a, TIMES, *b, EQUALS]

    def every() -> Iterable[Ids]:
        return ([*spell(a, digits), TIMES, *spell(b, digits), EQUALS] for a in range(most) for b in range(most))

    example = "".join(map(str, spell(7, digits))) + "*" + "".join(map(str, spell(8, digits))) + "="
    return Task(
        takes=f"two numbers of {digits} digit{'s' * (digits != 1)} each, such as {example}",
        vocab=Vocab.of("0123456789*="),
        oracle=oracle,
        draw=draw,
        count=most**2,
        every=every,
    )
