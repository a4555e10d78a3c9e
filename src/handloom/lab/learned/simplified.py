"""Blocks without values, or with attention and MLP side by side, train as fast per step as the usual ones.

He and Hofmann 2023 take skips, values, projections, the order of sublayers and norms out of the block: with all but the
norms gone it trains as fast per step, with 15 % fewer parameters (18 layers on code: loss 1.155 usual, 1.245 without
norms as well, so “no loss” does not include these). Bukatin's slides name it. Here: 4 layers 48 wide on random letters
that repeat; usual blocks; parallel sublayers; these with values fixed to the identity, which merge into a plain Model.
Each must end within 0.1 nats of the usual block after the same steps. Their shaped attention, which makes a block
without skips train, is not tried; without it the block without skips is the control that must fail.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from handloom.core import Config
from handloom.core.arrays import Array
from handloom.core.params import size
from handloom.lab.experiment import Check, Claim, Finding, Lab, Series
from handloom.lab.repeating_text import repeating_text
from handloom.learn.forms import IdentityValues
from handloom.learn.fresh import steps
from handloom.learn.settings import Settings
from handloom.view.figures.panels import Bars, Lines, Mark, Panel, band

CLAIM = Claim(
    name="simplified",
    says="blocks with parallel sublayers and without values train as fast per step as the usual ones",
    source="He and Hofmann 2023",
    papers=("2311.01906",),
    seed="Bukatin",
    number="no loss per step, 15 % fewer parameters",
    quick=4,
    full=70,
)
LETTERS, LENGTH, STRETCH = 16, 40, (6, 19)
PARTS, NEAR = 20, 0.1
KINDS: dict[str, tuple[dict[str, Any], bool]] = {  # fields of the Config, and whether values are the identity
    "usual": ({}, False),
    "parallel": ({"parallel": True}, False),
    "no values": ({"parallel": True}, True),
    "no skips": ({"skips": ()}, False),
}


def run(lab: Lab) -> Finding:
    most = lab.pick(20, 1000)
    curves = {}
    for i, (name, (fields, fixed)) in enumerate(KINDS.items()):
        lab.progress(i, len(KINDS))
        curves[name] = curve(block_config(fields), fixed, most, lab)
    behind = {name: found[-1] - curves["usual"][-1] for name, found in curves.items()}
    learnt = curves["usual"][-1] < 1.0  # nats; before that there is nothing to compare
    counts = {name: trained_weights(block_config(fields), fixed) for name, (fields, fixed) in KINDS.items()}
    return Finding(
        checks=[
            Check("loss of parallel blocks less the usual", behind["parallel"] if learnt else None, most=NEAR),
            Check("loss without values less the usual", behind["no values"] if learnt else None, most=NEAR),
            Check(
                "trained weights without values, as a share", counts["no values"] / counts["usual"], most=0.9, said=0.85
            ),
            Check("loss without skips less the usual", behind["no skips"] if learnt else None, most=NEAR, control=True),
        ],
        series={"every": most // PARTS, "losses": curves, "weights": counts},
    )


def block_config(fields: dict[str, Any]) -> Config:
    return Config(vocab=LETTERS, block=LENGTH, d_model=48, layers=4, heads=4, d_head=12, d_ff=192, tied=False, **fields)


def trained_weights(config: Config, fixed: bool) -> int:
    """Without W_V and W_O if values are the identity."""
    return size(config) - (2 * config.layers * config.d_model**2 if fixed else 0)


def letters_again(rng: np.random.Generator) -> tuple[Array, Array]:
    return repeating_text(rng, LETTERS, LENGTH, STRETCH)


def curve(config: Config, fixed: bool, most: int, lab: Lab) -> list[float]:
    """The mean loss in each twentieth of training."""
    settings = Settings(steps=most, rate=2e-3, seed=lab.seed)
    form = IdentityValues() if fixed else None
    found = [step.loss for step in steps(config, letters_again, settings, form=form)]
    return [float(part) for part in np.reshape(found, (PARTS, -1)).mean(1)]


def picture(seeds: Sequence[Series]) -> Sequence[Panel]:
    at = [(i + 0.5) * seeds[0]["every"] for i in range(PARTS)]
    curves = [band(name, at, [one["losses"][name] for one in seeds], control=name == "no skips") for name in KINDS]
    counts = [[one["weights"][name] for one in seeds] for name in KINDS]
    fewer = 0.85 * seeds[0]["weights"]["usual"]
    return [
        Lines("Letters that repeat", "steps", "loss, nats", curves),
        Bars("Trained weights", "", list(KINDS), counts, ["no skips"], [Mark(fewer, "15 % fewer, claimed")]),
    ]
