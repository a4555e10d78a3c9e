"""A small model learns a labelling from its prompt: the same question behind other examples has another answer.

Brown et al. 2020 (GPT-3) named it few-shot learning; Bukatin's slides say that really small models do it too, and Hsu
and Moitra's show pairs x → y whose meaning is in the prompt alone. Here a string is pairs of one of 8 inputs and one of
4 labels, and every string has a labelling of its own. What can be known is exact: an input that occurred before has the
label it had, and any other has each label with probability 1/4. Labellings whose numbers add up to a multiple of 4 are
kept out of training. The control prompt gives an input a new label each time, which leaves nothing to learn. After
2,000 steps one seed of three was still learning (92 % right), so the full form takes 4,000.
"""

from collections.abc import Sequence

import numpy as np

from handloom.core import Config, Model
from handloom.core.arrays import Array
from handloom.lab.experiment import Check, Claim, Finding, Lab, Series
from handloom.lab.predictions import right_answers
from handloom.learn.data import NOTHING
from handloom.learn.fresh import steps
from handloom.learn.settings import Settings
from handloom.view.figures.panels import Bars, Lines, Mark, Panel, band

CLAIM = Claim(
    name="few-shot",
    says="a really small model learns a new labelling from the examples in its prompt",
    source="Brown et al. 2020",
    papers=("2005.14165",),
    seed="Bukatin",
    number="same question, other examples, other answer",
    quick=2,
    full=20,
)
INPUTS, LABELS, PAIRS = 8, 4, 16


def run(lab: Lab) -> Finding:
    model = trained(lab)
    rng = lab.rng(1)
    asked = rng.integers(0, INPUTS, (lab.pick(500, 2000), PAIRS))
    new, other = labellings(rng, len(asked), held_out=True), labellings(rng, len(asked), held_out=True)
    right = answered(model, asked, labels_of(asked, new))
    swapped = answered(model, asked, labels_of(asked, other))
    lots = rng.integers(0, LABELS, asked.shape)
    known = seen_before(asked)
    differ = known & (labels_of(asked, new) != labels_of(asked, other))
    best = np.where(known, 1.0, 1 / LABELS).mean(0)
    return Finding(
        checks=[
            Check("right where the input occurred before", lab.pick(None, right[known].mean()), least=0.95, form=".1%"),
            Check(
                "furthest from the best, by shots",
                lab.pick(None, np.abs(right.mean(0) - best).max()),
                most=0.05,
                form=".1%",
            ),
            Check(
                "right behind both of two labellings",
                lab.pick(None, (right * swapped)[differ].mean()),
                least=0.9,
                form=".1%",
            ),
            Check(
                "right if labels are by lot",
                answered(model, asked, lots)[known].mean(),
                least=0.95,
                control=True,
                form=".1%",
            ),
        ],
        series={
            "right": right.mean(0).tolist(),
            "best": best.tolist(),
            "lots": answered(model, asked, lots).mean(0).tolist(),
            "seen": right[known].mean(),
            "both": (right * swapped)[differ].mean(),
            "lot": answered(model, asked, lots)[known].mean(),
        },
        models={"model": model},
    )


def labellings(rng: np.random.Generator, rows: int, held_out: bool = False) -> Array:
    """A label for each input, (B, inputs); the last one decides whether the labelling is held out."""
    found = rng.integers(0, LABELS, (rows, INPUTS))
    total = found[:, :-1].sum(-1)
    rest = 0 if held_out else rng.integers(1, LABELS, rows)
    found[:, -1] = (rest - total) % LABELS
    return found


def labels_of(asked: Array, labelling: Array) -> Array:
    return np.take_along_axis(labelling, asked, 1)


def strings(asked: Array, labels: Array) -> tuple[Array, Array]:
    """Inputs and labels in turn, (B, 2 · pairs), with the label as the target of each input."""
    rows = np.stack([asked, INPUTS + labels], -1).reshape(len(asked), -1)
    targets = np.stack([INPUTS + labels, np.full_like(labels, NOTHING)], -1).reshape(len(asked), -1)
    return rows, targets


def draw(rng: np.random.Generator, rows: int = 64) -> tuple[Array, Array]:
    asked = rng.integers(0, INPUTS, (rows, PAIRS))
    return strings(asked, labels_of(asked, labellings(rng, rows)))


def seen_before(asked: Array) -> Array:
    """Whether the input of each pair occurred in an earlier one, (B, pairs)."""
    same = asked[:, :, None] == asked[:, None, :]
    return np.asarray((same & np.tri(PAIRS, k=-1, dtype=bool)).any(-1))


def answered(model: Model, asked: Array, labels: Array) -> Array:
    """1 where the model gives an input its label, (B, pairs)."""
    return right_answers(model, *strings(asked, labels))[:, ::2]


def trained(lab: Lab) -> Model:
    config = Config(
        vocab=INPUTS + LABELS, block=2 * PAIRS, d_model=48, layers=2, heads=4, d_head=12, d_ff=96, tied=False
    )
    most = lab.pick(100, 4000)
    for step in steps(config, draw, Settings(steps=most, rate=2e-3, schedule="cosine", seed=lab.seed)):
        lab.progress(step.number, most)
    model: Model = step.model()
    return model


def picture(seeds: Sequence[Series]) -> Sequence[Panel]:
    shots = list(range(PAIRS))
    curves = [
        band("model", shots, [series["right"] for series in seeds]),
        band("best possible", shots, [series["best"] for series in seeds]),
        band("labels by lot", shots, [series["lots"] for series in seeds], control=True),
    ]
    names = ["input seen", "two labellings", "labels by lot"]
    values = [[series[key] for series in seeds] for key in ("seen", "both", "lot")]
    return [
        Lines("Labellings never trained on", "examples in the prompt", "right", curves, [Mark(1 / LABELS, "a guess")]),
        Bars("Right where the input occurred before", "share", names, values, names[2:], [Mark(0.95, "95 %")]),
    ]
