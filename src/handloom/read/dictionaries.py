"""Dictionaries: sparse autoencoders on one site of a model, and whether they find the directions that are known.

    found = read.dictionary("compiled/induction", "1.resid_pre")
    found.matched                           # share of the model's named directions that some feature has found

A sparse autoencoder writes each vector of a site as a sum of few features, each a direction with an amount ≥ 0:

    f = relu(W_enc (x − b) + b_enc)         kind "relu": trained with a penalty on the sum of all f (L1)
                                            kind "topk": of these only the k largest, the others 0
    x ≈ b + W_dec f                         the columns of W_dec, features, have length 1

(Bricken et al. 2023; Cunningham et al. 2023; Gao et al. 2024, for top-k.) Vectors are first scaled so that their mean
squared length, without their mean, is the width of the site. What is measured, on inputs that were not trained on:

- `active` (L0): the mean number of features that are not 0. `dead`: how many never are.
- `explained`: the share of the variance that the reconstruction keeps.
- `recovered`: the reconstruction takes the site's place in a run. With the divergence KL(before ‖ after) of the model's
  output, this is 1 − KL / KL of the run in which the site has its mean; `same` is the share of equal likeliest tokens.
- `cosines`: for each direction that the model's notes name, the largest cosine with a feature, of either sign. A name
  may stand for several dimensions, as a token or an angle does; the cosine is then that with the nearest vector among
  them. Only directions along which the site varies count. `matched` is the share with a cosine of 0.9 or more.
- `chance`, `components`: the same share for as many random directions, on average, and for principal components. In a
  stream of few dimensions random directions match too, so `matched` says nothing unless it is above both.

On language models nobody knows the directions, so that the last three cannot be measured there.
"""

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from handloom.core import HandloomError, Model
from handloom.core.arrays import Array, Arrays
from handloom.core.checks import whole
from handloom.core.errors import shown
from handloom.core.finding import find
from handloom.core.reference import forward
from handloom.core.registry import offered
from handloom.core.sites import match, sites
from handloom.read.known_directions import Known, best_cosines, known_directions, varying
from handloom.tasks import Learnable, Task, task_of

Kind = Literal["relu", "topk"]
Rows = Sequence[Sequence[int]]

DRAWN = 600  # inputs drawn from a model's task
HELD_OUT = 4  # one input of this many is measured on
MATCH = 0.9  # least cosine of a match
RANDOM = 20  # sets of random directions
BETAS = (0.9, 0.999)  # of Adam


@dataclass(frozen=True)
class Dictionary:
    """What a sparse autoencoder found at a site."""

    site: str
    kind: str
    features: int
    active: float
    dead: int
    explained: float
    recovered: float
    same: float
    cosines: Mapping[str, float]
    matched: float | None  # None if no direction that varies here has a name
    chance: float | None
    components: float | None
    seconds: float
    match: float = MATCH  # least cosine of a match
    autoencoder: "Autoencoder | None" = field(default=None, repr=False)

    def __str__(self) -> str:
        lines = [
            f"{self.site}, {self.kind}: {self.features} features, {self.active:.1f} active, {self.dead} dead",
            f"variance explained {self.explained:.1%}, loss recovered {self.recovered:.1%}, "
            f"same output {self.same:.1%}",
        ]
        if self.matched is not None:
            lines += [
                f"named directions matched {self.matched:.0%} (random {self.chance:.0%}, "
                f"principal components {self.components:.0%})",
                *(f"  {name:<20} {cosine:.3f}" for name, cosine in self.cosines.items()),
            ]
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        kept = {name: value for name, value in vars(self).items() if name != "autoencoder"}
        return kept | {"cosines": dict(self.cosines)}

    def _repr_html_(self) -> str | None:
        """What a notebook shows."""
        return offered("html")(self)


@dataclass(frozen=True)
class Recipe:
    """How an autoencoder is trained."""

    kind: str
    features: int
    kept: int  # features of a vector that may differ from 0: k, or all
    l1: float
    steps: int
    batch: int
    rate: float
    seed: int


@dataclass(frozen=True)
class Autoencoder:
    """A trained autoencoder, and the mean and the size of the vectors that it was trained on."""

    weights: Arrays  # W_enc (features, n), b_enc, W_dec (n, features), b_dec
    kept: int
    mean: Array
    size: float

    def coded(self, x: Array) -> tuple[Array, Array]:
        """The features of vectors (N, n) of the site, and the vectors as reconstructed from them."""
        f = amounts(self.weights, (x - self.mean) / self.size, self.kept)
        return f, np.asarray((f @ self.weights["W_dec"].T + self.weights["b_dec"]) * self.size + self.mean)


