"""The answer of a model token by token: at each position that predicts one, which positions every head attends to and
what every part writes into the stream.

An answer begins at the last position of the input; each of its tokens but the last then stands at a position of its
own, which predicts the next one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from handloom.core import Model, Trace
from handloom.core.arrays import Array
from handloom.read.part_names import heads_of


@dataclass(frozen=True)
class Step:
    """A position of the answer: the token there, the one that it predicts, what each head attends to, and for each head
    and MLP the direction in which it writes most, with the amount."""

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


def answer_steps(model: Model, trace: Trace, ids: Sequence[int], start: int, directions: list[str]) -> list[Step]:
    """The steps of an answer, from position `start` of a run: `ids` are the run's tokens and one more, the last one
    predicted."""
    tokens = [model.vocab.tokens[i] for i in ids]
    return [
        Step(
            at,
            tokens[at],
            tokens[at + 1],
            {f"{i}.{h}": looked_at(trace[f"{i}.pattern"][h, at]) for i, h, _ in heads_of(model)},
            dict(written(model, trace, at, directions)),
        )
        for at in range(start, len(ids) - 1)
    ]


def looked_at(row: Array) -> list[tuple[int, float]]:
    """The positions that get more than half of the largest share; in patterns with signs, by size."""
    return [(int(at), float(row[at])) for at in np.flatnonzero(np.abs(row) > 0.5 * np.abs(row).max())]


def written(model: Model, trace: Trace, at: int, directions: list[str]) -> Iterator[tuple[str, tuple[str, float]]]:
    """What each part that adds to the stream adds there: the direction with most of it, by name."""
    parts = {f"head {i}.{h}": trace[f"{i}.result"][h, at] for i, h, _ in heads_of(model)}
    if model.config.d_ff:
        parts |= {f"MLP {i}": trace[f"{i}.mlp_out"][at] for i in range(model.config.layers)}
    for name, vector in parts.items():
        if np.any(vector):
            most = int(np.abs(vector).argmax())
            yield name, (directions[most], float(vector[most]))
