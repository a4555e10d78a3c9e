"""Calibrated language models must hallucinate: at least as often as the share of facts seen exactly once.

Kalai and Vempala 2024, as on Hsu and Moitra's slides: with probability 99 %

    hallucination rate ≥ MF − miscalibration − 300 |Facts| / |Possible hallucinations| − 7/√n

where MF is the number of facts seen once among n samples, over n. The idealised setting is simulated as it stands:
facts are drawn with Zipf or equal probabilities, nothing tells an unseen fact from one of 10¹² possible hallucinations,
and a learner is a rule that gives probabilities by the number of times seen. Its hallucination rate and miscalibration
(the total variation between the learner and the truth averaged over the learner's level sets; definition from memory)
are computed exactly, not sampled. Five learners: one repeats its samples and never hallucinates, one is Good and
Turing's, which is calibrated, one reserves half as much for what it has not seen, one takes ¾ of a count from
everything seen, and one gives all sentences the same probability.

The bound is hardly at risk. With n = 10⁵ the last term alone is 0.022, the learners' hallucination rates exceed the
bound by about that or by more, and with n = 2,000 the term is 0.157, so that the bound is often below 0. What one sees
is the part that Good and Turing knew: the probability of all that was not seen is MF. The learner that never
hallucinates pays: its miscalibration is at least MF. The controls break a premise each: the learner that repeats,
measured as if it were calibrated; and Good and Turing's learner, told which of the unseen sentences are facts, so that
it never hallucinates.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from handloom.core.arrays import Array
from handloom.lab.experiment import Check, Claim, Finding, Lab, Series
from handloom.view.figures.panels import Bars, Dots, Lines, Mark, Panel, band

CLAIM = Claim(
    name="hallucination",
    says="a calibrated model hallucinates at least at the rate of facts seen once",
    source="Kalai and Vempala 2024",
    papers=("2311.14648",),
    seed="Hsu and Moitra",
    number="rate ≥ MF − miscalibration − 300 |Facts|/|Possible| − 7/√n",
    quick=0.8,
    full=2,
)
POSSIBLE = 10.0**12  # hallucinations: so many that the term 300 |Facts| / |Possible| is below 0.0001
LARGE, SMALL = 100_000, 2_000  # samples
EXPONENTS = (0.0, 0.5, 1.0)  # Zipf's
FACTS = (0.5, 1.0, 2.0)  # facts per sample
RELIABLE = 5  # times seen from which Good and Turing's estimate is taken to be the count itself


@dataclass(frozen=True)
class Seen:
    """What a learner knows: how many facts were seen 0, 1, 2, … times (0: nobody knows); and the truth about them."""

    n: int
    facts: Array  # by the number of times seen
    truth: Array  # their probability, together

    @property
    def monofacts(self) -> float:
        return float(self.facts[1] / self.n)

    @property
    def missing(self) -> float:
        """The probability of all facts that were not seen."""
        return float(self.truth[0])


Learner = Callable[[Seen], Array]  # the probability of all sentences that were seen 0, 1, 2, … times


def repeats(seen: Seen) -> Array:
    return np.arange(len(seen.facts)) * seen.facts / seen.n


def good_turing(seen: Seen) -> Array:
    """What was seen c times has the probability of what was seen c + 1 times, a count later; where few are left, its
    own. All together 1."""
    later = np.append(repeats(seen)[1:], 0.0)
    given = np.where(np.arange(len(later)) < RELIABLE, later, repeats(seen))
    return np.concatenate([given[:1], given[1:] * (1 - given[0]) / given[1:].sum()])


def reserves_half(seen: Seen) -> Array:
    given = repeats(seen) * (1 - seen.monofacts / 2)
    given[0] = seen.monofacts / 2
    return given


def discounts(seen: Seen) -> Array:
    """Takes ¾ of a count from everything seen."""
    given = (np.arange(len(seen.facts)) - 0.75) * seen.facts / seen.n
    given[0] = 0.75 * seen.facts[1:].sum() / seen.n
    return given


def babbles(seen: Seen) -> Array:
    """All sentences alike: nearly everything is a sentence never seen."""
    return sentences(seen) / sentences(seen).sum()


LEARNERS: dict[str, Learner] = {
    "repeats its samples": repeats,
    "Good and Turing": good_turing,
    "reserves half of that": reserves_half,
    "takes ¾ of a count": discounts,
    "all alike": babbles,
}


def sentences(seen: Seen) -> Array:
    """How many sentences were seen 0, 1, 2, … times: unseen are the other facts, and all possible hallucinations."""
    return seen.facts + np.eye(1, len(seen.facts))[0] * POSSIBLE


def run(lab: Lab) -> Finding:
    settings = [(n, e, f) for n in (LARGE, SMALL) for e in EXPONENTS for f in FACTS]
    many = {LARGE: lab.pick(12, 40), SMALL: 90}  # draws of each setting
    draws = [draw(n, e, f, lab.rng(i, j)) for i, (n, e, f) in enumerate(settings) for j in range(many[n])]
    large = [seen for seen in draws if seen.n == LARGE]
    broken = [seen for seen in draws if any(above_bound(learner, seen) < 0 for learner in LEARNERS.values())]
    paid = min(miscalibration(repeats(seen), seen) - seen.monofacts for seen in large)
    decree = min(rate(repeats(seen), seen) - bound(seen, 0.0) for seen in large)
    told = min(-bound(seen, miscalibration(good_turing(seen), seen, told=True)) for seen in large)  # its rate is 0
    return Finding(
        checks=[
            Check(f"of {len(draws):,} draws, those that break the bound", len(broken), most=0, form=".0f"),
            Check("largest |missing − MF|, n = 10⁵", max(abs(x.missing - x.monofacts) for x in large), most=0.02),
            Check("repeating: miscalibration less MF, the least", paid, least=-0.02),
            Check("repeating, taken to be calibrated: rate less the bound", decree, least=0.0, control=True),
            Check("told which are facts: rate less the bound", told, least=0.0, control=True),
        ],
        series={
            "above": {name: min(above_mass(learner, x) for x in large) for name, learner in LEARNERS.items()},
            "decreed": min(-x.monofacts for x in large),
            "missing": [(seen.monofacts, seen.missing - seen.monofacts) for seen in large],
            "example": {name: example(learner, large[many[LARGE] * 4]) for name, learner in LEARNERS.items()},
            "example_monofacts": large[many[LARGE] * 4].monofacts,
        },
    )


def draw(n: int, exponent: float, per_sample: float, rng: np.random.Generator) -> Seen:
    """n samples of facts with Zipf's probabilities."""
    weights = np.arange(1, round(per_sample * n) + 1) ** -exponent
    p = weights / weights.sum()
    counts = rng.multinomial(n, p)
    return Seen(n, np.bincount(counts, minlength=3).astype(float), np.bincount(counts, p, minlength=3))


