"""A Hopfield network of d neurons holds about 0.138 d random patterns, and then fails all at once.

Hopfield 1982 proposed the network; Amit, Gutfreund and Sompolinsky 1985 computed the capacity, 0.138 d as d → ∞, by the
replica method. Hsu and Moitra's slides name it beside its modern successor. Here d is up to 1,000, where the step is
not yet sharp, so that the bounds are a little to both sides of it. The network starts at a stored pattern, is updated
neuron by neuron until nothing changes, and is compared with where it started. The control stores the same patterns
without the product of each with itself, the Hebbian rule: weights of the same size, at random.
"""

from collections.abc import Callable, Sequence

import numpy as np

from handloom.core.arrays import Array
from handloom.lab.experiment import Check, Claim, Finding, Lab, Series
from handloom.view.figures.panels import Lines, Mark, Panel, band

CLAIM = Claim(
    name="hopfield",
    says="a network of d neurons holds about 0.138 d random patterns",
    source="Hopfield 1982; Amit, Gutfreund and Sompolinsky 1985",
    seed="Hsu and Moitra",
    number="0.138 d",
    quick=1,
    full=1,
)
SIZES = (250, 500, 1000)
LOADS = (0.10, 0.12, 0.13, 0.138, 0.145, 0.16, 0.18)
SWEEPS = 50  # over all neurons, at most

Rule = Callable[[Array, np.random.Generator], Array]  # from patterns to weights


def run(lab: Lab) -> Finding:
    overlaps = {}
    for i, d in enumerate(SIZES):
        lab.progress(i, len(SIZES))
        overlaps[str(d)] = [overlap(hebbian, d, load, lab.rng(d)) for load in LOADS]
    largest, smallest = overlaps[str(SIZES[-1])], overlaps[str(SIZES[0])]
    return Finding(
        checks=[
            Check("overlap at load 0.12", largest[1], least=0.97, said=1.0),
            Check("overlap at load 0.16", largest[5], most=0.90),
            Check("the fall is sharper in the largest", fall(largest) - fall(smallest), least=0.0),
            Check(
                "overlap at 0.12, random weights",
                overlap(at_random, SIZES[0], 0.12, lab.rng(1)),
                least=0.97,
                control=True,
            ),
        ],
        series={"loads": list(LOADS), "overlaps": overlaps},
    )


def fall(overlaps: Sequence[float]) -> float:
    """From a load of 0.12 to one of 0.16."""
    return overlaps[1] - overlaps[5]


def hebbian(patterns: Array, rng: np.random.Generator) -> Array:
    """The weights (d, d) that store patterns (n, d) of ±1."""
    weights: Array = patterns.T @ patterns / patterns.shape[1]
    np.fill_diagonal(weights, 0.0)
    return weights


def at_random(patterns: Array, rng: np.random.Generator) -> Array:
    """Symmetric weights of the same size that know nothing of the patterns."""
    return hebbian(rng.choice([-1.0, 1.0], patterns.shape), rng)


def overlap(learn: Rule, d: int, load: float, rng: np.random.Generator, starts: int = 8) -> float:
    """The mean overlap of stored patterns with where the network comes to rest from them."""
    patterns = rng.choice([-1.0, 1.0], (round(load * d), d))
    weights = learn(patterns, rng)
    state = patterns[:starts].copy()
    for _ in range(SWEEPS):
        before = state.copy()
        for neuron in rng.permutation(d):
            field = state @ weights[neuron]
            state[:, neuron] = np.where(field == 0.0, state[:, neuron], np.sign(field))
        if np.array_equal(before, state):
            break
    return float((state * patterns[:starts]).mean())


def picture(seeds: Sequence[Series]) -> Sequence[Panel]:
    loads = seeds[0]["loads"]
    curves = [band(f"d = {int(d):,}", loads, [series["overlaps"][d] for series in seeds]) for d in seeds[0]["overlaps"]]
    mark = Mark(0.138, "0.138 (Amit et al. 1985)", "x")
    return [Lines("Stored patterns after relaxation", "patterns / neurons", "overlap", curves, [mark])]
