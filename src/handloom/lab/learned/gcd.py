"""A transformer that learns the greatest common divisor learns the divisors that its base shows, and no others.

Charton 2023 trained transformers on pairs of numbers, written in a base, and found three rules. The answer to all pairs
with gcd k is the same number f(k). The gcds that are learned are products of primes that divide the base. And f(k) is
the largest of the learned ones that divides k: in base 10 pairs with gcd 3 get the answer 1, with gcd 6 the answer 2.
He took numbers up to a million and four layers of width 512. Here the numbers have 4 digits in base 10 (5 in base 6),
the network has two layers of width 64, and the answer is one token, up to 100; larger gcds share one token. Data are
fresh at every step and the gcds as frequent as they are. The exam asks as many pairs of each gcd, as in the paper.

A gcd counts as learned if 95 % of its pairs are answered with it. Which come first is told by how many last digits show
a gcd: 1, 2, 5 and 10 need one, 4, 20 and 25 need two. None may be learned before one that fewer digits show.

Seen: with one seed of three gcd 4 is learned by halves. 57 % of its pairs are answered with 4, the others with 2, so
that not all answers follow the rule; and so it was still after 6,400 steps, in place of 2,400.

In base 6 the primes are 2 and 3: there gcd 3 is learned and gcd 5 is not, so the rules of base 10 must fail on that
network. Those are the controls.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from handloom.core import Config, Model
from handloom.core.arrays import Array
from handloom.core.engines import choose_engine
from handloom.lab.experiment import Check, Claim, Finding, Lab, Series
from handloom.lab.predictions import first_step
from handloom.learn.data import NOTHING
from handloom.learn.fresh import steps
from handloom.learn.settings import Settings
from handloom.view.figures.panels import Bars, Heat, Panel

CLAIM = Claim(
    name="gcd",
    says="a transformer learns the gcds whose primes divide its base; others get their largest such divisor",
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
LEARNED = 0.95  # of the pairs
EVERY = 50  # steps between looks


def run(lab: Lab) -> Finding:
    answers, models, courses = {}, {}, {}
    for done, base in enumerate(PLACES):
        model, courses[base] = learned(lab, base)
        models[f"base{base}"] = model
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
            Check(
                "learned before one that fewer digits show",
                sum(too_early(course, base) for base, course in courses.items()),
                most=0,
                form=".0f",
            ),
            Check("base 6: gcd 3 answered with 3", share(six, 3, 3), most=0.05, form=".0%", control=True),
            Check("base 6: learned made of 2 and 5", made_of(known(six), 10), least=1.0, form=".0%", control=True),
            Check("base 6 by what base 10 learned", by_rule(six, known(ten)), least=0.95, form=".0%", control=True),
        ],
        series={
            "shares": {str(base): table(found) for base, found in answers.items()},
            "learned": {str(base): known(found) for base, found in answers.items()},
            "course": {str(base): course for base, course in courses.items()},
        },
        models=models,
    )


def learned(lab: Lab, base: int) -> tuple[Model, dict[str, Any]]:
    """A transformer that saw fresh pairs at every step, and as it learned, the share of right answers to each gcd made
    of the base's primes."""
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
    shown = [k for k in ASKED if made_of([k], base)]
    course: dict[str, Any] = {name: [] for name in ("steps", *map(str, shown))}
    settings = Settings(steps=lab.pick(350, 2400), rate=lab.pick(4e-3, 2e-3), schedule="cosine", seed=lab.seed)
    for step in steps(config, lambda rng: batch_of(rng, base, batch), settings):
        if step.number % EVERY == 0:
            model = step.model()
            course["steps"].append(step.number)
            for k in shown:
                course[str(k)].append(share({k: answers_of(model, base, k, lab.rng(base, k))}, k, k))
    return step.model(), course


def too_early(course: dict[str, Any], base: int) -> int:
    """How many gcds were learned before one that fewer digits show; what was never learned is the last."""
    when = {k: step or np.inf for k, step in when_learned(course).items()}
    return sum(any(digits(d, base) < digits(k, base) and when[d] > when[k] for d in when) for k in when)


def when_learned(course: dict[str, Any]) -> dict[int, int | None]:
    """The step at which each gcd was first learned; None if it never was."""
    return {
        int(k): first_step(course["steps"], [right >= LEARNED for right in course[k]]) for k in course if k != "steps"
    }


def digits(k: int, base: int) -> int:
    """How many last digits of a number show whether k divides it."""
    return next(count for count in range(20) if base**count % k == 0)


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
    return [k for k in answers if share(answers, k, k) >= LEARNED]


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
    panels: list[Panel] = []
    for base in PLACES:
        claimed = {largest_made_of(base, k) for k in ASKED}
        mean = np.mean([one["shares"][str(base)] for one in seeds], axis=0)
        used = [i for i, k in enumerate(ASKED) if mean[:, i].max() >= 0.05 or k in claimed]
        shown = [[row[i] for i in used] for row in mean.tolist()]
        right = [used.index(ASKED.index(largest_made_of(base, k))) for k in ASKED]
        title = f"Base {base}: what is answered (outlined: claimed)"
        columns = [names[i] for i in used]
        panels.append(Heat(title, "answer", "gcd of the pair", columns, names, shown, ".0%", claimed=right))
    return [*panels, *(course_of(seeds, base) for base in PLACES)]


def course_of(seeds: Sequence[Series], base: int) -> Panel:
    """The steps at which gcds are learned, those that fewer last digits show first."""
    found = [when_learned(one["course"][str(base)]) for one in seeds]
    gcds = sorted((k for k in found[0] if any(one[k] for one in found)), key=lambda k: (digits(k, base), k))
    names = [f"{k}\n{digits(k, base)} digit{'s' * (digits(k, base) != 1)}" for k in gcds]
    return Bars(f"Base {base}: learned at", "step", names, [[one[k] for one in found] for k in gcds])
