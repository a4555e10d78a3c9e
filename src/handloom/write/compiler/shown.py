"""What a program's variables are on one input, and what its lines cost, as tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any


@dataclass(frozen=True, repr=False)
class ValueTable:
    """One row per variable, one column per position."""

    rows: Mapping[str, Sequence[Any]]

    def __repr__(self) -> str:
        cells = {name: [str(one) for one in row] for name, row in self.rows.items()}
        widths = [max(map(len, column)) for column in zip(*cells.values(), strict=True)]
        left = max(map(len, cells))
        lines = (
            f"{name:>{left}}  " + " ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True))
            for name, row in cells.items()
        )
        return "\n".join(line.rstrip() for line in lines)

    def _repr_html_(self) -> str:
        rows = (
            f"<tr><th>{escape(name)}</th>" + "".join(f"<td>{escape(str(one))}</td>" for one in row) + "</tr>"
            for name, row in self.rows.items()
        )
        return f"<table>{''.join(rows)}</table>"


@dataclass(frozen=True)
class LineCost:
    """What one line of a program takes of the transformer."""

    line: int  # 0 for what belongs to no line
    text: str
    heads: int
    neurons: int
    dimensions: int


@dataclass(frozen=True, repr=False)
class CostTable:
    """The cost of every line."""

    lines: tuple[LineCost, ...]

    def __repr__(self) -> str:
        rows = [(str(one.line or ""), one.heads, one.neurons, one.dimensions, one.text) for one in self.lines]
        head = f"{'line':>5} {'heads':>6} {'neurons':>8} {'dimensions':>11}"
        total = [sum(column) for column in zip(*(row[1:4] for row in rows), strict=True)]
        every = [*rows, ("", *total, "in all")]
        return "\n".join([head, *(f"{n:>5} {h:>6} {f:>8} {d:>11}  {text}" for n, h, f, d, text in every)])

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"
