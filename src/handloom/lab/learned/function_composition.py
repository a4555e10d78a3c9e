"""One layer cannot compose two functions that are given in the prompt; two layers can.

Peng, Narayanan and Papadimitriou 2024: one layer with H heads of width d and numbers of p bits cannot give f(g(x)) for
all f, g on n elements if n log₂ n > H (d + 1) p. Hsu and Moitra's slides name it. It is a bound for the worst case:
with 4 heads of width 16 and 32 bits it says something only from n = 265 on, far beyond what is tried here. So whether
one layer fails at n = 4 to 32 is a question about learning, and the bound is drawn only to show where it lies.

The prompt is the table of g (n tokens), that of f, and then several x; behind each, f(g(x)) is predicted. The control
predicts g(x) in place of f(g(x)): one look into one table, for which one layer is enough.
"""

from collections.abc import Sequence
from functools import partial

import numpy as np

from handloom.core import Config
from handloom.core.arrays import Array
from handloom.lab.experiment import Check, Claim, Finding, Lab, Series
from handloom.lab.predictions import accuracy
from handloom.learn.data import NOTHING
from handloom.learn.fresh import steps
from handloom.learn.settings import Settings
from handloom.view.figures.panels import Lines, Mark, Panel, band

CLAIM = Claim(
    name="function-composition",
    says="two layers learn to compose two functions given in the prompt; one layer does not",
    source="Peng, Narayanan and Papadimitriou 2024",
    papers=("2402.08164",),
    seed="Hsu and Moitra",
    number="one layer fails if n log₂ n > H (d + 1) p (a worst case, beyond the sizes here)",
    quick=6.2,
    full=70,
)
HEADS, WIDTH, BITS = 4, 16, 32  # of heads, of each, of a number
QUERIES = 16


def run(lab: Lab) -> Finding:
    sizes = lab.pick((4,), (4, 8, 16, 32))
    found: dict[str, list[float]] = {"two": [], "one": [], "look": []}
    for n in sizes:
        found["two"].append(learned(2, n, True, lab))
        found["one"].append(learned(1, n, True, lab))
        found["look"].append(learned(1, n, False, lab))
        lab.progress(len(found["look"]), len(sizes))
    apart = [one for two, one in zip(found["two"], found["one"], strict=True) if two >= 0.95]
    return Finding(
        checks=[
            Check("best of two layers", max(found["two"]), least=0.95, form=".1%"),
            Check("one layer where two reach 95 %", min(apart, default=None), most=0.6, form=".1%"),
            Check("one layer, a single look", max(found["look"]), most=0.6, control=True, form=".1%"),
        ],
        series={"sizes": list(sizes), "bound": bound(), **found},
    )


def bound() -> int:
    """The least n for which one layer cannot, by the theorem."""
    return next(n for n in range(2, 10**6) if n * np.log2(n) > HEADS * (WIDTH + 1) * BITS)


def draw(n: int, twice: bool, rng: np.random.Generator, rows: int = 64) -> tuple[Array, Array]:
    """The tables of g and f and then some x, with f(g(x)) as the target of each; or g(x), if not `twice`."""
    g, f = rng.integers(0, n, (2, rows, n))
    x = rng.integers(0, n, (rows, QUERIES))
    answers = np.take_along_axis(g, x, 1)
    if twice:
        answers = np.take_along_axis(f, answers, 1)
    return np.hstack([g, f, n + x]), np.hstack([np.full((rows, 2 * n), NOTHING), answers])


def learned(layers: int, n: int, twice: bool, lab: Lab) -> float:
    """The share of right answers after training."""
    config = Config(
        vocab=2 * n, block=2 * n + QUERIES, d_model=HEADS * WIDTH, layers=layers, heads=HEADS, d_head=WIDTH,
        d_ff=4 * HEADS * WIDTH, tied=False,
    )  # fmt: skip
    settings = Settings(steps=lab.pick(400 if twice else 100, 1000), rate=2e-3, seed=lab.seed)
    *_, step = steps(config, partial(draw, n, twice, rows=lab.pick(32, 64)), settings)
    return accuracy(step.model(), *draw(n, twice, lab.rng(1), 256))


def picture(seeds: Sequence[Series]) -> Sequence[Panel]:
    sizes = seeds[0]["sizes"]
    curves = [
        band("two layers", sizes, [series["two"] for series in seeds]),
        band("one layer", sizes, [series["one"] for series in seeds]),
        band("one layer, g(x) only", sizes, [series["look"] for series in seeds], control=True),
        band("a guess", sizes, [[1 / n for n in sizes]]),
    ]
    marks = [Mark(seeds[0]["bound"], "the theorem says no from here", "x"), Mark(0.95, "95 %")]
    return [Lines("f(g(x)) from tables in the prompt", "n", "right answers", curves, marks, log_x=True)]
