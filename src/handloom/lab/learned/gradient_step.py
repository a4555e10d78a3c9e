"""Trained on regression in context, one layer of linear attention does one step of gradient descent.

Von Oswald et al. 2022: the trained layer has the loss of a single gradient step with the best rate, and the same
sensitivity to the question. Zhang, Frei and Bartlett 2023: if the inputs have covariance Λ, the layer preconditions the
step with Γ⁻¹, where Γ = (1 + 1/N) Λ + tr(Λ)/N · I. Bukatin's slides name it as in-context learning. Sizes are the
paper's: d = N = 10 inputs, x uniform on (−1, 1).

By hand as well: a step of gradient descent is written into a Model, whose answers equal the step's to rounding. The
control has softmax attention, which cannot do it; and two layers must be better than the best two steps, as the paper
finds (its GD⁺⁺). The theorem on the preconditioner is about normal inputs, so these are used for it.
"""

from collections.abc import Sequence

import numpy as np

from handloom.core import Model, Vocab, params
from handloom.core.arrays import Array
from handloom.lab.experiment import Check, Claim, Finding, Lab, Series
from handloom.lab.regression import (
    Prompts,
    answers,
    best_rate,
    fit,
    gradient_step,
    mean_square,
    prompt_config,
    prompts,
)
from handloom.view.figures.panels import Heat, Lines, Mark, Panel, band

CLAIM = Claim(
    name="gradient-step",
    says="a trained layer of linear attention answers as one step of gradient descent with the best rate does",
    source="Von Oswald et al. 2022; Zhang, Frei and Bartlett 2023",
    papers=("2212.07677", "2306.09927"),
    seed="Bukatin",
    number="equal loss, cosine of the sensitivities 1",
    quick=3.3,
    full=45,
)
D = N = 10
SCALES = (0.5, 1.0, 1.5, 2.0)  # of the inputs, after training at 1
SPREAD = np.linspace(0.5, 1.5, D)  # of the inputs' coordinates, for the preconditioner


def run(lab: Lab) -> Finding:
    steps, tried = lab.pick(240, 2000), lab.pick(5_000, 50_000)
    test = prompts(lab.rng(1), tried, D, N)
    losses: list[float] = []
    layer = train("linear", steps, lab, watch=lambda step, loss: losses.append(loss))
    rate = best_rate(test)
    step = mean_square(gradient_step(test.rows, rate) - test.asked)
    trained, soft = (mean_square(answers(one, test.rows) - test.asked) for one in (layer, train("softmax", steps, lab)))
    cosine = float(np.mean(cosines(sensitivity(layer, test.rows[:500]), slopes(test.rows[:500]))))
    written = written_step(rate)
    away = float(np.abs(answers(written, test.rows) - gradient_step(test.rows, rate)).max())
    checks = [
        Check("loss, as a share of the best step's", trained / step, least=0.99, most=1.01, said=1.0),
        Check("cosine of the sensitivities", cosine, least=0.99, said=1.0),
        Check("written by hand, less the step", away, most=1e-12, form=".1e"),
        Check("softmax: loss, as a share", soft / step, least=0.99, most=1.01, control=True),
    ]
    every = steps // 40
    smooth = np.mean(np.reshape(losses, (-1, every)), 1).tolist()
    series = {"losses": smooth, "every": every, "step": step, "rate": rate}
    series |= {"scales": scales(layer, rate, lab), "product": product(layer).tolist()}
    if not lab.quick:
        checks[3:3] = more_checks(lab, steps, test)
    return Finding(checks, series, {"model": layer})


