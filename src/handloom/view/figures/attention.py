"""The attention of a model as a picture: a panel per head, a row of panels per layer.

    rows = strings_for(model, task, 200, seed=0)
    draw_attention(mean_attention(model, rows), "attention.png", marks=[13, 22])

In a panel a row is the position that looks and a column the position looked at; a row sums to 1. The colour follows
the square root, so that a tenth can be seen beside one. Digits are counted from 1, and the token that begins a text is
digit 0. Row t predicts digit t + 1. So a digit that a rule names is marked twice, with a triangle at the margin: in its
column, where it is looked at, and in the row that predicts it.
"""

import textwrap
import warnings
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from handloom.core import HandloomError
from handloom.core.arrays import Array
from handloom.read.part_names import NOT_USED
from handloom.view.colours import BLUE, rgb
from handloom.view.figures.figure import STYLE, check_format, matplotlib_parts, write_figure

PANELS = 400  # the most in a picture
TICKS = 48  # labels that fit on an axis
MARK = "#c9561c"


def draw_attention(
    patterns: Any,
    path: str | Path,
    *,
    tokens: Sequence[str] | None = None,
    first: int = 0,
    marks: Sequence[int] = (),
    written: bool = True,
    layers: Sequence[int] | None = None,
    heads: Sequence[int] | None = None,
    unused: Collection[str] = (),
    title: str = "",
) -> Path:
    """Write a picture of patterns (layers, heads, T, T) to a .png, .svg or .pdf file, all panels on one scale.

    Labels are the tokens, if given and up to 48; otherwise numbers, the first position being `first`. `marks` are
    positions by those numbers: their columns, and the rows that predict them, the ones before; or, if the model sees
    both ways (`written=False`), their own rows. `layers` and `heads` are the numbers of those given, by default all
    from 0. Over `unused` heads ("1.3") it says that they are not used."""
    path = Path(path)
    check_format(path)
    values = np.asarray(patterns, np.float64)
    rows, columns, length = check_patterns(values)
    if tokens is not None and len(tokens) != length:
        raise HandloomError(f"there are {len(tokens)} tokens for {length} positions; give one per position")
    figure_class, styles = matplotlib_parts()
    side = panel_side(length, columns)
    size = (side * columns + 1.3, side * rows + 0.7)
    with styles(STYLE | {"font.size": 9}), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a token without a glyph is drawn as a box
        figure = figure_class(figsize=size, layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False)
        for i, j in np.ndindex(rows, columns):
            layer, head = layers[i] if layers else i, heads[j] if heads else j
            image = panel(axes[i, j], values[i, j], f"layer {layer}, head {head}", side)
            if f"{layer}.{head}" in unused:
                say_unused(axes[i, j])
            label(axes[i, j], tick_labels(tokens, first, length), side, left=j == 0, below=i == rows - 1)
            mark(axes[i, j], [place - first for place in marks], length, written)
        bar = figure.colorbar(
            image, ax=axes, fraction=0.03, pad=0.02, shrink=min(1.0, 2 / rows), ticks=[0, 0.01, 0.1, 0.25, 0.5, 1]
        )
        bar.ax.set_yticklabels(["0", "1 %", "10 %", "25 %", "50 %", "100 %"], fontsize=8)
        bar.outline.set_visible(False)
        figure.suptitle(textwrap.fill(title, int(13 * size[0])), fontsize=10)
        figure.supxlabel("position looked at", fontsize=9)
        figure.supylabel("position that looks" + ", to predict the next" * written, fontsize=9)
        return write_figure(figure, path)


def check_patterns(values: Array) -> tuple[int, int, int]:
    if values.ndim != 4 or values.shape[2] != values.shape[3] or not values.size:
        raise HandloomError(f"patterns have the shape (layers, heads, T, T); these have {values.shape}")
    if values.shape[0] * values.shape[1] > PANELS:
        raise HandloomError(
            f"{values.shape[0]} × {values.shape[1]} heads are too many for one picture; choose a layer or a head"
        )
    if values.min() < -1e-6 or values.max() > 1 + 1e-6:
        raise HandloomError(f"patterns from {values.min():.3g} to {values.max():.3g} are no shares (expected 0 to 1)")
    return values.shape[0], values.shape[1], values.shape[2]


def panel_side(length: int, columns: int) -> float:
    """Inches: more for longer strings, and where there are few panels in a row."""
    return float(np.clip(0.075 * length, 1.6 + 1.6 / columns, 3.2 if columns > 2 else 6.0))


def panel(axis: Any, pattern: Array, name: str, side: float) -> Any:
    from matplotlib.colors import LinearSegmentedColormap, PowerNorm

    colours = LinearSegmentedColormap.from_list("attention", [(1, 1, 1), tuple(rgb(BLUE)), (0.02, 0.08, 0.2)])
    smooth = len(pattern) > 60 * side  # more cells than dots: average rather than leave out
    image = axis.imshow(
        pattern, cmap=colours, norm=PowerNorm(0.5, 0.0, 1.0), interpolation="antialiased" if smooth else "nearest"
    )
    axis.set_title(name, fontsize=8, pad=9)
    axis.spines[:].set_color("#bbbbbb")
    return image


def say_unused(axis: Any) -> None:
    box = {"facecolor": "white", "edgecolor": "#bbbbbb", "alpha": 0.85, "boxstyle": "round"}
    axis.text(0.5, 0.5, NOT_USED, transform=axis.transAxes, ha="center", va="center", fontsize=9, bbox=box)


def label(axis: Any, labels: dict[int, str], side: float, left: bool, below: bool) -> None:
    """Ticks at all panels, words only at the outer ones."""
    size = float(np.clip(60 * side / max(1, len(labels)), 3.5, 8))
    upright = any(len(words) > 3 for words in labels.values())
    axis.tick_params(length=2, color="#999999", labelsize=size, pad=2)
    axis.set_yticks(list(labels), list(labels.values()) if left else [])
    axis.set_xticks(list(labels), list(labels.values()) if below else [], rotation=90 if upright else 0)


def tick_labels(tokens: Sequence[str] | None, first: int, length: int) -> dict[int, str]:
    """What is written at which positions."""
    if tokens is not None and length <= TICKS:
        return {i: readable(token) for i, token in enumerate(tokens)}
    step = next(step for step in (1, 2, 5, 10, 20, 50, 100, 200, 500, 10**9) if length <= 12 * step)
    return {number - first: str(number) for number in range(first, first + length) if number % step == 0}


def readable(token: str) -> str:
    token = token if token.isprintable() and token.strip() else repr(token)[1:-1] if token.strip() else "␣"
    return token if len(token) <= 8 else token[:7] + "…"


def mark(axis: Any, places: Sequence[int], length: int, written: bool) -> None:
    """A small triangle above the column of every place and right of its row, each with a faint line."""
    line = {"color": MARK, "linewidth": 0.5, "alpha": 0.45, "linestyle": (0, (2, 3))}
    caret = {"color": MARK, "markersize": 4, "clip_on": False, "linestyle": "none"}  # its point touches the frame
    end = axis.get_xlim()[1]
    for column in places:
        row = column - written
        if 0 <= column < length:
            axis.axvline(column, **line)
            axis.plot([column], [-0.5], marker=11, **caret)
        if 0 <= row < length:
            axis.axhline(row, **line)
            axis.plot([end], [row], marker=8, **caret)
