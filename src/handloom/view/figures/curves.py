"""The curves of runs: success and loss over the steps, one line per run. Runs that differ only in their seed are one
line, their mean, in a band from the least to the largest.

draw_curves({"rule 1": [folder.lines()], "rule 2": [one.lines(), other.lines()]}, "curves.svg")
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from handloom.core import HandloomError
from handloom.core.checks import is_number
from handloom.view.colours import LINES
from handloom.view.figures.figure import STYLE, check_format, matplotlib_parts, tidy, write_figure

Metrics = Sequence[Mapping[str, Any]]  # the lines of metrics.jsonl


def draw_curves(runs: Mapping[str, Sequence[Metrics]], path: str | Path) -> Path:
    """Write the figure to a .png, .svg or .pdf file: on the left the share of samples that are right, on the right the
    loss on the training set (thin) and held out. A name has one run, or several with different seeds."""
    path = Path(path)
    check_format(path)
    for name, several in runs.items():
        for lines in several:
            check_lines(name, lines)
    figure_class, styles = matplotlib_parts()
    with styles(STYLE | {"font.size": 10}):
        figure = figure_class(figsize=(9.0, 3.4), layout="constrained")
        left, right = figure.subplots(1, 2)
        for i, (name, several) in enumerate(runs.items()):
            colour, marker = LINES[i % len(LINES)]
            dots = {"color": colour, "marker": marker, "markersize": 3}
            label = name if len(several) == 1 else f"{name} ({len(several)} seeds)"
            curve(left, several, "success", label=label, **dots)
            curve(right, several, "held_out", **dots)
            curve(right, several, "loss", color=colour, linewidth=0.8)
        left.set(title="right", xlabel="steps", ylim=(-0.03, 1.03))
        left.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0 %", "25 %", "50 %", "75 %", "100 %"])
        right.set(title="loss per token, held out (thin: training)", xlabel="steps")
        for axis in (left, right):
            tidy(axis)
            axis.locator_params(axis="x", nbins=5)
            axis.xaxis.set_major_formatter("{x:,.0f}")
        left.legend(frameon=False, fontsize=8)
        return write_figure(figure, path)


def check_lines(name: str, lines: Metrics) -> None:
    if not lines:
        raise HandloomError(f"{name} has not been evaluated yet; there is nothing to draw")
    for line in lines:
        numbers = [line.get(key) for key in ("step", "success", "loss")]
        if not all(map(is_number, numbers)) or not (line.get("held_out") is None or is_number(line["held_out"])):
            raise HandloomError(f"{name} has lines without a step, success, held_out or loss; remove them")


def curve(axis: Any, several: Sequence[Metrics], key: str, **how: Any) -> None:
    """One value over the steps: a line, and for several runs a band. A run without held-out strings has no such
    loss."""
    points = list(values_at(several, key))
    if not points:
        return
    steps, values = [step for step, _ in points], [found for _, found in points]
    axis.plot(steps, [np.mean(found) for found in values], **how)
    if len(several) > 1:
        least, most = [min(found) for found in values], [max(found) for found in values]
        axis.fill_between(steps, least, most, color=how["color"], alpha=0.15, linewidth=0)


def values_at(several: Sequence[Metrics], key: str) -> Iterator[tuple[int, list[float]]]:
    """The values of the runs at each step. A run that has ended keeps its last value, so that every mean is one over
    all of them."""
    series = [{line["step"]: line[key] for line in lines if line.get(key) is not None} for lines in several]
    series = [found for found in series if found]
    for step in sorted(set().union(*series)):
        yield step, [found[max(s for s in found if s <= step)] for found in series if min(found) <= step]
