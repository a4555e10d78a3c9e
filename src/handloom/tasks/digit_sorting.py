"""Sort numbers of several digits, where each digit is a token: 42 07 13= gives 07 13 42.

Numbers have a fixed number of digits, with leading zeros, and may repeat. A space, which is a token, stands between
them. (The Art of Transformer Programming, chapter 5, exercise 7.)
"""

from collections.abc import Iterable, Iterator
from itertools import product

import numpy as np

from handloom.core import HandloomError, Vocab
from handloom.core.errors import shown
from handloom.tasks.task import Ids, Task, check_longest, count_of_sequences

SOME = 100  # numbers, evenly spread, around which hard inputs are made


def ascending_digits(digits: int = 2, length: int = 16, base: int = 10) -> Task:
    """Up to `length` numbers of that many digits in this base, with repeats, and then =."""
    if digits < 1 or length < 1 or not 2 <= base <= 10:
        raise HandloomError(
            "to sort digits takes digits and a length of at least 1 and a base from 2 to 10, "
            f"not digits={digits}, length={length}, base={base}"
        )
    check_longest(f"digits={shown(digits)}, length={shown(length)}", 2 * length * (digits + 1))
    vocab, values = Vocab.of("0123456789"[:base] + " ="), base**digits

    def ask(numbers: Iterable[int]) -> Ids:
        return join([[number // base**place % base for place in range(digits - 1, -1, -1)] for number in numbers], base)

    def oracle(ids: Ids) -> Ids | None:
        numbers = [ids[i : i + digits] for i in range(0, len(ids), digits + 1)]
        digits_only = all(len(number) == digits and max(number) < base for number in numbers)
        right = digits_only and 0 < len(numbers) <= length and ids == join(numbers, base)
        return join(sorted(numbers), base)[:-1] if right else None

    def draw(rng: np.random.Generator) -> Ids:
        """Every place draws from some digits, all or few or one, so that beginnings and numbers repeat."""
        choices = [rng.permutation(base)[: rng.integers(1, base + 1)] for _ in range(digits)]
        count = rng.integers(1, length + 1)
        return join([[int(rng.choice(some)) for some in choices] for _ in range(count)], base)

    def hard() -> Iterator[Ids]:
        """Two numbers that differ in one place, or in all, one of them once and the other as often as fits; one
        number alone, and as often as fits; neighbours."""
        for a in range(0, values, -(-values // SOME)):
            others = [a + step for place in range(digits) for step in (base**place, -(base**place))]
            for b in sorted({b for b in (*others, values - 1 - a) if 0 <= b < values} - {a}):
                for few in sorted({1, length // 2, length - 1} - {0, length}):
                    yield from (ask([a] * few + [b] * (length - few)), ask([b] * (length - few) + [a] * few))
            yield from (ask([a]), ask([a] * length), ask(range(min(a + length, values) - 1, a - 1, -1)))

    return Task(
        takes=f"1 to {length} numbers of {digits} digit{'s' * (digits != 1)} each and then =, such as "
        + vocab.decode(ask([number % values for number in (42, 7, 42)[:length]])),
        vocab=vocab,
        oracle=oracle,
        draw=draw,
        count=count_of_sequences(values, length),
        every=lambda: (ask(some) for size in range(1, length + 1) for some in product(range(values), repeat=size)),
        hard=hard,
    )


def join(numbers: list[Ids], base: int) -> Ids:
    """Numbers, as their digits, with spaces between them and = at the end."""
    space, equals = base, base + 1
    return [*[token for number in numbers for token in (*number, space)][:-1], equals]