def more_checks(lab: Lab, steps: int, test: Prompts) -> list[Check]:
    """The preconditioner, entry by entry, and two layers against two steps."""
    uneven = fit(prompt_config(D, N), uneven_prompts, steps, lab.seed, progress=lab.progress)
    found, claimed = product(uneven), preconditioner(SPREAD**2)
    off = float(np.linalg.norm(found - claimed) / np.linalg.norm(claimed))
    two = train("linear", 3 * steps // 2, lab, layers=2)
    ratio = mean_square(answers(two, test.rows) - test.asked) / two_steps(test)
    return [
        Check("preconditioner, less Zhang's, as a share", off, most=0.05),
        Check("two layers: loss, as a share of two steps'", ratio, most=1.0),
    ]


def uneven_prompts(rng: np.random.Generator) -> Prompts:
    """Normal inputs, as in Zhang's theorem, some coordinates larger than others."""
    return prompts(rng, 512, D, N, SPREAD, normal=True)


def train(attention: str, steps: int, lab: Lab, layers: int = 1, **more: object) -> Model:
    config = prompt_config(D, N, attention, layers)
    size = lab.pick(256, 512)
    return fit(config, lambda rng: prompts(rng, size, D, N), steps, lab.seed, progress=lab.progress, **more)  # type: ignore[arg-type]


def written_step(rate: float) -> Model:
    """A Model of one gradient step from w = 0: queries and keys are x, values are y, and what is added to y is
    rate / N · Σ yᵢ xᵢ · x."""
    config = prompt_config(D, N)
    p = params.zeros(config)
    layer = p["layers"][0]
    x = np.diag([1.0] * D + [0.0])
    layer["W_Q"][0] = x * rate / N * np.sqrt(D + 1)  # the engine divides scores by √K
    layer["W_K"][0] = x
    layer["W_V"][0, D, D] = layer["W_O"][0, D, D] = 1.0
    return Model(config, p, Vocab.numbers(1))


def product(model: Model) -> Array:
    """The matrix A of a layer's answer xᵀ A (1/N Σ yᵢ xᵢ), which is the rate or the preconditioner of its step."""
    layer = model.params["layers"][0]
    W_Q, W_K, W_V, W_O = (layer[name][0] for name in ("W_Q", "W_K", "W_V", "W_O"))
    size = (W_V @ W_O)[D, D] * N / np.sqrt(D + 1)
    found: Array = (W_Q @ W_K.T)[:D, :D] * size
    return found


def preconditioner(variances: Array) -> Array:
    """Zhang's Γ⁻¹ for inputs with these variances."""
    gamma = (1 + 1 / N) * np.diag(variances) + variances.sum() / N * np.eye(D)
    found: Array = np.linalg.inv(gamma)
    return found


def sensitivity(model: Model, rows: Array, by: float = 1e-4) -> Array:
    """The derivative of the answer with respect to the question, (B, d), by differences."""
    found = np.empty((len(rows), D))
    for i in range(D):
        more, less = rows.copy(), rows.copy()
        more[:, -1, i] += by
        less[:, -1, i] -= by
        found[:, i] = (answers(model, more) - answers(model, less)) / (2 * by)
    return found


def slopes(rows: Array) -> Array:
    """That of a gradient step, but for its rate."""
    found: Array = np.einsum("bnd,bn->bd", rows[:, :-1, :-1], rows[:, :-1, -1])
    return found


def cosines(one: Array, other: Array) -> Array:
    found: Array = (one * other).sum(-1) / (np.linalg.norm(one, axis=-1) * np.linalg.norm(other, axis=-1))
    return found


def two_steps(test: Prompts) -> float:
    """The least loss of two steps from w = 0 with one rate each, by a search over both."""
    x, y, asked = test.rows[:, :-1, :-1], test.rows[:, :-1, -1], test.rows[:, -1, :-1]
    slope = np.einsum("bnd,bn->bd", x, y) / N
    second = np.einsum("bnd,bn->bd", x, np.einsum("bnd,bd->bn", x, slope)) / N
    terms = np.stack([np.einsum("bd,bd->b", asked, one) for one in (slope, second)], 1)  # w = a slope + b second
    best, *_ = np.linalg.lstsq(terms, test.asked, rcond=None)
    return mean_square(terms @ best - test.asked)


def scales(layer: Model, rate: float, lab: Lab) -> list[list[float]]:
    """For inputs of another scale than that of training: the scale, the layer's loss, the step's."""
    found = []
    for scale in SCALES:
        test = prompts(lab.rng(2), 5_000, D, N, scale)
        step = gradient_step(test.rows, rate)
        found.append([scale, *(mean_square(one - test.asked) for one in (answers(layer, test.rows), step))])
    return found


def picture(seeds: Sequence[Series]) -> Sequence[Panel]:
    first = seeds[0]
    at = [(i + 0.5) * first["every"] for i in range(len(first["losses"]))]
    scale = [row[0] for row in first["scales"]]
    lines = {
        name: [[row[i] for row in one["scales"]] for one in seeds] for i, name in ((1, "layer"), (2, "gradient step"))
    }
    names = [str(i + 1) for i in range(D)]
    return [
        Lines(
            "Training",
            "steps",
            "mean squared error",
            [band("layer", at, [one["losses"] for one in seeds])],
            [Mark(first["step"], "one gradient step (von Oswald et al. 2022)")],
        ),
        Lines(
            "Inputs of another scale",
            "scale",
            "mean squared error",
            [band(name, scale, found) for name, found in lines.items()],
            log_y=True,
        ),
        Heat(f"The learnt step: {first['rate']:.2f} · I is claimed", "", "", names, names, first["product"], ".1f"),
    ]