def miscalibration(given: Array, seen: Seen, told: bool = False) -> float:
    """Total variation between the learner and the truth averaged over the learner's level sets: sentences to which it
    gives the same probability. One that is told the facts gives possible hallucinations 0, a set of their own."""
    many = seen.facts if told else sentences(seen)
    there = many > 0
    with np.errstate(divide="ignore"):
        each = np.log(given[there] / many[there]).round(9)  # equal ones may differ by rounding
    _, level = np.unique(each, return_inverse=True)
    return float(np.abs(np.bincount(level, seen.truth[there] - given[there])).sum() / 2)


def rate(given: Array, seen: Seen) -> float:
    """The hallucination rate: of what is given to the unseen, the share that is no fact."""
    return float(given[0] * POSSIBLE / sentences(seen)[0])


def bound(seen: Seen, miscalibrated: float) -> float:
    return seen.monofacts - miscalibrated - 300 * seen.facts.sum() / POSSIBLE - 7 / np.sqrt(seen.n)


def above_bound(learner: Learner, seen: Seen) -> float:
    given = learner(seen)
    return rate(given, seen) - bound(seen, miscalibration(given, seen))


def above_mass(learner: Learner, seen: Seen) -> float:
    """By how much the rate exceeds MF less miscalibration."""
    given = learner(seen)
    return rate(given, seen) - seen.monofacts + miscalibration(given, seen)


def example(learner: Learner, seen: Seen) -> tuple[float, float]:
    given = learner(seen)
    return miscalibration(given, seen), rate(given, seen)


def picture(seeds: Sequence[Series]) -> Sequence[Panel]:
    first, last = seeds[0], 7 / np.sqrt(LARGE)
    names, control = list(first["above"]), "repeats, taken as calibrated"
    above = [*([one["above"][name] for one in seeds] for name in names), [one["decreed"] for one in seeds]]
    monofacts = first["example_monofacts"]
    edge = band("the bound", [0, monofacts - last], [[monofacts - last, 0]])
    learners = [band(name, [x], [[y]]) for name, (x, y) in first["example"].items() if name != "all alike"]
    below = Mark(-last, "bound: −7/√n")
    unseen = {"draws": first["missing"]}
    return [
        Bars(
            "Least over all draws, n = 10⁵",
            "rate − (MF − miscalibration)",
            [*names, control],
            above,
            [control],
            [below],
        ),
        Lines(f"One setting, MF = {monofacts:.2f}", "miscalibration", "hallucination rate", [edge, *learners]),
        Dots(
            "Unseen facts",
            "facts seen once, MF",
            "their probability − MF",
            unseen,
            [Mark(0.02, "0.02"), Mark(-0.02, "−0.02")],
        ),
    ]
