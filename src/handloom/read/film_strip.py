"""A film strip: the attention of every head at every checkpoint that a run kept, on the same rows.

    film = film_strip("runs/strings-1")             # trained with keep=100
    film.patterns.shape                             # (checkpoints, layers, heads, T, T)

A run keeps its model every `keep` steps, as model-100.safetensors and so on; the last model of the run is the
last checkpoint.
"""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from handloom.core import HandloomError, Model, load
from handloom.core.arrays import Array
from handloom.core.callbacks import Progress
from handloom.core.files import what_is
from handloom.core.finding import LAST
from handloom.core.registry import offered
from handloom.read.attention import check_averages, mean_attention
from handloom.read.head_rows import given_rows, random_rows, task_rows
from handloom.read.heads import task_if_known
from handloom.runs.folder import Folder

KEPT = re.compile(r"model-(\d+)\.safetensors")
ROWS = 64


@dataclass(frozen=True)
class FilmStrip:
    """Patterns by checkpoint, layer and head, averaged over rows; `tokens` if there is one row."""

    run: str
    steps: tuple[int, ...]
    patterns: Array  # (checkpoints, L, H, T, T)
    rows: int
    tokens: tuple[str, ...] | None = None

    def __str__(self) -> str:
        frames, layers, heads, T, _ = self.patterns.shape
        moved = ["", *(f"{change:.3f}" for change in self.changes()[1:])]
        changes = [f"{step:>8,}  {change}".rstrip() for step, change in zip(self.steps, moved, strict=True)]
        few = f"{self.rows} row{'s' * (self.rows > 1)}"
        what = f"{self.run}: {frames} checkpoints, {layers} layers, {heads} heads, {T} positions, {few}"
        return "\n".join([what, "    step  attention moved since the one before", *changes])

    def changes(self) -> list[float]:
        """The share of its attention that the average position moved since the checkpoint before."""
        moved = np.abs(np.diff(self.patterns, axis=0)).sum(-1).mean((1, 2, 3)) / 2
        return [0.0, *moved.tolist()]

    def to_json(self) -> dict[str, Any]:
        return {
            "run": self.run,
            "steps": list(self.steps),
            "rows": self.rows,
            "tokens": None if self.tokens is None else list(self.tokens),
            "changes": self.changes(),
            "patterns": self.patterns.tolist(),
        }

    def _repr_html_(self) -> str | None:
        """What a notebook shows."""
        return offered("html")(self)


def film_strip(
    run: str | os.PathLike[str],
    rows: Sequence[Sequence[int]] | str | None = None,
    *,
    seed: int = 0,
    progress: Progress | None = None,
) -> FilmStrip:
    """The attention at every checkpoint of a run's folder: on one text, on rows of token ids, or by default on inputs
    of its task, or on random rows if the task is not known."""
    folder = Folder.open(Path(run)).path
    files = checkpoints(folder)
    last = load(list(files.values())[-1])
    check_averages(last, "film")
    used, tokens = chosen_rows(last, folder, rows, seed)
    frames = []
    for number, file in enumerate(files.values(), 1):
        frames.append(mean_attention(load(file), used))
        if progress:
            progress(number, len(files))
    return FilmStrip(str(run), tuple(files), np.stack(frames), len(used), tokens)


def checkpoints(folder: Path) -> dict[int, Path]:
    """The models that a run kept, by their steps, in order; the run's last model among them."""
    found = {int(name[1]): file for file in folder.iterdir() if (name := KEPT.fullmatch(file.name))}
    if not found:
        raise HandloomError(
            f"{folder}: a run that kept no models (expected model-100.safetensors, …); train with keep=100",
            ("keep models", ""),
        )
    if what_is(folder / LAST) == "file":
        steps = load(folder / LAST).notes.get("steps")
        if isinstance(steps, int):
            found.setdefault(steps, folder / LAST)
    return dict(sorted(found.items()))


def chosen_rows(
    model: Model, folder: Path, rows: Sequence[Sequence[int]] | str | None, seed: int
) -> tuple[list[list[int]], tuple[str, ...] | None]:
    """The rows to look at; and the tokens, if it is one."""
    if isinstance(rows, str):
        rows = [model.vocab.encode(rows)]
    if rows is not None:
        ids = given_rows(model, rows).ids
    else:
        task = task_if_known(model, folder)
        ids = (task_rows(model, task, ROWS, seed) if task else random_rows(model, ROWS, seed)).ids
    tokens = tuple(model.vocab.tokens[i] for i in ids[0]) if len(ids) == 1 else None
    return [row.tolist() for row in ids], tokens
