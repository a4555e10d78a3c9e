"""A layer of attention is a sum of tensor products A ⊗ W over its heads, which compose to virtual heads.

Elhage et al. 2021, the framework that Bukatin's slides go through: a head moves rows by its pattern A and changes each
by W = (W_V W_O)ᵀ, heads add up, and a head behind another is again such a product, (A₂ ⊗ W₂)(A₁ ⊗ W₁) = A₂A₁ ⊗ W₂W₁.
So the logits of a transformer without MLPs are a sum over paths: direct, through one head, through a virtual head.

Tried on random models with one and two layers, which is where the identity holds exactly or not at all. It is an
identity of models without norms: with a norm that works it must fail, even if every norm's scale is taken to be its
mean in the run (the first control), and with the norm's scales fixed by an edit it must hold again. In the second
control the virtual heads are composed in the wrong order. The picture shows what paths of each length add in a trained
model, if the repository's are there; Elhage et al. found that virtual heads matter little (from memory).
"""

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from handloom.core import Config, Model, Trace, Vocab, params, reference
from handloom.core.arrays import Array
from handloom.lab.exact.trained_models import trained_models
from handloom.lab.experiment import Check, Claim, Finding, Lab, Series
from handloom.read import Term, paths
from handloom.view.figures.panels import Bars, Mark, Panel

CLAIM = Claim(
    name="tensor",
    says="attention is Σ A ⊗ W over heads, and logits are a sum over paths through heads and virtual heads",
    source="Elhage et al. 2021",
    seed="Bukatin",
    number="equal, without norms",
    quick=0.1,
    full=1,
)
FIXED = 2.0  # what the norms divide by, when an edit fixes it
EQUAL = 1e-12

Layers = Sequence[Sequence[Term]]  # the heads of each layer


def run(lab: Lab) -> Finding:
    one, two = (attention_only("none", layers, lab) for layers in (1, 2))
    normed, ids = attention_only("rms", 2, lab), lab.rng(1).integers(0, 9, 8)
    live = reference.forward(normed, ids, "*_scale")[1]
    mean = float(np.mean([live[site].mean() for site in live if site.endswith("_scale")]))
    errors = {
        "one layer": error(one, ids),
        "two layers": error(two, ids),
        "norms' scales fixed": error(normed, ids, FIXED, edits={"*_scale": FIXED}),
        "norms live": error(normed, ids, mean),
        "wrong order": error(two, ids, wrong_order=True),
    }
    checks = [
        Check(f"logits less paths: {name}", value, most=EQUAL, control=i >= 3, form=".1e")
        for i, (name, value) in enumerate(errors.items())
    ]
    return Finding(
        checks=[
            *checks[:3],
            Check("(A₂ ⊗ W₂)(A₁ ⊗ W₁) less A₂A₁ ⊗ W₂W₁", kronecker_error(two, ids), most=EQUAL, form=".1e"),
            Check("the logit of read's paths, all summed", read_error(normed, ids), most=1e-9, form=".1e"),
            *checks[3:],
        ],
        series={"errors": errors, "trained": trained(lab)},
    )


def attention_only(norm: str, layers: int, lab: Lab) -> Model:
    shape: dict[str, Any] = {"norm": norm, "d_model": 12, "layers": layers, "heads": 3, "d_head": 4}
    config = Config(vocab=9, block=8, **shape, biases=(), tied=False)
    return Model(config, params.random(config, seed=lab.seed, scale=0.4), Vocab.numbers(9))


def error(
    model: Model, ids: Array, scale: float = 1.0, wrong_order: bool = False, edits: dict[str, float] | None = None
) -> float:
    """How far the logits are from the sum over all paths, in units of the largest logit."""
    logits, trace = reference.forward(model, ids, ["embed", "pos_embed", "*.pattern"], edits)
    found = sum_over_paths(terms(model, trace, scale), trace["embed"] + trace["pos_embed"], wrong_order)
    return float(np.abs(found / scale @ model.params["W_U"] - logits).max() / np.abs(logits).max())


def terms(model: Model, trace: Trace, scale: float) -> Layers:
    """Every head as A ⊗ W; a norm whose scale is fixed divides by it."""
    return [
        [Term(A, (W_V @ W_O).T / scale) for A, W_V, W_O in zip(trace[f"{i}.pattern"], p["W_V"], p["W_O"], strict=True)]
        for i, p in enumerate(model.params["layers"])
    ]


def sum_over_paths(layers: Layers, x: Array, wrong_order: bool = False) -> Array:
    """What the stream is at the end: every path takes one head of each layer, or none."""
    total = np.zeros_like(x)
    for path in product(*([None, *heads] for heads in layers)):
        steps = [head for head in path if head is not None]
        total += along(steps[::-1] if wrong_order else steps, x)
    return total


def along(steps: Sequence[Term], x: Array) -> Array:
    """What a path adds: its heads as one virtual head."""
    if not steps:
        return x
    virtual = steps[0]
    for later in steps[1:]:
        virtual = later @ virtual
    return virtual(x)


def kronecker_error(model: Model, ids: Array) -> float:
    """The rule of composition with the matrices written out, T·D by T·D, and applied to the stream as one vector."""
    _, trace = reference.forward(model, ids, ["embed", "*.pattern"])
    (first, *_), (second, *_) = terms(model, trace, 1.0)
    apart = np.kron(second.A, second.W) @ np.kron(first.A, first.W)
    joined, x = second @ first, trace["embed"]
    off = np.abs(apart - np.kron(joined.A, joined.W)).max()
    return float(max(off, np.abs(apart @ x.ravel() - second(first(x)).ravel()).max()))


def read_error(model: Model, ids: Array) -> float:
    """The same by `handloom.read`, which takes norms as they were in the run: all paths summed, less the logit."""
    found = paths(model, ids.tolist())
    return abs(sum(path.contribution for path in found.paths) - found.target.total)


def by_heads(model: Model, rows: Sequence[Sequence[int]]) -> list[float]:
    """The share of paths through 0, 1, 2, … heads in the logit of the answer less the mean logit."""
    found = [paths(model, list(row)) for row in rows]
    return np.mean([np.array(one.by_heads) / one.target.total for one in found], axis=0).tolist()


def trained(lab: Lab) -> list[float]:
    name = f"induction-{lab.seed % 5}"
    return [share for model, rows in trained_models([name], rows=30).values() for share in by_heads(model, rows)]


def picture(seeds: Sequence[Series]) -> Sequence[Panel]:
    names = list(seeds[0]["errors"])
    errors = [[max(one["errors"][name], 1e-17) for one in seeds] for name in names]
    mark = Mark(EQUAL, "equal up to here")
    panels: list[Panel] = [
        Bars("Logits less the sum over paths", "relative error", names, errors, names[3:], [mark], log_y=True)
    ]
    if seeds[0]["trained"]:
        shares = [[one["trained"][i] for one in seeds] for i in range(3)]
        lengths = ["no head", "one head", "two heads"]
        panels.append(Bars("Paths by length, trained: induction", "share of the logit", lengths, shares))
    return panels
