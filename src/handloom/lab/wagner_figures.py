"""The histograms of Wagner's experiment below each other, as one SVG: what was learnt from, what was said, and chance.

    Path("wagner.svg").write_text(wagner_figure(results))     # two results of lab/wagner.py, of one pair of runs

All have one axis, from −10, the score of what is malformed; the dashed line is the best that is known.
"""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from handloom.discover.catalogue import problem_named
from handloom.view.svg.charts import exact, said
from handloom.view.svg.histograms import TALL, WIDE, bins_for, histogram

TITLE = 24  # the height of a panel's title
MARGIN = 12
STYLE = (
    ".page{fill:#fff}.name{font:600 14px sans-serif;fill:#222}.numbers,.tick{font:12px sans-serif;fill:#666}"
    ".tick{font-size:11px}.level{stroke:#e2e2dc;fill:none}.known{stroke:#3a7d44;stroke-width:1.6;"
    "stroke-dasharray:4 3;fill:none}.search{fill:#8a8f94}.before{fill:#c9561c}.after{fill:#1b6ca8}.pale{opacity:.55}"
)


def wagner_figure(results: Sequence[Mapping[str, Any]]) -> str:
    """Of one or more results from the same attempts: the scores of these, of what each model said, and of as many
    points anywhere."""
    panels = [("The attempts", results[0]["attempts"], "search")]
    for result in results:
        smaller = result["settings"]["with_smaller"]
        name, look = ("Said, with smaller n learnt too", "after") if smaller else ("Said by the model", "before")
        panels.append((f"{name}: points", result["said"]["points"], f"{look} pale"))
        panels.append((f"{name}: legal part", result["said"]["scores"], look))
    panels.append(("Points by chance: legal part", results[0]["by_chance"], "search"))
    best_known = problem_named("isosceles", n=results[0]["settings"]["n"]).best_known
    bins = bins_for([stats["histogram"] for _, stats, _ in panels], best_known)
    assert bins is not None, "every result has scores"
    parts, y = [], MARGIN
    for name, stats, look in panels:
        parts.append(f'<text class="name" x="{MARGIN}" y="{y + 14}">{escape(name)}</text>')
        numbers = f'<text class="numbers" x="{MARGIN + WIDE}" y="{y + 14}" text-anchor="end">{numbers_of(stats)}</text>'
        parts.append(numbers)
        place = f'<svg x="{MARGIN}" y="{y + TITLE}" width="{WIDE}" height="{TALL}">'
        parts.append(f"{place}{histogram(stats['histogram'], bins, look)}</svg>")
        y += TITLE + TALL + MARGIN
    box = f'viewBox="0 0 {WIDE + 2 * MARGIN} {y}" width="{WIDE + 2 * MARGIN}" height="{y}"'
    page = f'<rect class="page" width="{WIDE + 2 * MARGIN}" height="{y}"/>'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {box}><style>{STYLE}</style>{page}{"".join(parts)}</svg>\n'


def numbers_of(stats: Mapping[str, Any]) -> str:
    """As the talk tells them below its histograms."""
    mean, top = f"{stats['mean']:.1f}", f"{stats['top_fifth']:.1f}"
    return f"mean {mean}, median {said(stats['median'])}, top fifth {top}, max {exact(stats['max'])}"
