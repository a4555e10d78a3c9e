"""Least squares as an attention solves regressions that linear and softmax attention do not.

Garnelo and Czarnecki 2023 (“intention”): a layer whose output is q (KᵀK + αI)⁻¹ KᵀV has the cost of attention and
contains linear attention as a limit (`handloom lab intention-limit`); their evidence is qualitative. Bukatin's slides
print Q[KKᵀ + αI]⁻¹KᵀV, which does not multiply if tokens are rows; it must be KᵀK. Here: examples of a linear function
whose inputs have condition number 10, with noise, d = 8, one layer and one head from random weights, all three kinds of
attention trained alike from the best of four beginnings. The bound is the least that any method can have: ridge
regression with the true noise. Examples and question are in coordinates of their own, so that the question is no
example.

Why four: keys and queries have to become inverse to each other, and from random weights whose product reflects they
must pass a singular matrix first. Half of all random starts do, and most of them are still there at the end of training
(5 times the error of ridge regression, where the other half has 1.01 times). The rate of 0.1 is no better.
"""

from collections.abc import Sequence

import numpy as np

from handloom.core.arrays import Array
from handloom.lab.experiment import Check, Claim, Finding, Lab, Series
from handloom.lab.regression import Prompts, answers, fit, mean_square, prompt_config
from handloom.view.figures.panels import Lines, Panel, band

CLAIM = Claim(
    name="intention",
    says="a layer that solves least squares does regression in context as well as ridge regression; attention does not",
    source="Garnelo and Czarnecki 2023",
    papers=("2305.10203",),
    seed="Bukatin",
    number="solves what attention cannot (no number)",
    quick=3.1,
    full=40,
)
D, NOISE, CONDITION = 8, 0.1, 10.0
SPREAD = np.sqrt(np.geomspace(1.0, 1.0 / CONDITION, D))  # standard deviations of the coordinates
BEGINNINGS = ((3e-2, 0), (3e-2, 1), (3e-2, 2), (1e-2, 0))  # a rate, and the number of a start
RIDGE = 0.1  # ten times the best, which keys can grow to; a ridge of 0.01 from the start often fails to train
KINDS = ("least-squares", "linear", "softmax")


def run(lab: Lab) -> Finding:
    sizes, steps = lab.pick((8,), (4, 8, 16)), lab.pick(100, 3000)
    errors: dict[str, list[float]] = {name: [] for name in ("ridge", *KINDS)}
    for i, examples in enumerate(sizes):
        test = questions(lab.rng(examples), 4_000, examples)
        errors["ridge"].append(mean_square(ridge(test.rows) - test.asked))
        for j, kind in enumerate(KINDS):
            lab.progress(3 * i + j, 3 * len(sizes))
            errors[kind].append(trained_error(kind, examples, steps, test, lab))
    excess, linear, softmax = (
        [mine / least for mine, least in zip(errors[kind], errors["ridge"], strict=True)] for kind in KINDS
    )
    at = sizes.index(8)
    return Finding(
        checks=[
            lab.in_time(Check("error over the best ridge's, the most", max(excess), most=1.05, said=1.0)),
            Check("linear attention: error over it, 8 examples", linear[at], least=2.0),
            Check("linear attention reaches the ridge", linear[at], most=1.05, control=True),
            Check("softmax attention reaches the ridge", softmax[at], most=1.05, control=True),
        ],
        series={"sizes": list(sizes), "errors": errors},
    )


def questions(rng: np.random.Generator, batch: int, examples: int) -> Prompts:
    """Rows (x, 0, y) of examples, and a last row (0, x, 0) that asks."""
    x = rng.normal(size=(batch, examples + 1, D)) * SPREAD
    y = np.einsum("bnd,bd->bn", x, rng.normal(size=(batch, D)))
    rows = np.zeros((batch, examples + 1, 2 * D + 1))
    rows[:, :-1, :D], rows[:, -1, D:-1] = x[:, :-1], x[:, -1]
    rows[:, :-1, -1] = y[:, :-1] + NOISE * rng.normal(size=(batch, examples))
    return Prompts(rows, y[:, -1])


def ridge(rows: Array) -> Array:
    """The answers of ridge regression with the true noise: the mean of the posterior, which no method beats."""
    x, y, asked = rows[:, :-1, :D], rows[:, :-1, -1], rows[:, -1, D:-1]
    gram = np.swapaxes(x, -1, -2) @ x + NOISE**2 * np.eye(D)
    w = np.linalg.solve(gram, np.einsum("bnd,bn->bd", x, y)[..., None])[..., 0]
    found: Array = np.einsum("bd,bd->b", asked, w)
    return found


def trained_error(kind: str, examples: int, steps: int, test: Prompts, lab: Lab) -> float:
    """The error from the best beginning, each tried for a sixth of the steps first."""
    config = prompt_config(2 * D, examples, kind, d_head=D, ridge=RIDGE)

    def trained(beginning: tuple[float, int], count: int) -> float:
        rate, start = beginning
        seed, batch = len(BEGINNINGS) * lab.seed + start, lab.pick(128, 256)
        model = fit(config, lambda rng: questions(rng, batch, examples), count, seed, rate, start=1.0)
        return mean_square(answers(model, test.rows) - test.asked)

    return trained(min(BEGINNINGS, key=lambda beginning: trained(beginning, steps // 6)), steps)


def picture(seeds: Sequence[Series]) -> Sequence[Panel]:
    sizes, names = seeds[0]["sizes"], {"ridge": "claimed: best ridge, the least possible", **dict.fromkeys(KINDS)}
    curves = [
        band(words or f"{name} attention", sizes, [one["errors"][name] for one in seeds])
        for name, words in names.items()
    ]
    return [
        Lines("Regression in context, condition 10", "examples", "mean squared error", curves, log_x=True, log_y=True)
    ]
