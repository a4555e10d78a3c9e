"""How runs went: success and loss over the steps, a line for each run.

draw_curves({"rule 1": folder.lines()}, "curves.svg")
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from handloom.core import HandloomError
from handloom.core.config import is_number
from handloom.view.figure import LINES, STYLE, check_format, matplotlib_parts, tidy, write_figure

Metrics = Sequence[Mapping[str, Any]]  # the lines of metrics.jsonl


def draw_curves(runs: Mapping[str, Metrics], path: str | Path) -> Path:
    """Write the figure to a .png, .svg or .pdf file: on the left the share of samples that are right, on the right the
    loss on what is learnt (thin) and on what is held out."""
    path = Path(path)
    check_format(path)
    if empty := [name for name, lines in runs.items() if not lines]:
        raise HandloomError(f"{empty[0]} has not been evaluated yet; there is nothing to draw")
    for name, lines in runs.items():
        if not all(is_number(line.get(key)) for line in lines for key in ("step", "success", "held_out", "loss")):
            raise HandloomError(f"{name} has lines without a step, success, held_out or loss; take them out")
    figure_class, styles = matplotlib_parts()
    with styles(STYLE | {"font.size": 10}):
        figure = figure_class(figsize=(9.0, 3.4), layout="constrained")
        left, right = figure.subplots(1, 2)
        for i, (name, lines) in enumerate(runs.items()):
            colour, marker = LINES[i % len(LINES)]
            steps = [line["step"] for line in lines]
            dots = {"color": colour, "marker": marker, "markersize": 3}
            left.plot(steps, [line["success"] for line in lines], label=name, **dots)
            right.plot(steps, [line["held_out"] for line in lines], **dots)
            right.plot(steps, [line["loss"] for line in lines], color=colour, linewidth=0.8)
        left.set(title="right", xlabel="steps", ylim=(-0.03, 1.03))
        left.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0 %", "25 %", "50 %", "75 %", "100 %"])
        right.set(title="loss a token, held out and (thin) learnt from", xlabel="steps")
        for axis in (left, right):
            tidy(axis)
        left.legend(frameon=False, fontsize=8)
        return write_figure(figure, path)
