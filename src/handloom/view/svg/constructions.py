"""Pictures of constructions: points in grids, graphs, rulers, words, permutations.

    draw(grid(16, 16), construction, "best.svg", "isosceles:n=16, 28 points")

A grid is drawn as the array that a score function receives: the first coordinate counts rows from above, the second
columns. With more coordinates there are grids in a grid, in turn side by side and below each other: {0, 1, 2}⁶ comes
out as 27 × 27. A permutation is its matrix, a set of whole numbers a ruler. The vertices of a graph are on circles, by
the orbits of a symmetry that it has (graph_layout.py). Set systems, codes and matrices are tables
(construction_tables.py); points and cyclic groups are in construction_points.py.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from pathlib import Path

from handloom.discover.spaces import Construction, Space
from handloom.view.figures.painting import write_drawing
from handloom.view.svg.construction_points import cycle_drawing, point_drawing
from handloom.view.svg.construction_tables import code_drawing, matrix_drawing, net, set_drawing
from handloom.view.svg.drawing import Disc, Drawing, Label, Rect, Segment, Shape, as_svg
from handloom.view.svg.graph_layout import layout

MARGIN = 12
MOST_WIDE = 600  # of a grid


def svg(space: Space, construction: Construction, title: str = "") -> str:
    """The picture as the text of an SVG."""
    return as_svg(construction_drawing(space, construction), title)


def draw_construction(space: Space, construction: Construction, path: str | Path, title: str = "") -> Path:
    """Write the picture to a .svg, .png, .pdf or .tex (TikZ) file."""
    write_drawing(construction_drawing(space, construction), Path(path), title)
    return Path(path)


def construction_drawing(space: Space, construction: Construction) -> Drawing:
    match space.kind:
        case "grid" | "group" if len(space.sides) > 1:
            return grid_drawing(space.sides, [space.elements[i] for i in construction])
        case "group":
            return cycle_drawing(space, construction)
        case "set system":
            return set_drawing(space, construction)
        case "code":
            return code_drawing(space, construction)
        case "matrix":
            return matrix_drawing(space, construction)
        case "point set" if 1 < space.sides[0] < 4:
            return point_drawing(space, construction)
        case "permutation":
            return grid_drawing((space.length, space.length), list(enumerate(construction)))
        case "graph":
            return graph_drawing(space.sides[0], [space.elements[i] for i in construction])
        case "word":
            return word_drawing(space, construction)
        case _ if all(isinstance(element, int) for element in space.elements):
            return ruler_drawing(space, construction)
        case _:
            return boxes_drawing(space, construction)


@dataclass(frozen=True)
class Nest:
    """Where the cells of a grid in a grid lie; all lengths are in cells."""

    sides: tuple[int, ...]

    @cached_property
    def in_a_row(self) -> int:
        """For a box of many layers how many stand side by side, so that it is not a ribbon; else 0."""
        if len(self.sides) != 3:
            return 0
        layers, rows, columns = self.sides
        square = math.ceil(math.sqrt(1.6 * layers * (rows + 1) / (columns + 1)))
        return min(layers, square) if layers * columns > 4 * rows else 0

    @cached_property
    def inward(self) -> tuple[int, ...]:
        """The sides from the innermost one; layers in several rows count for two."""
        first = (math.ceil(self.sides[0] / self.in_a_row), self.in_a_row) if self.in_a_row else self.sides[:1]
        return (first + self.sides[1:])[::-1]

    def place(self, point: tuple[int, ...]) -> tuple[float, float]:
        """The row and the column of a cell."""
        inward = ((*divmod(point[0], self.in_a_row), *point[1:]) if self.in_a_row else point)[::-1]
        return along(self.inward[1::2], inward[1::2], self.name_room), along(self.inward[::2], inward[::2])

    @property
    def size(self) -> tuple[float, float]:
        down, right = self.inward[1::2], self.inward[::2]
        rows = along(down, [side - 1 for side in down], self.name_room)
        return rows + 1, along(right, [side - 1 for side in right]) + 1

    @property
    def name_room(self) -> float:
        """Between rows of layers, which have names."""
        return 0.3 * self.sides[-2] if self.in_a_row else 0.0


def along(sides: Sequence[int], coordinates: Sequence[int], extra: float = 0.0) -> float:
    """How far in one direction; the innermost coordinate comes first, the outer ones have more room between them."""
    far, stride = 0.0, 1.0
    for level, (side, coordinate) in enumerate(zip(sides, coordinates, strict=True), 1):
        far += coordinate * stride
        stride = side * stride + 0.45 * level + extra
    return far


def grid_drawing(sides: tuple[int, ...], points: Iterable[tuple[int, ...]]) -> Drawing:
    """A grid, or grids in a grid, with a disc at each point."""
    nest = Nest(sides)
    rows, columns = nest.size
    cell = min(34.0, MOST_WIDE / max(rows, columns))
    top = MARGIN + (16 if len(sides) == 3 else 0)  # room for the names of layers

    def at(row: float, column: float) -> tuple[float, float]:
        return MARGIN + cell * column, top + cell * row

    shapes: list[Shape] = []
    inside = [(outer, at(*nest.place((*outer, 0, 0)))) for outer in product(*map(range, sides[:-2]))]
    for _, corner in inside:
        shapes += net(*corner, sides[-2], sides[-1], cell)
    shapes += [Rect(*corner, cell * sides[-1], cell * sides[-2], "frame") for _, corner in inside]
    if len(sides) == 3 and cell * sides[-1] > 8 * len(str(sides[0])):
        shapes += [Label(x + cell * sides[-1] / 2, y - 9, str(outer[0])) for outer, (x, y) in inside]
    radius = max(0.8, cell * (0.34 if cell > 14 else 0.42))
    for point in points:
        row, column = nest.place(point)
        shapes.append(Disc(*at(row + 0.5, column + 0.5), radius, "chosen", str(point)))
    return Drawing(2 * MARGIN + cell * columns, top + MARGIN + cell * rows, tuple(shapes))


def graph_drawing(vertices: int, edges: list[tuple[int, int]]) -> Drawing:
    """A graph on circles that show a symmetry of it; without one, on a single circle."""
    places = layout(vertices, edges)
    if places is None:
        return circle_drawing(vertices, edges)
    radius = max(90.0, min(300.0, 10.0 * vertices))
    room = radius + MARGIN + 10
    at = [(room + radius * x, room + radius * y) for x, y in places]
    nearest = min(math.dist(a, b) for a, b in combinations(at, 2))
    dot = max(1.5, min(9.0, 0.36 * nearest))
    width = max(0.5, min(1.8, 90 / max(1, len(edges))))
    shapes: list[Shape] = [Segment(*at[u], *at[v], "chosen-line", f"{u}, {v}", width) for u, v in edges]
    shapes += [Disc(*place, dot, "vertex", str(v)) for v, place in enumerate(at)]
    if dot > 6.5:
        shapes += [Label(*place, str(v), "on-light", size=8.5) for v, place in enumerate(at)]
    return Drawing(2 * room, 2 * room, tuple(shapes))


def circle_drawing(vertices: int, edges: list[tuple[int, int]]) -> Drawing:
    """The vertices on a circle, the first on top, the edges as chords."""
    radius = max(90.0, min(280.0, 9.0 * vertices))
    named = vertices <= 64
    room = radius + MARGIN + (20 if named else 6)
    turns = [2 * math.pi * v / vertices - math.pi / 2 for v in range(vertices)]
    at = [(room + radius * math.cos(turn), room + radius * math.sin(turn)) for turn in turns]
    width = max(0.5, min(1.8, 90 / max(1, len(edges))))
    shapes: list[Shape] = [Segment(*at[u], *at[v], "chosen-line", f"{u}, {v}", width) for u, v in edges]
    dot = max(1.2, min(5.0, 0.9 * radius / vertices))
    shapes += [Disc(*place, dot, "vertex", str(v)) for v, place in enumerate(at)]
    if named:
        far = radius + 14
        shapes += [
            Label(room + far * math.cos(turn), room + far * math.sin(turn), str(v), size=10)
            for v, turn in enumerate(turns)
        ]
    return Drawing(2 * room, 2 * room, tuple(shapes))


def ruler_drawing(space: Space, construction: Construction) -> Drawing:
    """A ruler with a mark at each number that is chosen."""
    low, high = min(space.elements), max(space.elements)
    span = max(1, high - low)
    width = float(max(240, min(860, 18 * span)))
    left, top, tall = MARGIN + 14, MARGIN, 44

    def at(value: int) -> float:
        return left + width * ((value - low) / span)

    unit = width / span
    body: list[Shape] = [Rect(left - 10, top, width + 20, tall, "box")]
    if unit >= 3:
        body += [Segment(at(e), top, at(e), top + (12 if e % 5 == 0 else 7), "frame") for e in space.elements]
    chosen = sorted(space.elements[i] for i in construction)
    thick = max(0.8, min(4.0, 0.6 * unit))
    marks = [Segment(at(e), top, at(e), top + tall, "chosen-line", str(e), thick) for e in chosen]
    labels = list(spread(chosen, at, top + tall + 12))
    lowest = max((label.y for label in labels), default=top + tall - 8)
    return Drawing(2 * left + width, lowest + 8 + MARGIN, (*body, *marks, *labels))


def spread(numbers: Iterable[int], at: Callable[[int], float], y: float) -> Iterator[Label]:
    """Labels below marks, in up to three lines where they are too close for one; those without room are left out."""
    ends = [-math.inf] * 3
    for value in numbers:
        half = 3.4 * len(str(value)) + 3
        line = next((i for i, end in enumerate(ends) if end <= at(value) - half), None)
        if line is not None:
            ends[line] = at(value) + half
            yield Label(at(value), y + 14 * line, str(value))


def boxes_drawing(space: Space, construction: Construction) -> Drawing:
    """Rows of boxes, one for each element; those that are chosen are filled."""
    names = [" ".join(map(str, e)) if isinstance(e, tuple) else str(e) for e in space.elements]
    longest = max(map(len, names))
    named = len(names) <= 400 and longest <= 16
    wide = 8 + 7 * max(2, longest) if named else 14
    in_a_row = max(1, math.ceil(math.sqrt(1.8 * len(names) * 24 / wide)))
    in_a_row = len(names) if named and len(names) * wide <= MOST_WIDE else in_a_row
    scale = min(1.0, 900 / (in_a_row * wide))
    width, height = wide * scale, (24 if named else 14) * scale

    def box(i: int, part: str) -> Rect:
        row, column = divmod(i, in_a_row)
        edge = 0.1 * height
        x, y = MARGIN + width * column, MARGIN + height * row
        return Rect(x, y, width - edge, height - edge, part, str(space.elements[i]) if part == "chosen" else "")

    chosen = set(construction)
    boxes = [box(i, "chosen" if i in chosen else "box") for i in range(len(names))]
    boxes.sort(key=lambda box: box.part)
    labels: list[Label] = []
    if named:
        for i, name in enumerate(names):
            b = box(i, "")
            labels.append(Label(b.x + b.width / 2, b.y + b.height / 2, name, "on-dark" if i in chosen else "label"))
        labels.sort(key=lambda label: label.part)
    rows = math.ceil(len(names) / in_a_row)
    size = 2 * MARGIN + width * min(in_a_row, len(names)), 2 * MARGIN + height * rows
    return Drawing(*size, (*boxes, *labels))


def word_drawing(space: Space, construction: Construction) -> Drawing:
    """A strip of letters, each in its shade; a long word has several rows, with the place at which each begins."""
    in_a_row = min(space.length, max(32, 8 * math.ceil(math.sqrt(space.length / 4) / 2)))
    cell = min(24.0, 880 / in_a_row)
    rows = math.ceil(space.length / in_a_row)
    left = MARGIN + (8 * len(str(space.length)) + 4 if rows > 1 else 0)
    step = cell + (4 if cell >= 12 else 0)  # from row to row
    boxes: list[Shape] = []
    letters: list[Label] = []
    for i, letter in enumerate(construction):
        row, column = divmod(i, in_a_row)
        x, y, share = left + cell * column, MARGIN + step * row, letter / max(1, len(space.elements) - 1)
        hint = f"{space.elements[letter]}, place {i}"
        boxes.append(Rect(x, y, cell - 1, cell - 1, "chosen", hint, round(0.12 + 0.88 * share, 3)))
        part = "on-dark" if share > 0.5 else "on-light"
        letters.append(Label(x + (cell - 1) / 2, y + (cell - 1) / 2, space.elements[letter], part, 0.55 * cell))
    names = [Label(left - 8, MARGIN + step * i + cell / 2, str(i * in_a_row), anchor="end") for i in range(rows)]
    shown = [*(names if rows > 1 and cell >= 10 else []), *sorted(letters, key=lambda a: a.part)] if cell >= 10 else []
    return Drawing(left + MARGIN + cell * in_a_row, 2 * MARGIN + step * rows, (*boxes, *shown))
