"""A Hopfield network of d neurons holds about 0.138 d random patterns, and then fails all at once.

Hopfield 1982 proposed the network; Amit, Gutfreund and Sompolinsky 1985 computed the capacity, 0.138 d as d → ∞, by the
replica method. Hsu and Moitra's slides name it beside its modern successor (`modern-hopfield`). Here d is 1,000, where
the step is not yet sharp, so that the bounds are a little to both sides of it. The network starts at a stored pattern,
is updated neuron by neuron until nothing changes, and is compared with where it started.

Two controls: weights of the same size that store other patterns; and patterns that are not random but have 70 % ones,
which the same rule cannot hold at the same load.
"""

from collections.abc import Sequence

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
    quick=1.1,
    full=4,
)
LOADS = (0.10, 0.12, 0.13, 0.138, 0.145, 0.16, 0.18)
LOW, HIGH = LOADS.index(0.12), LOADS.index(0.16)
SWEEPS = 50  # over all neurons, at most


def run(lab: Lab) -> Finding:
    sizes, draws = (250, 1000), lab.pick(1, 4)
    overlaps = {str(d): [mean_overlap(lab, d, load, draws) for load in LOADS] for d in sizes}
    small, large = (overlaps[str(d)] for d in sizes)
    biased = mean_overlap(lab, sizes[1], LOADS[LOW], draws, ones=0.7)
    others = mean_overlap(lab, sizes[1], LOADS[LOW], draws, stored=False)
    return Finding(
        checks=[
            Check("overlap at load 0.12", large[LOW], least=0.97),
            Check("overlap at load 0.16", large[HIGH], most=0.90),
            Check("fall from 0.12 to 0.16, d = 1,000 less d = 250", fall(large) - fall(small), least=0.0),
            Check("overlap at 0.12, other patterns stored", others, least=0.97, control=True),
            Check("overlap at 0.12, patterns with 70 % ones", biased, least=0.97, control=True),
        ],
        series={"loads": list(LOADS), "overlaps": overlaps, "biased": biased, "others": others},
    )


def fall(overlaps: Sequence[float]) -> float:
    return overlaps[LOW] - overlaps[HIGH]


def mean_overlap(lab: Lab, d: int, load: float, draws: int, ones: float = 0.5, stored: bool = True) -> float:
    """The overlap of patterns with where the network comes to rest from them; many small networks or few large ones, so
    that each size has seen as many neurons."""
    rngs = [lab.rng(d, round(1000 * load), draw) for draw in range(draws * 1000 // d)]
    return float(np.mean([overlap(d, round(load * d), rng, ones, stored) for rng in rngs]))


def overlap(d: int, count: int, rng: np.random.Generator, ones: float, stored: bool, starts: int = 40) -> float:
    patterns = np.where(rng.random((count, d)) < ones, 1.0, -1.0)
    weights = hebbian(patterns if stored else rng.choice([-1.0, 1.0], patterns.shape))
    begun = patterns[:starts].T  # (d, starts)
    return float((relax(weights, begun) * begun).mean())


def hebbian(patterns: Array) -> Array:
    """The weights (d, d) that store patterns (n, d) of ±1: whole numbers, so that no field is 0 but for rounding."""
    weights: Array = patterns.T @ patterns
    np.fill_diagonal(weights, 0.0)
    return weights


def relax(weights: Array, states: Array) -> Array:
    """Update neuron by neuron until nothing changes, for every column of states (d, starts). The fields of all neurons
    are kept, and corrected where one flips, which is rare."""
    states, fields = states.copy(), weights @ states
    for _ in range(SWEEPS):
        flipped = False
        for neuron in range(len(states)):
            wrong = np.flatnonzero(fields[neuron] * states[neuron] < 0)
            if len(wrong):
                states[neuron, wrong] *= -1
                fields[:, wrong] += 2 * np.outer(weights[neuron], states[neuron, wrong])
                flipped = True
        if not flipped:
            break
    return states


def picture(seeds: Sequence[Series]) -> Sequence[Panel]:
    loads = seeds[0]["loads"]
    curves = [band(f"d = {int(d):,}", loads, [one["overlaps"][d] for one in seeds]) for d in seeds[0]["overlaps"]]
    for name, words in (("biased", "control: 70 % ones"), ("others", "control: others stored")):
        curves.append(band(words, [loads[LOW]], [[one[name]] for one in seeds], control=True))
    mark = Mark(0.138, "0.138 (Amit et al. 1985)", "x")
    return [Lines("Stored patterns after relaxation", "patterns / neurons", "overlap", curves, [mark])]
