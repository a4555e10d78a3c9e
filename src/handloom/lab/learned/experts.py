"""A mixture of experts predicts better than a dense model of as many active parameters; do its experts share out rules?

Shazeer et al. 2017: a layer of many experts, of which a gate picks a few for each position, has a lower loss than a
dense layer that computes as much, and its experts specialise. Bukatin's slides name mixtures of experts, and GPT-4 as
one. The paper has up to 131,072 experts (from memory), words, and a balance loss; here there are 8, of which 2 are
used, no balance loss, and strings from a mixture of eight rules. A string begins with the number of its rule; random
letters follow, and what is to be predicted at each place is the entry for the last two letters in the rule's table,
which is random. So there is something to share out, and the least loss is 0.

Two numbers are claimed. The held-out loss is to be below the dense model's, which has as many neurons as a position
uses and a few more, for the parameters of the gates. And the expert with the largest weight is to tell the rule: at
least half of its 3 bits, as if pairs or quadruples of rules had experts of their own. Controls: a mixture of two
experts, both of which are always used, has nothing to choose and should gain nothing; and the gates of the untrained
model. What the expert tells about the last letter is measured beside it, without a claim.
(Found: the loss is lower, and experts go by letters, of which they tell 0.7 bits, more than by rules, of which they
tell 0.5.)
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from handloom.core import Config, Model, Vocab, count, trace
from handloom.core.arrays import Array
from handloom.lab.experiment import Check, Claim, Finding, Lab, Series
from handloom.lab.predictions import losses
from handloom.learn.data import NOTHING
from handloom.learn.fresh import steps
from handloom.learn.learner import Transformer
from handloom.learn.settings import Settings
from handloom.view.figures.panels import Bars, Heat, Mark, Panel

CLAIM = Claim(
    name="experts",
    says="a mixture of experts beats a dense model of as many active parameters, and its experts specialise in rules",
    source="Shazeer et al. 2017",
    papers=("1701.06538",),
    seed="Bukatin",
    number="a lower loss; experts that specialise",
    quick=5,
    full=42,
)
RULES, EXPERTS, TOP = 8, 8, 2
LENGTH = 12
STEPS = (220, 1500)  # quick, full
LOWER = 0.1  # nats
BITS = math.log2(RULES)
NAMES = {"experts": "8 experts, 2 used", "dense": "dense, as active", "two": "2 experts, both used"}
TOLD = {"rule": "the rule", "letter": "the last letter", "untrained": "the rule, untrained"}


def run(lab: Lab) -> Finding:
    table = random_tables(lab.pick(8, 16), lab)
    mixture = config_for(lab, len(table[0]))
    two = replace(mixture, experts=TOP)
    ids, targets = draw(table, lab.rng(1), 256)
    models = {}
    for done, (name, config) in enumerate({"experts": mixture, "dense": dense_like(mixture), "two": two}.items()):
        models[name] = trained(config, table, lab)
        lab.progress(done + 1, 3)
    loss = {name: float(np.nanmean(losses(model, ids, targets))) for name, model in models.items()}
    rule, letter, expert = places(models["experts"], ids)
    told = {
        "rule": shared_bits(rule, expert),
        "letter": shared_bits(letter, expert),
        "untrained": shared_bits(rule, places(untrained(mixture, lab), ids)[2]),
    }
    lower: dict[str, Any] = {"least": LOWER}
    half: dict[str, Any] = {"least": BITS / 2}
    return Finding(
        checks=[
            Check("held-out loss below the dense model's, nats", loss["dense"] - loss["experts"], **lower),
            Check("bits of 3 that the expert tells about the rule", told["rule"], **half),
            Check(
                "two experts, both used: loss below the dense model's",
                loss["dense"] - loss["two"],
                control=True,
                **lower,
            ),
            Check("bits that the expert tells, untrained", told["untrained"], control=True, **half),
        ],
        series={
            "loss": loss,
            "told": told,
            "active": {name: count(model).active for name, model in models.items()},
            "matrix": shares_of_rules(rule, expert).tolist(),
        },
        models=models,
    )


def random_tables(letters: int, lab: Lab) -> Array:
    """What is predicted behind two letters under each rule, (RULES, letters, letters)."""
    return lab.rng(0).integers(0, letters, (RULES, letters, letters))


def draw(table: Array, rng: np.random.Generator, rows: int = 64) -> tuple[Array, Array]:
    """The number of a rule, then letters; and the rule's entry at each place that has two letters."""
    letters = len(table[0])
    rule = rng.integers(0, RULES, (rows, 1))
    text = rng.integers(0, letters, (rows, LENGTH - 1))
    entries = table[rule, text[:, :-1], text[:, 1:]]
    return np.hstack([letters + rule, text]), np.hstack([np.full((rows, 2), NOTHING), entries])


