"""The picture of a Dictionary: its numbers, and a bar per named direction, as long as its best cosine."""

from typing import TYPE_CHECKING

from handloom.view.pages.skeleton import figure, table
from handloom.view.svg.drawing import Drawing, Label, Rect, Segment, Shape

if TYPE_CHECKING:
    from handloom.read.dictionaries import Dictionary

LEFT, LONG, STEP = 150, 300, 18
MOST = 60  # directions that are drawn


def dictionary_card(found: "Dictionary") -> str:
    """What was measured, and which directions were found."""
    rows = [
        ("site", found.site),
        ("features", f"{found.features} ({found.kind}), {found.active:.1f} active, {found.dead} dead"),
        ("variance explained", f"{found.explained:.1%}"),
        ("loss recovered", f"{found.recovered:.1%}"),
        ("same output", f"{found.same:.1%}"),
    ]
    if found.matched is None:
        return f"<h3>Dictionary</h3>{table(rows)}"
    others = f"random {found.chance:.0%}, principal components {found.components:.0%}"
    rows.append(("directions matched", f"{found.matched:.0%} ({others})"))
    return f"<h3>Dictionary</h3>{table(rows)}{figure(cosine_bars(found), 'Best cosine of each named direction')}"


def cosine_bars(found: "Dictionary") -> Drawing:
    """A bar per direction, blue if it is matched; a dashed line at the cosine of a match."""
    names = list(found.cosines.items())[:MOST]
    down = 8 + STEP * len(names)
    shapes: list[Shape] = []
    for row, (name, cosine) in enumerate(names):
        y = 8 + STEP * row
        look = "after" if cosine >= found.match else "search"
        shapes.append(Label(LEFT - 8, y + STEP / 2, name, "name", anchor="end"))
        shapes.append(Rect(LEFT, y + 3, LONG * cosine, STEP - 6, look, f"{name}: {cosine:.3f}"))
    at = LEFT + LONG * found.match
    shapes += [Segment(at, 4, at, down + 2, "known"), Label(at, down + 12, f"{found.match:g}", "tick")]
    return Drawing(LEFT + LONG + 20, down + 24, tuple(shapes))
