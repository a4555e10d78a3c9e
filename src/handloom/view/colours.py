"""The colours of all pictures, on white paper.

Blue is above zero and orange below: equally light, and told apart with every common colour vision deficiency. A page
replaces them on a dark screen; `pages/style.css` has both sets.
"""

import numpy as np

from handloom.core.arrays import Array

BLUE, ORANGE, GREEN = "#1b6ca8", "#b34700", "#3a7d44"
PAPER, CARD, INK, SOFT, GREY = "#ffffff", "#f4f4f1", "#222222", "#666666", "#8a8f94"
GRID, FRAME = "#dcdcd6", "#9a9a94"  # lines inside a picture and around it
LINES = [(BLUE, "o"), ("#c9561c", "s"), (GREEN, "^"), ("#7a4f9a", "D"), ("#555555", "v")]  # of figures: colour, marker


def rgb(colour: str) -> Array:
    """Red, green and blue from 0 to 1.

    >>> rgb("#ff0033").round(1).tolist()
    [1.0, 0.0, 0.2]
    """
    return np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
