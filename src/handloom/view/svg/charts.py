"""Small charts for pages: lines over the generations or the steps of a run.

    >>> ticks(0, 28)
    [0, 10, 20]
    >>> ticks(27, 27)
    [27]

All charts of a page have the same size and the same horizontal axis, so that one cursor can run through them all.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from typing import Any

from handloom.view.svg.drawing import Disc, Drawing, Label, Polyline, Segment, Shape, as_svg

WIDE, TALL = 290, 180
LEFT, RIGHT, TOP, BOTTOM = 40, 8, 10, 26  # margins
DOTS = 40  # up to this many points are marked one by one


@dataclass(frozen=True)
class Curve:
    """A line of a chart; where a value is missing it has a gap."""

    name: str
    look: str  # one of drawing.SERIES
    values: Sequence[float | None]


def finite(value: Any) -> float | None:
    """The value if it is a number one can draw, else None."""
    real = isinstance(value, int | float) and not isinstance(value, bool)
    return value if real and abs(value) < 1e300 else None


def measured(line: Mapping[str, Any], kind: str, measure: str) -> float | None:
    """A number out of a line of metrics, such as the mean of the scores after local search, if it is there."""
    stats = line.get(kind)
    return finite(stats.get(measure)) if isinstance(stats, Mapping) else None


def short_number(value: float) -> str:
    """A number for people: 28, 16.7, 0.031."""
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:,.1f}" if 10 <= abs(value) < 1e15 else f"{value:.3g}"


def exact(score: float) -> str:
    """A score as it is, to nine digits."""
    return f"{score:,}" if isinstance(score, int) else f"{score:,.9g}"


def ticks(low: float, high: float, most: int = 4) -> list[float]:
    """Round numbers from low to high."""
    if high - low <= 1e-9 * max(abs(low), abs(high), 1e-200):
        return [low]
    rough = (high - low) / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * m for m in (1, 2, 5, 10) if power * m >= rough * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    found = [i * step for i in range(first, last + 1)]
    return [int(t) if t == int(t) else round(t, 12) for t in found]


@dataclass(frozen=True)
class Axis:
    """From values to places."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low) if self.high > self.low else 0.5
        return round(self.start + share * (self.end - self.start), 1)


def chart(title: str, curves: Sequence[Curve], over: Sequence[int], share: bool = False) -> str:
    """A figure with those curves that have two values or more, over generations or steps; empty if none has. Shares go
    from 0 to 100 %."""
    curves = [curve for curve in curves if sum(value is not None for value in curve.values) > 1]
    if not curves:
        return ""
    picture = as_svg(chart_drawing(curves, over, share), kind="chart")
    return f"<figure><figcaption>{escape(title)}</figcaption>{picture}</figure>"


def chart_drawing(curves: Sequence[Curve], over: Sequence[int], share: bool) -> Drawing:
    known = [value for curve in curves for value in curve.values if value is not None]
    low, high = (0.0, 1.0) if share else padded(min(known), max(known))
    x = Axis(over[0], over[-1], LEFT, WIDE - RIGHT)
    y = Axis(low, high, TALL - BOTTOM, TOP)
    whole = all(isinstance(value, int) for value in known)
    shapes: list[Shape] = [*levels(y, share, whole), *names_below(x, over)]
    for curve in curves:
        shapes += curve_shapes(curve, over, x, y)
    return Drawing(WIDE, TALL, (*shapes, Segment(-9, TOP, -9, TALL - BOTTOM, "cursor")))  # a script moves it


def padded(low: float, high: float) -> tuple[float, float]:
    """A little room above and below, also for a single value."""
    room = (high - low) * 0.08 or max(1.0, abs(high)) * 0.05
    return low - room, high + room


def levels(y: Axis, share: bool, whole: bool) -> Iterator[Shape]:
    """Lines across the chart, and their numbers; of whole scores only whole ones."""
    drawn = [0, 0.25, 0.5, 0.75, 1.0] if share else ticks(y.low, y.high)
    drawn = [tick for tick in drawn if isinstance(tick, int) or not whole or share]
    yield from (Segment(LEFT, y.at(tick), WIDE - RIGHT, y.at(tick), "level") for tick in drawn)
    for tick in drawn:
        name = f"{tick:.0%}".replace("%", " %") if share else short_number(tick)
        yield Label(LEFT - 6, y.at(tick), name, "tick", anchor="end")


def names_below(x: Axis, over: Sequence[int]) -> Iterator[Label]:
    for tick in sorted({round(tick) for tick in ticks(over[0], over[-1], 4)}):
        if over[0] <= tick <= over[-1]:
            half = 3.2 * len(short_number(tick))
            yield Label(min(x.at(tick), WIDE - half), TALL - 12, short_number(tick), "tick")


def curve_shapes(curve: Curve, over: Sequence[int], x: Axis, y: Axis) -> Iterator[Shape]:
    """A line for each run of values without a gap, and dots where there are few, or where one stands alone."""
    places = [None if v is None else (x.at(at), y.at(v)) for at, v in zip(over, curve.values, strict=True)]
    pieces = [list(filter(None, piece)) for there, piece in groupby(places, key=bool) if there]
    width = 1.4 if curve.look == "best" else 1.8
    yield from (Polyline(tuple(p), f"{curve.look}-line", curve.name, width) for p in pieces if len(p) > 1)
    if curve.look != "best":
        for piece in pieces:
            if len(places) <= DOTS or len(piece) == 1:
                yield from (Disc(*place, 2.4, curve.look) for place in piece)
