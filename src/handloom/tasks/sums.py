"""Sums of decimal numbers, digit by digit, and what all tasks about two numbers share.

Numbers have a fixed number of digits, with leading zeros: 045+078=0123. The result has one digit more. The most
significant digit comes first.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import product

import numpy as np

from handloom.core import Vocab
from handloom.core.checks import whole
from handloom.core.errors import shown
from handloom.tasks.task import Ids, Task, check_longest

Pair = tuple[int, int]

PLUS, EQUALS = 10, 11


def sum_vocab() -> Vocab:
    return Vocab.of("0123456789+=")


def addition(digits: int = 3) -> Task:
    """The sum of two numbers of that many digits."""
    return padded(digits, sum_vocab(), lambda a, b: spell(a + b, digits + 1), lambda: carries(digits))


def last_digit_of_sum(digits: int = 2) -> Task:
    """The last digit of the sum of two numbers of that many digits."""
    return padded(digits, sum_vocab(), lambda a, b: [(a + b) % 10], lambda: carries(digits))


def digit_sum(base: int = 10) -> Task:
    """The last digit, in a base, of the sum of two digits, which stand side by side."""
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


def padded(digits: int, vocab: Vocab, answer: Callable[[int, int], Ids], hard: Callable[[], Iterable[Pair]]) -> Task:
    """Two numbers of that many digits each, with leading zeros, and a sign between them."""

    def draw(rng: np.random.Generator) -> Pair:
        a, b = rng.integers(0, 10, (2, digits)).tolist()
        return value(a), value(b)

    kind = f"{digits} digit{'s' * (digits != 1)} each"
    return pairs(
        digits, kind, vocab, lambda ids: read(ids, digits), lambda a, b: ask(a, b, digits), answer, draw, hard
    )  # fmt: skip


def pairs(
    digits: int,
    kind: str,
    vocab: Vocab,
    read: Callable[[Ids], Pair | None],
    ask: Callable[[int, int], Ids],
    answer: Callable[[int, int], Ids],
    draw: Callable[[np.random.Generator], Pair],
    hard: Callable[[], Iterable[Pair]],
) -> Task:
    """A task about two numbers of up to that many digits: how a question is written and read, and its answer."""
    check_longest(f"digits={shown(digits)}", 3 * whole("digits", digits, 1) + 3)
    most = 10**digits

    def oracle(ids: Ids) -> Ids | None:
        numbers = read(ids)
        return None if numbers is None else answer(*numbers)

    return Task(
        takes=f"two numbers of {kind}, such as {vocab.decode(ask(45 % most, 78 % most))}",
        vocab=vocab,
        oracle=oracle,
        draw=lambda rng: ask(*draw(rng)),
        count=most**2,
        every=lambda: (ask(a, b) for a in range(most) for b in range(most)),
        hard=lambda: (ask(a, b) for a, b in hard()),
    )


def carries(digits: int) -> Iterator[Pair]:
    """Carries that begin at one place and run through all those above it, and sums of digits that just do not."""
    most = 10**digits
    for at in range(digits):
        for low in (0, 1, most - 1, most // 2):
            for a, b in ((most - 10**at, 10**at), (most - 10**at, 10**at - 1), (10**at, most - 10**at - 1)):
                for x, y in ((a, b), (a + low % 10**at, b), (a, b + low % 10**at)):
                    if x < most and y < most:
                        yield from ((x, y), (y, x))
    yield from ((most - 1, most - 1), (0, 0))


def read(ids: Ids, digits: int) -> Pair | None:
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
