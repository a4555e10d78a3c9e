"""One layer of attention learns skip-grams, where a bigram model cannot; what needs two heads in a row it does not.

Elhage et al. 2021 show that one layer of attention only is a table of skip-trigrams: "left … \\" is followed by what
\\left begins. Hsu and Moitra's slides have it among the patterns of attention. Here a string has one of eight keys at a
random place among fillers, and ends with a mark; what follows the mark is the partner of the key. The last letter is
always the mark, so a bigram model has one in eight right. A single layer without neurons is enough.

The control asks that layer for what followed the key: one more step, for which two heads must work in a row
(induction). One layer must not learn it: the letter is looked up by its neighbour, not by itself.
"""

from collections.abc import Callable, Sequence

import numpy as np

from handloom.core import Config, Model
from handloom.core.arrays import Array
from handloom.core.reference import forward
from handloom.lab.experiment import Check, Claim, Finding, Lab, Series
from handloom.learn.data import NOTHING
from handloom.learn.fresh import steps
from handloom.learn.settings import Settings
from handloom.view.figures.panels import Lines, Mark, Panel, band

CLAIM = Claim(
    name="skip-gram",
    says="one layer of attention learns skip-grams, which a bigram model cannot",
    source="Elhage et al. 2021",
    seed="Hsu and Moitra",
    number="one layer is a table of skip-trigrams",
    quick=2.7,
    full=9,
)
KEYS, FILLERS, LENGTH = 8, 8, 16
MARK = KEYS + FILLERS
VOCAB = KEYS + FILLERS + 1

Draw = Callable[[np.random.Generator, int], tuple[Array, Array]]


def run(lab: Lab) -> Finding:
    curves, models = {}, {}
    runs = {"one layer": (1, partners), "bigram": (0, partners), "one layer, what followed": (1, followers)}
    for done, (name, (layers, draw)) in enumerate(runs.items()):
        models[name], curves[name] = learned(layers, draw, lab)
        lab.progress(done + 1, len(runs))
    last = {name: curve[-1] for name, curve in curves.items()}
    checks = [
        Check("skip-grams right, one layer", last["one layer"], least=0.99, form=".1%"),
        Check("skip-grams right, bigram", last["bigram"], most=0.2, said=1 / KEYS, form=".1%"),
        Check(
            "what followed the key, one layer", last["one layer, what followed"], least=0.99, control=True, form=".1%"
        ),
    ]
    return Finding(checks, {"curves": curves, "every": total(lab) // 10}, {"model": models["one layer"]})


def total(lab: Lab) -> int:
    return lab.pick(300, 1_000)


def partners(rng: np.random.Generator, count: int) -> tuple[Array, Array]:
    """Strings (count, LENGTH), and what follows their last letter, the mark: the filler that is the key's partner."""
    rows, _, keys = with_keys(rng, count)
    return rows, labels(KEYS + (keys + 3) % FILLERS)


def followers(rng: np.random.Generator, count: int) -> tuple[Array, Array]:
    """The same strings; what follows the mark is the filler after the key."""
    rows, at, _ = with_keys(rng, count)
    return rows, labels(rows[np.arange(count), at + 1])


def with_keys(rng: np.random.Generator, count: int) -> tuple[Array, Array, Array]:
    rows = rng.integers(KEYS, KEYS + FILLERS, (count, LENGTH))
    at, keys = rng.integers(0, LENGTH - 2, count), rng.integers(0, KEYS, count)
    rows[np.arange(count), at], rows[:, -1] = keys, MARK
    return rows, at, keys


def labels(last: Array) -> Array:
    """Targets of which only the last is predicted."""
    return np.concatenate([np.full((len(last), LENGTH - 1), NOTHING), last[:, None]], 1)


def learned(layers: int, draw: Draw, lab: Lab) -> tuple[Model, list[float]]:
    """The model after training, and the share of right answers by step."""
    config = Config(
        vocab=VOCAB, block=LENGTH, d_model=32, layers=layers, heads=4 * layers, d_head=8 * layers, d_ff=0, tied=False
    )
    settings = Settings(steps=total(lab), rate=5e-3, schedule="cosine", seed=lab.seed)
    asked, answers = draw(lab.rng(1), 500)
    found = []
    for step in steps(config, lambda rng: draw(rng, 64), settings):
        if step.number % (total(lab) // 10) == 0:
            model = step.model()
            found.append(float((forward(model, asked)[0][:, -1].argmax(-1) == answers[:, -1]).mean()))
    return model, found


def picture(seeds: Sequence[Series]) -> Sequence[Panel]:
    xs = [seeds[0]["every"] * (i + 1) for i in range(10)]
    curves = [
        band(name, xs, [one["curves"][name] for one in seeds], control="followed" in name)
        for name in seeds[0]["curves"]
    ]
    return [Lines("What comes after the mark", "steps", "share right", curves, [Mark(1 / KEYS, "one in eight")])]
