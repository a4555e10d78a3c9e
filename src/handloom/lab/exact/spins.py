"""Softmax attention is a single step, of size 1, down an energy.

Bukatin's slides quote Bal ("softmax attention as implementing a single, big gradient step of some energy function");
the energy is Ramsauer et al.'s 2021, E(ξ) = ½ ξ·ξ − log(Σ exp(β x·ξ)) / β over the patterns x, whose gradient is
ξ − X softmax(β Xᵀ ξ). The experiment takes the gradient from the energy alone, by complex steps (the derivative of an
analytic f is Im f(ξ + ih) / h, exact to rounding), and compares ξ − ∇E with a head of a handloom Model; and it lets
the head work on its own output, where the energy may never rise.

Controls: a head without softmax, whose scores are the weights; and steps of other sizes, here one of 0.9.
"""

from collections.abc import Sequence

import numpy as np

from handloom.core import reference
from handloom.core.arrays import Array
from handloom.lab.exact.modern_hopfield import BETA, memory_model
from handloom.lab.experiment import Check, Claim, Finding, Lab, Series
from handloom.view.figures.panels import Lines, Mark, Panel, band

CLAIM = Claim(
    name="spins",
    says="softmax attention is one step of size 1 down an energy",
    source="Bal 2020; Ramsauer et al. 2021",
    papers=("2008.02217",),
    seed="Bukatin",
    number="equal; step size 1",
    quick=0.1,
    full=1,
)
TINY = 1e-30  # h of a complex step: nothing is subtracted, so it may be as small as one likes
SIZES = (0.25, 0.5, 0.75, 0.9, 0.99, 1.0, 1.01, 1.1, 1.25, 1.5, 2.0)
STEPS = 8


def run(lab: Lab) -> Finding:
    rng = lab.rng()
    d, count = 15, 24
    patterns, states = rng.choice([-1.0, 1.0], (count, d)), rng.normal(size=(count, d))
    attended, scored = head(patterns, states)
    slope = gradient(patterns, states)
    off = [float(np.abs(attended - (states - size * slope)).max()) for size in SIZES]
    energies = descent(patterns, states)
    return Finding(
        checks=[
            Check("attention against a step of size 1", off[SIZES.index(1.0)], most=1e-12, form=".1e"),
            Check("largest rise of the energy in a step", float(np.diff(energies, axis=0).max()), most=1e-12),
            Check("attention against a step of size 0.9", off[SIZES.index(0.9)], most=1e-12, control=True, form=".1e"),
            Check(
                "without softmax against a step of size 1",
                float(np.abs(scored - (states - slope)).max()),
                most=1e-12,
                control=True,
                form=".1e",
            ),
        ],
        series={"sizes": list(SIZES), "off": off, "energies": energies.mean(1).tolist()},
    )


def head(patterns: Array, states: Array) -> tuple[Array, Array]:
    """What a head gives for every state, and what it would give with its scores as weights."""
    model = memory_model(patterns, states)
    _, trace = reference.forward(model, range(len(patterns)), want=["0.z", "0.scores", "0.v"])
    return trace["0.z"][0], (trace["0.scores"] @ trace["0.v"])[0]


def energy(patterns: Array, states: Array) -> Array:
    """E of every row of states, which may be complex."""
    bound = np.log(np.exp(BETA * states @ patterns.T).sum(-1)) / BETA
    found: Array = (states * states).sum(-1) / 2 - bound
    return found


def gradient(patterns: Array, states: Array) -> Array:
    """The gradient of the energy at every row, one complex step for each neuron."""
    steps = 1j * TINY * np.eye(states.shape[1])
    return np.stack([energy(patterns, states + step).imag / TINY for step in steps], axis=-1)


def descent(patterns: Array, states: Array) -> Array:
    """The energies (STEPS + 1, count) as the head works on its own output."""
    energies = [energy(patterns, states)]
    for _ in range(STEPS):
        states = head(patterns, states)[0]
        energies.append(energy(patterns, states))
    return np.array(energies)


def picture(seeds: Sequence[Series]) -> Sequence[Panel]:
    sizes = seeds[0]["sizes"]
    off = band("largest difference", sizes, [one["off"] for one in seeds])
    steps = list(range(STEPS + 1))
    return [
        Lines(
            "Attention less a gradient step",
            "size of the step",
            "largest difference",
            [off],
            [Mark(1.0, "step of size 1 (Bal)", "x")],
            log_y=True,
        ),
        Lines(
            "Attention again and again", "steps", "mean energy", [band("energy", steps, [s["energies"] for s in seeds])]
        ),
    ]
