"""Regression in context: prompts of vectors, and models that are trained on them.

A prompt is a row for each example, (x, y), and a last row (x, 0) that asks. It takes the place of the embeddings, as an
edit of the site `embed`; the answer is read from the last coordinate of `resid_final` in the last row. So a model of
such prompts is a Model like any other, of one token that means nothing.

    config = prompt_config(d=10, examples=10)
    model = fit(config, lambda rng: prompts(rng, 256, d=10, examples=10), steps=1000, seed=0)
    answers(model, *prompts(np.random.default_rng(0), 8, d=10, examples=10)[:1])
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from handloom.core import Config, Model, Vocab, params, reference
from handloom.core.arrays import Array
from handloom.core.callbacks import Progress
from handloom.core.seeds import Use, generator

CLIP = 1.0  # largest norm of a gradient
LEAST_RATE = 0.05  # of the learning rate, at the end of training


LAST: Any = (..., -1, -1)  # the last coordinate of the last row


class Prompts(NamedTuple):
    """Rows (B, T, D), and the answers that they ask for: (B,), or more where more is asked."""

    rows: Array
    asked: Array


def prompt_config(d: int, examples: int, attention: Any = "linear", layers: int = 1, **more: Any) -> Config:
    """A model of attention alone, which every prompt of that size fits."""
    sizes: dict[str, Any] = {
        "vocab": 1,
        "block": examples + 1,
        "d_model": d + 1,
        "layers": layers,
        "heads": 1,
        "d_head": d + 1,
    }
    plain: dict[str, Any] = {"norm": "none", "positions": "none", "biases": (), "causal": False}
    return Config(**(sizes | plain | {"attention": attention} | more))


def prompts(
    rng: np.random.Generator, batch: int, d: int, examples: int, scale: Array | float = 1.0, normal: bool = False
) -> Prompts:
    """Linear functions at random, each with its examples: y = w · x, where w ~ N(0, 1), and x ~ U(−1, 1) or N(0, 1)
    times the scale of each coordinate."""
    shape = (batch, examples + 1, d)
    x = (rng.normal(size=shape) if normal else rng.uniform(-1.0, 1.0, shape)) * scale
    y = np.einsum("bnd,bd->bn", x, rng.normal(size=(batch, d)))
    rows = np.concatenate([x, y[..., None]], -1)
    rows[:, -1, -1] = 0.0
    return Prompts(rows, y[:, -1])


def answers(model: Model, rows: Array, at: Any = LAST) -> Array:
    """What a model answers to prompts (B, T, D) there, by the reference engine."""
    ids = np.zeros(rows.shape[:-1], np.int64)
    _, trace = reference.forward(model, ids, ["resid_final"], {"embed": rows})
    found: Array = trace["resid_final"][at]
    return found


def fit(
    config: Config,
    draw: Callable[[np.random.Generator], Prompts],
    steps: int,
    seed: int,
    rate: float = 1e-2,
    start: float = 0.3,
    at: Any = LAST,
    progress: Progress | None = None,
    watch: Callable[[int, float], None] = lambda step, loss: None,
) -> Model:
    """A model trained on fresh prompts, by Adam on the mean squared error of what is read there, at a rate that falls
    to a twentieth."""
    import torch

    from handloom.core import torch_engine

    flat = params.flatten(orthogonal(config, seed, start))
    weights = {name: torch.tensor(array, requires_grad=name.startswith("layers")) for name, array in flat.items()}
    adam = torch.optim.Adam([one for one in weights.values() if one.requires_grad], lr=rate)
    falling = torch.optim.lr_scheduler.CosineAnnealingLR(adam, steps, LEAST_RATE * rate)
    for step in range(steps):
        batch = draw(generator(seed, Use.BATCHES, step))
        rows = torch.tensor(batch.rows, dtype=torch.float32)
        ids = torch.zeros(rows.shape[:-1], dtype=torch.int64)
        p = params.unflatten(config, dict(weights))
        _, trace = torch_engine.compute(config, p, ids, ["resid_final"], {"embed": rows})
        loss = (trace["resid_final"][at] - torch.tensor(batch.asked, dtype=torch.float32)).square().mean()
        adam.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights.values(), CLIP)  # a rare prompt has a gradient far above the others'
        adam.step()
        falling.step()
        watch(step, float(loss.detach()))
        if progress:
            progress(step + 1, steps)
    trained = {name: one.detach().double().numpy() for name, one in weights.items()}
    notes = {"made": "trained", "steps": steps, "seed": seed}
    return Model(config, params.unflatten(config, trained), Vocab.numbers(1), notes)


def orthogonal(config: Config, seed: int, size: float) -> dict[str, Any]:
    """Weights to start from: every matrix of a head is a random one with orthonormal rows or columns, times a size.
    From normal ones, which are ill-conditioned, least squares and two layers take many times as long."""
    rng, p = np.random.default_rng(seed), params.zeros(config, np.float32)
    for layer in p["layers"]:
        for name in ("W_Q", "W_K", "W_V", "W_O"):
            left, _, right = np.linalg.svd(rng.normal(size=layer[name].shape), full_matrices=False)
            layer[name] = (size * left @ right).astype(np.float32)
    return p


def gradient_step(rows: Array, rate: float | Array) -> Array:
    """The answers after one step of gradient descent from w = 0 on the examples of each prompt. The rate may be a
    matrix, which preconditions the step."""
    x, y, asked = rows[:, :-1, :-1], rows[:, :-1, -1], rows[:, -1, :-1]
    slope = np.einsum("bnd,bn->bd", x, y) / x.shape[1]
    return np.einsum("bd,bd->b", asked, slope * rate if np.isscalar(rate) else slope @ np.asarray(rate).T)


def best_rate(draw: Prompts) -> float:
    """The rate of the single step whose mean squared error on these prompts is least."""
    step = gradient_step(draw.rows, 1.0)
    return float(step @ draw.asked / (step @ step))


def mean_square(errors: Array) -> float:
    return float(np.mean(np.square(errors)))