def dictionary(
    model: Model | str | os.PathLike[str],
    site: str,
    rows: Rows | None = None,
    kind: Kind = "topk",
    features: int | None = None,
    k: int = 4,
    l1: float = 0.2,
    steps: int = 3_000,
    batch: int = 512,
    rate: float = 3e-3,
    seed: int = 0,
) -> Dictionary:
    """Train a sparse autoencoder on a site of a model and measure it. `rows` are inputs as token ids, by default drawn
    from the model's task; `features` is by default four times the width of the site. `k` is for "topk", `l1` for
    "relu"."""
    started = time.monotonic()
    model, folder = find(model)
    if kind not in get_args(Kind):
        raise HandloomError(f"dictionary: no kind {shown(kind)} (expected one of {', '.join(get_args(Kind))})")
    inputs = drawn(model, task_of(model, folder), seed) if rows is None else [Input(list(row)) for row in rows]
    check_site(model, site, inputs)
    x = values_at(model, site, [one for i, one in enumerate(inputs) if i % HELD_OUT])
    features = 4 * x.shape[1] if features is None else whole("features", features, 1)
    kept = min(whole("k", k, 1), features) if kind == "topk" else features
    mean = x.mean(0)
    size = float(np.sqrt(((x - mean) ** 2).mean())) or 1.0
    recipe = Recipe(kind, features, kept, l1, whole("steps", steps, 1), whole("batch", batch, 1), rate, seed)
    found = Autoencoder(train_autoencoder((x - mean) / size, recipe), kept, mean, size)
    known = varying(known_directions(model), x) if sites(model.config)[site] == "TD" else []
    numbers: dict[str, Any] = measured(found, values_at(model, site, inputs[::HELD_OUT]))
    numbers |= output_effect(model, site, inputs[::HELD_OUT], found) | matches(found.weights["W_dec"], known, x, seed)
    seconds = time.monotonic() - started
    return Dictionary(site=site, kind=kind, features=features, seconds=seconds, autoencoder=found, **numbers)


class Input(NamedTuple):
    """A row of token ids, and the position from which on its output counts."""

    ids: list[int]
    first: int = 0


def drawn(model: Model, task: Learnable | None, seed: int) -> list[Input]:
    """Inputs of a task with their answers, as far as they are read; what predicts the answer counts."""
    if not isinstance(task, Task):
        raise HandloomError("dictionary: the model's task is not known, or has no questions; give rows of token ids")
    rng, block = np.random.default_rng(seed), model.config.block
    pairs = [task.pair(rng) for _ in range(DRAWN)]
    return [Input([*asked, *answer[:-1]][:block], max(0, len(asked) - 1)) for asked, answer in pairs]


def check_site(model: Model, site: str, inputs: Sequence[Input]) -> None:
    """Raise an error if a site has no vectors of one width, or if there are too few inputs."""
    wide = {name: letters for name, letters in sites(model.config).items() if letters[-1] in "DFKV"}
    if match(site, wide) != [site]:
        raise HandloomError(f"dictionary: {shown(site)} stands for several sites (expected one); name it")
    if len(inputs) < 2 * HELD_OUT:
        raise HandloomError(f"dictionary: {len(inputs)} rows are too few (expected {2 * HELD_OUT} or more); give more")


def by_length(inputs: Sequence[Input]) -> Iterator[tuple[Array, Array]]:
    """Rows of one length, (B, T), and which positions count, (B, T)."""
    for length in sorted({len(one.ids) for one in inputs}):
        same = [one for one in inputs if len(one.ids) == length]
        counts = np.arange(length) >= np.array([one.first for one in same])[:, None]
        yield np.array([one.ids for one in same]), counts


def values_at(model: Model, site: str, inputs: Sequence[Input]) -> Array:
    """The vectors at a site, at all positions of all inputs: (N, n)."""
    return np.concatenate([as_vectors(forward(model, rows, [site])[1][site])[0] for rows, _ in by_length(inputs)])


def as_vectors(values: Array) -> tuple[Array, Callable[[Array], Array]]:
    """Values (B, T, n) of a site as vectors (B · T, n), and the inverse. Those of heads, (B, H, T, K), side by side."""
    if values.ndim == 3:
        return values.reshape(-1, values.shape[-1]), lambda new: new.reshape(values.shape)
    moved = np.moveaxis(values, 1, 2)  # (B, T, H, K)
    vectors = moved.reshape(moved.shape[0] * moved.shape[1], -1)
    return vectors, lambda new: np.moveaxis(new.reshape(moved.shape), 2, 1)


