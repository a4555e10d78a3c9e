"""Histograms of scores by generation, all on the same axis, so that one can watch them move to the right.

    >>> bins = bins_for([{"16": 3, "18": 1}, {"17": 2}], best_known=20)
    >>> bins.low, bins.width, bins.count
    (16, 1, 5)
    >>> bins.heights({"16": 3, "18": 1})
    [3, 0, 1, 0, 0]

A sample that is not a construction has no score; these stand apart on the left.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from handloom.view.svg.charts import finite, short_number, ticks
from handloom.view.svg.drawing import Drawing, Label, Rect, Segment, Shape

WIDE, TALL = 720, 150
LEFT, BOTTOM, TOP = 70, 24, 12
MOST_BINS = 60


@dataclass(frozen=True)
class Bins:
    """Equal intervals of scores, one per whole score where these are few."""

    low: float
    width: float
    count: int
    whole: bool  # whether the scores are whole numbers
    best_known: float | None = None

    def heights(self, histogram: Mapping[str, object]) -> list[int]:
        """The number of scores in each."""
        found = [0] * self.count
        for score, number in entries(histogram):
            found[min(self.count - 1, max(0, math.floor((score - self.low) / self.width)))] += number
        return found

    def at(self, score: float) -> float:
        """Where the bar of a score begins, as a share of the whole axis."""
        return (score - self.low) / (self.width * self.count)


def entries(histogram: Mapping[str, object] | None) -> list[tuple[float, int]]:
    """Scores and the number of each; entries that are not numbers are left out."""
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
    """Intervals that hold all scores, and the best known one if it is near; None without scores."""
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


def histogram(counts: Mapping[str, object] | None, bins: Bins, look: str, illegal: int = 0) -> Drawing:
    """One histogram with its axes; `illegal` is the number of samples that are not constructions."""
    heights = bins.heights(counts or {})
    top = max([*heights, illegal, 1])
    floor, room = TALL - BOTTOM, TALL - BOTTOM - TOP
    marks = [(tick, floor - room * tick / top) for tick in ticks(0, top, 3)]
    shapes: list[Shape] = [Segment(LEFT, y, WIDE, y, "level") for _, y in marks]
    shapes += [Label(LEFT - 6, y, short_number(tick), "tick", anchor="end") for tick, y in marks]
    shapes += bars(heights, top, LEFT, WIDE - LEFT, floor, room, look)
    shapes += score_names(bins, floor)
    if illegal:
        tall = room * illegal / top
        shapes.append(Label(17, floor + 11, "illegal", "tick"))
        shapes.append(Rect(8, floor - tall, 18, tall, "illegal", f"{illegal:,}"))
    return Drawing(WIDE, TALL, tuple(shapes))


def score_names(bins: Bins, floor: float) -> Iterator[Shape]:
    """The scores below the bars, and a line at the best known one."""
    middle = bins.width / 2 if bins.whole else 0

    def x(score: float) -> float:
        return LEFT + (WIDE - LEFT) * bins.at(score + middle)

    last = bins.low + bins.width * bins.count - (1 if bins.whole else 0)
    for tick in ticks(bins.low, last, 10):
        if not bins.whole or isinstance(tick, int):
            yield Label(x(tick), floor + 11, short_number(tick), "tick")
    if (known := bins.best_known) is not None:
        yield Segment(x(known), TOP - 8, x(known), floor, "known", f"best known: {short_number(known)}")


def thumbnail(histograms: Iterable[tuple[Mapping[str, object] | None, str]], bins: Bins) -> Drawing:
    """Histograms, each with its look, on top of each other."""
    shapes: list[Shape] = []
    for counts, look in histograms:
        heights = bins.heights(counts or {})
        shapes += bars(heights, max([*heights, 1]), 0, 160, 56, 52, look)
    return Drawing(160, 60, (*shapes, Segment(0, 56.5, 160, 56.5, "level")))


def bars(heights: list[int], top: int, x: float, wide: float, floor: float, room: float, look: str) -> Iterator[Rect]:
    """A bar for each height but 0, never too low to be seen."""
    step = wide / len(heights)
    gap = min(2.0, 0.15 * step)
    for i, height in enumerate(heights):
        if height:
            tall = max(1.0, room * height / top)
            yield Rect(x + step * i + gap / 2, floor - tall, step - gap, tall, look)
