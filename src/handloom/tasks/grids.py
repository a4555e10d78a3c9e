"""Square grids of 0 and 1, row after row as one string, in which no two 1s are at certain distances from each other.

    >>> board = grid(side=3, distances="2")
    >>> board.right("110" "000" "000"), board.right("101" "000" "000")
    (True, False)

They are drawn cell by cell, as in Wagner's talk Transformers and Makemore: wherever a 1 is allowed, it is set with
probability 1/2. So not all grids are equally likely, and the cells before a cell determine its probability.
"""

import re

import numpy as np

from handloom.core import HandloomError
from handloom.core.checks import whole
from handloom.core.errors import shown
from handloom.tasks.language import Language

LARGEST = 100  # side of a grid


def grid(side: int = 8, distances: str = "4,5") -> Language:
    """Grids without two 1s at these Euclidean distances: whole numbers or roots such as sqrt(2), with commas."""
    if whole("grid: side", side, 1) > LARGEST:
        raise HandloomError(f"grid: side={side} must be at most {LARGEST}")
    cells = side * side
    forbidding = masks(side, squares(side, distances))

    def draw(rng: np.random.Generator) -> str:
        ones = 0
        text = ["0"] * cells
        for cell in np.flatnonzero(rng.integers(0, 2, cells)).tolist():
            if not ones & forbidding[cell]:
                ones |= 1 << cell
                text[cell] = "1"
        return "".join(text)

    def formed(text: str) -> bool:
        return len(text) == cells and set(text) <= {"0", "1"}

    def right(text: str) -> bool:
        ones = sum(1 << cell for cell, symbol in enumerate(text) if symbol == "1")
        return formed(text) and not any(ones & forbidding[cell] for cell in range(cells) if ones >> cell & 1)

    return Language(
        about=f"{side}×{side} grids of 0 and 1 with no two 1s at distance {' or '.join(distances.split(','))}",
        tokens="01",
        longest=cells,
        draw=draw,
        right=right,
        formed=formed,
    )


def squares(side: int, distances: str) -> set[int]:
    """The squares of the distances that a text names."""
    possible = {a * a + b * b for a in range(side) for b in range(side)} - {0}
    found = set()
    for piece in distances.split(","):
        match = re.fullmatch(r"\s*(?:([0-9]{1,9})|(?:sqrt|√)\(?([0-9]{1,9})\)?)\s*", piece)
        if not match:
            raise HandloomError(f"grid: {shown(piece)} is not a distance; write distances=4,5 or distances=1,sqrt(2)")
        found.add(int(match[1]) ** 2 if match[1] else int(match[2]))
        if not found <= possible:
            raise HandloomError(
                f"grid: no two cells of a {side}×{side} grid are at distance {piece.strip()}; "
                "give a distance that two cells have, or a larger side"
            )
    return found


def masks(side: int, squares: set[int]) -> list[int]:
    """For each cell the cells before it, as bits, that are at one of the distances, given by their squares."""
    steps = [(a, b) for a in range(side) for b in range(-side + 1, side) if (a or b > 0) and a * a + b * b in squares]
    return [
        sum(1 << (row - a) * side + column - b for a, b in steps if row >= a and 0 <= column - b < side)
        for row in range(side)
        for column in range(side)
    ]
