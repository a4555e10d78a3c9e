"""Grokking happens outside neural networks, and later the more inputs are uninformative.

Miller, O'Neill and Bui 2023 found it in linear regression and Gaussian processes, and that adding random inputs to a
task ("concealment") delays the held-out accuracy further. They say too that in some settings it needs regularisation.
Tried with the smallest case, which is ours: the label is the first input, ±1; up to 640 other inputs are noise; a
linear model learns 50 examples by gradient descent on squared error with weight decay (ridge regression), from random
weights. Nothing else is scaled down. The path of gradient descent is known in closed form, in the eigenvectors of the
examples' covariance, and so is the held-out accuracy, so that there is neither training nor a test set.

Why it groks: what the start says in directions that no example has is unlearnt by the decay alone, slowly, and with
more noise inputs there is more of it. Controls: without decay it is never unlearnt; without noise inputs there is
nothing to wait for.
"""

from collections.abc import Sequence
from itertools import pairwise
from math import erf, sqrt

import numpy as np

from handloom.core.arrays import Array
from handloom.lab.experiment import Check, Claim, Finding, Lab, Series
from handloom.view.figures.panels import Lines, Mark, Panel, band

CLAIM = Claim(
    name="grokking-elsewhere",
    says="linear regression groks, with a delay that grows with the number of uninformative inputs",
    source="Miller, O'Neill and Bui 2023",
    papers=("2310.17247",),
    seed="Bukatin",
    number="a delay, growing with spurious inputs",
    quick=0.8,
    full=3,
)
EXAMPLES = 50
SPURIOUS = (10, 20, 40, 80, 160, 320, 640)
NOISE = 0.2  # standard deviation of an input that says nothing
RATE, DECAY = 0.5, 1e-3
LEARNT = 0.95  # accuracy
STEPS = np.unique(np.round(np.logspace(0, 6, 241))) - 1  # at which accuracy is looked at


def run(lab: Lab) -> Finding:
    without, *delays = (median_delay(d, lab) for d in (0, *SPURIOUS))
    train, held_out = accuracies(SPURIOUS[-1], DECAY, lab.rng(SPURIOUS[-1], 0))
    _, undecayed = accuracies(SPURIOUS[-1], 0.0, lab.rng(SPURIOUS[-1], 0))
    longer = sum(late > early for early, late in pairwise(delays))
    return Finding(
        checks=[
            Check("delay with 640 spurious inputs, steps", delays[-1], least=1, form=",.0f"),
            Check("doublings of them that lengthen it, of 6", longer, least=len(SPURIOUS) - 1),
            Check("held-out accuracy at last", held_out[-1], least=LEARNT, form=".1%"),
            Check("held-out accuracy at last, no weight decay", undecayed[-1], least=LEARNT, control=True, form=".1%"),
            Check("delay with no spurious input, steps", without, least=1, control=True, form=",.0f"),
        ],
        series={
            "delays": delays,
            "train": train.tolist(),
            "held_out": held_out.tolist(),
            "undecayed": undecayed.tolist(),
        },
    )


def median_delay(spurious: int, lab: Lab) -> float:
    """Over many draws where delays are short, and differ much."""
    draws = lab.pick(201, 1001) if spurious < EXAMPLES else lab.pick(9, 51)
    return float(np.median([delay(spurious, DECAY, lab.rng(spurious, i)) for i in range(draws)]))


def delay(spurious: int, decay: float, rng: np.random.Generator) -> float:
    """Steps from the first at which the examples are learnt to the first at which the rule is, if ever."""
    train, held_out = (found >= LEARNT for found in accuracies(spurious, decay, rng))
    if not held_out.any():
        return float("inf")
    return float(STEPS[np.argmax(held_out)] - STEPS[np.argmax(train)])


def accuracies(spurious: int, decay: float, rng: np.random.Generator) -> tuple[Array, Array]:
    """The accuracy on the examples and on all inputs, at each of STEPS."""
    X = np.concatenate([rng.choice([-1.0, 1.0], (EXAMPLES, 1)), rng.normal(0, NOISE, (EXAMPLES, spurious))], axis=1)
    w = descend(X, labels(X), rng.normal(size=1 + spurious), decay)  # (D, steps)
    train = ((X @ w) * labels(X)[:, None] > 0).mean(0)
    spread = NOISE * np.linalg.norm(w[1:], axis=0)  # of what the noise inputs add to the output
    held_out = np.array([(1 + erf(a / max(b, 1e-300) / sqrt(2))) / 2 for a, b in zip(w[0], spread, strict=True)])
    return train, held_out


def labels(X: Array) -> Array:
    first: Array = X[:, 0]
    return first


def descend(X: Array, y: Array, start: Array, decay: float) -> Array:
    """The weights after each of STEPS steps of gradient descent on ½ mean (Xw − y)² + ½ decay |w|²: along every
    eigenvector of XᵀX / n the distance from the end shrinks by one factor per step."""
    sizes, vectors = np.linalg.eigh(X.T @ X / len(X))
    slopes = np.maximum(sizes, 0.0) + decay
    wanted = vectors.T @ (X.T @ y / len(X))
    begun = vectors.T @ start
    end = np.divide(wanted, slopes, out=begun.copy(), where=slopes > 1e-12)  # where nothing pulls, it stays
    path: Array = vectors @ (end[:, None] + (begun - end)[:, None] * (1 - RATE * slopes[:, None]) ** STEPS)
    return path


def picture(seeds: Sequence[Series]) -> Sequence[Panel]:
    steps = (STEPS + 1).tolist()
    curves = [
        band("examples", steps, [one["train"] for one in seeds]),
        band("held out", steps, [one["held_out"] for one in seeds]),
        band("control: held out, no decay", steps, [one["undecayed"] for one in seeds], control=True),
    ]
    delays = [band("delay", SPURIOUS, [one["delays"] for one in seeds])]
    return [
        Lines("640 inputs that say nothing", "steps", "accuracy", curves, [Mark(LEARNT, "95 %: learnt")], log_x=True),
        Lines(
            "Delay",
            "inputs that say nothing",
            "steps from train to held out",
            delays,
            [Mark(EXAMPLES, "examples", "x")],
            log_x=True,
            log_y=True,
        ),
    ]
