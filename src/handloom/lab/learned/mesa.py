"""Trained on sequences of a linear system, a transformer does regression in its forward pass.

Von Oswald et al. 2023 (mesa-optimisation): x_{t+1} = W x_t, with W drawn anew for each sequence. The first layer binds
each vector to the one before it, and the second does a step of gradient descent on these pairs. One layer that solves
least squares, their mesa layer, does as well on pairs that are given. Here W is a rotation of d = 5 dimensions, and a
sequence has 12 vectors; the paper has d = 10 and up to 7 layers. A row of a prompt has the vector, its position as a
unit vector, and room; two heads, linear attention.

Bounds: two layers predict with at most half the error of one, which cannot bind and is the control; after the first
layer the vector before can be read linearly (R² of 0.95); and one layer of least-squares attention on given pairs is
within a tenth of the best ridge regression, in the mean over the last half of the positions.

Seen: the vector before can be read with an R² of about 0.8. The first layer does more than bind: one layer of linear
attention on given pairs, which is one step of gradient descent, is left with an error of 0.46, and the two layers with
0.16. That layer is in the picture.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from handloom.core import Model, reference
from handloom.core.arrays import Array
from handloom.lab.experiment import Check, Claim, Finding, Lab, Series
from handloom.lab.regression import Prompts, answers, fit, mean_square, prompt_config
from handloom.view.figures.panels import Lines, Mark, Panel, band

CLAIM = Claim(
    name="mesa",
    says="on sequences of a linear system the first layer binds neighbours and the second regresses on them",
    source="Von Oswald et al. 2023",
    papers=("2309.05858",),
    seed="Bukatin",
    number="least squares in the forward pass (no number)",
    quick=4,
    full=60,
)
D, T, ROOM = 5, 12, 15
WIDTH = D + T + ROOM
NEXT: Any = (..., slice(None), slice(D, 2 * D))  # where the prediction is read: the positions' first coordinates
RIDGE = 1e-3


def run(lab: Lab) -> Finding:
    steps = lab.pick(150, 4000)
    test = sequences(lab.rng(1), 2_000)
    two, one = (trained(layers, steps, lab) for layers in (2, 1))
    errors = {
        name: by_position(answers(model, test.rows, NEXT) - test.asked) for name, model in (("two", two), ("one", one))
    }
    best = by_position(ridge(test) - test.asked)
    mesa = by_position(on_pairs("least-squares", lab, lab.pick(100, 600), 3e-2, test) - test.asked)
    step = by_position(on_pairs("linear", lab, lab.pick(100, 1500), 1e-2, test) - test.asked)
    late = slice(T // 2, None)
    share = {name: float(np.mean(found[late])) for name, found in (*errors.items(), ("ridge", best), ("mesa", mesa))}
    return Finding(
        checks=[
            lab.in_time(Check("two layers: error over one layer's", share["two"] / share["one"], most=0.5)),
            lab.in_time(Check("R² of the vector before, after layer 1", bound(two, test.rows), least=0.95)),
            lab.in_time(Check("mesa layer: error less ridge's", share["mesa"] - share["ridge"], most=0.1)),
            Check("one layer: error", share["one"], most=0.5, control=True),
            Check("R² of the vector before, at the start", bound(None, test.rows), least=0.95, control=True),
        ],
        series={"errors": {**errors, "ridge": best, "mesa": mesa, "step": step}},
        models={"model": two},
    )


def sequences(rng: np.random.Generator, batch: int) -> Prompts:
    """Vectors of a rotation each, with their positions and room; at each the next is asked for."""
    Q, R = np.linalg.qr(rng.normal(size=(batch, D, D)))
    W = Q * np.sign(np.diagonal(R, axis1=-2, axis2=-1))[:, None, :]  # so that no rotation is likelier than another
    x = np.empty((batch, T + 1, D))
    x[:, 0] = rng.normal(size=(batch, D))
    for t in range(T):
        x[:, t + 1] = np.einsum("bij,bj->bi", W, x[:, t])
    places = np.broadcast_to(np.eye(T), (batch, T, T))
    return Prompts(np.concatenate([x[:, :-1], places, np.zeros((batch, T, ROOM))], -1), x[:, 1:])


def trained(layers: int, steps: int, lab: Lab) -> Model:
    config = prompt_config(WIDTH - 1, T - 1, "linear", layers, heads=2, d_head=WIDTH // 2, causal=True)
    return fit(config, lambda rng: sequences(rng, 128), steps, lab.seed, 1e-2, 0.2, NEXT, lab.progress)


def by_position(errors: Array) -> list[float]:
    """The mean squared error of a coordinate, at each position."""
    return [mean_square(errors[:, t]) for t in range(errors.shape[1])]


def ridge(test: Prompts) -> Array:
    """The prediction of ridge regression on the pairs so far, with the best of some ridges at each position."""
    x = np.concatenate([test.rows[:, :, :D], test.asked[:, -1:]], 1)
    found = np.zeros_like(test.asked)
    for t in range(1, T):
        before, after = x[:, :t], x[:, 1 : t + 1]
        gram = np.swapaxes(before, -1, -2) @ before + RIDGE * np.eye(D)
        W = np.linalg.solve(gram, np.swapaxes(before, -1, -2) @ after)
        found[:, t] = np.einsum("bi,bij->bj", x[:, t], W)
    return found


def on_pairs(attention: str, lab: Lab, steps: int, rate: float, test: Prompts) -> Array:
    """The answers of one layer that is given pairs: a row has the vector before, room, and the vector. With
    least-squares attention this is the mesa layer."""

    def paired(given: Prompts) -> Prompts:
        x = given.rows[:, :, :D]
        before = np.concatenate([np.zeros_like(x[:, :1]), x[:, :-1]], 1)
        return Prompts(np.concatenate([before, np.zeros_like(x), x], -1), given.asked)

    config = prompt_config(3 * D - 1, T - 1, attention, d_head=D, causal=True)
    draw = lambda rng: paired(sequences(rng, 128))  # noqa: E731
    model = fit(config, draw, steps, lab.seed, rate, 1.0, NEXT, lab.progress)
    return answers(model, paired(test).rows, NEXT)


def bound(model: Model | None, rows: Array) -> float:
    """R² of the best linear reading of the vector before from the residual stream after the first layer; with no model,
    from the prompt itself."""
    stream = rows
    if model is not None:
        ids = np.zeros(rows.shape[:-1], np.int64)
        stream = reference.forward(model, ids, ["0.resid_post"], {"embed": rows})[1]["0.resid_post"]
    inputs, wanted = stream[:, 1:].reshape(-1, stream.shape[-1]), rows[:, :-1, :D].reshape(-1, D)
    half = len(inputs) // 2
    weights, *_ = np.linalg.lstsq(inputs[:half], wanted[:half], rcond=None)
    return 1.0 - mean_square(inputs[half:] @ weights - wanted[half:]) / float(wanted[half:].var())


def picture(seeds: Sequence[Series]) -> Sequence[Panel]:
    names = {
        "one": "one layer, linear",
        "two": "two layers, linear",
        "step": "one layer, linear, on pairs",
        "mesa": "mesa layer on pairs",
        "ridge": "ridge regression",
    }
    curves = [
        band(words, range(1, T + 1), [one["errors"][name] for one in seeds], control=name == "one")
        for name, words in names.items()
    ]
    mark = Mark(D + 1, "d + 1: enough to know W", "x")
    return [Lines("Predicting the next vector", "position", "mean squared error", curves, [mark])]
