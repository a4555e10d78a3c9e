"""One bit of n moves the output of soft attention by O(1/n), so parity fades with the length; layer norm undoes it.

Hahn 2020: attention takes means, so if the other parts cannot magnify without bound (are Lipschitz), changing one token
changes the last position by O(1/n), and the margin of parity, which every bit decides, vanishes. Chiang and Cholak 2022
wrote a transformer for parity whose margin vanishes so, and saw that layer norm with eps → 0 keeps it: it divides a
signal by its own size. Hsu and Moitra's slides name the limit.

Tried on random models (two layers of one head, 16 wide, weights of standard deviation 0.3, with and without the usual
layer norm) with n = 64 … 1,024, as for shorter inputs other terms are as large. The change is the largest over two
flipped bits, and the geometric mean over models. Random heads differ much in how they weigh positions: with other bits
for every length, and the answer read at the end, slopes were −0.83 to −1.17 over twenty seeds, around −1. So the same
bits are flipped in strings of every length, and the answer is read at a token in front (the models look both ways). No
trained model of this repository reads so many positions.

The other half is a program, `layer-norm-parity`, which must be right for every n with the same margin. It is the
control of the first half too: its eps is 1e-20, and one bit changes all. Its own control: the same weights, where an
edit keeps the last norm from dividing.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from handloom.core import Config, Model, Vocab, params, reference
from handloom.core.arrays import Array
from handloom.lab.experiment import Check, Claim, Finding, Lab, Series
from handloom.view.figures.panels import Lines, Panel, band
from handloom.write import program

CLAIM = Claim(
    name="parity-limit",
    says="flipping one of n bits moves soft attention's output by O(1/n); with layer norm parity keeps its margin",
    source="Hahn 2020; Chiang and Cholak 2022",
    papers=("1906.06755", "2202.12172"),
    seed="Hsu and Moitra",
    number="1/n; a constant margin",
    quick=1.4,
    full=35,
)
LENGTHS = (64, 128, 256, 512, 1024)
PROGRAM_LENGTHS = (64, 128, 256, 512, 1000)  # it is written for up to 1,000 bits
FLIPS = 2  # bits flipped, one at a time, of an input
FIXED = {"1.ln2_scale": 1.0}  # the last norm divides by 1
ASK = 2  # the token =, at which the answer is read
SLOPE = -0.9  # of a power law that is 1/n

Ask = Callable[[Model, Array], Array]  # from bits to the logits of the answer


def run(lab: Lab) -> Finding:
    models = lab.pick(10, 100)
    changes = {norm: [typical_change(norm, n, models, lab) for n in LENGTHS] for norm in ("none", "layer")}
    parity = program("layer-norm-parity", length="1-1000")
    own = [largest_change(at_the_end, parity, n, lab.rng()) for n in PROGRAM_LENGTHS]
    margins = [least_margin(parity, n, lab.rng(n)) for n in PROGRAM_LENGTHS]
    fixed = [least_margin(parity, n, lab.rng(n), FIXED) for n in PROGRAM_LENGTHS]
    every = [*range(1, 17), *lab.pick((33, 100, 333, 999), range(17, 1001))]
    wrong = sum(least_margin(parity, n, lab.rng(n, 1)) <= 0 for n in every)
    return Finding(
        checks=[
            Check("slope of the change by one bit", slope(LENGTHS, changes["none"]), most=SLOPE, said=-1),
            Check("the same with layer norm", slope(LENGTHS, changes["layer"]), most=SLOPE, said=-1),
            Check(f"layer-norm-parity: of {len(every)} lengths, wrong", wrong, most=0),
            Check("slope of its margin", slope(PROGRAM_LENGTHS, margins), least=-0.05, most=0.05, said=0),
            Check("slope of its change by one bit", slope(PROGRAM_LENGTHS, own), most=SLOPE, control=True),
            Check(
                "slope of its margin, last norm fixed",
                slope(PROGRAM_LENGTHS, fixed),
                least=-0.05,
                most=0.05,
                control=True,
            ),
        ],
        series={"changes": changes, "own": own, "margins": margins, "fixed": fixed},
    )


def slope(lengths: Sequence[int], values: Sequence[float]) -> float:
    """Of log values against log lengths; NaN, which is within no bounds, unless all are above 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(values)
    return float(np.polyfit(np.log(lengths), logs, 1)[0]) if np.isfinite(logs).all() else float("nan")


