r"""A drawing as TikZ, for a paper: a tikzpicture to \input, with the colours and the shapes of the SVG.

    >>> from handloom.view.svg.drawing import Disc, Drawing
    >>> print(as_tikz(Drawing(20, 20, (Disc(10, 10, 6, "chosen"),)), "one point"))
    % one point
    % \usepackage{tikz} in the preamble; \input this file where the picture belongs
    \begin{tikzpicture}[x=0.75bp, y=-0.75bp]
    \definecolor{c1b6ca8}{HTML}{1B6CA8}
    \useasboundingbox (0,0) rectangle (20,20);
    \begin{scope}[fill=c1b6ca8, line width=0.75bp]
    \fill (10,10) circle[radius=6];
    \end{scope}
    \end{tikzpicture}

The title is a comment, for a paper has captions. Changing x and y scales the picture; lines and letters keep their
sizes.
"""

from collections.abc import Iterator
from itertools import groupby

from handloom.core.latex import latex
from handloom.view.svg.drawing import (
    LOOKS,
    Disc,
    Drawing,
    Label,
    Paint,
    Polyline,
    Rect,
    Segment,
    Shape,
    number,
    printable,
)

UNIT = 0.75  # big points to a unit of a drawing
ANCHORS = {"start": "mid west", "middle": "mid", "end": "mid east"}


def as_tikz(drawing: Drawing, title: str = "") -> str:
    """The drawing as a tikzpicture."""
    looks = [LOOKS.get(part, Paint()) for part in dict.fromkeys(shape.part for shape in drawing.shapes)]
    colours = sorted({colour for look in looks for colour in (look.fill, look.stroke) if colour.startswith("#")})
    groups = groupby(drawing.shapes, key=lambda shape: shape.part)
    told = printable(" ".join(title.split()))
    return "\n".join(
        [
            *([f"% {told}"] if title else []),
            r"% \usepackage{tikz} in the preamble; \input this file where the picture belongs",
            rf"\begin{{tikzpicture}}[x={UNIT}bp, y=-{UNIT}bp]",
            *(rf"\definecolor{{{colour_name(one)}}}{{HTML}}{{{full(one)}}}" for one in colours),
            rf"\useasboundingbox (0,0) rectangle {at(drawing.width, drawing.height)};",
            *(line for part, shapes in groups for line in scope(LOOKS.get(part, Paint()), shapes)),
            r"\end{tikzpicture}",
        ]
    )


def scope(look: Paint, shapes: Iterator[Shape]) -> Iterator[str]:
    """Shapes that play the same part."""
    style = [f"fill={colour_name(look.fill)}"] if look.fill != "none" else []
    style += [f"draw={colour_name(look.stroke)}"] if look.stroke else []
    style += [f"fill opacity={number(look.opacity)}"] if look.opacity != 1 else []
    style += [f"line width={number(UNIT * (look.thick or 1))}bp"]
    if look.dash:
        on, off = (number(UNIT * float(length)) for length in look.dash.split())
        style.append(f"dash pattern=on {on}bp off {off}bp")
    yield rf"\begin{{scope}}[{', '.join(style)}]"
    yield from (line(look, shape) for shape in shapes)
    yield r"\end{scope}"


def line(look: Paint, shape: Shape) -> str:
    """One shape as one line."""
    area = r"\filldraw" if look.fill != "none" and look.stroke else r"\fill" if look.fill != "none" else r"\draw"
    match shape:
        case Disc(x, y, r):
            return f"{area} {at(x, y)} circle[radius={number(r)}];"
        case Rect(x, y, width, height):
            pale = f"[fill opacity={number(shape.opacity)}]" if shape.opacity != 1 else ""
            return f"{area}{pale} {at(x, y)} rectangle {at(x + width, y + height)};"
        case Segment(x, y, to_x, to_y):
            return rf"\draw{thick(shape)} {at(x, y)} -- {at(to_x, to_y)};"
        case Polyline(points):
            return rf"\draw{thick(shape)} {' -- '.join(at(x, y) for x, y in points)};"
        case Label():
            return node(look, shape)


def node(look: Paint, label: Label) -> str:
    size = rf"\fontsize{{{number(UNIT * label.size)}}}{{{number(1.2 * UNIT * label.size)}}}\selectfont"
    size += r"\ttfamily" if look.font else ""
    style = [f"anchor={ANCHORS[label.anchor]}", "inner sep=0", "draw=none", "fill=none"]
    style += [f"text={colour_name(look.fill)}", f"font={size}"] + ["rotate=90"] * label.upwards
    return rf"\node[{', '.join(style)}] at {at(label.x, label.y)} {{{latex(printable(label.text))}}};"


def thick(line: Segment | Polyline) -> str:
    return "" if line.width == 1 else f"[line width={number(UNIT * line.width)}bp]"


def at(x: float, y: float) -> str:
    return f"({number(x)},{number(y)})"


def full(colour: str) -> str:
    """#444 or #444444 as xcolor wants it."""
    digits = colour.removeprefix("#")
    return (digits if len(digits) == 6 else "".join(2 * digit for digit in digits)).upper()


def colour_name(colour: str) -> str:
    return f"c{colour.removeprefix('#').lower()}"
