"""Drawings of how one run comes about: paths and parts as bars, shares as a heat map, the logit lens as a grid.

    as_svg(paths_drawing(hl.read.paths(model, text)), "The largest paths")

Blue adds to the target and orange takes away. Every picture is bounded in size; the exact number is in the hint.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from handloom.read import Attribution, Lens, Paths, Shares
from handloom.view.svg.drawing import Drawing, Label, Rect, Segment, Shape
from handloom.view.svg.heatmap import heatmap

MOST_BARS = 20
MOST_RECEIVERS, MOST_SOURCES = 80, 60
MOST_POSITIONS = 30  # of a lens, the last ones
BAR, LONGEST_BAR, FONT = 18, 220.0, 12
LETTER = 0.62 * FONT
WIDE, HIGH = 46, 34  # a cell of the lens
DARK = 0.55  # probability from which on a cell is too dark for dark letters


def paths_drawing(paths: Paths, most: int = MOST_BARS) -> Drawing:
    """The largest paths, and all others together, as bars."""
    rows = [(str(path), path.contribution) for path in paths.paths[:most]]
    if rest := paths.count - len(rows):
        rows.append((f"{rest:,} other{'s' if rest > 1 else ''}", paths.target.total - sum(x for _, x in rows)))
    return bars(rows)


def attribution_drawing(attribution: Attribution, most: int = MOST_BARS) -> Drawing:
    """What each part wrote into the target, in the order of the model."""
    parts = list(attribution.parts.items())
    keep = {name for name, _ in sorted(parts, key=lambda part: -abs(part[1]))[:most]}
    rows = [(name, x) for name, x in parts if name in keep]
    if rest := len(parts) - len(rows):
        rows.append((f"{rest:,} others", attribution.target.total - sum(x for _, x in rows)))
    return bars(rows)


def bars(rows: Sequence[tuple[str, float]]) -> Drawing:
    """A bar for each name, to the right of zero or to the left of it."""
    values = [x for _, x in rows]
    low, high = min(0.0, *values, 0.0), max(0.0, *values, 0.0)
    unit = LONGEST_BAR / ((high - low) or 1.0)
    numbers = 70  # room for a number at either end
    left = 14 + LETTER * max((len(name) for name, _ in rows), default=0) + (numbers if low else 10)
    zero = left - low * unit
    shapes = [shape for i, row in enumerate(rows) for shape in bar(i, *row, zero, unit, left)]
    axis = Segment(zero, 6, zero, 10 + BAR * len(rows), "frame")
    return Drawing(left + LONGEST_BAR + numbers, 16 + BAR * len(rows), (*shapes, axis))


def bar(i: int, name: str, value: float, zero: float, unit: float, left: float) -> Iterator[Shape]:
    y = 8 + BAR * i
    length = abs(value) * unit
    yield Label(14, y + BAR / 2, name, "name", FONT, "start")
    part, x = ("plus", zero) if value >= 0 else ("minus", zero - length)
    yield Rect(x, y + 2, length, BAR - 4, part, f"{name}: {value:.6g}")
    is_zero = length < 1e-6
    at, anchor = (zero + length + 6, "start") if value >= 0 or is_zero else (zero - length - 6, "end")
    yield Label(at, y + BAR / 2, "0" if is_zero else f"{value:+.3g}", "label", 11, anchor)


def shares_drawing(shares: Shares) -> Drawing:
    """Sources × receivers; a column sums to 1, and full colour is 1. Receivers that read nothing that varies are left
    out."""
    receivers = [name for name, parts in shares.table.items() if parts][:MOST_RECEIVERS]
    sources = list(dict.fromkeys(name for to in receivers for name in shares.table[to]))[:MOST_SOURCES]
    if not receivers:
        return Drawing(260, 40, (Label(14, 20, "no receiver reads what varies", anchor="start"),))
    matrix = np.array([[shares.table[to].get(name, 0.0) for to in receivers] for name in sources])
    return heatmap(matrix, sources, receivers, "source", "read by", scale=1.0)


def lens_drawing(lens: Lens) -> Drawing:
    """A row per site, the output at the top, and a column per position: the token, darker if likelier."""
    first = max(0, len(lens.tokens) - MOST_POSITIONS)
    left, top = 22 + LETTER * max(map(len, lens.sites)), 40
    shapes: list[Shape] = []
    for j, token in enumerate(lens.tokens[first:]):
        x = left + WIDE * (j + 0.5)
        shapes += [Label(x, 14, str(first + j), "place", 8.5), Label(x, 28, short(token), "name", FONT)]
    for i, row in enumerate(reversed(range(len(lens.sites)))):
        y = top + HIGH * i
        shapes.append(Label(left - 8, y + HIGH / 2, lens.sites[row], "name", FONT, "end"))
        for j, (token, chance) in enumerate(zip(lens.predicted[row], lens.probability[row].tolist(), strict=True)):
            if j >= first:
                hint = f"{lens.sites[row]}, position {j}: {token} {chance:.4g}"
                shapes += lens_cell(left + WIDE * (j - first), y, token, chance, hint)
    width = left + WIDE * (len(lens.tokens) - first) + 12
    return Drawing(width, top + HIGH * len(lens.sites) + 10, tuple(shapes))


def lens_cell(x: float, y: float, token: str, chance: float, hint: str) -> Iterator[Shape]:
    ink = "on-dark" if chance > DARK else "on-light"
    yield Rect(x, y, WIDE, HIGH, "plus", hint, round(chance, 3))
    yield Label(x + WIDE / 2, y + HIGH * 0.36, short(token), ink, FONT, hint=hint)
    yield Label(x + WIDE / 2, y + HIGH * 0.74, f"{chance:.0%}".replace("%", " %"), ink, 9)


def short(token: str) -> str:
    return token if len(token) <= 6 else token[:5] + "…"
