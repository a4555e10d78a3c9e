"""A matrix as a picture: zero is paper, blue above, orange below, as strong as the largest entry.

    as_svg(heatmap([[1, 0], [-0.5, 0.5]], ["a", "b"], ["x", "y"]), "A matrix")

Rows and columns carry names. A cell shows its value when the mouse rests on it.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from handloom.core.arrays import Array
from handloom.view.svg.drawing import Drawing, Label, Rect, Shape

CELL, FONT = 24, 12
LETTER = 0.62 * FONT  # width of a letter
SHADES = 25  # of a small picture


def heatmap(
    matrix: Any,
    rows: Sequence[str],
    columns: Sequence[str],
    row_title: str = "",
    column_title: str = "",
    marked: Sequence[tuple[int, int]] = (),
    numbered: bool = False,
    scale: Any = None,
) -> Drawing:
    """A matrix (rows, columns). `marked` cells get a frame; `numbered` names are followed by their place; `scale` is
    what counts as largest, by default the largest entry: one number, or one for each row or column."""
    values = np.asarray(matrix, np.float64)
    room = 22 if numbered else 0  # for places
    left = 14 + (20 if row_title else 0) + room + LETTER * max(map(len, rows))
    letters = 2 if upright(columns) else max(map(len, columns))
    top = 14 + (22 if column_title else 0) + (room and 14) + LETTER * letters
    width = max(left + CELL * len(columns), left + 6.6 * len(column_title)) + 12
    height = max(top + CELL * len(rows), 7 * len(row_title)) + 12
    shapes: list[Shape] = []
    if column_title:
        shapes.append(Label(left, 16, column_title, "label", anchor="start"))
    if row_title:
        shapes.append(Label(16, top + CELL * len(rows) / 2, row_title, "label", upwards=True))
    shapes += names(rows, columns, left, top, room)
    shapes += places(rows, columns, left, top) if numbered else []
    shapes += cells(values, scale, rows, columns, left, top)
    shapes += [Rect(left + CELL * j + 1, top + CELL * i + 1, CELL - 2, CELL - 2, "mark") for i, j in marked]
    return Drawing(width, height, tuple(shapes))


def names(rows: Sequence[str], columns: Sequence[str], left: float, top: float, room: float) -> Iterator[Label]:
    for i, name in enumerate(rows):
        yield Label(left - 8 - room, top + CELL * (i + 0.5), name, "name", FONT, "end")
    standing, high = upright(columns), top - 8 - (room and 14)
    for j, name in enumerate(columns):
        x = left + CELL * (j + 0.5)
        yield Label(x, high - 4, name, "name", FONT) if standing else Label(x, high, name, "name", FONT, "start", True)


def upright(columns: Sequence[str]) -> bool:
    """Whether the names of columns are short enough to stand above them as they are."""
    return max(map(len, columns)) <= 2


def places(rows: Sequence[str], columns: Sequence[str], left: float, top: float) -> Iterator[Label]:
    """The numbers of rows and columns, small, so that they are not taken for names."""
    for i in range(len(rows)):
        yield Label(left - 7, top + CELL * (i + 0.5), str(i), "place", 8.5, "end")
    for j in range(len(columns)):
        yield Label(left + CELL * (j + 0.5), top - 9, str(j), "place", 8.5)


def cells(
    values: Array, scale: Any, rows: Sequence[str], columns: Sequence[str], left: float, top: float
) -> Iterator[Rect]:
    shares = shares_of(values, scale)
    for part, sign in (("plus", 1), ("minus", -1)):
        for i, j in np.argwhere(shares * sign > 0 if sign < 0 else shares >= 0).tolist():
            hint = f"{rows[i]}, {columns[j]}: {values[i, j]:.4g}"
            opacity = round(abs(float(shares[i, j])), 3)
            yield Rect(left + CELL * j, top + CELL * i, CELL, CELL, part, hint, opacity)


def shares_of(values: Array, scale: Any = None) -> Array:
    """Entries from −1 to 1; what is not finite is 0."""
    values = np.nan_to_num(values, posinf=0.0, neginf=0.0)
    largest = np.abs(values).max(initial=0.0) if scale is None else np.asarray(scale, np.float64)
    return np.clip(values / np.where(largest > 0, largest, 1.0), -1.0, 1.0)


def small(matrix: Any, side: float = 120, scale: Any = None, root: bool = False) -> Drawing:
    """The same without names, as a thumbnail. `root` draws square roots, so that a tenth can be seen beside one."""
    shares = shares_of(np.asarray(matrix, np.float64), scale)
    shares = np.sign(shares) * np.sqrt(np.abs(shares)) if root else shares
    levels = np.rint(shares * SHADES).astype(int)
    height, width = levels.shape
    cell = min(side / max(height, width, 1), 14.0)
    parts = {True: "shade-plus", False: "shade-minus"}
    boxes = [
        Rect(1 + cell * j, 1 + cell * i, cell, cell, parts[level > 0], opacity=abs(level) / SHADES)
        for level in sorted(set(levels.ravel().tolist()) - {0})
        for i, j in np.argwhere(levels == level).tolist()
    ]
    frame = Rect(0.5, 0.5, cell * width + 1, cell * height + 1, "frame")
    return Drawing(cell * width + 2, cell * height + 2, (*boxes, frame))
