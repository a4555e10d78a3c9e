"""Q-learning and SARSA on a table, by self-play: one player plays both sides and learns from both.

Q(s, a) is what the player to move may expect from a move. The next position s' is the opponent's, so its value counts
with the other sign, and the rules of Mehlig's slides become

    SARSA        Q(s, a) += η [−Q(s', a') − Q(s, a)]         a' is the move that is played next
    Q-learning   Q(s, a) += η [−max_a' Q(s', a') − Q(s, a)]  whatever is played next

and at an ending Q(s, a) += η [r − Q(s, a)].
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from handloom.core.arrays import Array
from handloom.discover.search.compiling import kernel
from handloom.lab.games.tictactoe_positions import WON, Board, errors_of, lost_endings, moves_of_table, positions

GAMES = 60_000


@dataclass(frozen=True)
class Course:
    """What a table was worth as it learned: lost endings in the exam after so many games, and errors per game."""

    games: list[int]
    as_x: list[int]
    as_o: list[int]
    errors: list[float]  # per game, of the games since the entry before
    table: Array

    @property
    def lost(self) -> list[int]:
        return [x + o for x, o in zip(self.as_x, self.as_o, strict=True)]


def rewards_of(board: Board) -> Array:
    """To whoever moved last: 1 for a win, 0 for a draw (and where the game is not over)."""
    return (board.over == WON).astype(float)


def shuffled_rewards(board: Board, rng: np.random.Generator) -> Array:
    """The rewards of all endings, each given to another ending: nothing can be learned from them."""
    rewards, ends = rewards_of(board), np.flatnonzero(board.over)
    rewards[ends] = rng.permutation(rewards[ends])
    return rewards


def learned(
    rule: str,
    epsilons: Array,
    rng: np.random.Generator,
    exams: Sequence[int],
    rewards: Array | None = None,
    rate: float = 0.5,
    start: float = 0.0,
) -> Course:
    """A table that learns by `rule`, "q" or "sarsa", one game for each ε, and its exams after so many games."""
    board = positions()
    rewards = rewards_of(board) if rewards is None else rewards
    table, errors = np.full(board.after.shape, start), errors_of(board)
    course = Course([], [], [], [], table)
    for before, now in pairwise([0, *exams]):
        part = epsilons[before:now]
        made = play_games(table, board.after, board.over, rewards, errors, part, rate, rule == "q", rng)
        course.games.append(now)
        course.errors.append(made / len(part))
        for first, counts in ((True, course.as_x), (False, course.as_o)):
            counts.append(lost_endings(board, moves_of_table(table, board), first))
    return course


@kernel(cache=True)
def play_games(
    table: Array,
    after: Array,
    over: Array,
    rewards: Array,
    errors: Array,
    epsilons: Array,
    rate: float,
    q_learning: bool,
    rng: np.random.Generator,
) -> int:
    """Games of self-play, one for each ε; the table changes. Returns the number of moves that were errors."""
    made = 0
    for epsilon in epsilons:
        s = 0
        a = chosen(table[s], after[s], epsilon, rng)
        while True:
            made += errors[s, a]
            t = after[s, a]
            if over[t] != 0:
                table[s, a] += rate * (rewards[t] - table[s, a])
                break
            b = chosen(table[t], after[t], epsilon, rng)
            follows = most(table[t], after[t]) if q_learning else table[t, b]
            table[s, a] += rate * (-follows - table[s, a])
            s, a = t, b
    return made


@kernel(cache=True)
def chosen(values: Array, after: Array, epsilon: float, rng: np.random.Generator) -> int:
    """A move of the largest value; with probability ε any move. All that are equal are equally likely."""
    explore = rng.random() < epsilon
    best, move, ties = -np.inf, -1, 0
    for a in range(9):
        if after[a] < 0:
            continue
        value = 0.0 if explore else values[a]
        if value > best:
            best, move, ties = value, a, 1
        elif value == best:
            ties += 1
            if rng.random() * ties < 1.0:
                move = a
    return move


@kernel(cache=True)
def most(values: Array, after: Array) -> float:
    """The largest value of a move that is allowed."""
    best = -np.inf
    for a in range(9):
        if after[a] >= 0 and values[a] > best:
            best = values[a]
    return best
