"""What an experiment measures, and the signs of all effects: one convention for patching, ablation and attribution.

A *metric* is a number for a run: the logit of the right token minus the largest other logit, or minus that of a given
token (`against`); over many inputs, the mean over all places where an answer is asked. It is above 0 where the model is
right.

A *patch* puts the clean value into the run on the other input. Its effect is

    (metric(patched) − metric(other)) / (metric(clean) − metric(other))

1: the patch restores what the clean run has; 0: it does nothing; below 0: it makes things worse (`patch`,
`path_patch`).

*Ablation* and *attribution* run the other way: a part of the clean run is replaced, by 0, by a mean or by its value in
the run on the other input. Their number is the change of the metric, metric(replaced) − metric(clean): below 0 the part
helps, above 0 it hinders. (`ablate`, `edge_attribution`, `node_attribution`; the latter two estimate the change by a
gradient.)
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from handloom.core import HandloomError, Model
from handloom.core.arrays import Array
from handloom.core.checks import check_tokens
from handloom.core.errors import shown
from handloom.core.reference import forward
from handloom.read.inputs import NOT_ASKED, PairBatch, Pairs
from handloom.read.target import id_of_token

Text = str | Sequence[int]  # or its token ids
Token = str | int
SMALLEST = 1e-9  # difference of two metrics, as a share of them, below which a share of it says nothing


def margins(logits: Array, right: Any, against: int | None = None) -> Array:
    """The metric of each row of logits (…, V): that of the right token (…) minus the largest other, or a given one."""
    if logits.shape[-1] < 2:
        raise HandloomError("the metric compares two tokens, and this model has one; choose another model")
    at = np.broadcast_to(right, logits.shape[:-1])[..., None]
    of_right = np.take_along_axis(logits, at, -1)[..., 0]
    if against is not None:
        return np.asarray(of_right - logits[..., against])
    others = np.where(np.arange(logits.shape[-1]) == at, -np.inf, logits)
    return np.asarray(of_right - others.max(-1))


def share_restored(patched: Array, clean: float, other: float) -> Array:
    """The effect of patches, from the metrics of the patched runs and of the two others."""
    if abs(clean - other) <= SMALLEST * max(abs(clean), abs(other)):
        raise HandloomError(
            f"patching: the metric is {clean:.4g} on both inputs (expected a difference); choose inputs whose answers "
            "differ"
        )
    return (patched - other) / (clean - other)


def text_pair(model: Model, clean: Text, other: Text, answer: Token | None = None) -> PairBatch:
    """Two texts as a pair, asked for the token that follows the clean one: a given one, or the model's own."""
    rows = [np.asarray(ids_of(model, text))[None] for text in (clean, other)]
    right = int(forward(model, rows[0])[0][0, -1].argmax()) if answer is None else id_of_token(model, answer)
    answers = np.full(rows[0].shape, NOT_ASKED)
    answers[0, -1] = right
    return PairBatch(rows[0], rows[1], answers)


def ids_of(model: Model, text: Text) -> Array:
    ids: Array = check_tokens(model.config, model.vocab.encode(text) if isinstance(text, str) else text)
    if ids.ndim != 1 or not ids.size:
        raise HandloomError(f"input {shown(text)}: expected one text with at least one token; give one")
    return ids


def as_batches(pairs: "Pairs | PairBatch") -> list[PairBatch]:
    if not isinstance(pairs, Pairs | PairBatch):
        raise HandloomError(f"pairs: {shown(pairs)} (expected pairs of inputs); make them with pairs_of(model)")
    return [pairs] if isinstance(pairs, PairBatch) else list(pairs)
