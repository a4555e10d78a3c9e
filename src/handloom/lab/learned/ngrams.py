"""On Markov chains, training passes from uniform guesses over counts of letters to counts of pairs, in this order.

Edelman, Edelman, Goel, Malach and Tsilivis 2024: each string is from a chain of its own, drawn anew, so that its
statistics can only be learned from the string itself. Two layers first predict uniformly, then as often as each letter
has occurred (unigram), then as often as each has followed the present one (bigram), which is best. The simple solution
is in the way of the right one: chains whose letters are all equally frequent are learned sooner. Hsu and Moitra's
slides have it. Three letters and 100 places as in the paper (from memory), attention only, one head per layer, 16 wide.

The strategies add one to each count, as the posterior mean of a row that is uniform among all distributions does; so
bigram is exactly the best prediction. The distance from a strategy is KL(strategy ‖ model), mean over all places.

The last part is open: chains whose letters are all equally frequent (circulant: each row is the one above it, shifted)
are learned later here, not sooner. They are given three times as long; with one seed they took 2.1 times as long, and
with two they were not learned even then. With them nothing can be learned
before pairs are, and the loss stays flat for long; with any chains the head that counts letters comes first, and the
one that counts pairs grows out of it.
"""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby
from typing import Any

import numpy as np

from handloom.core import Config
from handloom.core.arrays import Array
from handloom.lab.experiment import Check, Claim, Finding, Lab, Series
from handloom.lab.predictions import first_step, log_probabilities, mean_divergence
from handloom.learn.fresh import steps
from handloom.learn.settings import Settings
from handloom.view.figures.panels import Lines, Mark, Panel, band

CLAIM = Claim(
    name="ngrams",
    says="training on Markov chains passes from uniform to unigram to bigram; the unigram solution delays the bigram",
    source="Edelman, Edelman, Goel, Malach and Tsilivis 2024",
    papers=("2402.11004",),
    seed="Hsu and Moitra",
    number="three phases, in order",
    quick=2,
    full=50,
)
LETTERS, LENGTH = 3, 100
LOOKS = 80  # over the run, ever further apart
ORDER = ["uniform", "unigram", "bigram"]
LEARNED = 0.04  # nats from bigram, at which chains are said to be learned

Chains = Callable[[np.random.Generator, int], Array]  # transition probabilities (B, 3, 3)


def run(lab: Lab) -> Finding:
    most = lab.pick(200, 2000)
    runs = {"two": watched(2, any_chains, most, lab)}
    if not lab.quick:
        runs["one"] = watched(1, any_chains, most, lab)
        runs["even"] = watched(2, even_chains, 3 * most, lab)
    return Finding(
        checks=[
            Check("phases in order, of 3", in_order(phases(runs["two"])), least=3, form=".0f", said=3),
            Check("looks in the shortest phase", shortest(phases(runs["two"])), least=3, form=".0f"),
            Check("distance from bigram at the end", runs["two"]["bigram"][-1], most=0.02, said=0.0),
            Check("time to bigram if letters are even / if not", time_ratio(runs), most=1.0),
            Check("least distance from bigram, one layer", least_of(runs.get("one")), most=0.08, control=True),
        ],
        series={"runs": runs},
    )


def least_of(found: dict[str, Any] | None) -> float | None:
    """The least distance from bigram, of a run if there was one."""
    return None if found is None else min(found["bigram"])


def time_ratio(runs: dict[str, dict[str, Any]]) -> float | None:
    """The steps that even chains take to come near bigram, by those that any chains take; None if one does not."""
    if "even" not in runs:
        return None
    even, plain = (
        first_step(runs[name]["steps"], [one <= LEARNED for one in runs[name]["bigram"]]) for name in ("even", "two")
    )
    return None if even is None or plain is None else even / plain


def any_chains(rng: np.random.Generator, rows: int) -> Array:
    """Chains whose rows are uniform among all distributions."""
    return rng.dirichlet(np.ones(LETTERS), (rows, LETTERS))


def even_chains(rng: np.random.Generator, rows: int) -> Array:
    """Chains in which all letters are equally frequent."""
    first = rng.dirichlet(np.ones(LETTERS), rows)
    return np.stack([np.roll(first, shift, -1) for shift in range(LETTERS)], 1)


