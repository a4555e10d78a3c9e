"""The last letter is not enough, nor an average of all letters before: attention is needed.

Mehlig's and Wagner's slides go from the bigram model, by way of the average, to attention, with pictures only;
Karpathy's lecture has about 2.5 nats for a bigram model of Shakespeare's letters and 1.5 for the whole transformer. No
text is shipped here, and of none is the entropy known. So the strings are balanced brackets of four kinds: all words
of one length are equally likely, their entropy is known, and so is the least loss of any bigram model. `bow` attends
evenly to all positions (it sees the current letter, its position and the mean of all so far).

The quick form leaves out the average. The control is a language in which the last letter is enough: strings of the
chain with the same bigrams. There attention must not be better than a bigram model.
"""

from collections.abc import Sequence
from functools import cache
from math import log
from typing import Any

import numpy as np

from handloom.core.arrays import Array
from handloom.lab.experiment import Check, Claim, Finding, Lab, Series
from handloom.learn.api import train
from handloom.tasks import Language
from handloom.tasks.sequences import CLOSING, OPENING, dyck
from handloom.view.figures.panels import Bars, Lines, Mark, Panel, band

CLAIM = Claim(
    name="bigram",
    says="attention predicts strings better than the last letter or an average of all letters does",
    source="Karpathy 2023; the slides",
    seed="Mehlig",
    number="2.5 nats with a bigram model of letters, 1.5 with a transformer (from memory)",
    quick=3.3,
    full=45,
)
KINDS = 4  # of brackets
MODELS = {"bigram": "last letter", "bow": "average", "transformer": "attention"}
PAIRS = ("((", "()", ")(", "))")  # two brackets that follow each other: which are opening


def run(lab: Lab) -> Finding:
    length, kinds = lab.pick((10, ("bigram", "transformer")), (24, tuple(MODELS)))
    language = dyck(KINDS, str(length), length)
    curves, right = {}, {}
    for done, kind in enumerate(kinds):
        curves[kind], right[kind] = learned(language, kind, lab)
        lab.progress(done + 1, len(kinds) + 2)
    last = {kind: curve[-1][1] for kind, curve in curves.items()}
    chain = bigram_chain(length)
    easy = {kind: learned(chain, kind, lab)[0][-1][1] for kind in ("bigram", "transformer")}
    exact, bigrams = entropy(length), bigram_entropy(length)
    checks = [
        Check("bigram model above its exact entropy", last["bigram"] - bigrams, least=-0.01, most=0.02),
        Check("attention below the last letter, nats", last["bigram"] - last["transformer"], least=0.1),
        Check("attention above the exact entropy", last["transformer"] - exact, least=-0.01, most=0.05),
        Check(
            "the same where the last letter is enough",
            easy["bigram"] - easy["transformer"],
            least=0.1,
            control=True,
        ),
    ]
    if "bow" in last:
        checks.append(Check("attention below the average, nats", last["bow"] - last["transformer"], least=0.1))
    return Finding(checks, {"curves": curves, "right": right, "entropy": exact, "bigrams": bigrams})


def learned(language: Language, kind: str, lab: Lab) -> tuple[list[list[float]], float]:
    """Held-out loss by step, and the share of samples that are balanced."""
    sizes: dict[str, dict[str, Any]] = {
        "transformer": {"layers": 2, "width": lab.pick(32, 64)},
        "bow": {"width": 64},
        "bigram": {},
    }
    steps = lab.pick(240, 1_500)
    training = train(
        language,
        kind=kind,
        steps=steps,
        every=steps // lab.pick(2, 10),
        samples=lab.pick(20, 200),
        batch=64,
        rate=2e-2 if kind == "bigram" else 2e-3,  # a table of 9 letters by 9 moves faster
        schedule="cosine",
        seed=lab.seed,
        count=lab.pick(3_000, 40_000),
        **sizes[kind],
    )
    assert training.evaluation is not None
    return [[line["step"], line["held_out"]] for line in training.lines or []], training.evaluation.success or 0.0


@cache
def words(left: int, depth: int) -> int:
    """The number of ways to end a word of one kind of brackets, with so many places left and brackets open."""
    if depth < 0 or depth > left:
        return 0
    return 1 if left == 0 else words(left - 1, depth + 1) + words(left - 1, depth - 1)


def entropy(length: int) -> float:
    """Of a string, per predicted token: the end, which is certain, counts as one."""
    return (log(words(length, 0)) + length // 2 * log(KINDS)) / (length + 1)


def pair_counts(length: int) -> dict[str, float]:
    """How often each of PAIRS occurs in a word, on average over all words."""
    counts = dict.fromkeys(PAIRS, 0.0)
    for pair in PAIRS:
        for at in range(length - 1):
            for depth in range(at + 1):
                after = depth + sum({"(": 1, ")": -1}[one] for one in pair)
                middle = depth + {"(": 1, ")": -1}[pair[0]]
                if middle >= 0 and after >= 0:
                    counts[pair] += words(at, depth) * words(length - at - 2, after)
    return {pair: count / words(length, 0) for pair, count in counts.items()}


def bigram_entropy(length: int) -> float:
    """The least loss, per predicted token, of a model that knows the last letter alone. What is opened after a bracket,
    and what is closed after a closing one, may be of any kind; after an opening bracket only its own can be closed."""
    return sum(-(row[row > 0] * np.log(row[row > 0] / row.sum())).sum() for row in bigram_table(length)) / (length + 1)


def bigram_table(length: int) -> Array:
    """How often each letter follows each: opening brackets, closing brackets, the end, which is also the beginning."""
    n, counts = KINDS, pair_counts(length)
    table = np.zeros((2 * n + 1, 2 * n + 1))
    table[:n, :n] = counts["(("] / n**2
    table[:n, n:-1] = np.eye(n) * counts["()"] / n
    table[n:-1, :n] = counts[")("] / n**2
    table[n:-1, n:-1] = counts["))"] / n**2
    table[-1, :n] = table[n:-1, -1] = 1 / n
    return table


def bigram_chain(length: int) -> Language:
    """Strings of the chain that has these bigrams, cut off at three times the length."""
    table = bigram_table(length)
    chances = np.cumsum(table / table.sum(1, keepdims=True), 1)
    letters, end = OPENING[:KINDS] + CLOSING[:KINDS], 2 * KINDS

    def draw(rng: np.random.Generator) -> str:
        word, last = "", end
        while len(word) < 3 * length:
            last = int(np.searchsorted(chances[last], rng.random()).clip(max=end))
            if last == end:
                break
            word += letters[last]
        return word

    return Language(
        "brackets that follow each other as in balanced words", letters, 3 * length, draw, lambda text: True
    )


def picture(seeds: Sequence[Series]) -> Sequence[Panel]:
    one = seeds[0]
    curves = [
        band(name, [step for step, _ in one["curves"][kind]], [[y for _, y in s["curves"][kind]] for s in seeds])
        for kind, name in MODELS.items()
        if kind in one["curves"]
    ]
    marks = [Mark(one["bigrams"], "exact, of bigrams"), Mark(one["entropy"], "exact entropy")]
    right = {MODELS[kind]: [s["right"][kind] for s in seeds] for kind in one["right"]}
    return [
        Lines("Balanced brackets of four kinds", "steps", "nats per token, held out", curves, marks),
        Bars("Samples that are balanced", "share", list(right), list(right.values())),
    ]
