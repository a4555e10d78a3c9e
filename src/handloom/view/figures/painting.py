"""A drawing as a file: SVG; TikZ; or PNG and PDF, for which Matplotlib paints the same shapes.

write_drawing(construction_drawing(space, construction), Path("best.png"), "isosceles:n=16, 28 points")
"""

import warnings
from itertools import groupby
from pathlib import Path
from typing import Any

from handloom.core import HandloomError
from handloom.core.files import check_place, write_atomically
from handloom.view.colours import rgb
from handloom.view.figures.figure import STYLE, matplotlib_parts, write_figure
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
    as_svg,
    printable,
    titled,
)
from handloom.view.svg.tikz import as_tikz

ENDINGS, PAINTED = (".svg", ".png", ".pdf", ".tex"), (".png", ".pdf")
UNITS = 80  # to an inch
POINTS = 72 / UNITS  # points to a unit


def check_drawable(path: Path) -> None:
    """Raise an error at once if a drawing could not be written there."""
    check_place(path)
    if path.suffix.lower() not in ENDINGS:
        raise HandloomError(f"{path}: not a kind of picture that is drawn here; name it .svg, .png, .pdf or .tex")
    if path.suffix.lower() in PAINTED:
        matplotlib_parts()


def write_drawing(drawing: Drawing, path: Path, title: str = "") -> None:
    """Write the drawing to a .svg, .png, .pdf or .tex file."""
    check_drawable(path)
    if path.suffix.lower() in PAINTED:
        write_painted(drawing, path, title)
    else:
        text = as_tikz(drawing, title) if path.suffix.lower() == ".tex" else as_svg(drawing, title)
        write_atomically(path, (text + "\n").encode())


def write_painted(drawing: Drawing, path: Path, title: str = "") -> None:
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
            paint(axis, LOOKS.get(part, Paint()), list(shapes), order)
        write_figure(figure, path)


def paint(axis: Any, look: Paint, shapes: list[Shape], order: int) -> None:
    """Shapes that play the same part."""
    from matplotlib.collections import LineCollection, PatchCollection

    stroke = look.stroke or "none"
    if lines := [shape for shape in shapes if isinstance(shape, Segment | Polyline)]:
        widths = [POINTS * line.width for line in lines]
        dashes = (0, tuple(map(float, look.dash.split()))) if look.dash else "solid"
        ways = [way(line) for line in lines]
        axis.add_collection(LineCollection(ways, colors=stroke, linewidths=widths, linestyles=dashes, zorder=order))
    if areas := [shape for shape in shapes if isinstance(shape, Disc | Rect)]:
        fills: Any = [filled(look, getattr(shape, "opacity", 1.0)) for shape in areas]
        style = {"facecolors": fills if len(set(fills)) > 1 else fills[0], "edgecolors": stroke}
        thick = POINTS * (look.thick or 1)
        axis.add_collection(PatchCollection([patch(a) for a in areas], linewidths=thick, zorder=order, **style))
    for shape in shapes:
        if isinstance(shape, Label):
            write(axis, look, shape, order)


def way(line: Segment | Polyline) -> tuple[tuple[float, float], ...]:
    return line.points if isinstance(line, Polyline) else ((line.x, line.y), (line.to_x, line.to_y))


def filled(look: Paint, opacity: float) -> Any:
    return "none" if look.fill == "none" else (*rgb(look.fill).tolist(), look.opacity * opacity)


def patch(shape: Disc | Rect) -> Any:
    from matplotlib.patches import Circle, Rectangle

    if isinstance(shape, Disc):
        return Circle((shape.x, shape.y), shape.r)
    return Rectangle((shape.x, shape.y), shape.width, shape.height)


def write(axis: Any, look: Paint, label: Label, order: int) -> None:
    side = {"start": "left", "middle": "center", "end": "right"}[label.anchor]
    style = {"color": look.fill, "fontsize": POINTS * label.size, "zorder": order}
    style["fontweight"] = "bold" if label.part == "title" else "normal"
    turned = {"rotation": 90, "rotation_mode": "anchor"} if label.upwards else {}
    axis.text(label.x, label.y, printable(label.text), ha=side, va="center_baseline", **style, **turned)