def random_model(norm: str, seed: int) -> Model:
    shape: dict[str, Any] = {"norm": norm, "d_model": 16, "layers": 2, "heads": 1, "d_head": 8, "d_ff": 32}
    config = Config(vocab=3, block=LENGTHS[-1] + 1, **shape, causal=False)
    return Model(config, params.random(config, seed, scale=0.3), Vocab.numbers(3))


def typical_change(norm: str, n: int, models: int, lab: Lab) -> float:
    """The geometric mean over random models."""
    found = [largest_change(in_front, random_model(norm, 1000 * lab.seed + i), n, lab.rng(i)) for i in range(models)]
    with np.errstate(divide="ignore"):
        return float(np.exp(np.mean(np.log(found))))


def largest_change(ask: Ask, model: Model, n: int, rng: np.random.Generator) -> float:
    """Of any logit of the answer, over some bits that are flipped one at a time in a random string of n. A longer
    string of the same generator begins with the shorter one, and the same bits are flipped."""
    bits = rng.integers(0, 2, LENGTHS[-1])[:n]
    before = ask(model, bits)
    flips = [bits ^ (np.arange(n) == i) for i in rng.choice(LENGTHS[0], FLIPS, replace=False)]
    return max(float(np.abs(ask(model, flipped) - before).max()) for flipped in flips)


def in_front(model: Model, bits: Array) -> Array:
    """The logits at a token before the bits, whose position does not depend on their number."""
    return reference.forward(model, [ASK, *bits])[0][0]


def at_the_end(model: Model, bits: Array, edits: dict[str, float] | None = None) -> Array:
    """The logits at a token behind the bits, as the program has it."""
    return reference.forward(model, [*bits, ASK], edits=edits)[0][-1]


def least_margin(model: Model, n: int, rng: np.random.Generator, edits: dict[str, float] | None = None) -> float:
    """By how much the right answer's logit is above the other's, of strings with about half ones, with one, and with a
    random number of them."""
    margins = []
    for count in (n // 2, 1, int(rng.integers(0, n + 1))):
        bits = np.zeros(n, int)
        bits[rng.permutation(n)[:count]] = 1
        zero, one, *_ = at_the_end(model, bits, edits)
        margins.append(float((zero - one) * (-1) ** count))
    return min(margins)


def picture(seeds: Sequence[Series]) -> Sequence[Panel]:
    names = {"none": "random, no norm", "layer": "random, layer norm"}
    begin = float(np.mean([one["changes"]["none"][0] for one in seeds]))
    curves = [
        *(band(words, LENGTHS, [one["changes"][name] for one in seeds]) for name, words in names.items()),
        band("1/n (Hahn 2020)", LENGTHS, [[begin * LENGTHS[0] / n for n in LENGTHS]]),
        band("control: layer-norm-parity, eps → 0", PROGRAM_LENGTHS, [one["own"] for one in seeds], control=True),
    ]
    margins = [
        band("layer norm", PROGRAM_LENGTHS, [one["margins"] for one in seeds]),
        band("control: last norm fixed", PROGRAM_LENGTHS, [one["fixed"] for one in seeds], control=True),
    ]
    return [
        Lines("Change by one bit", "bits n", "largest change of a logit", curves, log_x=True, log_y=True),
        Lines("Parity, written by hand", "bits n", "margin", margins, log_x=True, log_y=True),
    ]
