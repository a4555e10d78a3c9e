"""The circuit of a model as a picture: sources and receivers in layers from below, real edges as lines between them.

    as_svg(circuit_drawing(read.circuit("search")), "search")

A head has three ports, for its queries, keys and values; a line ends at the port that reads. It is as thick as the
share of pairs on which cutting it changes an answer. Parts that no answer needs are pale. Given the scores of a method,
the edges that it would choose are drawn too: those that it finds are whole, those that it misses dashed, and those that
it adds are orange and dotted; a legend counts them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from handloom.read.circuit import Circuit, EdgeEvidence
from handloom.read.graph import LOGITS, Edge
from handloom.view.svg.drawing import Drawing, Label, Rect, Segment, Shape

ACROSS, UP = 132, 92  # from part to part, from row to row
WIDE, TALL = 84, 30  # a part
MARGIN = 18
THIN, THICK = 1.0, 4.5
PORTS = {"q": -24, "k": 0, "v": 24}
LINE, SAMPLE = 20, 34  # of the legend: its height, and how long its sample is
LEGEND_WIDTH = 250
DOTTED = 2.0  # how thick a line is that no answer needs


@dataclass(frozen=True)
class Spot:
    """The middle of a part."""

    x: float
    y: float


def circuit_drawing(found: Circuit, method: Mapping[Edge, float] | None = None) -> Drawing:
    """The drawing; `method` has the scores of a method, whose best edges, as many as are real, are compared."""
    rows = rows_of(found)
    width = 2 * MARGIN + ACROSS * max(len(row) for row in rows)
    height = 2 * MARGIN + UP * (len(rows) - 1) + TALL
    spots = {
        name: Spot(width / 2 + ACROSS * (i - (len(row) - 1) / 2), height - MARGIN - TALL / 2 - UP * up)
        for up, row in enumerate(rows)
        for i, name in enumerate(row)
    }
    needed = {part_of(end) for edge in found.real for end in edge}
    chosen = chosen_by(found, method)
    shapes: list[Shape] = list(lines(found, spots, chosen))
    for name, spot in spots.items():
        shapes += part(name, spot, name in needed)
    if chosen is None:
        return Drawing(width, height, tuple(shapes))
    shapes += legend(found.real, chosen, height)
    return Drawing(max(width, LEGEND_WIDTH), height + 3 * LINE + MARGIN / 2, tuple(shapes))


def legend(real: frozenset[Edge], chosen: frozenset[Edge], top: float) -> Iterator[Shape]:
    """What each kind of line is, and how many there are."""
    told = (
        ("plus-line", "real, and found", len(real & chosen)),
        ("missed-line", "real, and missed", len(real - chosen)),
        ("extra-line", "found, and not real", len(chosen - real)),
    )
    for i, (look, words, count) in enumerate(told):
        y = top + LINE * i + 4
        yield Segment(MARGIN, y, MARGIN + SAMPLE, y, look, width=2.5)
        yield Label(MARGIN + SAMPLE + 10, y, f"{words}: {count}", "label", 11, "start")


def rows_of(found: Circuit) -> list[list[str]]:
    """Embeddings, then for each layer its heads and its MLP, then the logits."""
    names = list(dict.fromkeys(part_of(end) for one in found.edges for end in (one.source, one.target)))
    below = [name for name in names if "." not in name and name != LOGITS]
    layers = sorted({int(name.partition(".")[0]) for name in names if "." in name})
    rows = [below]
    for i in layers:
        own = sorted(name for name in names if name.startswith(f"{i}."))
        rows += [[name for name in own if not name.endswith("mlp")], [name for name in own if name.endswith("mlp")]]
    return [row for row in (*rows, [LOGITS]) if row]


def part_of(end: str) -> str:
    """The part that a source or a receiver belongs to: 1.0.q is of head 1.0."""
    return end.rpartition(".")[0] if end[-2:] in (".q", ".k", ".v") else end


def chosen_by(found: Circuit, method: Mapping[Edge, float] | None) -> frozenset[Edge] | None:
    if method is None:
        return None
    best = sorted((one.edge for one in found.edges), key=lambda edge: -method.get(edge, 0.0))
    return frozenset(best[: len(found.real)])


def lines(found: Circuit, spots: Mapping[str, Spot], chosen: frozenset[Edge] | None) -> list[Segment]:
    """One line per real edge, and per edge that a method would choose."""
    drawn = []
    for one in found.edges:
        wanted = chosen is not None and one.edge in chosen
        if one.real or wanted:
            look = "extra-line" if not one.real else "missed-line" if chosen is not None and not wanted else "plus-line"
            drawn.append(line_of(one, spots, look))
    return drawn


def line_of(one: EdgeEvidence, spots: Mapping[str, Spot], look: str) -> Segment:
    start, end = spots[one.source], spots[part_of(one.target)]
    aside = PORTS.get(one.target[-1], 0) if part_of(one.target) != one.target else 0
    hint = f"{one.source} → {one.target}: {one.percent} of pairs"
    thick = THIN + (THICK - THIN) * one.share if one.real else DOTTED
    return Segment(start.x, start.y - TALL / 2, end.x + aside, end.y + TALL / 2, look, hint, thick)


def part(name: str, spot: Spot, needed: bool) -> list[Shape]:
    box = Rect(spot.x - WIDE / 2, spot.y - TALL / 2, WIDE, TALL, "box" if needed else "pale-box")
    words = Label(spot.x, spot.y - (5 if has_ports(name) else 0), name, "name" if needed else "place", 12)
    ports = [Label(spot.x + x, spot.y + 8, letter, "place", 9) for letter, x in PORTS.items()]
    return [box, words, *(ports if has_ports(name) else [])]


def has_ports(name: str) -> bool:
    return "." in name and not name.endswith("mlp")
