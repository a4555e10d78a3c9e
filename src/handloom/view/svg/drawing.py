"""A drawing: discs, lines, boxes and labels, each with a part to play, written as SVG.

    >>> dot = Drawing(20, 20, (Disc(10, 10, 6, "chosen", "(0, 0)"),))
    >>> print(as_svg(dot))  # doctest: +ELLIPSIS
    <svg ...<circle cx="10" cy="10" r="6"><title>(0, 0)</title></circle></g></svg>

All SVG is written here. What something looks like depends on its part alone: `LOOKS` has the colours on white paper.
The parts are classes in the SVG, so that a page can give them other colours, as for a dark screen.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from html import escape
from itertools import groupby
from typing import NamedTuple

from handloom.view.colours import BLUE, CARD, FRAME, GREEN, GREY, GRID, INK, ORANGE, PAPER, SOFT

SANS = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif"
MONO = "'DejaVu Sans Mono', Menlo, Consolas, monospace"
LONGEST = 100  # characters of a title
TITLE = 34  # height of its line


class Paint(NamedTuple):
    fill: str = "none"
    stroke: str = ""
    thick: float = 0  # width of the stroke, if not 1
    dash: str = ""
    font: str = ""
    opacity: float = 1.0


SERIES = {"search": GREY, "before": ORANGE, "after": BLUE, "best": INK}  # what charts and histograms compare
LOOKS = {
    "paper": Paint(PAPER),
    "title": Paint(INK),
    "label": Paint(SOFT),
    "tick": Paint(SOFT),
    "level": Paint(stroke=GRID),
    "name": Paint(INK, font=MONO),  # of a row or a column
    "place": Paint(SOFT, font=MONO),  # its number
    "chosen": Paint(BLUE),
    "chosen-line": Paint(stroke=BLUE),
    "on-dark": Paint(PAPER),
    "on-light": Paint(INK),
    "grid": Paint(stroke=GRID),
    "frame": Paint(stroke=FRAME),
    "vertex": Paint(PAPER, "#444444"),
    "box": Paint(CARD, GRID),
    "plus": Paint(BLUE, GRID),
    "minus": Paint(ORANGE, GRID),
    "shade-plus": Paint(BLUE),
    "shade-minus": Paint(ORANGE),
    "pale-box": Paint(PAPER, GRID),
    "plus-line": Paint(stroke=BLUE),
    "extra-line": Paint(stroke=ORANGE, dash="1.5 3.5"),
    "missed-line": Paint(stroke=BLUE, dash="5 4"),
    "mark": Paint("none", INK, 1.6),
    "known": Paint(stroke=GREEN, thick=1.6, dash="4 3"),
    "illegal": Paint("none", ORANGE, dash="3 2"),
    "cursor": Paint(stroke=SOFT),
    **{name: Paint(colour) for name, colour in SERIES.items()},
    **{f"{name}-line": Paint(stroke=colour) for name, colour in SERIES.items()},
    **{f"{name}-pale": Paint(colour, opacity=0.55) for name, colour in SERIES.items()},
    "best-line": Paint(stroke=INK, dash="5 3"),
}


@dataclass(frozen=True)
class Disc:
    x: float
    y: float
    r: float
    part: str
    hint: str = ""  # shown when the mouse rests on it


@dataclass(frozen=True)
class Segment:
    x: float
    y: float
    to_x: float
    to_y: float
    part: str
    hint: str = ""
    width: float = 1.0


@dataclass(frozen=True)
class Polyline:
    points: tuple[tuple[float, float], ...]
    part: str
    hint: str = ""
    width: float = 1.8


@dataclass(frozen=True)
class Rect:
    x: float
    y: float
    width: float
    height: float
    part: str
    hint: str = ""
    opacity: float = 1.0  # of its fill, so that what lies below it, paper of any colour, is the other end of a scale


@dataclass(frozen=True)
class Label:
    x: float
    y: float  # its middle
    text: str
    part: str = "label"
    size: float = 11
    anchor: str = "middle"
    upwards: bool = False  # turned by a quarter
    hint: str = ""


Shape = Disc | Segment | Polyline | Rect | Label


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
    words = (Label(width / 2, 22, title, "title", 14),) if title else ()
    paper = Rect(0, 0, width, drawing.height + down, "paper")
    return Drawing(width, drawing.height + down, (paper, *words, *moved(drawing, right, down)))


def beside(*drawings: Drawing) -> Drawing:
    """Drawings next to each other, as one."""
    shapes, right = [], 0.0
    for drawing in drawings:
        shapes += list(moved(drawing, right, 0))
        right += drawing.width
    return Drawing(right, max(drawing.height for drawing in drawings), tuple(shapes))


def moved(drawing: Drawing, right: float, down: float) -> Iterator[Shape]:
    """The shapes of a drawing, elsewhere."""
    for shape in drawing.shapes:
        if isinstance(shape, Polyline):
            yield replace(shape, points=tuple((x + right, y + down) for x, y in shape.points))
        elif isinstance(shape, Segment):
            to_x, to_y = shape.to_x + right, shape.to_y + down
            yield replace(shape, x=shape.x + right, y=shape.y + down, to_x=to_x, to_y=to_y)
        else:
            yield replace(shape, x=shape.x + right, y=shape.y + down)


def as_svg(drawing: Drawing, title: str = "", kind: str = "") -> str:
    """The drawing as one SVG; `kind` is its class on a page."""
    whole = titled(drawing, title)
    width, height = number(whole.width), number(whole.height)
    groups = [group(part, list(shapes)) for part, shapes in groupby(whole.shapes, key=lambda shape: shape.part)]
    about = (f' class="{kind}"' if kind else "") + (f' aria-label="{clean(title)}"' if title else "")
    role = "img" if title else "group"  # what has no name of its own is read word by word
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'font-family="{SANS}" role="{role}"{about}>' + "".join(groups) + "</svg>"
    )


def group(part: str, shapes: list[Shape]) -> str:
    """Shapes that play the same part; those without a hint need no elements of their own."""
    look = LOOKS.get(part, Paint())
    style = {"fill": look.fill, "stroke": look.stroke, "stroke-dasharray": look.dash, "font-family": look.font}
    style["stroke-width"] = number(look.thick) if look.thick else ""
    style["fill-opacity"] = number(look.opacity) if look.opacity != 1 else ""
    plain = [shape for shape in shapes if isinstance(shape, Segment | Rect) and not shape.hint]
    paths = "".join(
        f'<path d="{"".join(map(path, same))}"{attributes}/>' for attributes, same in groupby(plain, key=alike)
    )
    own = "".join(element(shape) for shape in shapes if shape.hint or not isinstance(shape, Segment | Rect))
    written = "".join(f' {name}="{value}"' for name, value in style.items() if value)
    return f'<g class="{part}"{written}>{paths}{own}</g>'


def alike(shape: Segment | Rect) -> str:
    """The attributes of a path, which all of its shapes share."""
    if isinstance(shape, Segment):
        return f' stroke-width="{number(shape.width)}"' if shape.width != 1 else ""
    return f' fill-opacity="{number(shape.opacity)}"' if shape.opacity != 1 else ""


def path(shape: Segment | Rect) -> str:
    if isinstance(shape, Segment):
        return f"M{number(shape.x)} {number(shape.y)}L{number(shape.to_x)} {number(shape.to_y)}"
    return f"M{number(shape.x)} {number(shape.y)}h{number(shape.width)}v{number(shape.height)}h{number(-shape.width)}z"


def element(shape: Shape) -> str:
    """One shape as an element of its own, with its hint."""
    hint = f"<title>{clean(shape.hint)}</title>" if shape.hint else ""
    match shape:
        case Disc(x, y, r):
            return f'<circle cx="{number(x)}" cy="{number(y)}" r="{number(r)}">{hint}</circle>'
        case Segment(x, y, to_x, to_y):
            ends = f'x1="{number(x)}" y1="{number(y)}" x2="{number(to_x)}" y2="{number(to_y)}"'
            return f"<line {ends}{alike(shape)}>{hint}</line>"
        case Polyline(points):
            places = " ".join(f"{number(x)},{number(y)}" for x, y in points)
            return f'<polyline points="{places}" stroke-width="{number(shape.width)}">{hint}</polyline>'
        case Rect(x, y, width, height):
            at = f'x="{number(x)}" y="{number(y)}" width="{number(width)}" height="{number(height)}"'
            return f"<rect {at}{alike(shape)}>{hint}</rect>"
        case Label():
            return text(shape, hint)


def text(label: Label, hint: str) -> str:
    x, y = number(label.x), number(label.y)
    style = f'font-size="{number(label.size)}" text-anchor="{label.anchor}"'
    style += ' font-weight="600"' if label.part == "title" else ""
    style += f' transform="rotate(-90 {x} {y})"' if label.upwards else ""
    return f'<text x="{x}" y="{y}" dy=".36em" {style}>{clean(label.text)}{hint}</text>'


def number(value: float) -> str:
    """Short: two digits are a fiftieth of what a screen can show."""
    return f"{round(value, 2):g}" if abs(value) < 1e5 else f"{value:.0f}"


def clean(text: str) -> str:
    """Text that XML can hold: escaped, and without the characters that it has no place for."""
    return escape(printable(text))


def printable(text: str) -> str:
    return re.sub("[^\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text)
