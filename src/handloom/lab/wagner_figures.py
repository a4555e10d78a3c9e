"""The histograms of Wagner's experiment below each other, as one SVG: what was trained on, sampled, and by chance.

    Path("wagner.svg").write_text(wagner_figure(results))     # two results of lab/wagner.py, of one pair of runs

All share one axis, from −10, the score of a malformed string; the dashed line is the best known value.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from handloom.discover.catalogue import problem_named
from handloom.view.svg.charts import exact, short_number
from handloom.view.svg.drawing import Drawing, Label, Shape, as_svg, moved
from handloom.view.svg.histograms import TALL, WIDE, bins_for, histogram

TITLE = 24  # the height of a panel's title
MARGIN = 12


def wagner_figure(results: Sequence[Mapping[str, Any]]) -> str:
    """For one or more results from the same attempts: the scores of these, of what each model sampled, and of as many
    points at random."""
    panels = [("The attempts", results[0]["attempts"], "search")]
    for result in results:
        smaller = result["settings"]["with_smaller"]
        name, look = ("Sampled, trained on smaller n too", "after") if smaller else ("Sampled from the model", "before")
        panels.append((f"{name}: points", result["sampled"]["points"], f"{look}-pale"))
        panels.append((f"{name}: legal part", result["sampled"]["scores"], look))
    panels.append(("Points by chance: legal part", results[0]["by_chance"], "search"))
    best_known = problem_named("isosceles", n=results[0]["settings"]["n"]).best_known
    bins = bins_for([stats["histogram"] for _, stats, _ in panels], best_known)
    assert bins is not None, "every result has scores"
    shapes: list[Shape] = []
    y = MARGIN
    for name, stats, look in panels:
        shapes.append(Label(MARGIN, y + 9, name, "title", 14, "start"))
        shapes.append(Label(MARGIN + WIDE, y + 9, numbers_of(stats), size=12, anchor="end"))
        shapes += moved(histogram(stats["histogram"], bins, look), MARGIN, y + TITLE)
        y += TITLE + TALL + MARGIN
    return as_svg(Drawing(WIDE + 2 * MARGIN, y, tuple(shapes))) + "\n"


def numbers_of(stats: Mapping[str, Any]) -> str:
    """The numbers that the talk shows below its histograms."""
    mean, top = f"{stats['mean']:.1f}", f"{stats['top_fifth']:.1f}"
    return f"mean {mean}, median {short_number(stats['median'])}, top fifth {top}, max {exact(stats['max'])}"
