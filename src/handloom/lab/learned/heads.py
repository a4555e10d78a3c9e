"""Very many, very narrow heads: do they learn as fast as a few wide ones of the same total width?

Bukatin's slides ask that people play with "very many, very low-dimensional heads", and claim nothing. So the claim here
is our own: with H · K = 64 held fixed, narrow heads learn within twice the steps of the usual four heads of width 16.
Two layers, three tasks with labels at every place of the answer: to repeat twelve letters (induction), to repeat them
moved on by one, to sort them. Counted are the steps until 99 % of fresh answers are right, letter by letter.
A run that does not get there counts as the limit of steps, which is then too few.

Seen with the first seed: the wider the heads, the sooner two layers learn to repeat; heads of width 1 take four times
as long. To sort, they take no longer. The control is one head of width 1 per layer, narrow but not many.
"""

from collections.abc import Callable, Sequence

import numpy as np

from handloom.core import Config
from handloom.core.arrays import Array
from handloom.core.reference import forward
from handloom.lab.experiment import Check, Claim, Finding, Lab, Series
from handloom.learn.data import NOTHING
from handloom.learn.fresh import steps
from handloom.learn.settings import Settings
from handloom.view.figures.panels import Lines, Mark, Panel, band

CLAIM = Claim(
    name="heads",
    says="with H · K fixed, many narrow heads learn within twice the steps of four wide ones",
    source="an open question of the slides; the claim is ours",
    seed="Bukatin",
    number="none",
    quick=4.2,
    full=46,
)
TOTAL, USUAL = 64, 16  # H · K, and the usual K
LETTERS, LENGTH = 12, 12
EQUALS = LETTERS  # the token between question and answer
LIMIT, EVERY = 600, 5  # steps, and steps between looks

Answer = Callable[[Array], Array]  # of questions (B, LENGTH)


def run(lab: Lab) -> Finding:
    widths, tasks = lab.pick(((1, 4, 16), ("repeat",)), ((1, 2, 4, 16, 64), tuple(TASKS)))
    needed: dict[str, list[int]] = {name: [] for name in tasks}
    for done, name in enumerate(tasks):
        for i, width in enumerate(widths):
            needed[name].append(steps_to_learn(TASKS[name], TOTAL // width, width, lab))
            lab.progress(done * len(widths) + i + 1, len(tasks) * len(widths) + 1)
    usual = {name: found[widths.index(USUAL)] for name, found in needed.items()}
    narrow = steps_to_learn(TASKS["repeat"], 1, 1, lab, most=3 * usual["repeat"])
    checks = [
        Check(f"{name}: steps with K = {width}, of those with 16", needed[name][i] / usual[name], most=2.0)
        for name in tasks
        for i, width in enumerate(widths)
        if width in (1, 4)
    ]
    checks.append(Check("repeat: one head of K = 1", narrow / usual["repeat"], most=2.0, control=True))
    return Finding(checks, {"widths": list(widths), "needed": needed})


def moved(rows: Array) -> Array:
    return (rows + 1) % LETTERS


TASKS: dict[str, Answer] = {"repeat": lambda rows: rows, "move": moved, "sort": lambda rows: np.sort(rows, 1)}


def drawn(rng: np.random.Generator, answer: Answer, count: int) -> tuple[Array, Array]:
    """Inputs and targets (count, 2 LENGTH): a question, =, and the answer, which alone is predicted."""
    rows = rng.integers(0, LETTERS, (count, LENGTH))
    whole = np.concatenate([rows, np.full((count, 1), EQUALS), answer(rows)], 1)
    targets = whole[:, 1:].copy()
    targets[:, :LENGTH] = NOTHING
    return whole[:, :-1], targets


def steps_to_learn(answer: Answer, heads: int, width: int, lab: Lab, most: int = LIMIT) -> int:
    """Steps until 99 % of the letters of fresh answers are right, or `most`."""
    config = Config(
        vocab=LETTERS + 1, block=2 * LENGTH, d_model=64, layers=2, heads=heads, d_head=width, d_ff=128, tied=False
    )
    settings = Settings(steps=most, rate=2e-3, seed=lab.seed)
    for step in steps(config, lambda rng: drawn(rng, answer, 32), settings):
        if step.number % EVERY == 0:
            inputs, targets = drawn(lab.rng(1, step.number), answer, 100)
            found = forward(step.model(), inputs)[0].argmax(-1)
            if (found == targets)[targets != NOTHING].mean() >= 0.99:
                break
    return step.number


def picture(seeds: Sequence[Series]) -> Sequence[Panel]:
    widths = seeds[0]["widths"]
    curves = [band(name, widths, [one["needed"][name] for one in seeds]) for name in seeds[0]["needed"]]
    title = f"{TOTAL} dimensions of attention per layer"
    marks = [Mark(LIMIT, "limit")]
    return [Lines(title, "width of a head K", "steps to 99 %", curves, marks, log_x=True, log_y=True)]
