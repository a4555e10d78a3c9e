"""The rules of backgammon: the start, and all legal plays of a roll.

    >>> len(plays(start(), 3, 1))
    16

A board is an array (2, 26) of numbers of men: row 0 is the side to move, row 1 the other. Both count the points as they
see them: 1 to 24 from their last point outwards, 25 is the bar, 0 the men borne off. So point p of one side is point
25 − p of the other, and to exchange the sides is to exchange the rows.

A play is the board after all dice are used. As many dice are used as can be, and the larger one if either can be used
but not both.
"""

import numpy as np

from handloom.core.arrays import Array
from handloom.lab.games.gammon.kernels import MOST_PLAYS, fill_plays

OPENING = {24: 2, 13: 5, 8: 3, 6: 5}  # men by point


def start() -> Array:
    """The board at the start of a game."""
    board = np.zeros((2, 26), np.int8)
    for point, men in OPENING.items():
        board[:, point] = men
    return board


def plays(board: Array, one: int, other: int) -> Array:
    """All legal plays (n, 2, 26) of a roll; the board itself if none of the dice can be used."""
    found = np.empty((MOST_PLAYS, 2, 26), np.int8)
    return found[: fill_plays(board, one, other, found)].copy()
