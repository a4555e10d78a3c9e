"""What a trained model predicts on rows of tokens (B, T): its probabilities, its loss, the share that it has right.

A target of −1 is none, as in training (`learn/fresh.py`). The fastest engine that can run the model does.
"""

from collections.abc import Iterable

import numpy as np

from handloom.core import Model, choose_engine
from handloom.core.arrays import Array
from handloom.core.engines import fastest
from handloom.core.trace import Edits
from handloom.learn.data import NOTHING


def log_probabilities(model: Model, rows: Array, edits: Edits | None = None) -> Array:
    """The logarithm of the probability of every token behind every place, (B, T, V)."""
    engine = "reference" if edits else fastest(model)
    logits = np.asarray(choose_engine(engine).forward(model, rows, (), edits)[0], np.float64)
    top = logits.max(-1, keepdims=True)
    return np.asarray(logits - top - np.log(np.exp(logits - top).sum(-1, keepdims=True)))


def losses(model: Model, rows: Array, targets: Array, edits: Edits | None = None) -> Array:
    """The loss at every place in nats, (B, T); NaN where there is no target."""
    found = log_probabilities(model, rows, edits)
    chosen = np.take_along_axis(found, np.maximum(targets, 0)[..., None], -1)[..., 0]
    return np.where(targets == NOTHING, np.nan, -chosen)


def right_answers(model: Model, rows: Array, targets: Array) -> Array:
    """1 where the likeliest token is the target, 0 where it is not, NaN where there is none, (B, T)."""
    likeliest = log_probabilities(model, rows).argmax(-1)
    return np.where(targets == NOTHING, np.nan, (likeliest == targets).astype(float))


def accuracy(model: Model, rows: Array, targets: Array) -> float:
    """The share of targets that are the likeliest token."""
    return float(np.nanmean(right_answers(model, rows, targets)))


def mean_divergence(right: Array, model: Array) -> Array:
    """The mean over rows of the Kullback–Leibler divergence of a model from the right probabilities at every place, in
    nats: (T,), from two arrays of log-probabilities (B, T, V)."""
    return np.asarray((np.exp(right) * (right - model)).sum(-1).mean(0))


def first_step(steps: Iterable[int], holds: Iterable[bool]) -> int | None:
    """The first of these steps at which something holds."""
    return next((step for step, there in zip(steps, holds, strict=True) if there), None)
