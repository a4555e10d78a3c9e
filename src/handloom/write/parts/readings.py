"""Readings: what can be told from the residual stream of a program, beside the directions that it is written with.

    >>> reading(3 * np.eye(2)[:1], "number", points=np.arange(2.0)[:, None], values=("no", "yes")).note(1.0)["points"]
    [[0.0], [1.0]]

A program whose weights are set by hand names its directions by these; one that is made of a `Stream` adds some to it.
Tokens and positions on a circle are read in its plane, two numbers, which leave out the mean that layer norm removes.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from handloom.core.arrays import Array
from handloom.write.parts.encodings import PLANE
from handloom.write.parts.stream import Direction, Kind, Points, Stream

EMBEDDED = ("embed",)
PLACED = ("pos_embed", "0.resid_pre")  # where positions stand in dimensions of their own
LAST = ("resid_final",)


def reading(
    vectors: Array,
    kind: Kind = "token",
    points: Points | Array | None = None,
    values: Sequence[str] = (),
    sites: Sequence[str] = (),
) -> Direction:
    """A direction of which the vectors (k, D) that read it are known; it is written by the smallest that do."""
    return Direction(np.linalg.pinv(vectors).T, vectors, kind, None, points, values, sites)


def plane(first: int, width: int) -> Array:
    """The vectors (2, width) that read a circle in three dimensions from `first` on."""
    return np.pad(PLANE, ((0, 0), (first, width - first - 3)))


def dimensions(first: int, end: int, width: int) -> Array:
    """The vectors (end − first, width) that read dimensions one by one."""
    return np.eye(width)[first:end]


def predicted(width: int) -> Direction:
    """What the unembedding makes of the stream at the end. Layer norm takes the mean away, and so does this; that it
    divides changes no order."""
    return reading(np.eye(width) - 1 / width, points="W_U", sites=LAST)


def numbered(count: int, step: float = 1.0) -> Array:
    """The points (count, 1) of a number that is a whole multiple of the step."""
    return step * np.arange(float(count))[:, None]


def between(first: str, last: str) -> tuple[str, ...]:
    """The sites of the stream from one to another, both of layers: 0.resid_mid, 0.resid_post, 1.resid_pre, …"""
    places = ("resid_pre", "resid_mid", "resid_post")
    every = [f"{layer}.{place}" for layer in range(int(last.partition(".")[0]) + 1) for place in places]
    return tuple(every[every.index(first) : every.index(last) + 1])


def readings(**directions: Direction) -> dict[str, Any]:
    """The note of a program that has no Stream."""
    return {"readings": Stream(directions).notes["readings"]}
