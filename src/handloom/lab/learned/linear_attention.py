"""Can attention without softmax learn to repeat what it has seen? With two layers, not as well as with softmax.

Bukatin's slides: without softmax (QKᵀ)V = Q(KᵀV), the model is a polynomial, and “sufficiently expressive”; that is a
hope, not a measured claim, so the bounds are ours. `handloom lab linear` has the identities. Here: random letters, a
stretch of random length over and over, in which only what was seen before predicts anything. Two layers with linear
attention must come within 0.3 nats of two layers with softmax, trained alike at the best of two rates. Control: one
layer of linear attention, which cannot bind a letter to the one before it.

Seen: after 1,200 steps two layers of linear attention are still learning, so one seed was given 3,600. There the loss
stays flat at 0.53 nats over the last third, where softmax is at 0.06 after 1,200.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from handloom.core import Config
from handloom.core.arrays import Array
from handloom.lab.experiment import Check, Claim, Finding, Lab, Series
from handloom.lab.repeating_text import repeating_text
from handloom.learn.fresh import steps
from handloom.learn.settings import Settings
from handloom.view.figures.panels import Lines, Mark, Panel, band

CLAIM = Claim(
    name="linear-attention",
    says="two layers of linear attention learn to repeat what they have seen, as two with softmax do",
    source="Bukatin's slides; Katharopoulos et al. 2020",
    papers=("2006.16236",),
    seed="Bukatin",
    number="sufficiently expressive (no number)",
    quick=2.3,
    full=60,
)
LETTERS, LENGTH, STRETCH = 16, 48, (8, 25)
RATES = (1e-3, 3e-3)
NEAR = 0.3  # nats
PARTS = 20  # of training, over which losses are averaged


def run(lab: Lab) -> Finding:
    most = lab.pick(40, 1200)
    kinds: dict[str, tuple[Any, int]] = {"softmax": ("softmax", 2), "linear": ("linear", 2), "one layer": ("linear", 1)}
    losses = {}
    for i, (name, (attention, layers)) in enumerate(kinds.items()):
        lab.progress(i, len(kinds))
        curves = [curve(attention, layers, rate, most, lab) for rate in RATES]
        losses[name] = min(curves, key=lambda found: found[-1])
    behind = {name: found[-1] - losses["softmax"][-1] for name, found in losses.items()}
    learnt = losses["softmax"][-1] < 1.0  # nats; otherwise there is nothing to come close to
    return Finding(
        checks=[
            Check("loss of linear attention less softmax's, nats", behind["linear"] if learnt else None, most=NEAR),
            Check("of one layer of it", behind["one layer"] if learnt else None, most=NEAR, control=True),
        ],
        series={"every": most // PARTS, "losses": losses},
    )


def repeats(rng: np.random.Generator) -> tuple[Array, Array]:
    return repeating_text(rng, LETTERS, LENGTH, STRETCH)


def curve(attention: Any, layers: int, rate: float, most: int, lab: Lab) -> list[float]:
    """The mean loss in each twentieth of training."""
    config = Config(
        vocab=LETTERS, block=LENGTH, d_model=32, layers=layers, heads=2, d_head=16, tied=False, attention=attention
    )
    found = [step.loss for step in steps(config, repeats, Settings(steps=most, rate=rate, seed=lab.seed))]
    return [float(part) for part in np.reshape(found, (PARTS, -1)).mean(1)]


def picture(seeds: Sequence[Series]) -> Sequence[Panel]:
    at = [(i + 0.5) * seeds[0]["every"] for i in range(PARTS)]
    names = {"softmax": "softmax, two layers", "linear": "linear, two layers", "one layer": "linear, one layer"}
    curves = [
        band(words, at, [one["losses"][name] for one in seeds], control=name == "one layer")
        for name, words in names.items()
    ]
    chance = Mark(float(np.log(LETTERS)), "guessing")
    return [Lines("Repeating what was seen", "steps", "loss, nats", curves, [chance])]
