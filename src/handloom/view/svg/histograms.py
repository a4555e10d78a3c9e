"""Histograms of scores by generation, all on the same axis, so that one can watch them move to the right.

    >>> bins = bins_for([{"16": 3, "18": 1}, {"17": 2}], best_known=20)
    >>> bins.low, bins.width, bins.count
    (16, 1, 5)
    >>> bins.heights({"16": 3, "18": 1})
    [3, 0, 1, 0, 0]

What could not be read as a construction has no score; it stands apart on the left.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from handloom.view.svg.charts import finite, said, ticks

WIDE, TALL = 720, 150
LEFT, BOTTOM, TOP = 70, 24, 12
MOST_BINS = 60


@dataclass(frozen=True)
class Bins:
    """Equal intervals of scores, one for each whole score where these are few."""

    low: float
    width: float
    count: int
    whole: bool  # whether the scores are whole numbers
    best_known: float | None = None

    def heights(self, histogram: Mapping[str, object]) -> list[int]:
        """How many scores fall into each."""
        found = [0] * self.count
        for score, number in entries(histogram):
            found[min(self.count - 1, max(0, math.floor((score - self.low) / self.width)))] += number
        return found

    def at(self, score: float) -> float:
        """Where the bar of a score begins, as a share of the whole axis."""
        return (score - self.low) / (self.width * self.count)


def entries(histogram: Mapping[str, object] | None) -> list[tuple[float, int]]:
    """Scores and how often each was there; what is not a number is left out."""
    found = []
    for key, value in (histogram or {}).items():
        try:
            score, number = finite(float(key)), finite(value)
        except ValueError:
            continue
        if score is not None and number is not None:
            found.append((int(score) if score == int(score) else score, max(0, int(number))))
    return found


def bins_for(histograms: Iterable[Mapping[str, object] | None], best_known: float | None = None) -> Bins | None:
    """Intervals that hold all scores, and the best known one unless it is far away; None if there are no scores."""
    scores = [score for histogram in histograms for score, _ in entries(histogram)]
    if not scores:
        return None
    low, high = min(scores), max(scores)
    if best_known is not None and low <= best_known <= high + max(4, high - low):
        high = max(high, best_known)
    else:
        best_known = None
    if all(isinstance(score, int) for score in [*scores, high]):
        width: float = max(1, math.ceil((high - low + 1) / MOST_BINS))
        return Bins(low, width, math.ceil((high - low + 1) / width), True, best_known)
    width = (high - low) / 40 or 1.0
    return Bins(low, width, max(1, math.ceil((high - low) / width)), False, best_known)


def histogram(counts: Mapping[str, object] | None, bins: Bins, look: str, illegal: int = 0) -> str:
    """One histogram as SVG, with its axes; `illegal` is how many samples were no constructions at all."""
    heights = bins.heights(counts or {})
    top = max([*heights, illegal, 1])
    floor, room = TALL - BOTTOM, TALL - BOTTOM - TOP
    parts = []
    for tick in ticks(0, top, 3):
        y = round(floor - room * tick / top, 1)
        parts.append(f'<path class="level" d="M{LEFT} {y}H{WIDE}"/>')
        parts.append(f'<text class="tick" x="{LEFT - 6}" y="{y}" dy=".35em" text-anchor="end">{said(tick)}</text>')
    parts.append(bars(heights, top, LEFT, WIDE - LEFT, floor, room, look))
    parts += score_names(bins, floor)
    if illegal:
        tall = room * illegal / top
        parts.append(f'<path class="illegal" d="M8 {floor:.1f}h18v{-tall:.1f}h-18z"><title>{illegal:,}</title></path>')
        parts.append(f'<text class="tick" x="17" y="{floor + 15}" text-anchor="middle">illegal</text>')
    return f'<svg viewBox="0 0 {WIDE} {TALL}" role="img">{"".join(parts)}</svg>'


def score_names(bins: Bins, floor: float) -> list[str]:
    """The scores below the bars, and a line at the best known one."""
    middle = bins.width / 2 if bins.whole else 0

    def x(score: float) -> float:
        return round(LEFT + (WIDE - LEFT) * bins.at(score + middle), 1)

    last = bins.low + bins.width * bins.count - (1 if bins.whole else 0)
    parts = [
        f'<text class="tick" x="{x(tick)}" y="{floor + 15}" text-anchor="middle">{said(tick)}</text>'
        for tick in ticks(bins.low, last, 10)
        if not bins.whole or isinstance(tick, int)
    ]
    if (known := bins.best_known) is not None:
        hint = f"<title>best known: {said(known)}</title>"
        parts.append(f'<path class="known" d="M{x(known)} {TOP - 8}V{floor}">{hint}</path>')
    return parts


def small(histograms: Iterable[tuple[Mapping[str, object] | None, str]], bins: Bins) -> str:
    """Histograms, each with its look, on top of each other, as a thumbnail."""
    parts = []
    for counts, look in histograms:
        heights = bins.heights(counts or {})
        parts.append(bars(heights, max([*heights, 1]), 0, 160, 56, 52, look))
    return f'<svg viewBox="0 0 160 60" role="img">{"".join(parts)}<path class="level" d="M0 56.5H160"/></svg>'


def bars(heights: list[int], top: int, x: float, wide: float, floor: float, room: float, look: str) -> str:
    """All bars as one path; a bar that is not empty can be seen."""
    step = wide / len(heights)
    gap = min(2.0, 0.15 * step)
    path = "".join(
        f"M{x + step * i + gap / 2:.1f} {floor:.1f}v{-max(1.0, room * height / top):.1f}h{step - gap:.1f}V{floor:.1f}z"
        for i, height in enumerate(heights)
        if height
    )
    return f'<path class="{look}" d="{path}"/>'
