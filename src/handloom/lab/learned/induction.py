"""Two layers form induction heads, abruptly, and learning in context comes with them; one layer cannot.

Elhage et al. 2021 found the heads in attention-only models of two layers; Olsson et al. 2022 showed that they form in a
short phase of training, in which the loss of late tokens falls. A lower bound for one layer is in arXiv 2408.14332.
Bukatin's and Hsu and Moitra's slides name them. Here the text is random letters, a stretch of random length over and
over, so that only what was seen in the same string can predict anything; a language has much else to learn, which makes
their phase change less pure and no more abrupt. The length of the stretch is random, or one layer could look back a
fixed number of places. Attention only, four heads per layer. All letters of a stretch differ.

The loss is that of the repeated part. Its gap is from the loss of one who knows the letters of the stretch and not
their order, which is about what one layer reaches, to the last loss. Several heads of the second layer become induction
heads (score of 0.5 or more), so they are switched off together. What forms depends on the text: with 16 or 32 letters,
with stretches of 6 to 16 or with one head per layer, the second layer often learned to look two or three places behind
the same letter instead, at a place that had gathered the letters before it. That takes longer, and is not abrupt.

Changed after a first full run, in which the loss took 12 % to 14 % of training to fall: there a letter could occur
twice in a stretch, so that an induction head alone was wrong about it, and much of the fall was the slow learning of
two-letter contexts. With different letters and two heads per layer the fall took 2 % to 3 %, but one seed of three
looked elsewhere than behind the same letter; with four heads none of four did.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from handloom.core import Config, Model
from handloom.core.arrays import Array
from handloom.lab.experiment import Check, Claim, Finding, Lab, Series
from handloom.lab.predictions import first_step, losses
from handloom.learn.fresh import steps
from handloom.learn.settings import Settings
from handloom.read.head_rows import HeadRows
from handloom.read.head_scores import measure
from handloom.view.figures.panels import Heat, Lines, Mark, Panel, band

CLAIM = Claim(
    name="induction",
    says="two layers form an induction head within a tenth of training, and the loss falls with it; one layer cannot",
    source="Elhage et al. 2021; Olsson et al. 2022",
    papers=("2209.11895", "2408.14332"),
    seed="Bukatin",
    number="a phase change; none with one layer",
    quick=3,
    full=30,
)
LETTERS, LENGTH, STRETCH = 64, 64, (16, 33)  # the stretch that is repeated: from 16 to 32 letters
EVERY = 20  # steps between looks
SOLVED = 0.3  # nats


def run(lab: Lab) -> Finding:
    most = lab.pick(200, 3000)
    two, model = watched(2, most, lab)
    one: dict[str, Any] = {"loss": [], "scores": []} if lab.quick else watched(1, most, lab)[0]
    least = two["loss"][-1]
    bag = bag_loss(lab)
    window = fall(two["steps"], two["loss"], bag)
    formed = [head for head, score in enumerate(two["scores"][-1]) if score >= 0.5]
    back = (loss_without(model, formed, lab) - least) / (bag - least)
    width = None if window is None or lab.quick else (window[1] - window[0]) / most
    return Finding(
        checks=[
            Check("loss with two layers", least, most=SOLVED),
            Check("share of training in which the loss falls", width, most=0.1),
            Check("share of the score won in that time", window and won(two, window), least=0.5),
            Check("best score of a head", max(two["scores"][-1]), least=0.8, said=1.0),
            Check("gap that returns without the induction heads", back, least=0.8),
            Check("loss with one layer", min(one["loss"], default=None), most=SOLVED, control=True),
            Check(
                "best score of a head with one layer",
                max(map(max, one["scores"]), default=None),
                least=0.8,
                control=True,
            ),
        ],
        series={"two": two, "one": one, "bag": bag},
        models={"model": model},
    )


def draw(rng: np.random.Generator, rows: int = 32) -> tuple[Array, Array]:
    """Rows of a stretch of different letters over and over, and after each letter the next one."""
    lengths = rng.integers(*STRETCH, rows)
    stretches = rng.random((rows, LETTERS)).argsort(1)[:, : STRETCH[1]]
    strings = np.take_along_axis(stretches, np.arange(LENGTH + 1) % lengths[:, None], 1)
    return strings[:, :-1], strings[:, 1:]


def bag_loss(lab: Lab) -> float:
    """The loss of one who knows the letters of the stretch and not their order: the entropy of the letters so far."""
    rows = draw(lab.rng(1), 64)[0][:, -STRETCH[1] :]
    shares = (rows[:, :, None] == rows[:, None, :]).mean(-1)
    return float(-np.log(shares).mean())


def watched(layers: int, most: int, lab: Lab) -> tuple[dict[str, Any], Model]:
    """Train a model of so many layers, and look at its loss and at the head of its last layer as it learns."""
    config = Config(vocab=LETTERS, block=LENGTH, d_model=64, layers=layers, heads=4, d_head=16, tied=False)
    inputs, targets = draw(lab.rng(1), 64)
    found: dict[str, Any] = {"steps": [], "loss": [], "places": [], "scores": []}
    for step in steps(config, draw, Settings(steps=most, rate=2e-3, seed=lab.seed)):
        if step.number % EVERY == 0:
            model = step.model()
            loss = losses(model, inputs, targets).mean(0)
            scores = measure(model, HeadRows("given", tuple(inputs[:8]), (STRETCH[1],) * 8)).scores
            found["steps"].append(step.number)
            found["loss"].append(float(loss[STRETCH[1] :].mean()))
            found["places"].append(loss.tolist())
            found["scores"].append([scores[f"{layers - 1}.{head}"]["induction 1"] for head in range(config.heads)])
            lab.progress(step.number + (2 - layers) * most, 2 * most)
    return found, model


def fall(numbers: Sequence[int], loss: Sequence[float], bag: float) -> tuple[int, int] | None:
    """The steps at which 90 % and 10 % of the gap from the bag's loss to the last one are left; None if there is no
    gap."""
    gap = bag - loss[-1]
    start, end = (first_step(numbers, [one - loss[-1] <= part * gap for one in loss]) for part in (0.9, 0.1))
    return None if start is None or end is None or gap < SOLVED else (start, end)


def won(two: dict[str, Any], window: tuple[int, int]) -> float:
    """The part of the best head's last score that was gained in the window."""
    best = np.array(two["scores"])[:, int(np.argmax(two["scores"][-1]))]
    start, end = (best[two["steps"].index(step)] for step in window)
    return float((end - start) / abs(best[-1]))