def config_for(lab: Lab, letters: int) -> Config:
    """The mixture, of one layer: one choice per position."""
    return Config(
        vocab=letters + RULES, block=LENGTH, d_model=32, layers=1, heads=4, d_head=8, activation="relu", tied=False,
        d_ff=lab.pick(8, 32), experts=EXPERTS, top=TOP,
    )  # fmt: skip


def dense_like(mixture: Config) -> Config:
    """A dense model with at least as many parameters as a position of the mixture uses: its gates are made up for by
    neurons."""
    gates = mixture.experts * (mixture.d_model + 1)
    more = math.ceil(gates / (2 * mixture.d_model + 1))
    return replace(mixture, experts=0, d_ff=mixture.top * mixture.d_ff + more)


def trained(config: Config, table: Array, lab: Lab) -> Model:
    settings = Settings(steps=lab.pick(*STEPS), rate=lab.pick(1e-2, 3e-3), seed=lab.seed, lanes=1)
    *_, step = steps(config, partial(draw, table), settings)
    model: Model = step.model()
    return model


def untrained(config: Config, lab: Lab) -> Model:
    """The model that training starts with."""
    return Model(config, Transformer(config).start(lab.seed), Vocab.numbers(config.vocab))


def places(model: Model, ids: Array) -> tuple[Array, Array, Array]:
    """Of each place where something is predicted the rule, the last letter, and the expert with the largest weight."""
    expert = np.asarray(trace(model, ids, want="0.gate", engine="torch")["0.gate"])[:, 2:].argmax(-1)
    letters = model.config.vocab - RULES
    rule = np.broadcast_to(ids[:, :1] - letters, expert.shape)
    return rule.ravel(), ids[:, 2:].ravel(), expert.ravel()


def shared_bits(a: Array, b: Array) -> float:
    """The mutual information of two columns of numbers, in bits, from how often each pair occurs."""
    joint = np.zeros((a.max() + 1, b.max() + 1))
    np.add.at(joint, (a, b), 1.0 / len(a))
    apart = joint.sum(1, keepdims=True) * joint.sum(0)
    there = joint > 0
    return float((joint[there] * np.log2(joint[there] / apart[there])).sum())


def shares_of_rules(rule: Array, expert: Array) -> Array:
    """How often each expert has the largest weight under each rule, (RULES, EXPERTS); rows sum to 1."""
    counts = np.zeros((RULES, EXPERTS))
    np.add.at(counts, (rule, expert), 1.0)
    return np.asarray(counts / counts.sum(1, keepdims=True))


def picture(seeds: Sequence[Series]) -> Sequence[Panel]:
    loss = [[one["loss"][name] for one in seeds] for name in NAMES]
    told = [[one["told"][name] for one in seeds] for name in TOLD]
    experts, rules = ([str(i + 1) for i in range(n)] for n in (EXPERTS, RULES))
    marks = [Mark(BITS / 2, "half of the rule"), Mark(BITS, "all of it")]
    title = "Share of a rule's places, first seed"
    return [
        Bars("Held-out loss", "nats", list(NAMES.values()), loss, [NAMES["two"]], [Mark(0.0, "exact")]),
        Bars("What the expert tells", "bits", list(TOLD.values()), told, [TOLD["untrained"]], marks),
        Heat(title, "expert with the largest weight", "rule", experts, rules, seeds[0]["matrix"], ".1f"),
    ]
