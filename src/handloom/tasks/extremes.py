"""Say the smallest, or the largest, of some numbers."""

from collections.abc import Callable, Iterator
from itertools import product

from handloom.core import Vocab
from handloom.tasks.task import Ids, Task


def minimum(n: int = 20) -> Task:
    """The smallest of 1 to n numbers from 0 to n − 1, with repeats."""
    return extreme(n, min)


def maximum(n: int = 20) -> Task:
    return extreme(n, max)


def extreme(n: int, choose: Callable[[Ids], int]) -> Task:
    def hard() -> Iterator[Ids]:
        """Neighbours, in both orders, once against many."""
        for a in range(n - 1):
            yield from ([a, a + 1], [a + 1, a], [a] + [a + 1] * (n - 1), [a + 1] * (n - 1) + [a], [a, n - 1], [0, a])

    return Task(
        takes=f"1 to {n} numbers from 0 to {n - 1}, such as {' '.join(map(str, [6, 2, 12] if n > 12 else [n - 1, 0]))}",
        vocab=Vocab.numbers(n),
        oracle=lambda ids: [choose(ids)] if 0 < len(ids) <= n else None,
        draw=lambda rng: rng.integers(0, n, rng.integers(1, n + 1)).tolist(),
        count=sum(n**length for length in range(1, n + 1)),
        every=lambda: (list(ids) for length in range(1, n + 1) for ids in product(range(n), repeat=length)),
        hard=hard,
    )
