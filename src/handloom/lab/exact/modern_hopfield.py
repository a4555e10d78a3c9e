"""A modern Hopfield network of d neurons holds exponentially many patterns, and its step is attention.

Krotov and Hopfield 2016 and Demircigil et al. 2017 replaced the square in Hopfield's energy by a steeper function, at
last an exponential; Ramsauer et al. 2021 saw that its update X softmax(β Xᵀ ξ) is a head of attention. Here the update
is done by a handloom Model: each token brings a pattern, which its head stores (keys and values), and a state to
complete (its query). It must give what the formula gives, and `spins` has the energy.

The capacity is measured, with d = 10, 20, 30 (full: 40): the largest number of random patterns among which one is
restored by one step, every neuron right, in 90 % of tries, after exactly a tenth of its neurons was flipped.
Exponential means that its logarithm rises on a straight line; the slope asked for is 0.4 bits per neuron. The control
is Hopfield's own network of 1982 by the same measure.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from handloom.core import Config, Model, Vocab, params, reference
from handloom.core.arrays import Array
from handloom.lab.experiment import Check, Claim, Finding, Lab, Series
from handloom.view.figures.panels import Bars, Lines, Mark, Panel, band

CLAIM = Claim(
    name="modern-hopfield",
    says="with an exponential energy d neurons hold exponentially many patterns, and one step of it is attention",
    source="Krotov and Hopfield 2016; Demircigil et al. 2017; Ramsauer et al. 2021",
    papers=("1606.01164", "1702.01929", "2008.02217"),
    seed="Hsu and Moitra",
    number="exp(Ω(d)) patterns",
    quick=0.3,
    full=16,
)
BETA = 4.0
RESTORED = 0.9  # of the tries
TRIES = 400  # with one set of patterns
CHUNK = 2**14  # patterns at a time
STEP = 0.5  # in log₂ of the number of patterns

Weigh = Callable[[Array, int], Array]  # how much a pattern counts, by its overlap with the state of d neurons


def run(lab: Lab) -> Finding:
    widths, sets = lab.pick((10, 20, 30), (10, 20, 30, 40)), lab.pick(1, 4)
    new, old = ([log_capacity(weigh, d, sets, lab) for d in widths] for weigh in (exponential, linear))
    slope, off = straight_line(widths, new)
    return Finding(
        checks=[
            Check("attention against the update", attention_error(lab.rng(0)), most=1e-12, form=".1e"),
            Check("bits of capacity per neuron", slope, least=0.4),
            Check("bits that log₂ capacity is off a straight line", off, most=1.0),
            Check("bits per neuron, Hopfield 1982", straight_line(widths, old)[0], least=0.4, control=True),
        ],
        series={"widths": list(widths), "new": new, "old": old},
    )


def exponential(overlaps: Array, d: int) -> Array:
    """No overlap is larger than d, so that nothing overflows."""
    weights: Array = np.exp(BETA * (overlaps - d))
    return weights


def linear(overlaps: Array, d: int) -> Array:
    """Hopfield's: the sum of (x · ξ) x over the patterns x is that of the weights x xᵀ times ξ, but for the diagonal,
    which adds the state itself as many times as there are patterns."""
    return overlaps


def straight_line(x: Sequence[float], y: Sequence[float]) -> tuple[float, float]:
    """The slope of the line through points, and how far the farthest is off it."""
    slope, height = np.polyfit(x, y, 1)
    return float(slope), float(np.abs(np.polyval([slope, height], x) - y).max())


def log_capacity(weigh: Weigh, d: int, sets: int, lab: Lab) -> float:
    """log₂ of the largest number of patterns, between two sizes by a line. Small sets differ much, so that there are
    more of them."""
    runs = [restored(weigh, d, lab.rng(d, i)) for i in range(sets * max(1, 2000 // d**2))]
    before = 1.0
    for i, shares in enumerate(zip(*runs, strict=True)):
        share = float(np.mean(shares))
        if share < RESTORED:
            return max(0.0, (i - (RESTORED - share) / (before - share)) * STEP)
        before = share
    raise AssertionError("a network of d neurons has no more than 2^d patterns")


def restored(weigh: Weigh, d: int, rng: np.random.Generator) -> Iterator[float]:
    """The share of tries in which a pattern is restored from among 2^0, 2^½, 2^1, … patterns. Each try has a pattern of
    its own to restore, and shares the others with all tries."""
    wanted = rng.choice([-1.0, 1.0], (TRIES, d))
    states = wanted * flips(d, rng)
    total = weigh((states * wanted).sum(1, keepdims=True), d) * wanted  # what one step gives, before the sign
    stored = 1
    for size in (round(2 ** (STEP * i)) for i in range(int(d / STEP))):
        while stored < size:
            patterns = rng.choice([-1.0, 1.0], (min(CHUNK, size - stored), d))
            total += weigh(states @ patterns.T, d) @ patterns
            stored += len(patterns)
        diagonal = size * states if weigh is linear else 0.0
        yield float((np.sign(total - diagonal) == wanted).all(1).mean())


def flips(d: int, rng: np.random.Generator) -> Array:
    """−1 for exactly a tenth of the neurons of each try."""
    order = rng.random((TRIES, d)).argsort(1)
    return np.where(order < d // 10, -1.0, 1.0)


def attention_error(rng: np.random.Generator, d: int = 15, count: int = 24) -> float:
    """How far a head is from X softmax(β Xᵀ ξ), for `count` patterns and as many states."""
    patterns, states = rng.choice([-1.0, 1.0], (count, d)), rng.normal(size=(count, d))
    _, trace = reference.forward(memory_model(patterns, states), range(count), want=["0.z"])
    return float(np.abs(trace["0.z"][0] - update(patterns, states)).max())


def update(patterns: Array, states: Array) -> Array:
    """One step of every row of states, by the formula."""
    weights: Array = np.exp(BETA * states @ patterns.T)
    return weights @ patterns / weights.sum(1, keepdims=True)


def memory_model(patterns: Array, states: Array) -> Model:
    """A transformer with one head. A token is a pattern (the first half of the stream), which gives key and value, and
    a state (the second half), which gives the query. Scores are divided by √d, so queries are multiplied by it."""
    count, d = patterns.shape
    plain: dict[str, Any] = {"norm": "none", "positions": "none", "causal": False, "biases": ()}
    config = Config(vocab=count, block=count, d_model=2 * d, layers=1, heads=1, d_head=d, **plain)
    weights = params.zeros(config)
    first, second = np.eye(2 * d)[:, :d], np.eye(2 * d)[:, d:]
    layer = weights["layers"][0]
    layer["W_Q"][0], layer["W_K"][0], layer["W_V"][0] = BETA * np.sqrt(d) * second, first, first
    layer["W_O"][0] = first.T
    return Model(config, weights | {"W_E": np.concatenate([patterns, states], axis=1)}, Vocab.numbers(count))


def picture(seeds: Sequence[Series]) -> Sequence[Panel]:
    widths = seeds[0]["widths"]
    curves = [
        band("exponential energy", widths, [one["new"] for one in seeds]),
        band("control: Hopfield 1982", widths, [one["old"] for one in seeds], control=True),
    ]
    slopes = [[straight_line(widths, one[name])[0] for one in seeds] for name in ("new", "old")]
    names = ["exponential energy", "Hopfield 1982"]
    return [
        Lines("Patterns restored by one step", "neurons d", "log₂ of the capacity", curves),
        Bars("Slope", "bits per neuron", names, slopes, names[1:], [Mark(0.4, "asked for: 0.4 and a straight line")]),
    ]
