"""Connect four on 5 columns of 4 cells: moves as bits, and the exact value of all 3,945,711 positions in seconds.

    solved = solve()
    solved.value(EMPTY, EMPTY)               # 0: a draw
    solved.best(own, mask)                   # which of the five columns keep the value of a position

A position is two sets of cells as bits: `own`, the stones of the player to move, and `mask`, all stones. A column has
five bits, the lowest cell first, and one above its four cells that stays 0, so that shifted rows do not run into the
next column. In a column with h stones mask = 2^h − 1 and own ⊆ mask, so own + mask tells columns of every height and
content apart: it is below 2^25, and the table of values is an array. Positions are found from the empty board on, and
valued from the last one back. (Pons, "Solving Connect 4"; Tromp counted the positions of every size of board.)
"""

from dataclasses import dataclass
from functools import cache

import numpy as np

from handloom.core.arrays import Array
from handloom.discover.search.compiling import kernel

WIDTH, HEIGHT = 5, 4
CELLS = WIDTH * HEIGHT
UP = HEIGHT + 1  # bits of a column
COLUMN = 2**HEIGHT - 1
FULL = sum(COLUMN << UP * column for column in range(WIDTH))
KEYS = 2 ** (UP * WIDTH)
MOST = 2**22  # positions there is room for
UNKNOWN = 2
EMPTY = 0


@kernel(cache=True)
def won(stones: int) -> bool:
    """Whether these stones have four in a row: up, across, or along a diagonal."""
    for step in (1, HEIGHT, UP, UP + 1):
        pairs = stones & (stones >> step)
        if pairs & (pairs >> 2 * step):
            return True
    return False


@kernel(cache=True)
def stone(mask: int, column: int) -> int:
    """The bit of the lowest free cell of a column; 0 if it is full."""
    return (mask + (1 << UP * column)) & (COLUMN << UP * column)


def mirrored(stones: Array) -> Array:
    """The same stones, left and right exchanged."""
    columns = [(stones >> UP * column) & COLUMN for column in range(WIDTH)]
    return np.bitwise_or.reduce([column << UP * i for i, column in enumerate(reversed(columns))], axis=0)


@dataclass(frozen=True)
class Solved:
    """The value of every position to the player to move (1, 0, −1; UNKNOWN if it cannot be reached), by own + mask."""

    values: Array
    own: Array  # (positions,), by number of stones
    mask: Array

    def value(self, own: int, mask: int) -> int:
        return int(self.values[own + mask])

    def best(self, own: int, mask: int) -> list[bool]:
        """For each column whether a stone there keeps the value of the position."""
        return best_moves(self.values, own, mask).tolist()


@cache
def solve() -> Solved:
    values = np.full(KEYS, UNKNOWN, np.int8)
    own, mask = np.zeros(MOST, np.int32), np.zeros(MOST, np.int32)
    count = find_positions(values, own, mask)
    find_values(values, own, mask, count)
    return Solved(values, own[:count], mask[:count])


@kernel(cache=True)
def find_positions(values: Array, own: Array, mask: Array) -> int:
    """Every position that can be reached, those with fewer stones first; returns how many."""
    count, at = 1, 0
    values[0] = 0
    while at < count:
        mine, every = own[at], mask[at]
        at += 1
        if won(every ^ mine):
            continue
        for column in range(WIDTH):
            new = stone(every, column)
            theirs, all_stones = every ^ mine, every | new
            if new and values[theirs + all_stones] == UNKNOWN:
                values[theirs + all_stones] = 0
                own[count], mask[count] = theirs, all_stones
                count += 1
    return count


@kernel(cache=True)
def find_values(values: Array, own: Array, mask: Array, count: int) -> None:
    """Minimax, from the positions with most stones to the empty board."""
    for at in range(count - 1, -1, -1):
        mine, every = own[at], mask[at]
        if won(every ^ mine):
            values[mine + every] = -1
        elif every != FULL:
            best = -1
            for column in range(WIDTH):
                new = stone(every, column)
                if new:
                    best = max(best, -values[(every ^ mine) + (every | new)])
            values[mine + every] = best


@kernel(cache=True)
def best_moves(values: Array, own: int, mask: int) -> Array:
    """For each column whether a stone there keeps the value of the position."""
    best = np.zeros(WIDTH, np.bool_)
    for column in range(WIDTH):
        new = stone(mask, column)
        if new:
            best[column] = -values[(mask ^ own) + (mask | new)] == values[own + mask]
    return best
