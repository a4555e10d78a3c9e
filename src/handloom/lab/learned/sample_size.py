"""The examples that a transformer needs for a function of 3 of N bits grow like log N, not like N.

Edelman, Goel, Kakade and Zhang 2022: attention selects few of many places, and by their bound on its capacity the
number of examples grows with the logarithm of the context's length; they saw it for sparse functions of bits. Hsu and
Moitra's slides name it. Here the function is the AND of 3 of N bits, N = 10 to 160, half of the examples true, learned
by one layer with one head of width 32 behind the last bit. The number of examples is the least of a row of sizes, each
about 1.4 times the one before, at which 95 % of new strings are right. "Exponential in the depth" is in the same bound;
it is an upper bound that no run can break, and is not tried.

The control is least squares of smallest norm on the same bits, which does not select: it needs about as many examples
as there are bits. A full run takes the median of five draws of examples, a quick one has one: now and then training
ends at a constant answer, whatever the number of examples. (At a rate of 3e-3,
and with means, that made the ratio 60 and 134 with two seeds of three, and 2.2 with the other.)
"""

from collections.abc import Callable, Sequence

import numpy as np

from handloom.core import Config
from handloom.core.arrays import Array
from handloom.lab.experiment import Check, Claim, Finding, Lab, Series
from handloom.lab.predictions import log_probabilities
from handloom.learn.data import NOTHING
from handloom.learn.fresh import steps
from handloom.learn.settings import Settings
from handloom.view.figures.panels import Lines, Panel, band

CLAIM = Claim(
    name="sample-size",
    says="the examples needed for a function of 3 of N bits grow like log N",
    source="Edelman, Goel, Kakade and Zhang 2022",
    papers=("2110.10090",),
    seed="Hsu and Moitra",
    number="log N",
    quick=0.6,
    full=45,
)
BITS = (10, 20, 40, 80, 160)
SIZES = tuple(round(16 * 2 ** (i / 2)) for i in range(16))  # examples: 16, 23, 32, …
ENOUGH = 0.95

Learner = Callable[[Array, Array, Array, int], Array]  # bits and labels of examples, new bits, seed → labels


def run(lab: Lab) -> Finding:
    learners = {"attention": by_attention, "least squares": by_least_squares}
    needs: dict[str, list[float]] = {name: [] for name in learners}
    sizes = lab.pick(BITS[:1], BITS)
    for i, n in enumerate(sizes):
        for name, learner in learners.items():
            needs[name].append(usual_need(learner, n, lab, needs[name]))
        lab.progress(i + 1, len(sizes))
    return Finding(
        checks=[
            Check(
                "examples at N = 160 / at N = 10", None if lab.quick else growth(needs["attention"]), most=4.0, said=2.2
            ),
            Check("fit by log N less fit by N, R²", None if lab.quick else better_fit(needs["attention"]), least=0.0),
            Check(
                "examples at 160 / at 10, least squares",
                None if lab.quick else growth(needs["least squares"]),
                most=4.0,
                control=True,
            ),
        ],
        series={"needs": needs},
    )


def draw(n: int, count: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Bits (count, n) and the AND of the first three, which holds for half of them."""
    bits = rng.integers(0, 2, (count, n))
    label = np.arange(count) % 2
    patterns = rng.integers(0, 7, count)  # of three bits, all but 111
    bits[:, :3] = np.where(label[:, None] == 1, 1, patterns[:, None] >> np.arange(3) & 1)
    return bits, label


def usual_need(learner: Learner, n: int, lab: Lab, smaller: Sequence[float]) -> float:
    """The median over some draws of what a learner needs, given what smaller n needed."""
    least = max(smaller, default=0.0) / 4  # it is of no use to try far fewer
    return float(np.median([needed(learner, n, lab.rng(n, draw), lab.seed, least) for draw in range(lab.pick(1, 5))]))


def needed(learner: Learner, n: int, rng: np.random.Generator, seed: int, least: float) -> int:
    """The least number of examples with which a learner is right on enough new strings, or twice the largest."""
    places = rng.permutation(n)  # so that the three bits are anywhere
    bits, labels = draw(n, max(SIZES), rng)
    new, right = draw(n, 1000, rng)
    for size in (size for size in SIZES if size >= least):
        if (learner(bits[:size, places], labels[:size], new[:, places], seed) == right).mean() >= ENOUGH:
            return size
    return 2 * max(SIZES)


def by_attention(bits: Array, labels: Array, new: Array, seed: int) -> Array:
    """One layer of attention and an MLP, read behind a last token."""
    n = bits.shape[1]
    config = Config(vocab=3, block=n + 1, d_model=32, layers=1, heads=1, d_head=32, d_ff=64, tied=False)
    inputs, targets = asked(bits), np.full((len(bits), n + 1), NOTHING)
    targets[:, -1] = labels

    def batch(rng: np.random.Generator) -> tuple[Array, Array]:
        rows = rng.permutation(len(inputs))[:32]
        return inputs[rows], targets[rows]

    *_, step = steps(config, batch, Settings(steps=500, rate=1e-3, decay=0.1, seed=seed))
    return log_probabilities(step.model(), asked(new))[:, -1, :2].argmax(-1)


def asked(bits: Array) -> Array:
    """Bits, and a token that asks."""
    return np.hstack([bits, np.full((len(bits), 1), 2)])


def by_least_squares(bits: Array, labels: Array, new: Array, seed: int) -> Array:
    """A linear function of the bits, of smallest norm."""
    design, unseen = (np.hstack([2 * one - 1, np.ones((len(one), 1))]) for one in (bits, new))
    weights = np.linalg.pinv(design) @ (2 * labels - 1)
    threshold = np.median(design @ weights)
    return np.asarray(unseen @ weights > threshold, int)


def growth(found: Sequence[float]) -> float:
    return found[-1] / found[0]


def better_fit(found: Sequence[float]) -> float:
    """By how much more of the variance a line in log N explains than a line in N."""
    values, sizes = np.array(found), BITS[: len(found)]
    rests = [np.var(values - np.polyval(np.polyfit(x, values, 1), x)) for x in (np.log(sizes), sizes)]
    return float((rests[1] - rests[0]) / values.var()) if values.var() else 0.0


def picture(seeds: Sequence[Series]) -> Sequence[Panel]:
    sizes = BITS[: len(seeds[0]["needs"]["attention"])]
    curves = [
        band("attention", sizes, [series["needs"]["attention"] for series in seeds]),
        band("least squares", sizes, [series["needs"]["least squares"] for series in seeds], control=True),
    ]
    first = float(np.mean([series["needs"]["attention"][0] for series in seeds]))
    curves.append(band("like log N", sizes, [[first * np.log(n) / np.log(BITS[0]) for n in sizes]]))
    curves.append(band("like N", sizes, [[first * n / BITS[0] for n in sizes]]))
    return [Lines("Examples needed for the AND of 3 of N bits", "N", "examples", curves, log_x=True, log_y=True)]
