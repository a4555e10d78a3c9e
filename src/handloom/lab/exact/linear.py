"""Without softmax attention is associative, (QKᵀ)V = Q(KᵀV), and a transformer is a polynomial.

Bukatin's slides: linear attention "allows one to do various interesting things", and a transformer of it is "not a
linear model, but a polynomial one". Tried on random models without norms and MLPs, where it is exact:

- either order of the products gives what the Model gives; the first takes 2T²K multiplications, the second 2TK², so
  from T = K on the second is cheaper (operations are counted as they are made, as time depends on the machine);
- seen step by step, a causal head is a recurrent network (Katharopoulos et al. 2020): its state KᵀV has K · K numbers,
  however long the text;
- along a line of inputs, x = a + s b, a layer is cubic in s, as query, key and value each are linear; so the output of
  L layers is a polynomial of degree exactly 3ᴸ: that degree fits it to rounding, one less does not.

The control is softmax at each of these.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from handloom.core import Config, Model, Vocab, params, reference
from handloom.core.arrays import Array
from handloom.lab.experiment import Check, Claim, Finding, Lab, Series
from handloom.view.figures.panels import Band, Lines, Mark, Panel, band

CLAIM = Claim(
    name="linear",
    says="without softmax (QKᵀ)V = Q(KᵀV), and L layers are a polynomial of degree 3ᴸ",
    source="Bukatin 2023; Katharopoulos et al. 2020",
    papers=("2006.16236",),
    seed="Bukatin",
    number="equal; degree 3ᴸ",
    quick=0.1,
    full=1,
)
EQUAL = 1e-12
ABOVE = 1e-10  # what a residual is at least, if a polynomial does not fit: a hundred times the rounding
D, HEADS, K, T = 8, 2, 4, 6
LENGTHS = (1, 4, 16, 64, 256, 1024)
LAYERS = (1, 2, 3)


def run(lab: Lab) -> Finding:
    orders, state = ({kind: compare(kind, lab) for kind in ("linear", "softmax")} for compare in (reordered, recurrent))
    fits = {layers: residuals("linear", layers, lab) for layers in LAYERS}
    softmax = residuals("softmax", 1, lab)
    costs = {
        "(QKᵀ)V": [multiplications(left_first, n) for n in LENGTHS],
        "Q(KᵀV)": [multiplications(right_first, n) for n in LENGTHS],
    }
    slopes = {name: growth(found) for name, found in costs.items()}
    return Finding(
        checks=[
            Check("Q(KᵀV) against the Model", orders["linear"], most=EQUAL, form=".1e"),
            Check("a state of K × K numbers against the Model", state["linear"], most=EQUAL, form=".1e"),
            *(
                Check(f"L = {layers}: residual at degree {3**layers}", found[3**layers], most=EQUAL, form=".1e")
                for layers, found in fits.items()
            ),
            *(
                Check(
                    f"L = {layers}: residual at degree {3**layers - 1}", found[3**layers - 1], least=ABOVE, form=".1e"
                )
                for layers, found in fits.items()
            ),
            Check("growth of (QKᵀ)V with T, exponent", slopes["(QKᵀ)V"], least=1.99, most=2.01, said=2),
            Check("growth of Q(KᵀV) with T, exponent", slopes["Q(KᵀV)"], least=0.99, most=1.01, said=1),
            Check("softmax: Q(KᵀV) against the Model", orders["softmax"], most=EQUAL, control=True, form=".1e"),
            Check("softmax: such a state against the Model", state["softmax"], most=EQUAL, control=True, form=".1e"),
            Check("softmax, L = 1: residual at degree 3", softmax[3], most=EQUAL, control=True, form=".1e"),
        ],
        series={"fits": {str(layers): found for layers, found in fits.items()}, "softmax": softmax, "costs": costs},
    )


def model_of(kind: str, layers: int, causal: bool, lab: Lab) -> Model:
    """Attention only, loud enough that every layer's cube shows in the output."""
    shape: dict[str, Any] = {"attention": kind, "causal": causal, "norm": "none", "positions": "none", "biases": ()}
    config = Config(vocab=T, block=T, d_model=D, layers=layers, heads=HEADS, d_head=K, **shape)
    return Model(config, params.random(config, seed=lab.seed, scale=0.8), Vocab.numbers(T))


