"""A matrix as a picture: one SVG, no library, opens anywhere.

White is zero, blue above, orange below, as strong as the largest entry; rows and columns carry names. A cell tells its
value when the mouse rests on it.
"""

import re
from collections.abc import Sequence
from html import escape
from itertools import accumulate
from typing import Any

import numpy as np

CELL, FONT = 26, 13
BLUE, ORANGE = np.array([31, 95, 168]), np.array([204, 102, 0])


def heatmap(
    matrix: Any,
    rows: Sequence[str],
    columns: Sequence[str],
    title: str = "",
    row_title: str = "",
    column_title: str = "",
    marked: Sequence[tuple[int, int]] = (),
) -> str:
    """SVG of a matrix (rows, columns); `marked` cells get a frame."""
    values = np.asarray(matrix, np.float64)
    left = 44 + 8 * max(map(len, rows))
    top = 64 + 8 * max(map(len, columns))
    width, height = left + max(CELL * len(columns), 8 * len(title)) + 24, top + CELL * len(rows) + 16
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="{FONT}" fill="#222">',
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
        text(left, 22, title, weight="bold"),
        text(left, 44, column_title, fill="#666"),
        text(22, top + CELL * len(rows) / 2, row_title, fill="#666", anchor="middle", turn=-90),
    ]
    parts += [text(left - 8, top + CELL * (i + 0.5) + 4, name, anchor="end") for i, name in enumerate(rows)]
    parts += [text(left + CELL * (j + 0.5) + 4, top - 8, name, turn=-90) for j, name in enumerate(columns)]
    largest = np.abs(values).max(initial=0.0) or 1.0
    for i, j in np.ndindex(values.shape):
        hint = escape(f"{rows[i]}, {columns[j]}: {values[i, j]:.4g}")
        parts.append(cell(left + CELL * j, top + CELL * i, colour(float(values[i, j]) / largest), hint))
    for i, j in marked:
        at = f'x="{left + CELL * j + 1}" y="{top + CELL * i + 1}" width="{CELL - 2}" height="{CELL - 2}"'
        parts.append(f'<rect {at} fill="none" stroke="#222" stroke-width="1.6"/>')
    return "\n".join([*parts, "</svg>"])


def beside(*pictures: str) -> str:
    """SVGs next to each other, as one."""
    sizes = [tuple(map(int, re.findall(r'(?:width|height)="(\d+)"', picture)[:2])) for picture in pictures]
    ends = list(accumulate(width for width, _ in sizes))
    placed = [
        picture.replace("<svg ", f'<svg x="{end - width}" ', 1)
        for picture, end, (width, _) in zip(pictures, ends, sizes, strict=True)
    ]
    width, height = ends[-1], max(height for _, height in sizes)
    opening = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">'
    )
    return "\n".join([opening, f'<rect width="{width}" height="{height}" fill="#fff"/>', *placed, "</svg>"])


def cell(x: float, y: float, fill: str, hint: str) -> str:
    box = f'x="{x}" y="{y}" width="{CELL}" height="{CELL}"'
    return f'<rect {box} fill="{fill}" stroke="#e4e4e4"><title>{hint}</title></rect>'


def colour(share: float) -> str:
    """White at 0, blue at 1, orange at −1."""
    red, green, blue = (255 + abs(share) * ((BLUE if share > 0 else ORANGE) - 255)).round().astype(int)
    return f"#{red:02x}{green:02x}{blue:02x}"


def text(
    x: float,
    y: float,
    words: str,
    fill: str = "#222",
    weight: str = "normal",
    anchor: str = "start",
    turn: int = 0,
) -> str:
    turned = f' transform="rotate({turn} {x:g} {y:g})"' if turn else ""
    style = f'fill="{fill}" font-weight="{weight}" text-anchor="{anchor}"'
    return f'<text x="{x:g}" y="{y:g}" {style}{turned} xml:space="preserve">{escape(words)}</text>'
