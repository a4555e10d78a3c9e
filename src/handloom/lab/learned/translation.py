"""Sequence to sequence: reversing the source helps a recurrent network, and attention does not need it.

Sutskever, Vinyals and Le 2014 translated English to French with two LSTMs and found that reversing the words of the
source raised BLEU from 25.9 to 30.6: the first words of source and target come close together. No corpus is shipped, so
the language here is made: ten nouns, ten adjectives, a dictionary that translates word by word, and noun and adjective
exchange their places, as between English and French. Sentences have four to six such pairs, in
the full form six to nine: the shorter ones an LSTM learns either way, given the time. The LSTM reads the source
and goes on with the target, one network instead of two. All networks see the same sentences for as many steps; BLEU
becomes the share of target sentences without an error, and the loss per word. The control is an encoder-decoder with
attention, to which every word of the source is equally near: reversing must not help it as it helps the LSTM.
"""

from collections.abc import Sequence

import numpy as np

from handloom.core import Vocab
from handloom.lab.experiment import Check, Claim, Finding, Lab, Series
from handloom.learn.api import train
from handloom.tasks import Task
from handloom.tasks.task import Ids
from handloom.view.figures.panels import Band, Lines, Panel, band

CLAIM = Claim(
    name="translation",
    says="a recurrent network translates better if the words of the source are reversed",
    source="Sutskever, Vinyals and Le 2014",
    papers=("1409.3215",),
    seed="Mehlig",
    number="BLEU 25.9, reversed 30.6 (from memory)",
    quick=5,
    full=60,
)
WORDS = 10  # nouns, and as many adjectives
KINDS = {"lstm": "LSTM", "encoder-decoder": "encoder-decoder with attention"}


def run(lab: Lab) -> Finding:
    curves = {}
    for done, (kind, reverse) in enumerate((kind, reverse) for kind in KINDS for reverse in (False, True)):
        curves[name_of(kind, reverse)] = learned(kind, reverse, lab)
        lab.progress(done + 1, 2 * len(KINDS))
    losses = {name: curve["loss"][-1] for name, curve in curves.items()}
    right = {name: curve["right"][-1] for name, curve in curves.items()}
    gains = {kind: losses[name_of(kind, False)] - losses[name_of(kind, True)] for kind in KINDS}
    gained = right[name_of("lstm", True)] - right[name_of("lstm", False)]
    checks = [
        Check("LSTM: nats per word saved by reversing", gains["lstm"], least=0.1),
        lab.in_time(Check("LSTM: sentences gained by reversing", gained, least=0.05, form=".1%")),
        Check("attention: nats per word saved by reversing", gains["encoder-decoder"], least=0.1, control=True),
    ]
    return Finding(checks, {"curves": curves})


def name_of(kind: str, reverse: bool) -> str:
    return KINDS[kind] + (", reversed" if reverse else "")


def learned(kind: str, reverse: bool, lab: Lab) -> dict[str, list[float]]:
    """Loss per word and sentences right, held out, by step."""
    steps = lab.pick(60, 800)
    training = train(
        language_pair(lab.seed, reverse, lab.pick((4, 6), (6, 9))),
        kind=kind,
        steps=steps,
        every=steps // lab.pick(2, 8),
        samples=lab.pick(20, 300),
        batch=lab.pick(32, 64),
        rate=5e-3 if kind == "lstm" else 2e-3,
        seed=lab.seed,
        count=lab.pick(1_000, 20_000),
        d_ff=128,
        layers=1,
    )
    lines = training.lines or []
    return {
        "steps": [line["step"] for line in lines],
        "loss": [line["held_out"] for line in lines],
        "right": [line["success"] for line in lines],
    }


def language_pair(seed: int, reverse: bool, pairs: tuple[int, int]) -> Task:
    """Sentences of two languages. Tokens: nouns and adjectives of the one, of the other, = and the end."""
    rng = np.random.default_rng([seed, 7])
    meaning = [*(2 * WORDS + rng.permutation(WORDS)), *(3 * WORDS + rng.permutation(WORDS))]
    source = [f"{kind}{i}" for kind in "na" for i in range(WORDS)]
    vocab = Vocab((*source, *(word.upper() for word in source), "=", "<eos>"), eos="<eos>")
    equals, eos = vocab.id("="), vocab.id("<eos>")

    def oracle(ids: Ids) -> Ids:
        words = ids[-2::-1] if reverse else ids[:-1]
        swapped = [word for at in range(0, len(words), 2) for word in (words[at + 1], words[at])]
        return [*(int(meaning[word]) for word in swapped), eos]

    def draw(rng: np.random.Generator) -> Ids:
        count = int(rng.integers(pairs[0], pairs[1] + 1))
        words = [word for _ in range(count) for word in (WORDS + rng.integers(WORDS), rng.integers(WORDS))]
        return [*map(int, words[::-1] if reverse else words), equals]

    return Task(takes="pairs of an adjective and a noun, and then =", vocab=vocab, oracle=oracle, draw=draw)


def picture(seeds: Sequence[Series]) -> Sequence[Panel]:
    def lines(key: str) -> list[Band]:
        return [
            band(name, curve["steps"], [one["curves"][name][key] for one in seeds], control="attention" in name)
            for name, curve in seeds[0]["curves"].items()
        ]

    return [
        Lines("A made language, held-out sentences", "steps", "nats per word", lines("loss")),
        Lines("Sentences without an error", "steps", "share", lines("right")),
    ]
