"""A drawing: discs, lines, boxes and labels, each with a part to play, written as SVG or painted by Matplotlib.

    >>> dot = Drawing(20, 20, (Disc(10, 10, 6, "chosen", "(0, 0)"),))
    >>> print(as_svg(dot))  # doctest: +ELLIPSIS
    <svg ...<circle cx="10" cy="10" r="6"><title>(0, 0)</title></circle></g></svg>

What something looks like depends on its part alone. The parts are classes in the SVG, so that a page can give them
other colours, as for a dark screen.
"""

import re
import warnings
from dataclasses import dataclass, replace
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Any

from handloom.view.figures.figure import LINES, STYLE, matplotlib_parts, write_figure

ACCENT = LINES[0][0]
FILLS = {"paper": "#ffffff", "chosen": ACCENT, "vertex": "#ffffff", "box": "#f4f4f1", "label": "#666666",
         "title": "#222222", "on-dark": "#ffffff", "on-light": "#222222"}  # fmt: skip
STROKES = {"grid": "#dcdcd6", "frame": "#9a9a94", "chosen-line": ACCENT, "vertex": "#444444", "box": "#dcdcd6"}
FONT = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif"
LONGEST = 100  # characters of a title
TITLE = 34  # height of its line
UNITS = 80  # to an inch
POINTS = 72 / UNITS  # points to a unit


@dataclass(frozen=True)
class Disc:
    x: float
    y: float
    r: float
    part: str
    hint: str = ""  # what is said when the mouse rests on it


@dataclass(frozen=True)
class Line:
    x: float
    y: float
    to_x: float
    to_y: float
    part: str
    hint: str = ""
    width: float = 1.0


@dataclass(frozen=True)
class Box:
    x: float
    y: float
    width: float
    height: float
    part: str
    hint: str = ""
    fill: str = ""  # instead of what its part says


@dataclass(frozen=True)
class Label:
    x: float
    y: float  # its middle
    text: str
    part: str = "label"
    size: float = 11
    anchor: str = "middle"
    hint: str = ""


Shape = Disc | Line | Box | Label


@dataclass(frozen=True)
class Drawing:
    width: float
    height: float
    shapes: tuple[Shape, ...]


def titled(drawing: Drawing, title: str) -> Drawing:
    """The drawing on paper, below its title; a long title is cut."""
    title = " ".join(title.split())
    title = title if len(title) <= LONGEST else title[: LONGEST - 1] + "…"
    width = max(drawing.width, 8.6 * len(title) + 28 if title else 0)
    down, right = (TITLE if title else 0), (width - drawing.width) / 2
    moved = tuple(shifted(shape, right, down) for shape in drawing.shapes)
    words = (Label(width / 2, 22, title, "title", 14),) if title else ()
    paper = Box(0, 0, width, drawing.height + down, "paper")
    return Drawing(width, drawing.height + down, (paper, *words, *moved))


def shifted(shape: Shape, right: float, down: float) -> Shape:
    moved: dict[str, Any] = {"x": shape.x + right, "y": shape.y + down}
    if isinstance(shape, Line):
        moved |= {"to_x": shape.to_x + right, "to_y": shape.to_y + down}
    return replace(shape, **moved)


def as_svg(drawing: Drawing, title: str = "") -> str:
    """One SVG, no library."""
    whole = titled(drawing, title)
    width, height = number(whole.width), number(whole.height)
    groups = [group(part, list(shapes)) for part, shapes in groupby(whole.shapes, key=lambda shape: shape.part)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'font-family="{FONT}" role="img">' + "".join(groups) + "</svg>"
    )


def group(part: str, shapes: list[Shape]) -> str:
    """Shapes that play the same part; those without a hint need no elements of their own."""
    fill, stroke = FILLS.get(part, "none"), STROKES.get(part)
    look = f'fill="{fill}"' + (f' stroke="{stroke}"' if stroke else "")
    plain = [shape for shape in shapes if isinstance(shape, Line | Box) and not shape.hint]
    paths = "".join(
        f'<path d="{"".join(map(path, same))}"{f""" stroke-width="{number(width)}" """.rstrip() if width else ""}/>'
        for width, same in groupby(plain, key=lambda shape: shape.width if isinstance(shape, Line) else 0)
    )
    own = "".join(element(shape) for shape in shapes if shape.hint or isinstance(shape, Disc | Label))
    return f'<g class="{part}" {look}>{paths}{own}</g>'