def loss_without(model: Model, heads: Sequence[int], lab: Lab) -> float:
    """The loss if these heads of the last layer write nothing."""

    def silent(z: Array) -> Array:
        z[..., heads, :, :] = 0.0
        return z

    inputs, targets = draw(lab.rng(1), 64)
    found = losses(model, inputs, targets, {f"{model.config.layers - 1}.z": silent})
    return float(found[:, STRETCH[1] :].mean())


def picture(seeds: Sequence[Series]) -> Sequence[Panel]:
    two, one = ([series[name] for series in seeds] for name in ("two", "one"))
    numbers = two[0]["steps"]
    bag = Mark(float(np.mean([series["bag"] for series in seeds])), "knowing the letters, not their order")
    curves = [band("two layers", numbers, [run["loss"] for run in two])]
    heads = [band("second layer", numbers, [[max(pair) for pair in run["scores"]] for run in two])]
    if all(run["loss"] for run in one):
        curves.append(band("one layer", numbers, [run["loss"] for run in one], control=True))
        best = [[max(pair) for pair in run["scores"]] for run in one]
        heads.append(band("only layer", numbers, best, control=True))
    rows = list(range(0, len(numbers), max(1, len(numbers) // 12)))
    places = list(range(3, LENGTH, 6))
    return [
        Lines("Loss of the repeated part", "step", "nats", curves, [bag]),
        Lines(
            "Where the best head looks", "step", "prefix matching", heads, [Mark(1.0, "always behind the same letter")]
        ),
        Heat(
            "Loss by place, two layers, seed 0",
            "place in the string",
            "step",
            [str(place) for place in places],
            [str(numbers[row]) for row in rows],
            [[two[0]["places"][row][place] for place in places] for row in rows],
            form=".1f",
        ),
    ]
