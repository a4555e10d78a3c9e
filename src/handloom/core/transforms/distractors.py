"""Heads that do nothing, for a disguise: dead ones write zero, distracting ones cancel in pairs.

They compare what heads of the model compare, so that they attend to something. How loud they are is measured on random
tokens: scores stay small, for two heads cancel only if their scores are equal up to rounding.
"""

from typing import Any

import numpy as np

from handloom.core import reference
from handloom.core.model import Model
from handloom.core.transforms.changed import Flat
from handloom.core.transforms.padding import pad

HEAD_WIDTH = 4  # of added heads, where there were none
SPREAD = 6.0  # the greatest difference between the scores of an added head
LOUDNESS = 0.5  # the most that one writes, in units of what the embeddings of tokens differ by
LEAST = 1e-4  # what a head finds, of what it could find: less is rounding, which is not to become loud
ROWS, LENGTH = 8, 32  # random tokens
QUERIES_AND_KEYS, VALUES = ("W_Q", "b_Q", "W_K", "b_K"), ("W_V", "b_V")  # their last axis is K


def with_heads(model: Model, dead: int, distracting: int, rng: np.random.Generator) -> Model:
    """The model with such heads behind those of each layer: the dead ones, then the pairs."""
    config, H = model.config, model.config.heads
    if not config.layers or not dead + distracting:
        return model
    wide = pad(model, heads=H + dead + distracting, d_head=config.d_head or HEAD_WIDTH)
    real = heads_that_work(model)
    flat = {name: np.array(array) for name, array in wide.flat.items()}
    for i in range(config.layers):
        for h in range(H, H + dead + distracting):
            written = [(layer, head) for layer, head in real if layer <= i]  # later ones read what is not there yet
            for name, array in copied_head(wide, written, rng).items():
                flat[f"layers.{i}.{name}"][h] = array
        for h in range(H + dead, H + dead + distracting, 2):  # pairs look at the same and find the same
            for name in (*QUERIES_AND_KEYS, *VALUES):
                if f"layers.{i}.{name}" in flat:
                    flat[f"layers.{i}.{name}"][h + 1] = flat[f"layers.{i}.{name}"][h]
    quieten(wide, flat, H, rng)
    for i in range(config.layers):
        flat[f"layers.{i}.W_O"][H : H + dead] = 0.0
        flat[f"layers.{i}.W_O"][H + dead + 1 :: 2] = -flat[f"layers.{i}.W_O"][H + dead :: 2]
    return wide.with_(params=flat)


def heads_that_work(model: Model) -> list[tuple[int, int]]:
    """Layer and number of every head that writes what depends on where it attends."""
    weights = ("W_Q", "W_K", "W_V", "W_O")
    return [
        (i, h)
        for i, layer in enumerate(model.params["layers"])
        for h in range(model.config.heads)
        if all(np.any(layer[name][h]) for name in weights)
    ]


def copied_head(model: Model, real: list[tuple[int, int]], rng: np.random.Generator) -> Flat:
    """A head that looks as one of the model does, or if none of them works, at random; W_O is 0."""
    D, K = model.config.d_model, model.config.d_head
    if not real:
        return {name: rng.normal(size=(D, K)) / np.sqrt(D) for name in ("W_Q", "W_K", "W_V")}
    i, h = real[rng.integers(len(real))]
    layer = model.params["layers"][i]
    return {name: layer[name][h] for name in (*QUERIES_AND_KEYS, *VALUES) if name in layer}


def quieten(wide: Model, flat: dict[str, Any], first: int, rng: np.random.Generator) -> None:
    """Set the scores of added heads, those from `first` on, and their random W_O, to moderate sizes."""
    config = wide.config
    tokens = rng.integers(config.vocab, size=(ROWS, min(config.block, LENGTH)))
    W_E = flat["W_E"]
    loud = LOUDNESS * float(np.sqrt(np.var(W_E, axis=0).mean())) or LOUDNESS
    want = [f"{i}.{site}" for i in range(config.layers) for site in ("scores", "v")]
    trace = reference.forward(wide.with_(params=flat), tokens, want)[1]
    for i in range(config.layers):
        scores, v = trace[f"{i}.scores"][:, first:], trace[f"{i}.v"][:, first:]  # (B, H, T, S), (B, H, T, K)
        spread = (scores.max(-1) - scores.min(-1)).max((0, 2))  # (H,)
        size = np.maximum(spread, np.abs(scores).max((0, 2, 3)) / 100)
        factor = SPREAD / np.maximum(size, SPREAD)
        for name in ("W_Q", "b_Q"):
            if (full := f"layers.{i}.{name}") in flat:
                flat[full][first:] *= factor.reshape(-1, *[1] * (flat[full].ndim - 1))
        writes = rng.normal(size=flat[f"layers.{i}.W_O"][first:].shape)
        writes -= writes.mean(-1, keepdims=True)
        possible = np.linalg.norm(flat[f"layers.{i}.W_V"][first:], axis=(1, 2)) * np.sqrt(config.d_model)
        values = np.maximum(np.linalg.norm(v, axis=-1).max((0, 2)), LEAST * possible)  # (H,)
        flat[f"layers.{i}.W_O"][first:] = loud * writes / np.maximum(values, 1e-30)[:, None, None]
