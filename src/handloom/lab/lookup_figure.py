"""Precision of lookup tables against the width of the model, a panel for each number of entries: figure 3.8 of
The Art of Transformer Programming.

    draw(evaluate(), "precision.svg")
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from handloom.core import HandloomError
from handloom.lab.lookup_precision import Precision
from handloom.view.colours import LINES
from handloom.view.figures.figure import STYLE, check_format, matplotlib_parts, tidy, write_figure


def draw_precision(results: Sequence[Precision], path: str | Path) -> Path:
    """Write the figure to a .png, .svg or .pdf file. Lines are means of runs, bands reach from the worst to the
    best; a vocabulary is a line."""
    path = Path(path)
    check_format(path)
    if not results:
        raise HandloomError("no results to draw; evaluate() makes some")
    figure_class, styles = matplotlib_parts()
    panels = sorted({result.entries for result in results})
    with styles(STYLE | {"font.size": 10}):
        figure = figure_class(figsize=(3.4 * len(panels) + 0.4, 3.5), layout="constrained")
        axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for axis, entries in zip(axes, panels, strict=True):
            panel(axis, entries, [result for result in results if result.entries == entries])
        axes[0].set_ylabel("entries that come out right")
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), frameon=False)
        return write_figure(figure, path)


def panel(axis: Any, entries: int, results: Sequence[Precision]) -> None:
    """One number of entries: a line for each vocabulary."""
    for vocab, (colour, marker) in zip(sorted({result.vocab for result in results}), LINES, strict=False):
        line = sorted((result for result in results if result.vocab == vocab), key=lambda result: result.dims)
        width = [result.dims + 3 for result in line]
        mean = [sum(result.runs) / len(result.runs) for result in line]
        worst, best = [min(result.runs) for result in line], [max(result.runs) for result in line]
        axis.fill_between(width, worst, best, color=colour, alpha=0.18, linewidth=0)
        axis.plot(width, mean, color=colour, marker=marker, markersize=4, linewidth=1.6, label=f"{vocab:,} tokens")
    axis.set_title(f"{entries:,} entries", fontsize=11)
    axis.set_xlabel("width of the model")
    axis.set_ylim(-0.03, 1.03)
    axis.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0 %", "25 %", "50 %", "75 %", "100 %"])
    tidy(axis)
