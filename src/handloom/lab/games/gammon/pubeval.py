"""pubeval, Tesauro's public benchmark for players of backgammon, from a user's file of its weights.

A linear function of the board after a play, one for races and one for contact; which of them depends on the board
before the roll. The weights are not part of handloom.
"""

from pathlib import Path

import numpy as np

from handloom.core import HandloomError
from handloom.core.arrays import Array
from handloom.core.errors import one_line
from handloom.lab.games.gammon.kernels import BAR, MEN, OFF
from handloom.lab.games.gammon.matches import Player, Turn

PUBEVAL = 122  # numbers for a race, and again for contact


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
    try:
        numbers = np.array(path.read_text("utf-8").replace(",", " ").split(), float)
        problem = f"it has {len(numbers)} numbers" if len(numbers) != 2 * PUBEVAL else "not all numbers are finite"
    except OSError as error:
        numbers, problem = np.empty(0), error.strerror or "it cannot be read"
    except ValueError as error:
        numbers, problem = np.empty(0), one_line(error)
    if len(numbers) != 2 * PUBEVAL or not np.isfinite(numbers).all():
        raise HandloomError(
            f"{path.name}: {problem} (expected the 122 numbers of pubeval for races and then the 122 for contact); "
            "give the file of its weights"
        )
    return numbers[:PUBEVAL], numbers[PUBEVAL:]


def pubeval_inputs(boards: Array) -> Array:
    """The inputs (n, 122) of boards (n, 2, 26) for the side in row 0: five for each point from 24 down to 1, then the
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
