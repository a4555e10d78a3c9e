"""Pictures of the claims that were run once: stored curves, and the claimed shares.

panels = repeated_panels(Path("docs"))["wagner/rule-2"]
"""

from collections.abc import Sequence
from pathlib import Path

from handloom.lab.repeated import CLAIMS, Stored, best_generated, curve
from handloom.view.figures.panels import Band, Bars, Lines, Mark, Panel


def repeated_panels(docs: Path) -> dict[str, Sequence[Panel]]:
    """The panels of each claim that has a curve in docs/talk or samples in docs/discover."""
    found: dict[str, Sequence[Panel]] = {name: [lines(name, parts, docs / "talk")] for name, parts in CLAIMS.items()}
    return found | {"isosceles": [bars(docs / "discover")]}


def lines(name: str, parts: Sequence[Stored], folder: Path) -> Panel:
    """The share of right samples over the steps, with a line for every number that is said."""
    curves = {part.curve: curve(folder / f"{part.curve}.jsonl") for part in parts}
    bands = [
        Band(label, [line["step"] for line in rows], [line["success"] for line in rows])
        for label, rows in curves.items()
    ]
    said = {part.said: part.steps for part in parts if part.said is not None}
    marks = [
        Mark(share, f"said: {share:.1%} after {steps:,} steps".replace("%", " %")) for share, steps in said.items()
    ]
    return Lines(name, "steps", "share of samples that are right", bands, marks)


def bars(folder: Path) -> Panel:
    """The largest legal parts of what was generated, and of random points."""
    best = best_generated(folder)
    names = ["generated", "smaller n added", "random points"]
    marks = [Mark(24, ""), Mark(25, "said: 24, and 25 with smaller n added")]
    values = [[best["alone"]], [best["with smaller"]], [best["random"]]]
    return Bars("isosceles:n=16", "most points", names, values, names[2:], marks)
