"""Worked steps make a task learnable: parity with its running states, and without.

    1 0 1 1 =  →  1             no steps
    1 0 1 1 =  →  1 1 0 1       the parity of the first bit, of the first two, …
    1 0 1 1 =  →  . . . 1       dots: as many tokens before the answer, which carry nothing

Kim and Suzuki 2024 prove that gradient descent needs exponentially many steps for parity, and that a single one is
enough if the intermediate states are taught; Wei et al. 2022 found worked steps in prompts of large models. Here a
transformer of two layers is trained from random weights three times, on the same questions in the same number of steps.
Only the answers differ. The dots separate the two things that steps give: time to compute, and something to imitate.
Parity is of 24 bits, of whose inputs the training set has one in 400; in the quick form of 12. The full form takes 900
steps (after 600 one of three seeds had one answer of 500 wrong), and does the same with words over the group S5: two
generators as letters, the running product as steps.
"""

from collections.abc import Callable, Sequence
from itertools import permutations

import numpy as np

from handloom.core import Vocab
from handloom.lab.experiment import Check, Claim, Finding, Lab, Series
from handloom.learn.api import train
from handloom.learn.training import Training
from handloom.tasks import Task
from handloom.tasks.task import Ids
from handloom.view.figures.panels import Lines, Mark, Panel, band

CLAIM = Claim(
    name="chain-of-thought",
    says="a two-layer transformer learns parity if its running states are taught, and not without them",
    source="Wei et al. 2022; Kim and Suzuki 2024",
    papers=("2201.11903", "2410.08633"),
    seed="Hsu and Moitra",
    number="parity: exponentially many steps without a chain of thought, one with it",
    quick=2.5,
    full=55,
)
KINDS = {"steps": "with running states", "none": "without", "dots": "dots in their place"}

Run = Callable[[Ids], Ids]  # the running states of an input


def run(lab: Lab) -> Finding:
    bits, total = lab.pick((12, 150), (24, 900))
    curves, models = {}, {}
    for done, kind in enumerate(KINDS):
        training = trained(parity(bits, kind), lab, total)
        curves[kind] = [[0, 0.5], *([line["step"], line["success"]] for line in training.lines or [])]
        models[kind] = training.model()
        lab.progress(done + 1, len(KINDS))
    last = {kind: curve[-1][1] for kind, curve in curves.items()}
    checks = [
        Check("parity with running states", last["steps"], least=1.0, said=1.0, form=".1%"),
        Check("parity without", last["none"], most=0.6, said=0.5, form=".1%"),
        Check("dots in place of the states", last["dots"], least=1.0, control=True, form=".1%"),
    ]
    if not lab.quick:
        checks += words_over_s5(lab)
    return Finding(checks, {"curves": curves, "bits": bits}, models)


def words_over_s5(lab: Lab) -> list[Check]:
    """The same with products in S5, which is not solvable: no shortcut of constant depth is known for it."""
    states, letters = 120, 2
    running = running_product(generator_table())
    found = {
        kind: trained(chained("words", letters, states, 16, running, kind), lab, 1_500).where.success
        for kind in ("steps", "none")
    }
    return [
        Check("words over S5 with running states", found["steps"], least=0.99, form=".1%"),
        Check("words over S5 without", found["none"], most=0.6, form=".1%"),
    ]


def trained(task: Task, lab: Lab, steps: int) -> Training:
    return train(
        task,
        steps=steps,
        every=steps // lab.pick(2, 10),
        samples=lab.pick(200, 500),
        layers=2,
        width=lab.pick(32, 64),
        batch=lab.pick(32, 64),
        rate=lab.pick(3e-3, 1e-3),
        schedule="cosine",
        seed=lab.seed,
        count=lab.pick(3_000, 40_000),
    )


def parity(bits: int, kind: str) -> Task:
    return chained("bits", 2, 2, bits, running_parity, kind)


def running_parity(ids: Ids) -> Ids:
    return [int(state) for state in np.cumsum(ids) % 2]


def chained(what: str, letters: int, states: int, length: int, running: Run, kind: str) -> Task:
    """A task that asks for the last running state of random letters. The tokens are the states, of which the first are
    the letters too, then = and the dot."""
    vocab = Vocab((*map(str, range(states)), "=", "."))

    def oracle(ids: Ids) -> Ids:
        found = running(ids[:-1])
        return {"steps": found, "none": found[-1:], "dots": [states + 1] * (length - 1) + found[-1:]}[kind]

    return Task(
        takes=f"{length} {what} and then =",
        vocab=vocab,
        oracle=oracle,
        draw=lambda rng: [*rng.integers(0, letters, length).tolist(), states],
    )


def generator_table() -> list[list[int]]:
    """The number of state · letter for each of the 120 permutations of five and each of the two letters: the exchange
    of the first two, and the shift of all five, which generate S5."""
    group = list(permutations(range(5)))
    number = {one: i for i, one in enumerate(group)}
    letters = ((1, 0, 2, 3, 4), (1, 2, 3, 4, 0))
    return [[number[tuple(one[i] for i in letter)] for letter in letters] for one in group]


def running_product(table: Sequence[Sequence[int]]) -> Run:
    def running(ids: Ids) -> Ids:
        states = [0]
        for letter in ids:
            states.append(table[states[-1]][letter])
        return states[1:]

    return running


def picture(seeds: Sequence[Series]) -> Sequence[Panel]:
    curves = [
        band(
            said,
            [step for step, _ in seeds[0]["curves"][kind]],
            [[right for _, right in one["curves"][kind]] for one in seeds],
            control=kind == "dots",
        )
        for kind, said in KINDS.items()
    ]
    marks = [Mark(0.5, "chance", axis="y")]
    return [Lines(f"Parity of {seeds[0]['bits']} bits", x="steps", y="share right", curves=curves, marks=marks)]
