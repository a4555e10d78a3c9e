"""What a search brings back, and what it can start from.

>>> from handloom.discover.spaces import permutation
>>> completed(permutation(5), (3, 3, 9, 1))
(3, 1, 0, 2, 4)
"""

from dataclasses import dataclass

from handloom.discover.problem import Number
from handloom.discover.spaces import Construction, Space


@dataclass(frozen=True)
class Found:
    """The best construction of a search, its exact score, how many steps were made, and what the user should know."""

    construction: Construction
    score: Number
    steps: int
    note: str | None = None


def known(start: Construction, size: int) -> list[int]:
    """What there is of the numbers below a size, each once."""
    return [i for i in dict.fromkeys(start) if isinstance(i, int) and 0 <= i < size]


def completed(space: Space, start: Construction) -> Construction:
    """A word or a permutation that begins as told, as far as that is one."""
    if space.kind == "permutation":
        return tuple(dict.fromkeys([*known(start, space.length), *range(space.length)]))
    letters = [i if known((i,), len(space.elements)) else 0 for i in start[: space.length]]
    return (*letters, *[0] * (space.length - len(letters)))


def first_construction(space: Space, seed: int) -> Construction:
    """Any word or permutation; of a subset about half of the elements, in any order."""
    import numpy as np

    rng = np.random.default_rng(seed % 2**64)
    if space.kind == "word":
        return tuple(rng.integers(len(space.elements), size=space.length).tolist())
    order = rng.permutation(len(space.elements))
    return tuple(order[: len(order) // 2 if space.is_subset else None].tolist())
