"""Tic-tac-toe in full: its 5,478 positions, which follow from which, their exact values, and an exam of a player.

    >>> board = positions()
    >>> len(board.over), int(exact_values(board)[0])        # a draw
    (5478, 0)

A position is a number; 0 is the empty board, and those with more stones come later. X moves first.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache

import numpy as np

from handloom.core.arrays import Array

Cells = tuple[int, ...]  # 0 empty, 1 X, 2 O; row by row
ROWS = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))
OPEN, WON, DRAWN = 0, 1, 2
TIE = 1e-9  # values this near each other are equal


@dataclass(frozen=True)
class Board:
    """Every position, in order of the number of its stones."""

    cells: Array  # (positions, 9)
    after: Array  # (positions, 9): the position after a move there, −1 where no move is allowed
    over: Array  # (positions,): OPEN, WON by whoever moved last, or DRAWN


@cache
def positions() -> Board:
    """All positions that can be reached."""
    found: dict[Cells, int] = {(0,) * 9: 0}
    level, rows = list(found), []
    while level:
        following: dict[Cells, None] = {}
        for cells in level:
            moves = {move: played(cells, move) for move in range(9) if not cells[move]} if not state(cells) else {}
            following |= dict.fromkeys(moves.values())
            rows.append(moves)
        found |= {cells: len(found) + i for i, cells in enumerate(following)}
        level = list(following)
    after = [[found[moves[move]] if move in moves else -1 for move in range(9)] for moves in rows]
    return Board(np.array(list(found)), np.array(after), np.array([state(cells) for cells in found]))


def played(cells: Cells, move: int) -> Cells:
    player = 2 if sum(map(bool, cells)) % 2 else 1
    return (*cells[:move], player, *cells[move + 1 :])


def state(cells: Cells) -> int:
    if any(cells[a] == cells[b] == cells[c] != 0 for a, b, c in ROWS):
        return WON
    return OPEN if 0 in cells else DRAWN


def exact_values(board: Board) -> Array:
    """Minimax: the value of each position to the player to move, 1, 0 or −1."""
    values = np.where(board.over == WON, -1, 0)
    for s in np.flatnonzero(board.over == OPEN)[::-1]:
        values[s] = max(-values[t] for t in board.after[s] if t >= 0)
    return values


def errors_of(board: Board) -> Array:
    """(positions, 9): 1 where a move loses a part of the position's value, so that only perfect play has none."""
    values = exact_values(board)
    worse = -values[board.after] < values[:, None]
    return (worse & (board.after >= 0)).astype(np.int64)


def moves_of_table(table: Array, board: Board) -> Callable[[int], list[int]]:
    """The moves of the largest value in a table (positions, 9); all of them, where several are equal."""

    def moves(s: int) -> list[int]:
        allowed = np.flatnonzero(board.after[s] >= 0)
        values = table[s, allowed]
        return allowed[values >= values.max() - TIE].tolist()

    return moves


def lost_endings(board: Board, moves: Callable[[int], Iterable[int]], first: bool) -> int:
    """The positions in which a player, X or O, has lost, over every line of play of the opponent.

    The player may play each of `moves(position)`: a tie is resolved in every way, so also against the player.
    """
    seen, waiting, lost = {0}, [0], 0
    while waiting:
        s = waiting.pop()
        mine = (np.count_nonzero(board.cells[s]) % 2 == 0) == first
        if board.over[s]:
            lost += int(board.over[s] == WON and mine)  # the opponent moved last
            continue
        for move in moves(s) if mine else np.flatnonzero(board.after[s] >= 0).tolist():
            t = int(board.after[s, move])
            if t not in seen:
                seen.add(t)
                waiting.append(t)
    return lost
