"""Pictures of constructions that are tables: set systems, codes and matrices.

    set_drawing(space, construction)        # a row per set, a column per point, a disc where the point is in the set

A code has a row per word, a matrix its own rows; the darker a cell, the larger its symbol.
"""

from collections.abc import Iterator, Sequence

from handloom.discover.spaces import DIGITS, Construction, Space
from handloom.view.svg.drawing import Disc, Drawing, Label, Rect, Segment, Shape

MARGIN = 12
WIDEST, TALLEST = 600, 900
LARGEST, NAMED = 26, 11  # pixels: of a cell, and from which it has its name in it


def cell_size(rows: int, columns: int) -> float:
    return min(LARGEST, WIDEST / max(1, columns), TALLEST / max(1, rows))


def set_drawing(space: Space, construction: Construction) -> Drawing:
    """The sets as rows of discs; above them the points."""
    sets, points = sorted(space.seen(construction), key=lambda some: (len(some), some)), space.sides[0]
    cell = cell_size(len(sets), points)
    top, wide, tall = MARGIN + 14, cell * points, cell * len(sets)
    shapes: list[Shape] = [*net(MARGIN, top, len(sets), points, cell), Rect(MARGIN, top, wide, tall, "frame")]
    if cell >= NAMED:
        shapes += [Label(MARGIN + cell * (v - 0.5), top - 8, str(v), size=10) for v in range(1, points + 1)]
    for row, some in enumerate(sets):
        name = space.name(some)
        shapes += [
            Disc(MARGIN + cell * (v - 0.5), top + cell * (row + 0.5), max(0.8, 0.34 * cell), "chosen", name)
            for v in some
        ]
    return Drawing(2 * MARGIN + wide, top + tall + MARGIN, tuple(shapes))


def code_drawing(space: Space, construction: Construction) -> Drawing:
    words = space.seen(construction)
    return shaded(words, space.sides[1], [space.name(word) for word in words], space.sides[0])


def matrix_drawing(space: Space, construction: Construction) -> Drawing:
    rows = space.seen(construction)
    return shaded(rows, len(space.elements), [f"row {i}" for i in range(len(rows))], space.sides[1])


def shaded(rows: Sequence[Sequence[int]], values: int, hints: Sequence[str], columns: int) -> Drawing:
    """Rows of cells, each in the shade of its value, with the value in it if there is room."""
    cell = cell_size(len(rows), columns)
    boxes: list[Shape] = []
    labels: list[Label] = []
    for i, (row, hint) in enumerate(zip(rows, hints, strict=True)):
        for j, value in enumerate(row):
            x, y, share = MARGIN + cell * j, MARGIN + cell * i, value / max(1, values - 1)
            gap = 1 if cell >= 6 else 0
            boxes.append(Rect(x, y, cell - gap, cell - gap, "chosen", hint, round(0.1 + 0.9 * share, 3)))
            part, text = "on-dark" if share > 0.5 else "on-light", DIGITS[value] if values <= 36 else str(value)
            labels.append(Label(x + (cell - gap) / 2, y + (cell - gap) / 2, text, part, 0.5 * cell))
    labels = sorted(labels, key=lambda label: label.part) if cell >= NAMED else []
    return Drawing(2 * MARGIN + cell * columns, 2 * MARGIN + cell * len(rows), (*boxes, *labels))


def net(x: float, y: float, rows: int, columns: int, cell: float) -> Iterator[Segment]:
    """The thin lines inside a grid."""
    thin = min(1.0, max(0.4, cell / 16))
    for i in range(1, rows):
        yield Segment(x, y + cell * i, x + cell * columns, y + cell * i, "grid", width=thin)
    for j in range(1, columns):
        yield Segment(x + cell * j, y, x + cell * j, y + cell * rows, "grid", width=thin)
