"""The smallest, or the largest, of some numbers."""

from collections.abc import Callable, Iterator
from itertools import product

from handloom.core import Vocab
from handloom.core.checks import whole
from handloom.core.errors import shown
from handloom.tasks.task import Ids, Task, check_longest, count_of_sequences


def minimum(n: int = 20, block: int | None = None) -> Task:
    """The smallest of 1 to `block` numbers (by default n) from 0 to n − 1, with repeats."""
    return extreme(n, block or n, min)


def maximum(n: int = 20) -> Task:
    """The largest of 1 to n numbers from 0 to n − 1, with repeats."""
    return extreme(n, n, max)


def extreme(n: int, block: int, choose: Callable[[Ids], int]) -> Task:
    whole("n", n, 1), whole("block", block, 1)
    check_longest(f"n={shown(n)}, block={shown(block)}", block)

    def hard() -> Iterator[Ids]:
        """Neighbours, in both orders, once against many, all along the numbers."""
        for a in range(0, n - 1, max(1, n // 1000)) if block > 1 else ():
            others = [a + 1] * (block - 1)
            yield from ([a, a + 1], [a + 1, a], [a, *others], [*others, a], [a, n - 1], [0, a])

    example = ([6, 2, 12] if n > 12 else [n - 1, 0])[:block]
    return Task(
        takes=f"1 to {block} numbers from 0 to {n - 1}, such as {' '.join(map(str, example))}",
        vocab=Vocab.numbers(n),
        oracle=lambda ids: [choose(ids)] if 0 < len(ids) <= block else None,
        draw=lambda rng: rng.integers(0, n, rng.integers(1, block + 1)).tolist(),
        count=count_of_sequences(n, block),
        every=lambda: (list(ids) for length in range(1, block + 1) for ids in product(range(n), repeat=length)),
        hard=hard,
    )
