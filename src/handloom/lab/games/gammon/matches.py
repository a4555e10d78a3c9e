"""Players of backgammon, and matches between them.

    play_match(network_player(weights), random_player(rng), games=1000, seed=0)      # MatchScore(mean=..., error=...)

A player is a function from a turn to the index of the play that it chooses. Every second game of a match has the dice
of the one before with the sides exchanged, which takes away half the luck.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from handloom.core.arrays import Array
from handloom.lab.games.gammon.kernels import LONGEST, after_reply, fill_equities, points_won
from handloom.lab.games.gammon.plays import plays, start


@dataclass(frozen=True)
class Turn:
    """What a player sees: the board before the roll, the dice and all legal plays (n, 2, 26)."""

    board: Array
    dice: tuple[int, int]
    plays: Array


Player = Callable[[Turn], int]


@dataclass(frozen=True)
class MatchScore:
    """Points per game of the first player, and the standard error of this mean."""

    mean: float
    error: float

    @property
    def least(self) -> float:
        """Two standard errors below the mean."""
        return self.mean - 2 * self.error


def play_match(one: Player, other: Player, games: int, seed: int) -> MatchScore:
    """What the first player wins per game."""
    return score_of(paired_games(one, other, range(games // 2), seed))


def paired_games(one: Player, other: Player, numbers: Iterable[int], seed: int) -> list[float]:
    """What the first player wins per game in each of these pairs of games."""
    dice = [np.random.default_rng([seed, number]) for number in numbers for _ in range(2)]
    sides = zip(dice[::2], dice[1::2], strict=True)
    return [(game((one, other), first) - game((other, one), second)) / 2 for first, second in sides]


def score_of(found: Sequence[float]) -> MatchScore:
    return MatchScore(float(np.mean(found)), float(np.std(found, ddof=1) / np.sqrt(len(found))))


def game(players: tuple[Player, Player], rng: np.random.Generator) -> int:
    """The points that the first player wins, or the negative of those of the second. The first player makes the opening
    roll; over both games of a pair each does."""
    board = start()
    dice = rng.choice(6, 2, replace=False) + 1
    for turn in range(LONGEST):
        high, low = int(dice.max()), int(dice.min())
        legal = plays(board, high, low)
        chosen = legal[players[turn % 2](Turn(board, (high, low), legal))] if len(legal) > 1 else legal[0]
        if won := points_won(chosen):
            return won if turn % 2 == 0 else -won
        board, dice = chosen[::-1].copy(), rng.integers(1, 7, 2)
    return 0


def random_player(rng: np.random.Generator) -> Player:
    return lambda turn: int(rng.integers(len(turn.plays)))


def network_player(weights: Array) -> Player:
    """Chooses the play after which the network expects most: 1 ply in Tesauro's count."""

    def choose(turn: Turn) -> int:
        return int(np.argmax(equities_of(weights, turn)))

    return choose


def equities_of(weights: Array, turn: Turn) -> Array:
    found = np.empty(len(turn.plays))
    fill_equities(weights, turn.board, turn.plays, len(turn.plays), found)
    return found


def look_ahead_player(weights: Array, width: int, worst: bool = False) -> Player:
    """Chooses the play after which the network expects most when the other side has rolled and played: 2 ply in
    Tesauro's count. Of the plays it looks at so many, the best at first sight. In a control the other side is taken to
    choose its worst play."""

    def choose(turn: Turn) -> int:
        best = np.argsort(-equities_of(weights, turn), kind="stable")[:width]
        return int(best[np.argmax([after_reply(weights, turn.plays[i], worst) for i in best])])

    return choose
