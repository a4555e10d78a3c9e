"""Pre-training and fine-tuning beats training from scratch on the small set, and overfits less.

Mehlig's slides on how transformers are trained: pre-train on much text, fine-tune on the few examples of a task. Scaled
down, a text is eight random letters of sixteen and then the same eight, each moved on by k letters; a token before it
names k. Pre-training sees fresh texts with k = 1, 2, 3, 5, 6, 7. The small set is 100 texts with k = 4, whose token is
new. Fine-tuning and training from scratch make the same steps, on the same 100 texts with the same settings. What is
compared is the loss on 500 other texts with k = 4; no model can be below log(16)/2 = 1.39 nats per letter, since the
first half is random.

Overfitting is the loss on other texts less the loss on the 100, at the end; after the 450 steps of the full form both
models know the 100 by heart, and it differs little. The control is pre-training on as many texts of random letters,
without a rule. That helps too, by about half as much, but must not come near the floor.
"""

from collections import deque
from collections.abc import Iterator, Sequence

import numpy as np

from handloom.core import Config, Model
from handloom.core.arrays import Array
from handloom.lab.experiment import Check, Claim, Finding, Lab, Series
from handloom.learn.data import Strings
from handloom.learn.fresh import TrainingStep, steps
from handloom.learn.settings import Settings
from handloom.view.figures.panels import Lines, Mark, Panel, band

CLAIM = Claim(
    name="pretrain",
    says="pre-training and fine-tuning on 100 texts beats training on them from scratch, and overfits less",
    source="Radford et al. 2018; the slides",
    seed="Mehlig",
    number="more efficient, less overfitting",
    quick=4.4,
    full=34,
)
LETTERS, HALF = 16, 8
MOVES, NEW = (1, 2, 3, 5, 6, 7), 4
CONFIG = Config(vocab=LETTERS + 8, block=2 * HALF, d_model=64, layers=2, heads=4, d_head=16, d_ff=256, tied=False)
FLOOR = float(np.log(LETTERS) / 2)
LOOKS = 15  # at the loss on other texts
NAMES = {"tuned": "pre-trained", "scratch": "from scratch", "random": "pre-trained on random letters"}

Batch = tuple[Array, Array]


def run(lab: Lab) -> Finding:
    before, after = lab.pick((400, 45), (1_500, 450))
    few = texts(lab.rng(0), 100, [NEW])
    other = Strings.labelled(*texts(lab.rng(1), lab.pick(200, 500), [NEW]))
    starts: dict[str, Config | Model]
    starts = {"tuned": pretrained(True, before, lab), "scratch": CONFIG, "random": pretrained(False, before, lab)}
    curves, gaps = {}, {}
    for done, (name, start) in enumerate(starts.items()):
        curves[name], gaps[name] = losses(start, few, other, after, lab)
        lab.progress(done + 2, len(starts) + 1)
    best = {name: min(curve) for name, curve in curves.items()}
    checks = [
        Check("best loss above the floor, pre-trained", best["tuned"] - FLOOR, most=0.1),
        Check("best loss saved by pre-training, nats", best["scratch"] - best["tuned"], least=0.2),
        Check("overfitting saved by pre-training, nats", gaps["scratch"] - gaps["tuned"], least=0.1),
        Check("best loss above the floor, random texts", best["random"] - FLOOR, most=0.1, control=True),
    ]
    return Finding(checks, {"curves": curves, "every": after // LOOKS, "gaps": gaps})


def texts(rng: np.random.Generator, count: int, moves: Sequence[int], ruled: bool = True) -> Batch:
    """Inputs and targets (count, 2 HALF): the token of a move, random letters, and the same moved on or, if there is no
    rule, more random ones."""
    move, first = rng.choice(moves, (count, 1)), rng.integers(0, LETTERS, (count, HALF))
    second = (first + move) % LETTERS if ruled else rng.integers(0, LETTERS, first.shape)
    whole = np.concatenate([LETTERS + move, first, second], 1)
    return whole[:, :-1], whole[:, 1:]


def pretrained(ruled: bool, count: int, lab: Lab) -> Model:
    return last_of(steps(CONFIG, lambda rng: texts(rng, 32, MOVES, ruled), settings_of(count, lab, 2e-3))).model()


def losses(start: Config | Model, few: Batch, other: Strings, count: int, lab: Lab) -> tuple[list[float], float]:
    """The loss on other texts, after the first step on the few and after every so many; and by how much it is above the
    loss on the few at the end."""
    every, found = count // LOOKS, []

    def draw(rng: np.random.Generator) -> Batch:
        rows = rng.integers(0, len(few[0]), 32)
        return few[0][rows], few[1][rows]

    for step in steps(start, draw, settings_of(count, lab, 5e-4)):
        if step.number == 1 or step.number % every == 0:
            found.append(step.stepper.trainer.loss(other))
    return found, found[-1] - step.stepper.trainer.loss(Strings.labelled(*few))


def settings_of(count: int, lab: Lab, rate: float) -> Settings:
    return Settings(steps=count, rate=rate, schedule="cosine" if rate > 1e-3 else "constant", seed=lab.seed)


def last_of(made: Iterator[TrainingStep]) -> TrainingStep:
    return deque(made, maxlen=1)[0]


def picture(seeds: Sequence[Series]) -> Sequence[Panel]:
    every = seeds[0]["every"]
    curves = [
        band(
            name, [1, *(every * (i + 1) for i in range(LOOKS))], [one["curves"][key] for one in seeds], key == "random"
        )
        for key, name in NAMES.items()
    ]
    title = "100 texts of a new rule"
    return [Lines(title, "steps on the 100", "nats per letter, held out", curves, [Mark(FLOOR, "floor")])]
