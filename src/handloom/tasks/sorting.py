"""Sort some numbers: output them in ascending order.

The numbers are 1 to n − 1, and 0 ends the input: 6 2 12 0 gives 2 6 12. In the book's task they are all different; in
the other they may repeat and start anywhere, and if 0 is one of them, = ends the input. (The Art of Transformer
Programming, chapter 5.)
"""

from collections.abc import Iterator
from itertools import permutations, product
from math import perm

import numpy as np

from handloom.core import Vocab
from handloom.core.checks import whole
from handloom.core.errors import shown
from handloom.core.vocab import MOST_NUMBERS
from handloom.tasks.task import COUNTED, Ids, Task, check_longest, count_of_sequences, whole_within


def ascending(n: int = 28, block: int = 100) -> Task:
    """Different numbers from 1 to n − 1 and then 0, in a block that must hold all but the last number of the answer."""
    check_longest(f"block={shown(block)}", block)
    vocab, most = Vocab.numbers(n), min(n - 1, (block + 1) // 2)

    def oracle(ids: Ids) -> Ids | None:
        numbers, end = ids[:-1], ids[-1:]
        right = end == [0] and 0 < len(numbers) <= most and 0 not in numbers and len(set(numbers)) == len(numbers)
        return sorted(numbers) if right else None

    def draw(rng: np.random.Generator) -> Ids:
        return [*(1 + rng.permutation(n - 1)[: rng.integers(1, most + 1)]).tolist(), 0]

    def hard() -> Iterator[Ids]:
        """The largest numbers, where the points of the book's construction crowd, then neighbours, ends and all."""
        for length in range(1, most + 1):
            yield from ([*range(n - 1, n - 1 - length, -1), 0], [*range(n - length, n), 0])
        for a in range(n - 1, 0, -1):
            others = [b for b in (a + 1, a + 2, n - 1, 1) if b < n and b != a]
            yield from ([*pair, 0] for b in others if most > 1 for pair in ((a, b), (b, a)))
        yield from ([*range(length, 0, -1), 0] for length in range(1, most + 1))

    return Task(
        takes=f"1 to {most} different numbers from 1 to {n - 1} and then 0, such as {example(n, most)} 0",
        vocab=vocab,
        oracle=oracle,
        draw=draw,
        count=sum(perm(n - 1, length) for length in range(1, most + 1)) if most <= COUNTED else None,
        every=lambda: ([*ids, 0] for length in range(1, most + 1) for ids in permutations(range(1, n), length)),
        hard=hard,
    )


def ascending_with_repeats(n: int = 1001, length: int = 16, lowest: int = 1) -> Task:
    """Up to `length` numbers, with repeats, out of the n − 1 numbers from `lowest` on, and then the end token."""
    values = end = whole_within("sort: n", n, 2, MOST_NUMBERS) - 1
    check_longest(f"sort: length={shown(length)}", 2 * whole("sort: length", length, 1))
    sign = "0" if lowest > 0 else "="

    def oracle(ids: Ids) -> Ids | None:
        numbers = ids[:-1]
        return sorted(numbers) if ids[-1:] == [end] and 0 < len(numbers) <= length and end not in numbers else None

    def draw(rng: np.random.Generator) -> Ids:
        """Spread over all values, or only over a few, so that neighbours and repeats are frequent."""
        width = int(np.exp(rng.uniform(0.0, np.log(values)))) if rng.random() < 0.5 else values
        first = rng.integers(0, values - width + 1)
        return [*(first + rng.integers(0, width, rng.integers(1, length + 1))).tolist(), end]

    def hard() -> Iterator[Ids]:
        """One number many times, neighbours once against many, steps that double, the extremes."""
        top = values - 1
        for a in range(values):
            gaps = [b for b in (a + 1, a + 2, a + 3, (a + top) // 2, top) if a < b <= top]
            for b in gaps:
                for few in {1, length // 2, length - 1} - {0, length}:
                    yield from ([*[a] * few, *[b] * (length - few), end], [*[b] * (length - few), *[a] * few, end])
            doubling = [a, *(a + 2**i for i in range(length - 1) if a + 2**i <= top)]
            yield from ([*doubling[::-1], end], [*[a] * length, end], [a, end])
            yield [*range(min(a + length, values) - 1, a - 1, -1), end]

    return Task(
        takes=f"1 to {length} numbers from {lowest} to {lowest + values - 1} and then {sign}, such as "
        f"{' '.join(str(lowest + i % values) for i in (6, 2, 6)[:length])} {sign}",
        vocab=Vocab((*map(str, range(lowest, lowest + values)), sign)),
        oracle=oracle,
        draw=draw,
        count=count_of_sequences(values, length),
        every=lambda: ([*ids, end] for size in range(1, length + 1) for ids in product(range(values), repeat=size)),
        hard=hard,
    )


def example(n: int, most: int) -> str:
    return " ".join(str(number) for number in (6, 2, 12)[:most] if number < n) or "1"
