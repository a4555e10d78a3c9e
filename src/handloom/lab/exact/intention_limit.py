"""Least-squares attention contains linear attention: as its ridge α grows, α times its output tends to it, as 1/α.

Garnelo and Czarnecki 2023 ("intention") take for attention the solution of regularised least squares, the values
regressed on the keys and asked at the queries, and show that it strictly generalises linear attention. Bukatin's slide
prints it as Q[KKᵀ + αI]⁻¹KᵀV, where the sizes do not fit for tokens in rows: it is KᵀK (or, the same by an identity of
matrices, QKᵀ[KKᵀ + αI]⁻¹V). Handloom's attention "least-squares" is the right one.

Exact, on random models: the limit and its rate; the identity; and what linear attention cannot do, values that are a
linear function of the keys are continued to the queries as α → 0. Controls: softmax attention has no such limit; linear
attention does not continue the function; and the formula as printed, which can be computed only where there are as many
positions as d_head, is not what the Model gives.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from handloom.core import Config, Model, Vocab, params, reference
from handloom.core.arrays import Array
from handloom.core.reference import softmax
from handloom.lab.experiment import Check, Claim, Finding, Lab, Series
from handloom.view.figures.panels import Lines, Panel, band

CLAIM = Claim(
    name="intention-limit",
    says="α times least-squares attention tends to linear attention, with an error of 1/α",
    source="Garnelo and Czarnecki 2023",
    papers=("2305.10203",),
    seed="Bukatin",
    number="1/α",
    quick=0.1,
    full=1,
)
ALPHAS = tuple(10.0**power for power in range(-1, 8))
SMALL = 1e-6  # for α → 0
LARGE = [alpha for alpha in ALPHAS if alpha >= 1e3]
D, K = 12, 6


def run(lab: Lab) -> Finding:
    q, k, v, _ = head("linear", 2 * K, 1.0, lab)
    linear = q @ k.T @ v
    least = {alpha: head("least-squares", 2 * K, alpha, lab)[3] for alpha in ALPHAS}
    errors = [apart(alpha * z, linear) for alpha, z in least.items()]
    soft = [apart(alpha * softmax(q @ k.T / alpha) @ v, linear) for alpha in ALPHAS]
    causal = [apart(a * head("least-squares", 2 * K, a, lab, causal=True)[3], np.tril(q @ k.T) @ v) for a in ALPHAS]
    square = head("least-squares", K, 1.0, lab)
    return Finding(
        checks=[
            Check("exponent of the error in α", exponent(errors), least=-1.01, most=-0.99, said=-1),
            Check("the same, each position on those before it", exponent(causal), least=-1.01, most=-0.99, said=-1),
            Check("error at α = 10⁷", errors[-1], most=1e-4, form=".1e"),
            Check("the Model against Q[KᵀK + αI]⁻¹KᵀV", apart(solved(*square[:3]), square[3]), most=1e-9, form=".1e"),
            Check("a linear function continued, α = 10⁻⁶", continued("least-squares", lab), most=1e-4, form=".1e"),
            Check("exponent, softmax", exponent(soft), least=-1.01, most=-0.99, control=True),
            Check(
                "a linear function continued, linear attention",
                continued("linear", lab),
                most=1e-4,
                control=True,
                form=".1e",
            ),
            Check(
                "the Model against the slide's formula",
                apart(printed(*square[:3]), square[3]),
                most=1e-9,
                control=True,
                form=".1e",
            ),
        ],
        series={"errors": errors, "causal": causal, "softmax": soft},
    )


def head(
    kind: str, length: int, alpha: float, lab: Lab, causal: bool = False, values: Array | None = None
) -> tuple[Array, Array, Array, Array]:
    """Queries, keys, values (T, K) of one head of a Model, and what it gives. With `values` they are keys times it."""
    shape: dict[str, Any] = {"attention": kind, "ridge": alpha, "norm": "none", "positions": "none", "biases": ()}
    config = Config(vocab=length, block=length, d_model=D, layers=1, heads=1, d_head=K, causal=causal, **shape)
    weights = params.random(config, seed=lab.seed, scale=0.5)
    if values is not None:
        weights["layers"][0]["W_V"] = weights["layers"][0]["W_K"] @ values
    model = Model(config, weights, Vocab.numbers(length))
    _, trace = reference.forward(model, range(length), ["0.q", "0.k", "0.v", "0.z"])
    q, k, v, z = (trace[f"0.{name}"][0] for name in "qkvz")
    return q, k, v, z


def solved(q: Array, k: Array, v: Array, alpha: float = 1.0) -> Array:
    return q @ np.linalg.inv(k.T @ k + alpha * np.eye(k.shape[1])) @ k.T @ v


def printed(q: Array, k: Array, v: Array, alpha: float = 1.0) -> Array:
    """As on the slide; its sizes fit only where T = K."""
    return q @ np.linalg.inv(k @ k.T + alpha * np.eye(len(k))) @ k.T @ v


def apart(found: Array, expected: Array) -> float:
    return float(np.abs(found - expected).max() / np.abs(expected).max())


def exponent(errors: Sequence[float]) -> float:
    """Of a power law in α, where it is large."""
    return float(np.polyfit(np.log(LARGE), np.log(errors[-len(LARGE) :]), 1)[0])


def continued(kind: str, lab: Lab) -> float:
    """How far the head is from q W, if the values are k W."""
    W = lab.rng().normal(size=(K, K))
    q, _, _, z = head(kind, 2 * K, SMALL, lab, values=W)
    return apart(z, q @ W)


def picture(seeds: Sequence[Series]) -> Sequence[Panel]:
    names = {"errors": "least squares", "causal": "least squares, causal"}
    curves = [band(words, ALPHAS, [one[name] for one in seeds]) for name, words in names.items()]
    last = float(np.mean([one["errors"][-1] for one in seeds]))
    curves.append(band("1/α", LARGE, [[last * ALPHAS[-1] / alpha for alpha in LARGE]]))
    curves.append(band("control: softmax", ALPHAS, [one["softmax"] for one in seeds], control=True))
    return [Lines("α · attention less linear attention", "ridge α", "relative error", curves, log_x=True, log_y=True)]
