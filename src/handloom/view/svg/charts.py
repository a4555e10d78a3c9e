"""Small charts for pages: lines over the generations of a run, as SVG whose colours the page decides.

    >>> ticks(0, 28)
    [0, 10, 20]
    >>> ticks(27, 27)
    [27]

All charts of a page have the same size and the same axis of generations, so that one cursor can run through them all.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

WIDE, TALL = 290, 180
LEFT, RIGHT, TOP, BOTTOM = 40, 8, 10, 26  # room around what is drawn
DOTS = 40  # up to so many points are marked one by one


@dataclass(frozen=True)
class Curve:
    """A line of a chart; where a value is missing it has a gap."""

    name: str
    look: str  # a class of the page's style
    values: Sequence[float | None]


def finite(value: Any) -> float | None:
    """The value if it is a number one can draw, else None."""
    real = isinstance(value, int | float) and not isinstance(value, bool)
    return value if real and abs(value) < 1e300 else None


def measured(line: Mapping[str, Any], kind: str, measure: str) -> float | None:
    """A number out of a line of metrics, such as the mean of the scores after local search, if it is there."""
    stats = line.get(kind)
    return finite(stats.get(measure)) if isinstance(stats, Mapping) else None


def said(value: float) -> str:
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


def chart(title: str, curves: Sequence[Curve], generations: Sequence[int], share: bool = False) -> str:
    """A figure with the curves that have values; nothing if none has. Shares go from 0 to 100 %."""
    curves = [curve for curve in curves if any(value is not None for value in curve.values)]
    if not curves:
        return ""
    known = [value for curve in curves for value in curve.values if value is not None]
    low, high = (0.0, 1.0) if share else padded(min(known), max(known))
    x = Axis(generations[0], generations[-1], LEFT, WIDE - RIGHT)
    y = Axis(low, high, TALL - BOTTOM, TOP)
    parts = [*level_lines(y, share), *generation_names(x, generations)]
    parts += [drawn for curve in curves for drawn in line(curve, generations, x, y)]
    cursor = f'<line class="cursor" y1="{TOP}" y2="{TALL - BOTTOM}" x1="-9" x2="-9"/>'
    picture = f'<svg class="chart" viewBox="0 0 {WIDE} {TALL}" role="img">{"".join(parts)}{cursor}</svg>'
    return f"<figure><figcaption>{escape(title)}</figcaption>{picture}</figure>"


def padded(low: float, high: float) -> tuple[float, float]:
    """A little room above and below, also for a single value."""
    room = (high - low) * 0.08 or max(1.0, abs(high)) * 0.05
    return low - room, high + room


def level_lines(y: Axis, share: bool) -> list[str]:
    parts = []
    for tick in [0, 0.25, 0.5, 0.75, 1.0] if share else ticks(y.low, y.high):
        name = f"{tick:.0%}".replace("%", " %") if share else said(tick)
        parts.append(f'<path class="level" d="M{LEFT} {y.at(tick)}H{WIDE - RIGHT}"/>')
        parts.append(f'<text class="tick" x="{LEFT - 6}" y="{y.at(tick)}" dy=".35em" text-anchor="end">{name}</text>')
    return parts


def generation_names(x: Axis, generations: Sequence[int]) -> list[str]:
    whole = sorted({round(tick) for tick in ticks(generations[0], generations[-1], 5)})
    return [
        f'<text class="tick" x="{x.at(tick)}" y="{TALL - 8}" text-anchor="middle">{tick}</text>'
        for tick in whole
        if generations[0] <= tick <= generations[-1]
    ]


def line(curve: Curve, generations: Sequence[int], x: Axis, y: Axis) -> list[str]:
    """The curve as a path, and its points where there are few, or where one stands alone."""
    places = [None if v is None else (x.at(g), y.at(v)) for g, v in zip(generations, curve.values, strict=True)]
    path, pen = "", "M"
    for place in places:
        path, pen = (path + f"{pen}{place[0]} {place[1]}", "L") if place else (path, "M")
    alone = [
        place
        for before, place, after in zip([None, *places], places, [*places[1:], None], strict=False)
        if place and (len(places) <= DOTS or not (before or after))
    ]
    dots = "".join(f'<circle cx="{px}" cy="{py}" r="2.4"/>' for px, py in alone)
    return [f'<g class="{curve.look}"><title>{escape(curve.name)}</title><path class="line" d="{path}"/>{dots}</g>']
