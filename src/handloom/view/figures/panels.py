"""Figures in panels: lines, bars, dots and tables of colours, with a claimed number as a dashed line.

    panel = Lines("Overlap", "load", "overlap", [band("d = 100", loads, [one, other])], [Mark(0.138, "0.138", "x")])
    draw_panels([panel], Path("hopfield.svg"))

What is drawn is said with values; Matplotlib draws it. The spread over seeds is a band, a control is grey.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import log10, nan
from pathlib import Path
from typing import Any, Literal

from handloom.core.files import write_atomically
from handloom.view.colours import GREY, INK, LINES, SOFT
from handloom.view.figures.figure import STYLE, check_format, figure_bytes, matplotlib_parts, tidy

WIDE, TALL = 4.4, 3.3  # inches of a panel
ACROSS = 3  # panels in a row
ROOM = 0.08  # of an axis, for a name along a line
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Mark:
    """A claimed number, on an axis."""

    value: float
    name: str
    axis: Literal["x", "y"] = "y"


@dataclass(frozen=True)
class Band:
    """A line, and the spread around it; None is a gap."""

    name: str
    x: Sequence[float]
    middle: Sequence[float | None]
    low: Sequence[float | None] = ()
    high: Sequence[float | None] = ()
    control: bool = False


def band(name: str, x: Sequence[float], seeds: Sequence[Sequence[float | None]], control: bool = False) -> Band:
    """The mean over the seeds, from the least to the largest. Where a seed has no value, the others count."""
    known = [[value for value in column if value is not None] for column in zip(*seeds, strict=True)]
    middle = [sum(column) / len(column) if column else None for column in known]
    low, high = ([end(column) if column else None for column in known] for end in (min, max))
    return Band(name, list(x), middle, low, high, control)


@dataclass(frozen=True)
class Lines:
    """Curves over a common axis."""

    title: str
    x: str
    y: str
    curves: Sequence[Band]
    marks: Sequence[Mark] = ()
    log_x: bool = False
    log_y: bool = False


@dataclass(frozen=True)
class Bars:
    """A bar for each name, with a dot for each seed."""

    title: str
    y: str
    names: Sequence[str]
    values: Sequence[Sequence[float | None]]  # of each name, by seed
    control: Sequence[str] = ()  # the names drawn grey
    marks: Sequence[Mark] = ()
    log_y: bool = False


@dataclass(frozen=True)
class Heat:
    """A table in which a number is a colour too, with a staircase drawn in where a claim has one: `stairs` is, for each
    row, the number of columns to the left of the line. `claimed` is, for each row, the column in which the claim has
    all of it; its cell is outlined."""

    title: str
    x: str
    y: str
    columns: Sequence[str]
    rows: Sequence[str]
    values: Sequence[Sequence[float | None]]
    form: str = ".2f"
    stairs: Sequence[int] | None = None
    claimed: Sequence[int] = ()


@dataclass(frozen=True)
class Dots:
    """Points in the plane, in groups."""

    title: str
    x: str
    y: str
    groups: Mapping[str, Sequence[tuple[float, float]]]
    marks: Sequence[Mark] = field(default=())
    equal: bool = False  # one unit is as long on both axes


Panel = Lines | Bars | Heat | Dots


def draw_panels(panels: Sequence[Panel], path: Path) -> Path:
    """Write the panels, side by side, to a .png, .svg or .pdf file."""
    check_format(path)
    write_atomically(path, panels_file(panels, path.suffix.lower()))
    return path


def panels_file(panels: Sequence[Panel], ending: str) -> bytes:
    """The panels, side by side, as a file of that ending."""
    figure_class, styles = matplotlib_parts()
    across = min(len(panels), ACROSS)
    down = -(-len(panels) // across)
    with styles(STYLE | {"font.size": 9, "svg.fonttype": "none", "font.family": "sans-serif"}):
        figure = figure_class(figsize=(WIDE * across, TALL * down), layout="constrained")
        axes = figure.subplots(down, across, squeeze=False).ravel()
        for axis, panel in zip(axes, panels, strict=False):
            DRAW[type(panel)](axis, panel)
            axis.set_title(panel.title, fontsize=9.5)
        for axis in axes[len(panels) :]:
            axis.set_visible(False)
        return figure_bytes(figure, ending)


def draw_lines(axis: Any, panel: Lines) -> None:
    styled(axis, panel)
    colours = iter(LINES * len(panel.curves))
    for one in panel.curves:
        colour, marker = (GREY, "x") if one.control else next(colours)
        dots = {"marker": marker, "markersize": 3} if len(one.x) <= 40 else {}
        axis.plot(one.x, gaps(one.middle), color=colour, label=one.name, linewidth=1.4, **dots)
        if one.low:
            axis.fill_between(one.x, gaps(one.low), gaps(one.high), color=colour, alpha=0.15, linewidth=0)
    if not panel.log_x and {type(x) for one in panel.curves for x in one.x} <= {int}:
        axis.xaxis.get_major_locator().set_params(integer=True)
    draw_marks(axis, panel.marks, under=True)
    legend(axis, [one.name for one in panel.curves])


def gaps(values: Sequence[float | None]) -> list[float]:
    return [nan if value is None else value for value in values]


def styled(axis: Any, panel: Any) -> None:
    """Names and scales of the axes."""
    axis.set(xlabel=getattr(panel, "x", ""), ylabel=panel.y)
    for name, lines in (("x", axis.xaxis), ("y", axis.yaxis)):
        if getattr(panel, f"log_{name}", False):
            axis.set(**{f"{name}scale": "log"})
            lines.set_major_formatter(power_words)  # Matplotlib's own needs its mathematics, which is off
            lines.set_minor_formatter("")
    tidy(axis)


def power_words(value: float, place: int) -> str:
    """A number at a tick of a logarithmic axis: 0.01, 1,000, 10⁴, 10⁻¹²."""
    if 1e-3 <= value < 1e4:
        return f"{value:,.0f}" if value >= 1 else f"{value:g}"
    return "10" + f"{log10(value):.0f}".translate(SUPERSCRIPT)


def draw_marks(axis: Any, marks: Sequence[Mark], under: bool = False) -> None:
    """A dashed line at each claimed number, with its name along it; with `under`, a name at the bottom is under its
    line, where no curve is."""
    make_room(axis, [mark.value for mark in marks if mark.axis == "y" and mark.name], under)
    for mark in marks:
        if mark.axis == "x":
            axis.axvline(mark.value, color=INK, linestyle="--", linewidth=0.9)
            place = {"xy": (mark.value, 0.02), "xycoords": axis.get_xaxis_transform(), "rotation": 90}
            where = {"xytext": (3, 0), "va": "bottom", "ha": "left"}
        else:
            axis.axhline(mark.value, color=INK, linestyle="--", linewidth=0.9)
            place = {"xy": (0.99, mark.value), "xycoords": axis.get_yaxis_transform()}
            low = under and height_of(axis, mark.value) < 2 * ROOM
            where = {"xytext": (0, -2 if low else 2), "va": "top" if low else "bottom", "ha": "right"}
        paper = {"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 0.5}
        axis.annotate(mark.name, **place, **where, textcoords="offset points", fontsize=7.5, color=SOFT, bbox=paper)


def make_room(axis: Any, values: Sequence[float], under: bool) -> None:
    """Move the ends of the vertical axis away from a name that would be outside of it."""
    bottom, top = axis.get_ylim()
    heights = [height_of(axis, value) for value in values]
    if max(heights, default=0) > 1 - ROOM:
        top = value_at(axis, max(heights) + ROOM)
    if under and min(heights, default=1) < ROOM:
        bottom = value_at(axis, min(heights) - ROOM)
    axis.set_ylim(bottom, top)


def height_of(axis: Any, value: float) -> float:
    """Where a value is on the vertical axis: 0 at its bottom, 1 at its top."""
    place = axis.get_yaxis_transform().transform((0.0, value))
    return float(axis.transAxes.inverted().transform(place)[1])


def value_at(axis: Any, height: float) -> float:
    place = axis.transAxes.transform((0.0, height))
    return float(axis.get_yaxis_transform().inverted().transform(place)[1])


def legend(axis: Any, names: Sequence[str]) -> None:
    if len(names) > 1:
        axis.legend(framealpha=0.75, edgecolor="none", fontsize=7.5)


def draw_bars(axis: Any, panel: Bars) -> None:
    styled(axis, panel)
    for i, (name, found) in enumerate(zip(panel.names, panel.values, strict=True)):
        known = [value for value in found if value is not None]
        if known:
            axis.bar(i, sum(known) / len(known), width=0.62, color=GREY if name in panel.control else LINES[0][0])
            axis.plot([i] * len(known), known, "o", markersize=3, color=INK, alpha=0.6)
    slanted = {"rotation": 25, "ha": "right"} if max(map(len, panel.names)) > 9 else {}
    axis.set_xticks(range(len(panel.names)), panel.names, fontsize=8, **slanted)
    axis.grid(visible=False, axis="x")
    draw_marks(axis, panel.marks)


def draw_heat(axis: Any, panel: Heat) -> None:
    rows = [gaps(row) for row in panel.values]
    known = [value for row in rows for value in row if value == value]
    low, high = min(known, default=0.0), max(known, default=1.0)
    axis.imshow(rows, cmap="Blues", aspect="auto", vmin=low, vmax=high + (high == low))
    for i, row in enumerate(rows):
        for j, value in enumerate(row):
            if value == value:
                dark = value > low + 0.6 * (high - low)
                text = format(value, panel.form)
                text = text.replace("-", "") if not text.strip("-0.%") else text  # no −0.0
                axis.text(j, i, text, ha="center", va="center", fontsize=7.5, color="white" if dark else INK)
    if panel.stairs is not None:
        edges = [(step - 0.5, y) for i, step in enumerate(panel.stairs) for y in (i - 0.5, i + 0.5)]
        axis.plot(*zip(*edges, strict=True), color=INK, linestyle="--", linewidth=1.4)
    for i, j in enumerate(panel.claimed):
        corners = [(j - 0.47, i - 0.45), (j + 0.47, i - 0.45), (j + 0.47, i + 0.45), (j - 0.47, i + 0.45)]
        axis.plot(*zip(*corners, corners[0], strict=True), color=LINES[1][0], linestyle="--", linewidth=1.2)
    axis.set(xlabel=panel.x, ylabel=panel.y)
    axis.set_xticks(range(len(panel.columns)), panel.columns, fontsize=8)
    axis.set_yticks(range(len(panel.rows)), panel.rows, fontsize=8)


def draw_dots(axis: Any, panel: Dots) -> None:
    styled(axis, panel)
    for (name, points), (colour, marker) in zip(panel.groups.items(), LINES * len(panel.groups), strict=False):
        axis.plot(*zip(*points, strict=True), marker, markersize=4, color=colour, label=name, linestyle="none")
    draw_marks(axis, panel.marks)
    legend(axis, list(panel.groups))
    if panel.equal:
        axis.set_aspect("equal")


DRAW: dict[type, Any] = {Lines: draw_lines, Bars: draw_bars, Heat: draw_heat, Dots: draw_dots}
