"""Players of backgammon, and matches between them.

    match(network_player(weights), random_player(rng), games=1000, seed=0)      # Score(mean=..., error=...)

A player is a function from a turn to the index of the play that it chooses. Every second game of a match has the dice
of the one before with the sides exchanged, which takes away half the luck.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from handloom.core import HandloomError
from handloom.core.arrays import Array
from handloom.core.errors import shown
from handloom.discover.search.compiling import kernel
from handloom.lab.games.gammon.plays import BAR, MEN, MOST_PLAYS, OFF, exchange, fill_plays, plays, points_won, start
from handloom.lab.games.gammon.td_learning import LONGEST, fill_equities

WIDTH = 8  # plays that a look ahead considers, the best at first sight
PUBEVAL = 122  # numbers for a race, and again for contact


@dataclass(frozen=True)
class Turn:
    """What a player sees: the board before the roll, the dice and all legal plays (n, 2, 26)."""

    board: Array
    dice: tuple[int, int]
    plays: Array


Player = Callable[[Turn], int]


@dataclass(frozen=True)
class Score:
    """Points per game of the first player, and the standard error of this mean."""

    mean: float
    error: float

    @property
    def least(self) -> float:
        """Two standard errors below the mean."""
        return self.mean - 2 * self.error


def match(one: Player, other: Player, games: int, seed: int) -> Score:
    """What the first player wins per game."""
    pairs = [
        (game((one, other), np.random.default_rng([seed, i])) - game((other, one), np.random.default_rng([seed, i]))) / 2
        for i in range(games // 2)
    ]
    return Score(float(np.mean(pairs)), float(np.std(pairs, ddof=1) / np.sqrt(len(pairs))))


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


def look_ahead_player(weights: Array, width: int = WIDTH) -> Player:
    """Chooses the play after which the network expects most when the other side has rolled and played: 2 ply in
    Tesauro's count. Only the best plays at first sight are looked at."""

    def choose(turn: Turn) -> int:
        best = np.argsort(-equities_of(weights, turn), kind="stable")[:width]
        return int(best[np.argmax([after_reply(weights, turn.plays[i]) for i in best])])

    return choose


@kernel(cache=True)
def after_reply(weights: Array, play: Array) -> float:
    """What a play is worth to the side that made it, over all rolls of the other side and its best plays."""
    won = points_won(play)
    if won > 0:
        return float(won)
    found, equities = np.empty((MOST_PLAYS, 2, 26), np.int8), np.empty(MOST_PLAYS)
    board = np.empty((2, 26), np.int8)
    exchange(play, board)
    total = 0.0
    for one in range(1, 7):
        for other in range(1, one + 1):
            count = fill_plays(board, one, other, found)
            fill_equities(weights, board, found, count, equities)
            total -= equities[:count].max() * (1.0 if one == other else 2.0)
    return total / 36.0


def pubeval_player(path: str | Path) -> Player:
    """Tesauro's public benchmark: a linear function of the board after a play, one for races and one for contact. Its
    numbers are in a text file, the 122 for races first."""
    race, contact = pubeval_weights(Path(path))

    def choose(turn: Turn) -> int:
        scores = pubeval_inputs(turn.plays) @ (contact if in_contact(turn.board) else race)
        return int(np.argmax(np.where(turn.plays[:, 0, OFF] == MEN, np.inf, scores)))

    return choose


def pubeval_weights(path: Path) -> tuple[Array, Array]:
    """The numbers (122,) for races and for contact from a file of 244, separated by white space or commas."""
    expected = "expected 244 numbers, the 122 of pubeval for races and then the 122 for contact"
    try:
        numbers = np.array(path.read_text("utf-8").replace(",", " ").split(), float)
    except OSError as error:
        raise HandloomError(f"{shown(str(path))}: {error.strerror} ({expected}); give the file of weights") from error
    except ValueError as error:
        raise HandloomError(f"{shown(str(path))}: {error} ({expected}); give the file of weights") from error
    if numbers.shape != (2 * PUBEVAL,) or not np.isfinite(numbers).all():
        raise HandloomError(f"{shown(str(path))}: {len(numbers)} numbers ({expected}); give the file of weights")
    return numbers[:PUBEVAL], numbers[PUBEVAL:]


def pubeval_inputs(boards: Array) -> Array:
    """The 122 inputs (n, 122) of boards (n, 2, 26) for the side in row 0: five for each point from 24 down to 1, then the
    other side's men on the bar / 2 and its own men off / 15."""
    own = boards[:, 0, 24:0:-1].astype(float)  # from point 24 down
    blots = boards[:, 1, 1:25] == 1  # the other side's, at the same points
    units = [blots, own == 1, own >= 2, own == 3, np.where(own >= 4, (own - 3) / 2, 0.0)]
    rest = np.stack([boards[:, 1, BAR] / 2, boards[:, 0, OFF] / 15], 1)
    return np.concatenate([np.stack(units, 2).reshape(len(boards), -1), rest], 1)


def in_contact(board: Array) -> bool:
    """Whether men of the two sides still have to pass each other."""
    rears = [int(np.flatnonzero(side)[-1]) for side in board]
    return sum(rears) > 25


def round_robin(players: Sequence[Player], games: int, seed: int) -> Array:
    """The mean points per game of each player against all others."""
    table = np.zeros((len(players), len(players)))
    for i, one in enumerate(players):
        for j in range(i):
            table[i, j] = match(one, players[j], games, seed).mean
            table[j, i] = -table[i, j]
    return table.sum(1) / (len(players) - 1)
