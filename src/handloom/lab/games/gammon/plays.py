"""The rules of backgammon: the start, all legal plays of a roll, and what a finished game counts.

    >>> board = start()
    >>> len(plays(board, 3, 1))
    16

A board is an array (2, 26) of numbers of men: row 0 is the side to move, row 1 the other. Both count the points as they
see them: 1 to 24 from their last point outwards, 25 is the bar, 0 the men borne off. So point p of one side is point
25 − p of the other, and to exchange the sides is to exchange the rows.

A play is the board after all dice are used. As many dice are used as can be, and the larger one if either can be used
but not both. The plays of a roll are found by a search with its stack in arrays: Numba cannot cache a function that
calls itself.

All functions here are compiled and kept on disk by Numba. A kept function knows its own file only: whoever changes this
file must touch those that call it.
"""

import numpy as np

from handloom.core.arrays import Array
from handloom.discover.search.compiling import kernel

BAR, OFF, MEN = 25, 0, 15
MOST_PLAYS = 4096  # of a roll; GNU Backgammon has room for 3,060
OPENING = {24: 2, 13: 5, 8: 3, 6: 5}  # men by point


def start() -> Array:
    """The board at the start of a game."""
    board = np.zeros((2, 26), np.int8)
    for point, men in OPENING.items():
        board[:, point] = men
    return board


def plays(board: Array, high: int, low: int) -> Array:
    """All legal plays (n, 2, 26) of a roll; the board itself if none of the dice can be used."""
    found = np.empty((MOST_PLAYS, 2, 26), np.int8)
    return found[: fill_plays(board, high, low, found)].copy()


@kernel(cache=True)
def fill_plays(board: Array, one: int, other: int, found: Array) -> int:
    """Write all legal plays of a roll into `found`; how many there are."""
    dice = np.full(4, one)
    if one == other:
        return search(board, dice, 4, found, 0, 0, 0)[0]
    dice[0], dice[1] = max(one, other), min(one, other)
    count, used = search(board, dice, 2, found, 0, 0, 0)
    dice[0], dice[1] = dice[1], dice[0]
    return search(board, dice, 2, found, count, used, 2 if used == 1 else 0)[0]


@kernel(cache=True)
def search(board: Array, dice: Array, rolled: int, found: Array, count: int, used: int, least: int) -> tuple[int, int]:
    """Use the dice in this order. The plays with the most dice used are in `found`: `count` of them, with `used` dice,
    those of an earlier search included. With fewer dice than `least` a play does not count."""
    boards = np.empty((5, 2, 26), np.int8)
    source = np.empty(5, np.int64)  # the next point to try at each depth
    stuck = np.ones(5, np.bool_)
    double = rolled == 4
    depth = 0
    copy(board, boards[0])
    source[0] = BAR
    while depth >= 0:
        point = next_source(boards[depth], dice[depth], source[depth]) if depth < rolled else OFF
        if point == OFF:
            if stuck[depth] and depth >= max(used, least):
                count = 0 if depth > used else count
                used = depth
                count = added(boards[depth], found, count, double)
            depth -= 1
            continue
        stuck[depth] = False
        source[depth] = point - 1
        moved(boards[depth], point, dice[depth], boards[depth + 1])
        depth += 1
        source[depth] = point if double else BAR  # equal dice are used from the rear to the front
        stuck[depth] = True
    return count, used


@kernel(cache=True)
def next_source(board: Array, die: int, upper: int) -> int:
    """The first point from here down from which a man can move with this die; 0 if there is none."""
    rear = BAR
    while board[0, rear] == 0 and rear > OFF:
        rear -= 1
    last = BAR if rear == BAR else 1  # a man on the bar moves first
    for point in range(min(upper, rear), last - 1, -1):
        if board[0, point] > 0:
            target = point - die
            if target > OFF:
                if board[1, 25 - target] < 2:
                    return point
            elif rear <= 6 and (target == OFF or point == rear):
                return point
    return OFF


@kernel(cache=True)
def copy(board: Array, into: Array) -> None:
    """As a loop: Numba compiles an assignment of whole arrays to more code, which takes longer."""
    for side in range(2):
        for point in range(26):
            into[side, point] = board[side, point]


@kernel(cache=True)
def moved(board: Array, point: int, die: int, after: Array) -> None:
    """Write the board after a man has moved from this point into `after`."""
    copy(board, after)
    target = max(point - die, OFF)
    after[0, point] -= 1
    after[0, target] += 1
    if target > OFF and board[1, 25 - target] == 1:
        after[1, 25 - target] = 0
        after[1, BAR] += 1


@kernel(cache=True)
def added(board: Array, found: Array, count: int, double: bool) -> int:
    """Add a play, unless it is there; equal dice lead to each in one order only."""
    if not double:
        for i in range(count):
            if same(board, found[i]):
                return count
    copy(board, found[count])
    return count + 1


@kernel(cache=True)
def same(board: Array, other: Array) -> bool:
    for side in range(2):
        for point in range(26):
            if board[side, point] != other[side, point]:
                return False
    return True


@kernel(cache=True)
def exchange(board: Array, seen: Array) -> None:
    """Write the board as the other side sees it into `seen`."""
    for point in range(26):
        seen[0, point], seen[1, point] = board[1, point], board[0, point]


@kernel(cache=True)
def points_won(board: Array) -> int:
    """What the side in row 0 has won: 0 while it has men left, 1, 2 for a gammon, 3 for a backgammon."""
    if board[0, OFF] < MEN:
        return 0
    if board[1, OFF] > 0:
        return 1
    for point in range(19, 26):
        if board[1, point] > 0:
            return 3
    return 2