def draw(chains: Chains, rng: np.random.Generator, rows: int = 64) -> tuple[Array, Array]:
    """A string of each of these chains, and after each letter the next one."""
    bounds = np.cumsum(chains(rng, rows), -1)[..., :-1]
    luck = rng.random((LENGTH, rows, 1))
    strings = [rng.integers(0, LETTERS, rows)]
    for one in luck:
        strings.append((one > bounds[np.arange(rows), strings[-1]]).sum(-1))
    found = np.stack(strings, 1)
    return found[:, :-1], found[:, 1:]


def strategies(rows: Array) -> dict[str, Array]:
    """The logarithms of what each strategy predicts behind every place, (B, T, 3)."""
    here = np.eye(LETTERS)[rows]
    unigram = 1 + np.cumsum(here, 1)
    pairs = np.cumsum(here[:, :-1, :, None] * here[:, 1:, None, :], 1)  # (B, T − 1, 3, 3)
    pairs = np.concatenate([np.zeros_like(pairs[:, :1]), pairs], 1)
    bigram = 1 + np.einsum("bti,btij->btj", here, pairs)
    counts = {"uniform": np.ones_like(unigram), "unigram": unigram, "bigram": bigram}
    return {name: np.log(count / count.sum(-1, keepdims=True)) for name, count in counts.items()}


def watched(layers: int, chains: Chains, most: int, lab: Lab) -> dict[str, Any]:
    """Train, and measure how far the model is from each strategy as it learns."""
    config = Config(vocab=LETTERS, block=LENGTH, d_model=16, layers=layers, heads=1, d_head=16, tied=False)
    rows, _ = draw(chains, lab.rng(1), 100)
    known = strategies(rows)
    looks = set(np.geomspace(1, most, LOOKS).astype(int).tolist())
    found: dict[str, Any] = {"steps": [], **{name: [] for name in ORDER}}
    for step in steps(
        config,
        partial(draw, chains, rows=lab.pick(32, 64)),
        Settings(steps=most, rate=lab.pick(4e-3, 2e-3), seed=lab.seed),
    ):
        if step.number in looks:
            predicted = log_probabilities(step.model(), rows)
            found["steps"].append(step.number)
            for name, right in known.items():
                found[name].append(float(mean_divergence(right, predicted).mean()))
            lab.progress(step.number, most)
    return found


def phases(found: dict[str, Any]) -> list[tuple[str, int]]:
    """The nearest strategies one after the other, and how many looks each stays the nearest."""
    nearest = [min(ORDER, key=lambda name: found[name][look]) for look in range(len(found["steps"]))]
    return [(name, len(list(group))) for name, group in groupby(nearest)]


def in_order(phases: Sequence[tuple[str, int]]) -> int:
    """How many strategies there are, if each is the nearest once, in the order of the claim; otherwise 0."""
    names = [name for name, _ in phases]
    return len(names) if names == [name for name in ORDER if name in names] else 0


def shortest(phases: Sequence[tuple[str, int]]) -> int:
    return min(looks for _, looks in phases)


def picture(seeds: Sequence[Series]) -> Sequence[Panel]:
    def curve(name: str, run: str, strategy: str, control: bool = False) -> Any:
        numbers = seeds[0]["runs"][run]["steps"]
        return band(name, numbers, [series["runs"][run][strategy] for series in seeds], control)

    marks = []
    for name in ORDER[1:]:
        found = [nearest_from(series["runs"]["two"], name) for series in seeds]
        known = [step for step in found if step is not None]
        if known:
            marks.append(Mark(float(np.mean(known)), f"{name} is nearest from here", "x"))
    names = {"two": "any chains", "even": "letters equally frequent", "one": "one layer"}
    compared = [curve(names[run], run, "bigram", run == "one") for run in seeds[0]["runs"]]
    return [
        Lines("Distance from each strategy", "step", "nats", [curve(n, "two", n) for n in ORDER], marks, True, True),
        Lines("Distance from bigram", "step", "nats", compared, [Mark(0.02, "0.02"), Mark(0.08, "0.08")], True, True),
    ]


def nearest_from(found: dict[str, Any], name: str) -> int | None:
    """The first step at which a strategy is the nearest."""
    nearest = [min(ORDER, key=lambda one: found[one][look]) for look in range(len(found["steps"]))]
    return first_step(found["steps"], [one == name for one in nearest])
