"""Words for what stands in the residual stream, by the `readings` in a model's notes.

    say(model, run["0.resid_pre"][3], "0.resid_pre")     {'token': '4', 'position': '3 (of 0..8)'}

A reading has `vectors`, whose products with the stream are its numbers, and may have `points`, the numbers that are
there for each of its `values`. The value that is there is that of the nearest point, after a vector longer than all
points is shortened to the longest: so that it is also told what was written loudly. docs/machine.md has the format.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from handloom.core import HandloomError, Model, sites
from handloom.core.arrays import Array
from handloom.core.errors import one_line, shown
from handloom.read.part_names import token_names

KINDS = ("number", "angle", "token", "ballast")
TABLES = ("W_E", "W_pos", "W_U")  # tables whose rows (of W_U, columns) may be points
SAME = 1e-9  # how far apart two points may be that are one, as a share of their length
DECIMALS = 12  # of a number that is shown: what is left by rounding is 0
NOTHING = 1e-3  # a vector as much shorter than all points is none of them


@dataclass(frozen=True)
class StreamReading:
    """One reading of a model. `output` says that its points are those of the unembedding: then the largest product
    decides, as in the logits."""

    name: str
    kind: str
    vectors: Array  # (k, D)
    points: Array  # (n, k); none if n is 0
    values: Sequence[str]  # (n,)
    sites: Sequence[str]  # where it holds; everywhere if there are none
    places: bool = False
    output: bool = False

    def nearest(self, numbers: Array) -> list[int]:
        """The points nearest to these numbers (k,): several if they are one point, none if nothing is there."""
        if not len(self.points):
            return []
        lengths, length = np.linalg.norm(self.points, axis=1), np.linalg.norm(numbers)
        if self.output:
            best = int((self.points @ numbers).argmax())
        else:
            if length < NOTHING * lengths.min():
                return []
            numbers = numbers * min(1.0, lengths.max() / max(length, 1e-300))
            best = int(np.linalg.norm(self.points - numbers, axis=1).argmin())
        apart = np.linalg.norm(self.points - self.points[best], axis=1)
        return np.flatnonzero(apart <= SAME * lengths[best]).tolist()

    def names(self, vector: Array) -> list[str]:
        """The values that stand in a vector (D,) of the stream."""
        return [self.values[i] for i in self.nearest(self.vectors @ vector)]

    def text(self, vector: Array) -> str:
        """The same in words, with the number, if it is one."""
        numbers, words = self.vectors @ vector, " or ".join(self.names(vector))
        if len(self.points) and not words:
            return "nothing"
        if self.places:
            return f"{words} (of 0..{len(self.points) - 1})"
        if words and len(numbers) > 1:
            return words
        written = ", ".join(f"{number:.3g}" for number in np.round(numbers, DECIMALS) + 0.0)
        return f"{written} → {words}" if words else written


def say(model: Model, vector: Any, site: str | None = None) -> dict[str, str]:
    """What stands in a vector (D,) of the residual stream, in words, by the names of the model's readings. With a site,
    only what can be read there; ballast is left out."""
    given, width = np.asarray(vector, np.float64), model.config.d_model
    if given.shape != (width,):
        raise HandloomError(f"say: a vector of shape {given.shape} (expected ({width},), the width of the stream)")
    return {one.name: one.text(given) for one in stream_readings(model, site) if one.kind != "ballast"}


def stream_readings(model: Model, site: str | None = None) -> list[StreamReading]:
    """The readings of a model, or those that hold at a site. Damaged notes raise an error: a file may have any."""
    if site is not None and site not in sites(model.config):
        raise HandloomError(f"no site {shown(site)} in this model; its sites are {', '.join(sites(model.config))}")
    try:
        found = [reading_of(model, name, note) for name, note in model.notes.get("readings", {}).items()]
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise HandloomError(f"the readings in the model's notes are damaged: {one_line(error)}") from error
    return [one for one in found if site is None or not one.sites or site in one.sites]


def reading_of(model: Model, name: str, note: Any) -> StreamReading:
    vectors, points = np.array(note["vectors"], np.float64), note.get("points", [])
    if vectors.ndim != 2 or vectors.shape[1] != model.config.d_model or note["kind"] not in KINDS:
        raise ValueError(f"{name!r} has vectors of shape {vectors.shape} and the kind {note['kind']!r}")
    if isinstance(points, str):
        table = {"W_E": "W_E", "W_pos": "W_pos", "W_U": "W_E" if model.config.tied else "W_U"}[points]
        rows = np.asarray(model.params[table], np.float64)
        points_of, usual = (rows.T if table == "W_U" else rows) @ vectors.T, token_names(model)
    else:
        points_of, usual = np.array(points, np.float64).reshape(len(points), len(vectors)), []
    numbered = points == "W_pos" or not usual
    values = note.get("values") or (list(map(str, range(len(points_of)))) if numbered else usual)
    if len(values) != len(points_of) or not all(isinstance(value, str) for value in values):
        raise ValueError(f"{name!r} has {len(values)} values for {len(points_of)} points; both must be as many")
    return StreamReading(
        name, note["kind"], vectors, points_of, values, note.get("sites", []), points == "W_pos", points == "W_U"
    )
