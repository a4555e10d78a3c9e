"""A transformer that learns the greatest common divisor learns the divisors that its base shows, and no others.

Charton 2023 trained transformers on pairs of numbers, written in a base, and found three rules. The answer to all pairs
with gcd k is the same number f(k). The gcds that are learned are products of primes that divide the base. And f(k) is
the largest of the learned ones that divides k: in base 10 pairs with gcd 3 get the answer 1, with gcd 6 the answer 2.
He took numbers up to a million and four layers of width 512. Here the numbers have 4 digits in base 10 (5 in base 6),
the network has two layers of width 64, and the answer is one token, up to 100; larger gcds share one token. Data are
fresh at every step and the gcds as frequent as they are. The exam asks as many pairs of each gcd, as in the paper.

A gcd counts as learned if 95 % of its pairs are answered with it. In base 6 the primes are 2 and 3: there gcd 3 is
learned and gcd 5 is not, so the rules of base 10 must fail on that network. Those are the controls.
"""

from collections.abc import Sequence

import numpy as np

from handloom.core import Config, Model
from handloom.core.arrays import Array
from handloom.core.engines import choose_engine
from handloom.lab.experiment import Check, Claim, Finding, Lab, Series
from handloom.learn.data import NOTHING
from handloom.learn.fresh import steps
from handloom.learn.settings import Settings
from handloom.view.figures.panels import Heat, Panel

CLAIM = Claim(
    name="gcd",
    says="a transformer learns the gcds made of primes of its base, and answers others with their largest such divisor",
    source="Charton 2023",
    papers=("2308.15594",),
    seed="Wagner",
    number="f(k) = the largest learned divisor of k; learned: products of primes of the base",
    quick=2.4,
    full=100,
)
LARGEST = 100  # gcd with a token of its own
ASKED = (*range(1, 13), 14, 15, 16, 18, 20, 21, 24, 25, 27, 30)  # gcds in the exam
PLACES = {10: 4, 6: 5}  # digits of a number in each base
PAIRS = 100  # of each gcd in the exam


def run(lab: Lab) -> Finding:
    answers = {}
    models = {}
    for done, base in enumerate(PLACES):
        models[f"base{base}"] = model = learned(lab, base)
        answers[base] = {k: answers_of(model, base, k, lab.rng(base, k)) for k in ASKED}
        lab.progress(done + 1, len(PLACES))
    ten, six = answers[10], answers[6]
    return Finding(
        checks=[
            Check(
                "pairs with gcd 1, 2, 5, 10 right", min(share(ten, k, k) for k in (1, 2, 5, 10)), least=0.95, form=".0%"
            ),
            Check("gcd 3 answered with 3", share(ten, 3, 3), most=0.05, form=".0%"),
            Check("learned: made of 2 and 5", made_of(known(ten), 10), least=1.0, said=1.0, form=".0%"),
            Check("answers that follow the rule", by_rule(ten, known(ten)), least=0.95, said=1.0, form=".0%"),
            Check("base 6: gcd 3 answered with 3", share(six, 3, 3), most=0.05, form=".0%", control=True),
            Check("base 6: learned made of 2 and 5", made_of(known(six), 10), least=1.0, form=".0%", control=True),
            Check("base 6 by what base 10 learned", by_rule(six, known(ten)), least=0.95, form=".0%", control=True),
        ],
        series={
            "shares": {str(base): table(found) for base, found in answers.items()},
            "learned": {str(base): known(found) for base, found in answers.items()},
        },
        models=models,
    )


def learned(lab: Lab, base: int) -> Model:
    """A transformer that saw fresh pairs at every step."""
    width, layers, batch = lab.pick((32, 1, 64), (64, 2, 128))
    config = Config(
        vocab=base + LARGEST + 2,
        block=2 * PLACES[base] + 2,
        d_model=width,
        layers=layers,
        heads=4,
        d_head=width // 4,
        d_ff=4 * width,
    )
    settings = Settings(steps=lab.pick(350, 2400), rate=lab.pick(4e-3, 2e-3), schedule="cosine", seed=lab.seed)
    for step in steps(config, lambda rng: batch_of(rng, base, batch), settings):
        if step.number == settings.steps:
            return step.model()
    raise AssertionError("training has at least one step")


def batch_of(rng: np.random.Generator, base: int, count: int) -> tuple[Array, Array]:
    """Questions, and the token of the gcd at the last place."""
    a, b = rng.integers(base ** (PLACES[base] - 1), base ** PLACES[base], (2, count))
    inputs = written(a, b, base)
    targets = np.full_like(inputs, NOTHING)
    targets[:, -1] = base + np.minimum(np.gcd(a, b), LARGEST + 1)
    return inputs, targets


def written(a: Array, b: Array, base: int) -> Array:
    """The digits of a and of b, the largest first, each followed by a mark; the mark's token is the base."""
    powers = base ** np.arange(PLACES[base])[::-1]
    digits = [number[:, None] // powers % base for number in (a, b)]
    mark = np.full((len(a), 1), base)
    return np.hstack([digits[0], mark, digits[1], mark])


def answers_of(model: Model, base: int, k: int, rng: np.random.Generator) -> Array:
    """What the model answers to pairs whose gcd is k."""
    low, high = base ** (PLACES[base] - 1), base ** PLACES[base]
    a, b = rng.integers(-(-low // k), -(-high // k), (2, 20 * PAIRS)) * k
    fit = np.flatnonzero(np.gcd(a, b) == k)[:PAIRS]
    logits = choose_engine("torch").forward(model, written(a[fit], b[fit], base))[0]
    return np.asarray(logits)[:, -1].argmax(-1) - base


def share(answers: dict[int, Array], k: int, answer: int) -> float:
    """Of the pairs with gcd k, how many got that answer."""
    return float((answers[k] == answer).mean())


def known(answers: dict[int, Array]) -> list[int]:
    """The gcds that are learned."""
    return [k for k in answers if share(answers, k, k) >= 0.95]


def made_of(gcds: Sequence[int], base: int) -> float:
    """The share of these that divide a power of the base, so that only primes of the base are in them."""
    return sum(base**10 % k == 0 for k in gcds) / max(1, len(gcds))


def largest_made_of(base: int, k: int) -> int:
    """The largest divisor of k whose primes are the base's: what the claim answers to a gcd of k."""
    return max(d for d in range(1, k + 1) if k % d == 0 and base**10 % d == 0)


def by_rule(answers: dict[int, Array], gcds: Sequence[int]) -> float:
    """How many answers are the largest of these gcds that divides the true one."""
    return float(np.mean([share(answers, k, max((d for d in gcds if k % d == 0), default=0)) for k in answers]))


def table(answers: dict[int, Array]) -> list[list[float]]:
    """For each gcd asked, the shares of the answers in ASKED."""
    return [[share(answers, k, answer) for answer in ASKED] for k in answers]


def picture(seeds: Sequence[Series]) -> Sequence[Panel]:
    names = [str(k) for k in ASKED]
    panels = []
    for base in PLACES:
        claimed = {largest_made_of(base, k) for k in ASKED}
        mean = np.mean([one["shares"][str(base)] for one in seeds], axis=0)
        used = [i for i, k in enumerate(ASKED) if mean[:, i].max() >= 0.05 or k in claimed]
        shown = [[row[i] for i in used] for row in mean.tolist()]
        right = [used.index(ASKED.index(largest_made_of(base, k))) for k in ASKED]
        title = f"Base {base}: what is answered (outlined: claimed)"
        columns = [names[i] for i in used]
        panels.append(Heat(title, "answer", "gcd of the pair", columns, names, shown, ".0%", claimed=right))
    return panels
