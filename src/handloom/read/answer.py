"""The answer of a model token by token: at each position that gives one, where every head looks and what every part
writes into the stream.

An answer begins at the last position of the input; each of its tokens but the last then stands at a position of its
own, which gives the next one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from handloom.core import Model, Trace
from handloom.core.arrays import Array

MOST = 6  # positions that are shown beside each other
FEW = 2  # positions that a head looks at, which are named


@dataclass(frozen=True)
class Step:
    """A position of the answer: the token there, the one that it gives, what each head looks at, and for each head and
    MLP the direction in which it writes most, with the amount."""

    position: int
    token: str
    gives: str
    looks: dict[str, list[tuple[int, float]]]  # "layer.head" → positions with their shares
    writes: dict[str, tuple[str, float]]  # "head layer.head" or "MLP layer" → direction, amount

    def to_json(self) -> dict[str, Any]:
        return {"position": self.position, "token": self.token, "gives": self.gives} | {
            "looks": {head: [list(seen) for seen in at] for head, at in self.looks.items()},
            "writes": {part: list(written) for part, written in self.writes.items()},
        }


def steps(model: Model, trace: Trace, ids: Sequence[int], start: int, directions: list[str]) -> list[Step]:
    """The steps of an answer, from position `start` of a run on: `ids` are the run's tokens and one more, the last that
    was given."""
    tokens = [model.vocab.tokens[i] for i in ids]
    return [
        Step(
            at,
            tokens[at],
            tokens[at + 1],
            {head: looked_at(trace[f"{i}.pattern"][h, at]) for head, i, h in heads_of(model)},
            dict(written(model, trace, at, directions)),
        )
        for at in range(start, len(ids) - 1)
    ]


def heads_of(model: Model) -> Iterator[tuple[str, int, int]]:
    for i in range(model.config.layers):
        yield from ((f"{i}.{h}", i, h) for h in range(model.config.heads))


def looked_at(row: Array) -> list[tuple[int, float]]:
    """The positions that get at least half of the largest share."""
    return [(int(at), float(row[at])) for at in np.flatnonzero(row > 0.5 * row.max())]


def written(model: Model, trace: Trace, at: int, directions: list[str]) -> Iterator[tuple[str, tuple[str, float]]]:
    """What each part adds to the stream there, where it adds anything: the direction with most of it, by name."""
    parts = {f"head {head}": trace[f"{i}.result"][h, at] for head, i, h in heads_of(model)}
    if model.config.d_ff:
        parts |= {f"MLP {i}": trace[f"{i}.mlp_out"][at] for i in range(model.config.layers)}
    for name, vector in parts.items():
        if np.any(vector):
            most = int(np.abs(vector).argmax())
            yield name, (directions[most], float(vector[most]))


def spell_looks(step: Step, head: str, tokens: Sequence[str]) -> str:
    seen = step.looks[head]
    if len(seen) > FEW:
        return f"{len(seen)} positions"
    return ", ".join(f"{at} {tokens[at]!r}" for at, _ in seen)


def spell_writes(step: Step, part: str) -> str:
    direction, amount = step.writes.get(part, ("", 0.0))
    return f"{direction} {amount:+.3g}" if direction else "nothing"


def table_of(answer: Sequence[Step], tokens: Sequence[str], silent: Sequence[str] = ()) -> list[list[str]]:
    """A table: a column for each of the first positions, two rows for each head and one for each MLP. `silent` parts
    are left out."""
    shown = answer[:MOST]
    table = [["at position", *(f"{step.position} {step.token!r}" for step in shown)]]
    layers = len({head.split(".")[0] for head in shown[0].looks}) or len(shown[0].writes)
    for i in range(layers):
        for head in (head for head in shown[0].looks if head.split(".")[0] == str(i) and f"head {head}" not in silent):
            table.append([f"head {head} looks at", *(spell_looks(step, head, tokens) for step in shown)])
            table.append([f"head {head} writes", *(spell_writes(step, f"head {head}") for step in shown)])
        if any(f"MLP {i}" in step.writes for step in shown):
            table.append([f"MLP {i} writes", *(spell_writes(step, f"MLP {i}") for step in shown)])
    table.append(["gives", *(repr(step.gives) for step in shown)])
    return table


def as_lines(table: list[list[str]]) -> list[str]:
    """The table as text, its columns in line."""
    widths = [max(len(row[i]) for row in table) + 2 for i in range(len(table[0]))]
    lines = ("".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)) for row in table)
    return [f"  {line.rstrip()}" for line in lines]


def as_html(table: list[list[str]]) -> str:
    cells = ("".join(f"<{kind}>{escape(cell)}</{kind}>" for kind, cell in kinds(row)) for row in table)
    return f"<table class=answer>{''.join(f'<tr>{row}</tr>' for row in cells)}</table>"


def kinds(row: list[str]) -> list[tuple[str, str]]:
    return [("th", row[0]), *(("td", cell) for cell in row[1:])]
