"""Sums of decimal numbers, digit by digit.

Numbers have a fixed number of digits, with zeros in front: 045+078=0123. The result has one digit more. Answers come
with the largest digit first.
"""

from collections.abc import Callable, Iterator
from itertools import product

import numpy as np

from handloom.core import Vocab
from handloom.tasks.task import Ids, Task

PLUS, EQUALS = 10, 11


def sum_vocab() -> Vocab:
    return Vocab.of("0123456789+=")


def addition(digits: int = 3) -> Task:
    """The sum of two numbers of that many digits."""

    def oracle(ids: Ids) -> Ids | None:
        numbers = read(ids, digits)
        return None if numbers is None else spell(sum(numbers), digits + 1)

    return sums(digits, oracle)


def modular_addition(digits: int = 2) -> Task:
    """The last digit of the sum."""

    def oracle(ids: Ids) -> Ids | None:
        numbers = read(ids, digits)
        return None if numbers is None else [sum(numbers) % 10]

    return sums(digits, oracle)


def digit_sum(base: int = 10) -> Task:
    """The last digit, in some base, of the sum of two digits, which stand side by side."""
    vocab = digit_vocab(base)
    return Task(
        takes=f"two digits in base {base}, such as {vocab.decode([base - 3, base - 2] if base > 2 else [1, 1])}",
        vocab=vocab,
        oracle=lambda ids: [sum(ids) % base] if len(ids) == 2 else None,
        draw=lambda rng: rng.integers(0, base, 2).tolist(),
        count=base**2,
        every=lambda: (list(pair) for pair in product(range(base), repeat=2)),
    )


def digit_vocab(base: int) -> Vocab:
    """The digits of a base: characters up to ten, numbers with spaces between them above."""
    return Vocab.of("0123456789"[:base]) if base <= 10 else Vocab.numbers(base)


def sums(digits: int, oracle: Callable[[Ids], Ids | None]) -> Task:
    most = 10**digits

    def draw(rng: np.random.Generator) -> Ids:
        a, b = rng.integers(0, 10, (2, digits)).tolist()
        return [*a, PLUS, *b, EQUALS]

    def hard() -> Iterator[Ids]:
        """Carries that begin at one place and run through all those above it, and sums of digits that just do not."""
        for at in range(digits):
            for low in (0, 1, most - 1, most // 2):
                for a, b in ((most - 10**at, 10**at), (most - 10**at, 10**at - 1), (10**at, most - 10**at - 1)):
                    for x, y in ((a, b), (a + low % 10**at, b), (a, b + low % 10**at)):
                        if x < most and y < most:
                            yield from (ask(x, y, digits), ask(y, x, digits))
        yield from (ask(most - 1, most - 1, digits), ask(0, 0, digits))

    return Task(
        takes=f"two numbers of {digits} digit{'s' * (digits != 1)} each, such as {ask_text(digits)}",
        vocab=sum_vocab(),
        oracle=oracle,
        draw=draw,
        count=most**2,
        every=lambda: (ask(a, b, digits) for a in range(most) for b in range(most)),
        hard=hard,
    )


def read(ids: Ids, digits: int) -> tuple[int, int] | None:
    """The two numbers of a question."""
    a, plus, b, equals = ids[:digits], ids[digits : digits + 1], ids[digits + 1 : -1], ids[-1:]
    if len(ids) != 2 * digits + 2 or (plus, equals) != ([PLUS], [EQUALS]) or max([*a, *b]) > 9:
        return None
    return value(a), value(b)


def value(digits: Ids) -> int:
    total = 0
    for digit in digits:
        total = 10 * total + digit
    return total


def spell(number: int, digits: int) -> Ids:
    return [number // 10**place % 10 for place in range(digits - 1, -1, -1)]


def ask(a: int, b: int, digits: int) -> Ids:
    return [*spell(a, digits), PLUS, *spell(b, digits), EQUALS]


def ask_text(digits: int) -> str:
    return sum_vocab().decode(ask(45 % 10**digits, 78 % 10**digits, digits))