def train_autoencoder(x: Array, recipe: Recipe) -> Arrays:
    """Train an autoencoder with Adam on vectors (N, n), the rate falling to 0 in the last fifth of the steps. The
    gradients are written out: at these sizes that is faster than a library for it."""
    rng, x = np.random.default_rng(recipe.seed), x.astype(np.float32)
    start = rng.normal(size=(x.shape[1], recipe.features)).astype(np.float32)
    start /= np.linalg.norm(start, axis=0)
    zeros = [np.zeros(n, np.float32) for n in (recipe.features, x.shape[1])]
    weights: Arrays = {"W_enc": start.T.copy(), "b_enc": zeros[0], "W_dec": start, "b_dec": zeros[1]}
    means = {name: np.zeros_like(array) for name, array in weights.items()}
    squares = {name: np.zeros_like(array) for name, array in weights.items()}
    for step in range(1, recipe.steps + 1):
        rate = recipe.rate * min(1.0, (recipe.steps - step + 1) / (0.2 * recipe.steps))
        for name, slope in gradient(weights, x[rng.integers(0, len(x), recipe.batch)], recipe).items():
            means[name] += (1 - BETAS[0]) * (slope - means[name])
            squares[name] += (1 - BETAS[1]) * (slope * slope - squares[name])
            mean, square = means[name] / (1 - BETAS[0] ** step), squares[name] / (1 - BETAS[1] ** step)
            weights[name] -= rate * mean / (np.sqrt(square) + 1e-8)
        weights["W_dec"] /= np.maximum(np.linalg.norm(weights["W_dec"], axis=0), 1e-12)
    return {name: array.astype(np.float64) for name, array in weights.items()}


def gradient(weights: Arrays, x: Array, recipe: Recipe) -> Arrays:
    """The gradient of the mean squared error of vectors (B, n) and, for "relu", of the penalty."""
    f = amounts(weights, x, recipe.kept)
    error = (weights["b_dec"] + f @ weights["W_dec"].T - x) * (2 / len(x))  # (B, n)
    penalty = recipe.l1 / len(x) if recipe.kind == "relu" else 0.0
    back = np.where(f > 0, error @ weights["W_dec"] + penalty, 0)  # (B, features)
    return {
        "W_enc": back.T @ (x - weights["b_dec"]),
        "b_enc": back.sum(0),
        "W_dec": error.T @ f,
        "b_dec": error.sum(0) - back.sum(0) @ weights["W_enc"],
    }


def amounts(weights: Arrays, x: Array, kept: int) -> Array:
    """The features of scaled vectors (N, n), the `kept` largest of each: (N, features)."""
    f = np.maximum((x - weights["b_dec"]) @ weights["W_enc"].T + weights["b_enc"], 0)
    if kept < f.shape[1]:
        f[np.arange(len(f))[:, None], np.argpartition(-f, kept - 1, axis=1)[:, kept:]] = 0
    return np.asarray(f)


def measured(found: Autoencoder, x: Array) -> dict[str, Any]:
    f, rebuilt = found.coded(x)
    error, variance = ((rebuilt - x) ** 2).sum(), ((x - x.mean(0)) ** 2).sum()
    return {
        "active": float((f > 0).sum(1).mean()),
        "dead": int((~(f > 0).any(0)).sum()),
        "explained": float(1 - error / variance) if variance else 1.0,
    }


def output_effect(model: Model, site: str, inputs: Sequence[Input], found: Autoencoder) -> dict[str, float]:
    """How much of the output survives when the reconstruction takes the site's place."""

    def rebuilt(values: Array) -> Array:
        vectors, back = as_vectors(values)
        return back(found.coded(vectors)[1])

    def mean(values: Array) -> Array:
        vectors, back = as_vectors(values)
        return back(np.tile(found.mean, (len(vectors), 1)))

    lost, equal, count = np.zeros(2), 0, 0
    for rows, counts in by_length(inputs):
        runs = (forward(model, rows, (), edits)[0][counts] for edits in ({}, {site: rebuilt}, {site: mean}))
        clean, *changed = map(log_softmax, runs)
        lost += [(np.exp(clean) * (clean - one)).sum() for one in changed]
        equal += int((clean.argmax(-1) == changed[0].argmax(-1)).sum())
        count += len(clean)
    return {"recovered": float(1 - lost[0] / lost[1]) if lost[1] else 1.0, "same": equal / max(1, count)}


def log_softmax(logits: Array) -> Array:
    shifted = logits - logits.max(-1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(-1, keepdims=True)))


def matches(decoder: Array, known: Sequence[Known], x: Array, seed: int) -> dict[str, Any]:
    """The best cosine for each known direction, and the share matched, beside random directions and components."""
    if not known:
        return {"cosines": {}, "matched": None, "chance": None, "components": None}
    rng = np.random.default_rng(seed)
    components = np.linalg.svd(x - x.mean(0), full_matrices=False)[2].T  # (n, n)
    found = best_cosines(decoder, known)
    random = [best_cosines(np.asarray(rng.normal(size=decoder.shape)), known) for _ in range(RANDOM)]
    return {
        "cosines": {one.name: float(cosine) for one, cosine in zip(known, found, strict=True)},
        "matched": share_matched(found),
        "chance": float(np.mean([share_matched(one) for one in random])),
        "components": share_matched(best_cosines(components, known)),
    }


def share_matched(cosines: Array) -> float:
    return float((cosines >= MATCH).mean())
