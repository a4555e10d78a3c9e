"""A closer look at a model, for the page of an overview: a method that looks for the circuit, beside the truth; where
a run holds what makes the difference between two inputs; and how the heads came about while it was trained.

    look = close_look("runs/induction-1")
    look.scores                          # {edge: number}, of the method flow
    look.patching, look.film             # None if there is none, with the reason in look.left_out

`overview.py` has what to know first.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np

from handloom.core import HandloomError, Model
from handloom.core.finding import find
from handloom.core.reference import forward
from handloom.read.film_strip import FilmStrip, film_strip
from handloom.read.finders import Method, Scores
from handloom.read.graph import Edge, Graph
from handloom.read.heads import task_if_known
from handloom.read.inputs import Pairs, pairs_of
from handloom.read.patching import Patching, patch
from handloom.read.truth_scores import checked_scores, named_method
from handloom.runs.folder import Folder
from handloom.tasks import Learnable
from handloom.tasks import task as task_named

METHOD = "flow"  # what is cheap and needs no gradients
PAIRS = 64
LONGEST = 64  # positions of a patching grid
Result = TypeVar("Result")


@dataclass(frozen=True)
class CloseLook:
    """The parts of a closer look; `left_out` has the reasons for those that are None."""

    method: str
    scores: Mapping[Edge, float] | None
    patching: Patching | None
    film: FilmStrip | None
    left_out: tuple[str, ...]


def close_look(
    model: Model | str,
    task: Learnable | str | None = None,
    method: str | Method = METHOD,
    pairs: int | None = None,
    seed: int = 0,
) -> CloseLook:
    """Look closer at a model, or at the model of a name. The method, and the patching, get pairs of inputs of the
    task."""
    found, folder = find(model)
    name, function = named_method(method)
    left_out = list[str]()

    def part(what: str, analysis: Callable[[], Result]) -> Result | None:
        try:
            return analysis()
        except HandloomError as error:
            left_out.append(f"No {what}: {error}")
            return None

    known = task_named(task) if isinstance(task, str) else task or task_if_known(found, folder)
    drawn = part("pairs of inputs", lambda: pairs_of(found, known, pairs or PAIRS, seed + 2))
    scores = patching = None
    if drawn is not None:
        scores = part(
            f"scores of {name}", lambda: checked_scores(name, function(found, drawn), list(Graph(found).edges))
        )
        patching = part("patching", lambda: patching_of(found, drawn))
    film = part("film strip", lambda: film_strip(str(model), seed=seed)) if is_run(model) else None
    return CloseLook(name, scores, patching, film, tuple(left_out))


def scores_of(
    method: str | Method,
    model: Model | str,
    task: Learnable | str | None = None,
    pairs: int | None = None,
    seed: int = 0,
) -> Scores:
    """What a method gives the edges of a model, on other pairs of inputs than the truth is found on."""
    found, folder = find(model)
    name, function = named_method(method)
    known = task_named(task) if isinstance(task, str) else task or task_if_known(found, folder)
    return checked_scores(
        name, function(found, pairs_of(found, known, pairs or PAIRS, seed + 2)), list(Graph(found).edges)
    )


def is_run(model: Model | str) -> bool:
    if isinstance(model, Model) or not os.path.isdir(model):
        return False
    try:
        Folder.open(Path(model))
    except HandloomError:
        return False
    return True


def patching_of(model: Model, pairs: Pairs) -> Patching:
    """The stream at every layer and position, patched: on the shortest pair of which the model ends differently."""
    for batch in sorted(pairs, key=lambda batch: batch.clean.shape[1]):
        if batch.clean.shape[1] > LONGEST:
            break
        ends = [forward(model, rows)[0][:, -1].argmax(-1) for rows in (batch.clean, batch.other)]
        (different,) = np.nonzero((ends[0] != ends[1]) & batch.asked[:, -1])
        if len(different):
            i = int(different[0])
            sites = [
                "*.resid_pre",
                *["*.attn_out"] * bool(model.config.heads),
                *["*.mlp_out"] * bool(model.config.d_ff),
            ]
            return patch(model, batch.clean[i].tolist(), batch.other[i].tolist(), sites)
    raise HandloomError(f"no pair of inputs of up to {LONGEST} tokens has two answers; name two inputs to patch")
