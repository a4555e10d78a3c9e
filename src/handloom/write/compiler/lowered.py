"""What lowering makes of a program: numbers of the stream, what reads them and what writes them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from handloom.core.arrays import Array
from handloom.write.compiler.values import Line, Value

Read = Mapping[str, float]  # multiples of named numbers of the stream; "one" is the constant 1
ONE: Read = {"one": 1.0}
PLANE = ("token.x", "token.y")


@dataclass(frozen=True)
class Column:
    """A number that the embedding of a token, or of a position, brings with it."""

    of: str  # "token" or "position"
    values: tuple[float, ...]


@dataclass
class HeadPart:
    """Scores are the sum of query · key over `looks`; each of `moves` is read there and written here. `values` are
    those that look alike, and are fetched by it."""

    looks: tuple[tuple[Read, Read], ...]
    line: Line
    moves: list[tuple[Read, Read]] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)


@dataclass
class NeuronPart:
    """Each neuron reads, and writes for every 1 above 0. Together they compute a value, unless they clear one."""

    rows: list[tuple[Read, Read]]
    line: Line
    value: Value | None = None


@dataclass
class Lowered:
    """All parts of a program, and the numbers they read and write, each with its least and its greatest value."""

    columns: dict[str, Column] = field(default_factory=dict)
    bounds: dict[str, tuple[float, float]] = field(default_factory=dict)
    parts: list[HeadPart | NeuronPart] = field(default_factory=list)
    zeros: set[str] = field(default_factory=set)  # numbers that are 0 wherever an answer is given


def plus(*reads: Read, **more: float) -> dict[str, float]:
    total: dict[str, float] = {}
    for read in (*reads, more):
        for name, amount in read.items():
            total[name] = total.get(name, 0.0) + amount
    return {name: amount for name, amount in total.items() if amount}


def times(factor: float, read: Read) -> dict[str, float]:
    return {name: factor * amount for name, amount in read.items()}


def without_one(read: Read) -> tuple[dict[str, float], float]:
    """A read without its constant, and the constant."""
    return {name: amount for name, amount in read.items() if name != "one"}, read.get("one", 0.0)


def affine(known: Mapping[str, Array], wanted: Array) -> dict[str, float] | None:
    """The read of a column that is a multiple of a known one, or the sum of multiples of two, and a constant; None if
    it is not."""
    for names in (*combinations(known, 1), *combinations(known, 2)):
        basis = np.column_stack([*(known[name] for name in names), np.ones(len(wanted))])
        amounts: Array = np.array(np.linalg.lstsq(basis, wanted, rcond=None)[0]).round(12)
        if np.allclose(basis @ amounts, wanted, rtol=1e-9, atol=1e-9) and all(amounts[:-1]):
            return plus(dict(zip(names, map(float, amounts), strict=False)), one=float(amounts[-1]))
    return None
