"""Tokens as particles: with depth they gather in clusters, and the values' matrix decides which.

Geshkovski, Letrouit, Polyanskiy and Rigollet 2023 take the layer number for time and tokens for particles on a sphere,
dx_i/dt = the part along the sphere of Σ_j softmax(β x_i · x_j) V x_j. With V = I all tokens end in one cluster; with a
large β they stay in several for very long (metastable). With V = −I tokens repel each other, and nothing gathers: the
control. On a line and without the sphere (their earlier paper) each token ends up attending to one leader, so the
attention matrix tends to a Boolean matrix of low rank: every row but at most one says "the first" or "the last".

Nothing is scaled down but the number of tokens, 32. A transformer of equal layers with a norm behind each *is* the
simulation, one time step per layer; a handloom Model of 100 layers must agree with it. The picture shows trained
models beside it, if the repository's are there: the mean cosine between positions, layer by layer. They have few
layers, all different, so the theory makes no promise for them.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from handloom.core import Config, Model, Vocab, params, reference
from handloom.core.arrays import Array
from handloom.core.reference import softmax
from handloom.lab.exact.trained_models import trained_models
from handloom.lab.experiment import Check, Claim, Finding, Lab, Series
from handloom.view.figures.panels import Dots, Heat, Lines, Mark, Panel, band

CLAIM = Claim(
    name="clusters",
    says="as depth grows tokens gather in clusters, one if the values are the identity",
    source="Geshkovski, Letrouit, Polyanskiy and Rigollet 2023",
    papers=("2305.05465", "2312.10794"),
    seed="Hsu and Moitra",
    number="one cluster; attention of low rank",
    quick=0.1,
    full=0.5,
)
TOKENS = 32
STEP = 0.1  # of time, per layer
SHOWN = (0, 20, 50, 100, 150, 200, 300, 400, 500, 600)  # steps at which clusters are counted
WIDTHS = (2, 8, 32, 128)
SHARP = (1.0, 4.0, 9.0, 16.0)  # values of β
TOGETHER = 0.99  # cosine of two tokens of one cluster
DEPTH = 100  # layers of the Model


def run(lab: Lab) -> Finding:
    starts = {d: on_sphere(lab.rng(d).normal(size=(TOKENS, d))) for d in WIDTHS}
    ends = {sign: [clusters(simulate(starts[d], 1.0, sign, [200])[0]) for d in WIDTHS] for sign in (1.0, -1.0)}
    films = {beta: simulate(starts[2], beta, 1.0, SHOWN) for beta in SHARP}
    line, control = (on_a_line(lab.rng(1).normal(size=TOKENS), sign) for sign in (1.0, -1.0))
    return Finding(
        checks=[
            Check("clusters at t = 20, V = I, the most over d", max(ends[1.0]), most=1, said=1),
            Check("clusters at t = 60, β = 16 (metastable)", clusters(films[16.0][-1]), least=2),
            Check("rows of attention on a line that are not Boolean", not_boolean(line), most=1, said=1),
            Check("its rank", np.linalg.matrix_rank(line.round()), most=3),
            Check("a Model of 100 layers against the simulation", model_error(starts[8]), most=1e-9, form=".1e"),
            Check("clusters at t = 20, V = −I, the fewest over d", min(ends[-1.0]), most=1, control=True),
            Check("rows not Boolean, V = −1", not_boolean(control), most=1, control=True),
        ],
        series={
            "times": [STEP * step for step in SHOWN],
            "counts": {f"{beta:g}": [clusters(x) for x in film] for beta, film in films.items()},
            "repelled": [clusters(x) for x in simulate(starts[2], 1.0, -1.0, SHOWN)],
            "circle": {f"{STEP * SHOWN[i]:g}": films[9.0][i].tolist() for i in (0, 1, 3, 9)},
            "attention": line.tolist(),
            "cosines": {name: cosines(*found) for name, found in trained().items()},
        },
    )


def on_sphere(x: Array) -> Array:
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def simulate(x: Array, beta: float, sign: float, steps: Sequence[int]) -> list[Array]:
    """The tokens (T, d) after these numbers of steps, with V = ±I."""
    found = []
    for step in range(max(steps) + 1):
        if step in steps:
            found.append(x)
        x = on_sphere(x + STEP * sign * softmax(beta * x @ x.T) @ x)
    return found


def clusters(x: Array) -> int:
    """The number of groups of tokens, in each of which a chain of near ones leads from any to any other."""
    joined = x @ x.T >= TOGETHER
    while not np.array_equal(joined, wider := joined @ joined):
        joined = wider
    return len(np.unique(joined, axis=0))


def on_a_line(x: Array, sign: float, steps: int = 100) -> Array:
    """The attention matrix of tokens on a line, sorted, after a time of 10. Where they have run away, only their ratios
    count; the exponents are cut so that nothing overflows."""
    x = np.sort(x)
    for _ in range(steps):
        x = x + STEP * sign * softmax(np.outer(x, x)) @ x
        x = x * min(1.0, 1e6 / np.abs(x).max())
    return softmax(np.outer(x, x))


def not_boolean(attention: Array) -> int:
    return int((attention.max(-1) < 1 - 1e-6).sum())


def model_error(x: Array) -> float:
    """How far a Model is from the simulation, over all layers. Its RMS norm has the gain 1/√d, so that it puts every
    token on the unit sphere."""
    d, beta = x.shape[1], 4.0
    shape = {"d_model": d, "layers": DEPTH, "heads": 1, "d_head": d}
    plain: dict[str, Any] = {
        "norm": "rms",
        "place": "post",
        "eps": 0.0,
        "positions": "none",
        "causal": False,
        "biases": (),
    }
    config = Config(vocab=TOKENS, block=TOKENS, **shape, **plain)
    weights = params.zeros(config)
    for layer in weights["layers"]:
        layer["W_Q"][0], layer["W_K"][0] = beta * np.sqrt(d) * np.eye(d), np.eye(d)
        layer["W_V"][0], layer["W_O"][0] = STEP * np.eye(d), np.eye(d)
        layer["ln1"]["w"][:] = 1 / np.sqrt(d)
    model = Model(config, weights | {"W_E": x}, Vocab.numbers(TOKENS))
    _, trace = reference.forward(model, range(TOKENS), want=["*.resid_post"])
    expected = simulate(x, beta, 1.0, range(1, DEPTH + 1))
    return max(float(np.abs(trace[f"{i}.resid_post"] - expected[i]).max()) for i in range(DEPTH))


def trained() -> dict[str, tuple[Model, list[list[int]]]]:
    return trained_models(("induction-0", "sort-0", "addition-0"), rows=50)


def cosines(model: Model, rows: Sequence[Sequence[int]]) -> list[float]:
    """The mean cosine between two positions of a string, before the first layer and after each."""
    names = ["0.resid_pre", *(f"{i}.resid_post" for i in range(model.config.layers))]
    found = []
    for row in rows:
        _, trace = reference.forward(model, row, want=names)
        off = ~np.eye(len(row), dtype=bool)
        found.append([float((on_sphere(trace[name]) @ on_sphere(trace[name]).T)[off].mean()) for name in names])
    return np.mean(found, axis=0).tolist()


def picture(seeds: Sequence[Series]) -> Sequence[Panel]:
    times, first = seeds[0]["times"], seeds[0]
    counts = [band(f"β = {beta}", times, [one["counts"][beta] for one in seeds]) for beta in first["counts"]]
    repelled = band("control: V = −I, β = 1", times, [one["repelled"] for one in seeds], control=True)
    rings = {
        f"t = {time}": [((1 + 0.3 * i) * x, (1 + 0.3 * i) * y) for x, y in points]
        for i, (time, points) in enumerate(first["circle"].items())
    }
    some = [*range(0, TOKENS, 4), TOKENS - 1]
    attention = [[first["attention"][i][j] for j in some] for i in some]
    names = [str(i + 1) for i in some]
    panels: list[Panel] = [
        Lines(
            "Tokens on a circle, V = I",
            "time",
            "clusters",
            [*counts, repelled],
            [Mark(1, "one (Geshkovski et al. 2023)")],
            log_y=True,
        ),
        Dots("β = 9: later times on wider circles", "", "", rings, equal=True),
        Heat(
            "On a line: attention at t = 10", "attended to", "token, from left to right", names, names, attention, ".0f"
        ),
    ]
    if first["cosines"]:
        models = [band(name, range(len(ys)), [ys]) for name, ys in first["cosines"].items()]
        panels.append(Lines("Trained models (no claim)", "layers", "mean cosine of two positions", models))
    return panels
