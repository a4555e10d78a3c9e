"""k hops take a depth of about log₂ k: each doubling of k costs one layer more.

Sanford, Hsu and Telgarsky 2024. A hop goes from a letter to the place behind its last earlier occurrence; k of them,
one after the other, are k-hop induction, and the answer is the letter at the end. With pointers that double, ⌊log₂ k⌋ +
2 layers are enough (from memory), and by a conjecture on parallel computation fewer are not. Hsu and Moitra's slides
name it. In the paper: 100 letters of 4, k up to 16, depth 2 to 6. Here: 32 letters of 4, k = 1, 2, 4, depth 1 to 4,
because each layer more costs minutes. As in the paper one model learns all k; the first token is k, and there is a
label at every place from which k hops are possible.

By hand the claim is certain: the compiled program doubles pointers, is proven for all inputs of up to 15 letters, and
each doubling of k costs it one layer. Its depth is ⌊log₂ k⌋ + 3, since it spends a layer on the pointers' places.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from handloom.core import Config, Model
from handloom.core.arrays import Array
from handloom.lab.experiment import Check, Claim, Finding, Lab, Series
from handloom.lab.predictions import right_answers
from handloom.learn.data import NOTHING
from handloom.learn.fresh import steps
from handloom.learn.settings import Settings
from handloom.view.figures.panels import Heat, Lines, Mark, Panel, band
from handloom.write import program
from handloom.write.compiler.proving import prove_compiled

CLAIM = Claim(
    name="hops",
    says="k-hop induction takes about log₂ k layers: each doubling of k costs one more",
    source="Sanford, Hsu and Telgarsky 2024",
    papers=("2402.09268",),
    seed="Hsu and Moitra",
    number="⌊log₂ k⌋ + 2 layers (from memory)",
    quick=4.6,
    full=75,
)
LETTERS, LENGTH = 4, 32
BY_HAND = (1, 2, 4, 8, 16)
LEARNED, EARLY = 0.99, 800  # accuracy; the step at which k = 2 on two layers is looked at


def run(lab: Lab) -> Finding:
    hops, depths = lab.pick((1,), (1, 2, 4)), lab.pick((2,), (1, 2, 3, 4))
    curves, model = {}, None
    for depth in depths:
        curves[depth], model = watched(depth, hops, lab)
        lab.progress(depths.index(depth) + 1, len(depths))
    last = {(k, depth): curve[str(k)][-1] for depth, curve in curves.items() for k in hops}
    early = None if lab.quick else curves[2]["2"][curves[2]["steps"].index(EARLY)]
    layers = [layers_by_hand(k) for k in BY_HAND]
    return Finding(
        checks=[
            Check("k = 1 on 2 layers", last[1, 2], least=LEARNED, form=".1%"),
            Check("k = 2 on 3 layers", last.get((2, 3)), least=LEARNED, form=".1%"),
            Check("k = 2 on 2 layers at 800 steps", early, most=0.9, form=".1%"),
            Check("k = 4 on 4 layers", last.get((4, 4)), least=LEARNED, form=".1%"),
            Check("k = 4 on 3 layers", last.get((4, 3)), most=0.9, form=".1%"),
            Check("layers per doubling, by hand", int(np.diff(layers).max()), most=1, form=".0f", said=1),
            Check("k = 1 on 1 layer", last.get((1, 1)), least=LEARNED, form=".1%", control=True),
        ],
        series={"curves": {str(depth): curve for depth, curve in curves.items()}, "by hand": layers},
        models={} if model is None else {"model": model},
    )


def hop(rows: Array, at: Array) -> Array:
    """The places behind the last earlier occurrence of the letters at these places (B, T); −1 if there is none, and
    from there."""
    places, last = np.full_like(rows, -1), np.full((len(rows), LETTERS), -1)
    every = np.arange(len(rows))
    for place, letters in enumerate(rows.T):
        seen = last[every, letters]
        places[:, place] = np.where(seen < 0, -1, seen + 1)
        last[every, letters] = place
    return np.where(at < 0, -1, np.take_along_axis(places, np.maximum(at, 0), 1))


def labels(rows: Array, k: int) -> Array:
    """The letter k hops from every place, (B, T); NOTHING if there are not so many."""
    at = np.broadcast_to(np.arange(rows.shape[1]), rows.shape)
    for _ in range(k):
        at = hop(rows, at)
    return np.where(at < 0, NOTHING, np.take_along_axis(rows, np.maximum(at, 0), 1))


def draw(hops: Sequence[int], rng: np.random.Generator, rows: int = 32) -> tuple[Array, Array]:
    """Random letters behind a token for k, and at every place what is k hops away."""
    letters = rng.integers(0, LETTERS, (rows, LENGTH))
    which = rng.integers(0, len(hops), (rows, 1))
    every = np.stack([labels(letters, k) for k in hops])
    right = np.take_along_axis(every, which[None], 0)[0]
    return np.hstack([LETTERS + which, letters]), np.hstack([np.full_like(which, NOTHING), right])


def watched(depth: int, hops: Sequence[int], lab: Lab) -> tuple[dict[str, Any], Model]:
    """Train a model of that depth, and look at the share of right answers for each k as it learns."""
    config = Config(
        vocab=LETTERS + len(hops), block=LENGTH + 1, d_model=64, layers=depth, heads=4, d_head=16, d_ff=256, tied=False
    )
    inputs, targets = draw(hops, lab.rng(1), 256)
    found: dict[str, Any] = {"steps": [], **{str(k): [] for k in hops}}
    rows = lab.pick(32, 64)
    settings = Settings(steps=lab.pick(200, 1600), rate=lab.pick(2e-3, 1e-3), seed=lab.seed)
    for step in steps(config, partial(draw, hops, rows=rows), settings):
        if step.number % 100 == 0:
            model = step.model()
            right = right_answers(model, inputs, targets)
            found["steps"].append(step.number)
            for i, k in enumerate(hops):
                found[str(k)].append(float(np.nanmean(right[inputs[:, 0] == LETTERS + i])))
    return found, model


def layers_by_hand(k: int) -> int:
    """The layers of the compiled program, which is proven right."""
    model = program("compiled/k-hop", k=k, n=15)
    prove_compiled(model)
    return model.config.layers


def picture(seeds: Sequence[Series]) -> Sequence[Panel]:
    curves = [series["curves"] for series in seeds]
    depths, hops = list(curves[0]), [name for name in next(iter(curves[0].values())) if name != "steps"]
    table = [[float(np.mean([one[depth][k][-1] for one in curves])) for depth in depths] for k in hops]
    stairs = [sum(int(depth) < int(np.log2(int(k))) + 2 for depth in depths) for k in hops]
    over = [
        band(f"k = {k} on {depth} layers", curves[0][depth]["steps"], [one[depth][k] for one in curves])
        for depth, k in (("2", "1"), ("2", "2"), ("3", "2"), ("4", "4"))
        if depth in depths and k in hops
    ]
    by_hand = [band("compiled and proven", BY_HAND, [series["by hand"] for series in seeds])]
    by_hand.append(band("⌊log₂ k⌋ + 2", BY_HAND, [[int(np.log2(k)) + 2 for k in BY_HAND]]))
    return [
        Heat("Right answers (right of the line: claimed)", "layers", "k", depths, hops, table, ".1%", stairs),
        Lines("As it learns", "step", "right answers", over, [Mark(LEARNED, "99 %")]),
        Lines("By hand", "k", "layers", by_hand, log_x=True),
    ]
