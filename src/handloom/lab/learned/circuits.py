"""The more gates of a random circuit are shown, the better it is learned.

    0 1 1 0 … =  →  1 0 0 1 … 1     the values of some of the gates, in order, and last the circuit's output

Malach 2023 proves that a simple next-token predictor learns whatever a circuit or a Turing machine computes, if it is
trained on all intermediate values, and calls the number of those needed the task's length complexity. Dvir et al. asked
the same of circuits of unknown gates. Here one random circuit per seed has 16 inputs and 24 gates; a gate takes one of
the two gates before it (in the quick form: the one) and an input, and half of the gates are exclusive ors. A circuit is
taken if its output is 1 for 40 % to 60 % of inputs and changes, on average, with at least six of the sixteen bits: the
output of most random circuits depends on two or three bits alone, and is learned from any answer. What is graded is the
output alone. The control shows as many values, those of another input.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from handloom.core import Vocab
from handloom.core.arrays import Array
from handloom.lab.experiment import Check, Claim, Finding, Lab, Series
from handloom.learn.api import train
from handloom.tasks import Task
from handloom.tasks.task import Ids
from handloom.view.figures.panels import Lines, Mark, Panel, band

CLAIM = Claim(
    name="circuits",
    says="trained on the values of all gates, a transformer learns a random circuit that it cannot learn without them",
    source="Malach 2023",
    papers=("2309.06979",),
    seed="Hsu and Moitra",
    number="all gates shown: learnable",
    quick=2.8,
    full=67,
)
INPUTS, GATES = 16, 24
SENSITIVE = 6  # bits that change the output, on average over inputs
EQUALS = 2
SHARES = (0, 25, 50, 75, 100)  # per cent of the gates


@dataclass(frozen=True)
class Circuit:
    """Gate i computes `tables[i]` of the values at `wires[i]`: those of inputs, and then of gates."""

    wires: Array  # (GATES, 2)
    tables: Array  # (GATES, 2, 2)

    def gates(self, bits: Array) -> Array:
        """The values of all gates (N, GATES) for inputs (N, INPUTS)."""
        values = bits
        for (a, b), table in zip(self.wires, self.tables, strict=True):
            values = np.concatenate([values, table[values[:, a], values[:, b]][:, None]], 1)
        return values[:, INPUTS:]


def run(lab: Lab) -> Finding:
    circuit = hard_circuit(lab.rng(0), window=lab.pick(1, 2))
    shares = lab.pick((100,), SHARES)
    found = {}
    for done, share in enumerate(shares):
        found[share] = accuracy(circuit, share, lab)
        lab.progress(done + 1, len(shares) + 1)
    others = accuracy(circuit, 100, lab, foreign=True)
    checks = [
        Check("right with all gates shown", found[100], least=0.99, form=".1%"),
        Check("right with none shown", found.get(0), most=0.75, form=".1%"),
        Check("values of another input shown", others, least=0.99, control=True, form=".1%"),
    ]
    if not lab.quick:
        checks.append(
            Check("largest loss from showing more", largest_loss(list(found.values())), most=0.05, form=".1%")
        )
    return Finding(checks, {"shares": list(found), "right": list(found.values()), "foreign": others})


def hard_circuit(rng: np.random.Generator, window: int) -> Circuit:
    """A random circuit whose output is balanced and depends on many inputs."""
    bits = rng.integers(0, 2, (500, INPUTS))
    while True:
        circuit = random_circuit(rng, window)
        share = circuit.gates(bits)[:, -1].mean()
        if 0.4 <= share <= 0.6 and sensitivity(circuit, bits) >= SENSITIVE:
            return circuit


def random_circuit(rng: np.random.Generator, window: int) -> Circuit:
    """Each gate takes one of the last `window` gates, at first an input, and the next input of a random order."""
    order = np.concatenate([rng.permutation(INPUTS) for _ in range(2)])[: GATES + 1]
    before = [order[0], *(INPUTS + i - rng.integers(1, min(i, window) + 1) for i in range(1, GATES))]
    exclusive = np.array([[0, 1], [1, 0]])
    tables = [exclusive if rng.random() < 0.5 else one_of_four(rng) for _ in range(GATES)]
    return Circuit(np.stack([before, order[1:]], 1), np.array(tables))


def one_of_four(rng: np.random.Generator) -> Array:
    """The table of an and, of which inputs and output may be negated: 1 (or 0) at one of the four places."""
    table = np.zeros(4, int)
    table[rng.integers(4)] = 1
    return (table ^ rng.integers(2)).reshape(2, 2)


def sensitivity(circuit: Circuit, bits: Array) -> float:
    """The mean number of bits of an input that change the output."""
    output = circuit.gates(bits)[:, -1]
    return float(sum((circuit.gates(bits ^ flip)[:, -1] != output).mean() for flip in np.eye(INPUTS, dtype=int)))


def accuracy(circuit: Circuit, share: int, lab: Lab, foreign: bool = False) -> float:
    training = train(
        circuit_task(circuit, share, foreign),
        steps=lab.pick(40, 1_000),
        every=lab.pick(40, 1_000),
        samples=lab.pick(100, 500),
        layers=2,
        batch=lab.pick(32, 64),
        rate=2e-3,
        schedule="cosine",
        seed=lab.seed,
        count=lab.pick(500, 40_000),
    )
    assert training.evaluation is not None
    return float(training.evaluation.success or 0.0)


def circuit_task(circuit: Circuit, share: int, foreign: bool) -> Task:
    """Shown are the output and, before it, every gate whose number times the share passes a whole number."""
    shown = [i for i in range(GATES - 1) if (i + 1) * share // 100 > i * share // 100] + [GATES - 1]

    def oracle(ids: Ids) -> Ids:
        bits = np.array(ids[:INPUTS])
        values = circuit.gates(bits[None])[0]
        steps = circuit.gates(another(bits)[None])[0] if foreign else values
        return [*steps[shown[:-1]].tolist(), int(values[-1])]

    return Task(
        takes=f"{INPUTS} bits and then =",
        vocab=Vocab((*"01=",)),
        oracle=oracle,
        draw=lambda rng: [*rng.integers(0, 2, INPUTS).tolist(), EQUALS],
        near=lambda question, output: output[-1:] == oracle(question)[-1:],
    )


def another(bits: Array) -> Array:
    """An input that has nothing to do with this one, and is always the same."""
    return np.random.default_rng(bits.tolist()).integers(0, 2, INPUTS)


def largest_loss(right: Sequence[float]) -> float:
    """How much the share right falls, at most, when more gates are shown."""
    return max(0.0, *(before - after for before, after in pairwise(right)))


def picture(seeds: Sequence[Series]) -> Sequence[Panel]:
    shares = seeds[0]["shares"]
    curves = [
        band("values of this input", shares, [one["right"] for one in seeds]),
        band("values of another", shares, [[one["foreign"]] * len(shares) for one in seeds], control=True),
    ]
    marks = [Mark(1.0, "learnable (Malach 2023)", axis="y")]
    title = f"A random circuit of {GATES} gates"
    return [Lines(title, x="gates shown, per cent", y="outputs right", curves=curves, marks=marks)]
