"""Boards of backgammon for tests."""

import numpy as np

from handloom.lab.games.gammon.kernels import OFF


def board_of(own, other):
    """A board from men by point; the men that are not named are off."""
    board = np.zeros((2, 26), np.int8)
    for side, men in zip(board, (own, other), strict=True):
        for point, count in men.items():
            side[point] = count
        side[OFF] = 15 - sum(men.values())
    return board
