"""Flow: which edges of a model carry what reaches the answers, from one run, without another input or gradients.

    flow(model, rows, answers)      # {("embed", "0.0.k"): 0.93, …}: every edge, the larger the more it carries

A receiver reads a sum over sources, and `shares.py` has for each receiver the covector of what it reads. The size of an
edge is how much the source moves the receiver along it, position by position:

    size(source → receiver) = Σ over positions |⟨part of the source − its mean, covector⟩| / total

(The mean of a part over all rows and positions is taken away, because what a source always writes tells nothing about
the input. Sizes are not shares: parts that cancel both count. If the largest size of a receiver is above 1, all of its
sizes are divided by it: no edge carries more than is passed on.) What an edge carries is its size times what its
receiver passes on: 1 for the logits, and for a head or an MLP what all edges from it carry
together. The queries, the keys and the values of a head each pass on all that the head passes on.
"""

from collections import defaultdict
from typing import Any

import numpy as np

from handloom.core import Config, Model
from handloom.core.arrays import Arrays
from handloom.core.finding import find
from handloom.read.frozen import BIAS, LOGITS
from handloom.read.shares import Reading, all_readings, run_for_shares

Edges = dict[tuple[str, str], float]


def flow(model: Model | str, rows: Any, answers: Any = None) -> Edges:
    """What each edge (source, receiver) carries to the logits, in a run on rows of token ids (B, T) or on texts of
    equal length; with `answers` (B, T), to the logits where these are 0 or more."""
    model = find(model).model
    frozen, run = run_for_shares(model, rows)
    asked = None if answers is None else np.asarray(answers) >= 0
    readings = list(all_readings(model, frozen, run, asked))
    passed: dict[str, float] = defaultdict(float, {LOGITS: 1.0})
    found: Edges = {}
    for parts, group in zip(reversed(list(frozen.reads())), reversed(readings), strict=True):
        for one in group:
            amount = sum(passed[name] for name in readers(model.config, one.receiver))
            found |= {(name, one.receiver): amount * size for name, size in sizes(one, parts).items()}
        for (name, receiver), carried in found.items():
            if receiver in {one.receiver for one in group}:
                passed[name] += carried
    return found


def readers(config: Config, receiver: str) -> list[str]:
    """The head, the MLP or the heads that share keys and values, for which a receiver reads."""
    if receiver == LOGITS or receiver.endswith(".mlp"):
        return [receiver]
    layer, h, part = receiver.split(".")
    each = 1 if part == "q" else config.per_group
    return [f"{layer}.{int(h) * each + n}" for n in range(each)]


def sizes(reading: Reading, parts: Arrays) -> dict[str, float]:
    """How much each source moves a receiver, up to 1; 0 for all if nothing that it reads varies."""
    if not reading.shares(parts):
        return {name: 0.0 for name in parts if name != BIAS}
    found = {}
    for name, x in parts.items():
        if name != BIAS:
            moving = x - x.mean(tuple(range(x.ndim - 1)))
            found[name] = float(np.abs((moving * reading.covector).sum(-1)).sum()) / reading.total
    most = max(1.0, *found.values())
    return {name: size / most for name, size in found.items()}