def path(shape: Line | Box) -> str:
    if isinstance(shape, Line):
        return f"M{number(shape.x)} {number(shape.y)}L{number(shape.to_x)} {number(shape.to_y)}"
    return f"M{number(shape.x)} {number(shape.y)}h{number(shape.width)}v{number(shape.height)}h{number(-shape.width)}z"


def element(shape: Shape) -> str:
    """One shape as an element of its own, with its hint."""
    hint = f"<title>{clean(shape.hint)}</title>" if shape.hint else ""
    at = f'x="{number(shape.x)}" y="{number(shape.y)}"'
    match shape:
        case Disc():
            return f'<circle cx="{number(shape.x)}" cy="{number(shape.y)}" r="{number(shape.r)}">{hint}</circle>'
        case Line():
            ends = f'x1="{number(shape.x)}" y1="{number(shape.y)}" x2="{number(shape.to_x)}" y2="{number(shape.to_y)}"'
            return f'<line {ends} stroke-width="{number(shape.width)}">{hint}</line>'
        case Box():
            fill = f' fill="{shape.fill}"' if shape.fill else ""
            return f'<rect {at} width="{number(shape.width)}" height="{number(shape.height)}"{fill}>{hint}</rect>'
        case Label():
            style = f'font-size="{number(shape.size)}" text-anchor="{shape.anchor}"'
            weight = ' font-weight="600"' if shape.part == "title" else ""
            return f'<text {at} dy=".36em" {style}{weight}>{clean(shape.text)}</text>'


def number(value: float) -> str:
    """Short: two digits are a fiftieth of what a screen can show."""
    return f"{round(value, 2):g}" if abs(value) < 1e5 else f"{value:.0f}"


def clean(text: str) -> str:
    """Text that XML can hold: escaped, and without the characters that it has no place for."""
    return escape(printable(text))


def printable(text: str) -> str:
    return re.sub("[^\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text)


def write_png(drawing: Drawing, path: Path, title: str = "") -> None:
    """The same, painted by Matplotlib."""
    whole = titled(drawing, title)
    figure_class, styles = matplotlib_parts()
    with styles(STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # a letter that no font here has is a box
        figure = figure_class(figsize=(whole.width / UNITS, whole.height / UNITS))
        axis = figure.add_axes((0, 0, 1, 1))
        axis.set(xlim=(0, whole.width), ylim=(whole.height, 0))
        axis.axis("off")
        groups = groupby(whole.shapes, key=lambda shape: shape.part)
        for order, (part, shapes) in enumerate(groups):
            paint(axis, part, list(shapes), order)
        write_figure(figure, path)


def paint(axis: Any, part: str, shapes: list[Shape], order: int) -> None:
    """Shapes that play the same part."""
    from matplotlib.collections import LineCollection, PatchCollection

    stroke = STROKES.get(part, "none")
    if lines := [shape for shape in shapes if isinstance(shape, Line)]:
        ends = [((line.x, line.y), (line.to_x, line.to_y)) for line in lines]
        widths = [POINTS * line.width for line in lines]
        axis.add_collection(LineCollection(ends, colors=stroke, linewidths=widths, zorder=order))
    if areas := [shape for shape in shapes if isinstance(shape, Disc | Box)]:
        fills = [getattr(shape, "fill", "") or FILLS.get(part, "none") for shape in areas]
        look: Any = {"facecolors": fills if len(set(fills)) > 1 else fills[0], "edgecolors": stroke}
        patches = [patch(shape) for shape in areas]
        axis.add_collection(PatchCollection(patches, linewidths=POINTS, zorder=order, **look))
    for shape in shapes:
        if isinstance(shape, Label):
            write(axis, shape, order)


def patch(shape: Disc | Box) -> Any:
    from matplotlib.patches import Circle, Rectangle

    if isinstance(shape, Disc):
        return Circle((shape.x, shape.y), shape.r)
    return Rectangle((shape.x, shape.y), shape.width, shape.height)


def write(axis: Any, label: Label, order: int) -> None:
    side = {"start": "left", "middle": "center", "end": "right"}[label.anchor]
    weight = "bold" if label.part == "title" else "normal"
    style = {"color": FILLS[label.part], "fontsize": POINTS * label.size, "fontweight": weight, "zorder": order}
    axis.text(label.x, label.y, printable(label.text), ha=side, va="center_baseline", **style)
