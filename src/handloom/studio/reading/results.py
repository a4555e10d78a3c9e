"""What a reading shows: words, tables and drawings, as plain JSON values that a page draws by itself.

    Shown(words=["…"], tables=[found_table("Paths", ["path", "contribution"], rows)], drawings=[drawn("", drawing)])

A number in a table stays a number: the page sorts by it. A drawing passes as its shapes, so that a page can give them
its colours, show their hints, and make links of the heads among them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from handloom.view.svg.drawing import Disc, Drawing, Label, Polyline, Rect, Segment, titled

JSON = dict[str, Any]
MOST_ROWS = 500  # of one table
KINDS = {Disc: "disc", Segment: "segment", Polyline: "polyline", Rect: "rect", Label: "label"}


@dataclass(frozen=True)
class Shown:
    """What is shown of one reading. `on` is the input it was read on."""

    words: list[str] = field(default_factory=list)
    tables: list[JSON] = field(default_factory=list)
    drawings: list[JSON] = field(default_factory=list)
    on: str = ""

    def to_json(self) -> JSON:
        return vars(self)


def found_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> JSON:
    """A table; the first column names the row."""
    all_rows = [[*row] for row in rows]
    left_out = max(0, len(all_rows) - MOST_ROWS)
    return {"title": title, "columns": [*columns], "rows": all_rows[:MOST_ROWS], "left_out": left_out}


def drawn(title: str, drawing: Drawing) -> JSON:
    """A drawing as its shapes."""
    plain = titled(drawing, "")
    shapes = [{"kind": KINDS[type(shape)], **vars(shape)} for shape in plain.shapes if shape.part != "paper"]
    return {"title": title, "width": plain.width, "height": plain.height, "shapes": shapes}