def reordered(kind: str, lab: Lab) -> float:
    """How far the Model's heads are from Q(KᵀV)/√K."""
    _, trace = reference.forward(model_of(kind, 1, False, lab), range(T), ["0.q", "0.k", "0.v", "0.z"])
    q, k, v = (trace[f"0.{name}"] for name in "qkv")
    return difference(
        np.stack([right_first(*one, np.matmul) for one in zip(q, k, v, strict=True)]) / np.sqrt(K), trace["0.z"]
    )


def recurrent(kind: str, lab: Lab) -> float:
    """How far a causal Model is from a state to which each position adds k vᵀ, and which it asks by q."""
    _, trace = reference.forward(model_of(kind, 1, True, lab), range(T), ["0.q", "0.k", "0.v", "0.z"])
    state, found = np.zeros((HEADS, K, K)), []
    for t in range(T):
        state = state + trace["0.k"][:, t, :, None] * trace["0.v"][:, t, None, :]
        found.append((trace["0.q"][:, t, None, :] @ state)[:, 0] / np.sqrt(K))
    return difference(np.stack(found, axis=1), trace["0.z"])


def difference(found: Array, expected: Array) -> float:
    """The largest, in units of the largest number."""
    return float(np.abs(found - expected).max() / np.abs(expected).max())


Product = Callable[[Array, Array], Array]


def left_first(q: Array, k: Array, v: Array, times: Product) -> Array:
    return times(times(q, k.T), v)


def right_first(q: Array, k: Array, v: Array, times: Product) -> Array:
    return times(q, times(k.T, v))


def multiplications(order: Callable[[Array, Array, Array, Product], Array], length: int) -> int:
    """How many numbers are multiplied for a text of this length, counted product by product."""
    made = []

    def times(a: Array, b: Array) -> Array:
        made.append(a.shape[0] * a.shape[1] * b.shape[1])
        return np.zeros((a.shape[0], b.shape[1]))

    empty = np.zeros((length, K))
    order(empty, empty, empty, times)
    return sum(made)


def growth(costs: Sequence[int]) -> float:
    return float(np.polyfit(np.log(LENGTHS), np.log(costs), 1)[0])


def residuals(kind: str, layers: int, lab: Lab) -> list[float]:
    """How far the best polynomials of degree 0, 1, 2, … are from the last stream, along a line of inputs."""
    model, rng = model_of(kind, layers, False, lab), lab.rng(layers)
    a, b = rng.normal(0, 0.2, (T, D)), rng.normal(0, 1.0, (T, D))
    s = np.cos(np.pi * (np.arange(4 * 3**layers) + 0.5) / (4 * 3**layers))  # Chebyshev's, for a fit that is stable
    inputs = a + s[:, None, None] * b
    _, trace = reference.forward(model, np.tile(np.arange(T), (len(s), 1)), ["resid_final"], {"embed": inputs})
    outputs = trace["resid_final"].reshape(len(s), -1)
    outputs = outputs / np.abs(outputs).max(0)
    return [float(np.abs(fit(s, outputs, degree) - outputs).max()) for degree in range(3**layers + 4)]


def fit(s: Array, outputs: Array, degree: int) -> Array:
    """The polynomials of a degree nearest to columns of outputs, at s."""
    powers = np.polynomial.chebyshev.chebvander(s, degree)
    return powers @ np.linalg.lstsq(powers, outputs, rcond=None)[0]


def picture(seeds: Sequence[Series]) -> Sequence[Panel]:
    curves = {f"L = {layers}": [one["fits"][layers] for one in seeds] for layers in seeds[0]["fits"]}
    fits = [fitted(name, found) for name, found in curves.items()]
    fits.append(fitted("control: softmax, L = 1", [one["softmax"] for one in seeds], control=True))
    costs = [band(name, LENGTHS, [one["costs"][name] for one in seeds]) for name in seeds[0]["costs"]]
    marks = [Mark(3**layers, f"3{'¹²³'[layers - 1]} = {3**layers}", "x") for layers in LAYERS]
    crossing = [Mark(K, "T = K", "x")]
    return [
        Lines("Best polynomial along a line", "degree", "residual", fits, marks, log_x=True, log_y=True),
        Lines(f"A head, K = {K}", "positions T", "multiplications", costs, crossing, log_x=True, log_y=True),
    ]


def fitted(name: str, residuals: Sequence[Sequence[float]], control: bool = False) -> Band:
    """Residuals from degree 1 on; those that are 0 as if rounded."""
    found = [[max(value, 1e-16) for value in one[1:]] for one in residuals]
    return band(name, range(1, len(found[0]) + 1), found, control)
