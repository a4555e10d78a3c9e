"""A sparse autoencoder finds the true features of a network that stores more of them than it has dimensions.

Bricken et al. 2023 ("Towards monosemanticity") trained sparse autoencoders on 512 neurons of a language model and found
4,096 features, of which people judged 70 % to mean one thing. What the true features are, nobody knows there. Here they
are known: the network of the experiment `superposition` stores 40 sparse features in 10 dimensions, and a feature is a
column of its W. An autoencoder of `read` with twice as many features sees the hidden vectors alone. For each true
feature the largest cosine with a found one is taken, and these are averaged. The source's autoencoder has a relu and a
penalty on the sum of its amounts; the best of several penalties counts, by the truth, which is more help than one would
have; only the full form tries it. The other kind keeps the two largest amounts (Gao et al. 2024).

The controls are directions found without sparsity: principal components (of either sign), and as many random ones.
"""

from collections.abc import Sequence

import numpy as np

from handloom.core.arrays import Array
from handloom.lab.experiment import Check, Claim, Finding, Lab, Series
from handloom.lab.learned.superposition import best, trained
from handloom.read.dictionaries import Recipe, train_autoencoder
from handloom.view.figures.panels import Bars, Heat, Mark, Panel

CLAIM = Claim(
    name="dictionary",
    says="a sparse autoencoder finds the true features that a network stores in superposition",
    source="Bricken et al. 2023; Gao et al. 2024",
    papers=("2406.04093",),
    seed="Bukatin",
    number="70 % of 4,096 features judged to mean one thing (from memory)",
    quick=3.4,
    full=11,
)
FEATURES, DIMENSIONS, DENSITY = 40, 10, 0.03
FOUND = 2 * FEATURES
PENALTIES = (1.0, 2.0, 3.0, 4.0)
SHOWN = 12  # true features in the picture
NAMES = {
    "top": "two largest kept",
    "penalty": "relu, penalty",
    "random": "random directions",
    "components": "principal components",
}


def run(lab: Lab) -> Finding:
    weights, _ = best(trained(FEATURES, DIMENSIONS, (DENSITY,), lab.pick(800, 4_000), lab.seed, bent=True))[0]
    truth = weights / np.linalg.norm(weights, axis=0)
    hidden = hidden_vectors(weights, lab.rng(0))
    lab.progress(1, 3)
    top = sparse_directions(hidden, "topk", 0.0, lab)
    random = lab.rng(1).normal(size=(DIMENSIONS, FOUND))
    found = {
        "top": mean_cosine(truth, top),
        "random": mean_cosine(truth, random / np.linalg.norm(random, axis=0)),
        "components": mean_cosine(truth, components(hidden)),
    }
    checks = [
        Check("mean best cosine, two largest kept", found["top"], least=0.95),
        Check("mean best cosine, principal components", found["components"], least=0.95, control=True),
        Check("mean best cosine, random directions", found["random"], least=0.95, control=True),
    ]
    if not lab.quick:
        penalised = (sparse_directions(hidden, "relu", penalty, lab) for penalty in PENALTIES)
        found["penalty"] = max(mean_cosine(truth, one) for one in penalised)
        checks.append(Check("mean best cosine, relu and penalty", found["penalty"], least=0.95))
    return Finding(checks, {"cosines": found, "matrix": beside(truth, top)})


def hidden_vectors(weights: Array, rng: np.random.Generator) -> Array:
    """What the network's hidden layer holds for random features that are not all 0: (N, DIMENSIONS)."""
    x = rng.random((20_000, FEATURES)) * (rng.random((20_000, FEATURES)) < DENSITY)
    return np.asarray(x[x.any(1)] @ weights.T)


def sparse_directions(hidden: Array, kind: str, penalty: float, lab: Lab) -> Array:
    """The features that an autoencoder finds: (DIMENSIONS, FOUND), each of length 1."""
    kept = 2 if kind == "topk" else FOUND
    recipe = Recipe(kind, FOUND, kept, penalty, lab.pick(1_000, 5_000), 512, 3e-3, lab.seed)
    scaled = hidden / np.sqrt((hidden**2).mean())
    return train_autoencoder(scaled, recipe)["W_dec"]


def components(hidden: Array) -> Array:
    """Principal components, in both directions."""
    axes = np.linalg.svd(hidden - hidden.mean(0), full_matrices=False)[2].T
    return np.concatenate([axes, -axes], 1)


def mean_cosine(truth: Array, directions: Array) -> float:
    """Over the true features, the mean of the largest cosine with one of the directions."""
    return float((truth.T @ directions).max(1).mean())


def beside(truth: Array, directions: Array) -> list[list[float]]:
    """The cosines of some true features with the directions that are nearest to them."""
    nearest = (truth.T @ directions).argmax(1)[:SHOWN]
    return [[float(one) for one in row] for row in truth.T[:SHOWN] @ directions[:, nearest]]


def picture(seeds: Sequence[Series]) -> Sequence[Panel]:
    shown = [key for key in NAMES if key in seeds[0]["cosines"]]
    values = [[one["cosines"][key] for one in seeds] for key in shown]
    grey = [NAMES["random"], NAMES["components"]]
    labels = [str(i + 1) for i in range(SHOWN)]
    title = f"{FEATURES} features in {DIMENSIONS} dimensions"
    return [
        Bars(title, "mean best cosine", [NAMES[key] for key in shown], values, grey, [Mark(0.95, "claimed")]),
        Heat("Cosines, first seed", "nearest feature found", "true feature", labels, labels, seeds[0]["matrix"], ".1f"),
    ]
