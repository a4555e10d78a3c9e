"""Pictures of the claims that were run once: stored curves, and the claimed shares.

panels = repeated_panels(Path("docs"))["wagner/rule-2"]
"""

from collections.abc import Sequence
from pathlib import Path

from handloom.lab.repeated import CLAIMS, Stored, best_generated, check_of, control_of, curve
from handloom.view.figures.panels import Band, Bars, Lines, Mark, Panel


def repeated_panels(docs: Path) -> dict[str, Sequence[Panel]]:
    """The panels of each claim that has a curve in docs/talk or samples in docs/discover."""
    found: dict[str, Sequence[Panel]] = {name: [lines(name, parts, docs)] for name, parts in CLAIMS.items()}
    return found | {"isosceles": [bars(docs / "discover")]}


def lines(name: str, parts: Sequence[Stored], docs: Path) -> Panel:
    """The share of right samples over the steps, with a line for every number that is said, or else asked for, and the
    control."""
    curves = {part.curve: curve(docs / "talk" / f"{part.curve}.jsonl") for part in parts}
    bands = [
        Band(label, [line["step"] for line in rows], [line["success"] for line in rows])
        for label, rows in curves.items()
    ]
    control = control_of(name, check_of(parts[-1], curves[parts[-1].curve]), docs)
    steps = [line["step"] for rows in curves.values() for line in rows]
    bands.append(Band(f"control: {control.name}", [min(steps), max(steps)], [control.value] * 2, control=True))
    marks = {mark.value: mark for mark in map(mark_of, parts)}
    return Lines(name, "steps", "share of samples that are right", bands, list(marks.values()))


def mark_of(part: Stored) -> Mark:
    """The number that is said; or, where none is, the bound."""
    if part.said is not None:
        return Mark(part.said, f"said: {part.said:.1%} after {part.steps:,} steps".replace("%", " %"))
    bound = [one for one in (part.least, part.most) if one is not None][-1]
    return Mark(bound, f"asked for: {check_of(part, ()).bounds}")


def bars(folder: Path) -> Panel:
    """The largest legal parts of what was generated, and of random points."""
    best = best_generated(folder)
    names = ["generated", "smaller n added", "random points"]
    marks = [Mark(24, ""), Mark(25, "said: 24, and 25 with smaller n added")]
    values = [[best["alone"]], [best["with smaller"]], [best["random"]]]
    return Bars("isosceles:n=16", "most points", names, values, names[2:], marks)
