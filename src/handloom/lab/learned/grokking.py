"""Long after a small transformer has memorised its examples of addition modulo p, it learns to add: grokking.

Power et al. 2021 saw it, Nanda et al. 2022 took the model apart: it adds by trigonometry with a few frequencies, and
two measures show the circuit growing before the held-out accuracy jumps. The restricted loss is that of the key
frequencies alone, and falls; the excluded loss is that of everything else, and rises. Bukatin's slides name it. Nanda
et al. have p = 113, 30 % of all pairs, width 128 and weight decay 1, at a rate of 1e-3 for tens of thousands of steps.
Here p = 59, 40 %, width 64, and rate and decay are 3e-3 and 1.5: weights decay more than four times as fast, so that it
takes a minute. How long the delay is depends on both, and much on the seed: with a decay of 1 one seed needed 2,400
steps and another more than 3,500; with 3, which also slows the memorising, two others took 1,000 and 1,200, only twice
as long as to memorise; with 30 % and a decay of 2 one was at 16 % after 3,000. The control has no weight decay. A quick
run ends before the jump.
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from handloom.core import Config, Model
from handloom.core.arrays import Array
from handloom.lab.experiment import Check, Claim, Finding, Lab, Series
from handloom.lab.predictions import first_step, log_probabilities
from handloom.learn.data import NOTHING
from handloom.learn.fresh import steps
from handloom.learn.settings import Settings
from handloom.read.periodic import Sums, key_frequencies, logit_shares, losses_of, wave_shares
from handloom.view.figures.panels import Bars, Lines, Mark, Panel, band

CLAIM = Claim(
    name="grokking",
    says="held-out accuracy jumps long after the examples are memorised, by a circuit of a few frequencies",
    source="Power et al. 2021; Nanda et al. 2022",
    papers=("2201.02177", "2301.05217"),
    seed="Bukatin",
    number="memorised at 1,400 steps, clean at 14,000; five frequencies (from memory)",
    quick=1.9,
    full=100,
)
MODULUS, FRACTION, DECAY = 59, 0.4, 1.5
EVERY = 50  # steps between looks
MEMORISED, GENERAL, FEW = 0.01, 0.99, 5  # training loss, held-out accuracy, frequencies

Look = tuple[int, float, Array, Array]  # step, loss, logits (p, p, V), embedding (p, D)


def run(lab: Lab) -> Finding:
    most = lab.pick(50, 3500)
    sums = all_sums(lab)
    looks, model = trained(sums, DECAY, most, lab)
    shares = logit_shares(looks[-1][2][..., :MODULUS])
    frequencies = key_frequencies(shares, MODULUS)
    found = measured(looks, sums, frequencies)
    without, _ = ([], None) if lab.quick else trained(sums, 0.0, most, lab)
    control = measured(without, sums, frequencies)
    memorised = first_step(found["steps"], [loss < MEMORISED for loss in found["train"]])
    general = first_step(found["steps"], [right >= GENERAL for right in found["right"]])
    return Finding(
        checks=[
            Check("held-out accuracy", None if lab.quick else found["right"][-1], least=GENERAL, form=".1%"),
            Check(
                "step of 99 % held out / step of memorising", general and memorised and general / memorised, least=4.0
            ),
            Check("share of five frequencies in W_E", None if lab.quick else found["embedding"][-1], least=0.8),
            Check("restricted loss falls first, steps", lead(found), least=0.0, form=",.0f"),
            Check(
                "held-out accuracy without decay",
                max(control["right"], default=None),
                least=0.5,
                control=True,
                form=".1%",
            ),
        ],
        series={"decay": found, "none": control, "spectrum": np.sort(wave_shares(looks[-1][3]))[::-1].tolist()},
        models={"model": model},
    )


def all_sums(lab: Lab) -> Sums:
    """All pairs a, b and =, of which a share is marked as trained on."""
    a, b = np.divmod(np.arange(MODULUS**2), MODULUS)
    rows = np.stack([a, b, np.full_like(a, MODULUS)], -1).reshape(MODULUS, MODULUS, 3)
    known = np.zeros(MODULUS**2, bool)
    known[lab.rng(1).permutation(MODULUS**2)[: round(FRACTION * MODULUS**2)]] = True
    return Sums(rows, np.arange(MODULUS), known.reshape(MODULUS, MODULUS))


def answers(sums: Sums) -> Array:
    """The right answer of each pair, (p, p)."""
    return np.asarray(sums.right)


def trained(sums: Sums, decay: float, most: int, lab: Lab) -> tuple[list[Look], Model]:
    """Train on all marked pairs at every step, and look at all pairs as training goes on."""
    config = Config(
        vocab=MODULUS + 1, block=3, d_model=64, layers=1, heads=4, d_head=16, d_ff=256,
        norm="none", activation="relu", tied=False,
    )  # fmt: skip
    inputs = sums.rows[sums.trained_on]
    targets = np.full_like(inputs, NOTHING)
    targets[:, -1] = answers(sums)[sums.trained_on]
    settings = Settings(steps=most, rate=3e-3, warmup=10, decay=decay, betas=(0.9, 0.98), seed=lab.seed)
    looks = []
    for step in steps(config, lambda rng: (inputs, targets), settings):
        if step.number % EVERY == 0:
            model = step.model()
            logits = log_probabilities(model, sums.rows.reshape(-1, 3))[:, -1]
            shape = (MODULUS, MODULUS, -1)
            looks.append((step.number, step.loss, logits.reshape(shape), model.flat["W_E"][:MODULUS].copy()))
            lab.progress(step.number + most * (decay == 0.0), 2 * most)
    return looks, model


def measured(looks: Sequence[Look], sums: Sums, frequencies: Sequence[int]) -> dict[str, Any]:
    """The losses, the accuracy and the share of the five largest frequencies in the embedding, look by look."""
    each = [asdict(losses_of(logits, sums, frequencies, step)) for step, _, logits, _ in looks]
    embedding = [float(np.sort(wave_shares(rows))[::-1][:FEW].sum()) for *_, rows in looks]
    names = ("train", "test", "restricted", "excluded", "right")
    return {
        "steps": [step for step, *_ in looks],
        "embedding": embedding,
        **{name: [one[name] for one in each] for name in names},
    }


def lead(found: dict[str, Any]) -> float | None:
    """How many steps before the held-out loss the restricted loss is below half of a guess's; None if one never is."""
    half = float(np.log(MODULUS)) / 2
    early, late = (first_step(found["steps"], [loss < half for loss in found[name]]) for name in ("restricted", "test"))
    return None if early is None or late is None else float(late - early)


def picture(seeds: Sequence[Series]) -> Sequence[Panel]:
    runs = [series["decay"] for series in seeds]
    numbers = runs[0]["steps"]
    names = {"train": "trained on", "test": "held out", "restricted": "restricted", "excluded": "excluded"}
    curves = [band(text, numbers, [[max(x, 1e-6) for x in run[name]] for run in runs]) for name, text in names.items()]
    right = [band(f"decay {DECAY:g}", numbers, [run["right"] for run in runs])]
    if seeds[0]["none"]["steps"]:
        right.append(band("no decay", numbers, [series["none"]["right"] for series in seeds], control=True))
    spectrum = [[series["spectrum"][i] for series in seeds] for i in range(8)]
    return [
        Lines("Losses, seeds together", "step", "nats", curves, [Mark(MEMORISED, "memorised")], log_y=True),
        Lines("Right answers, held out", "step", "share", right, [Mark(GENERAL, "99 %")]),
        Bars("Frequencies in W_E at the end, largest first", "share", [str(i + 1) for i in range(8)], spectrum),
    ]
