"""More features than dimensions: a small network stores sparse features in superposition, five in two as a pentagon.

Elhage et al. 2022, "Toy models of superposition": x of n features, each 0 with probability S and else uniform, is
squeezed to m dimensions and back, x' = relu(WᵀW x + b). Without sparsity the network keeps m features, one for each
dimension. The sparser they are, the more it keeps, in directions that are no longer orthogonal: ‖W‖² / m, the features
per dimension, rises from 1 (to more than n / m, since sparse features have lengths above 1). Five features in two
dimensions form a regular pentagon. The sizes are of the paper's order (n = 20, m = 5); all features count the same.
Bukatin's slides name the work that followed.

The control leaves out the relu: a linear network must not have more features than dimensions, however sparse.

A full run keeps the sparsest network as a Model, for `read`, which has few models whose true features are known. Its
embedding, tied, is W; one head that sees all tokens alike adds their mean to the last one. So x are the shares of the
tokens in a string, and 1 more for the last; the stream is W x, and the logits are WᵀW x + b, of which the network takes
the relu.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from handloom.core import Config, Model, Vocab, params
from handloom.core.arrays import Array
from handloom.lab.experiment import Check, Claim, Finding, Lab, Series
from handloom.view.figures.panels import Dots, Lines, Mark, Panel, band

CLAIM = Claim(
    name="superposition",
    says="the sparser its features, the more of them a network stores per dimension; five in two form a pentagon",
    source="Elhage et al. 2022",
    papers=("2209.10652",),
    seed="Bukatin",
    number="features per dimension rise from 1 (from memory)",
    quick=3.5,
    full=20,
)
FEATURES, DIMENSIONS = 20, 5
DENSITIES = (1.0, 0.5, 0.3, 0.1, 0.05, 0.02)  # the probability 1 − S that a feature is not 0
STARTS = 4  # networks for each density, of which the best counts
KEPT = 0.25  # squared length from which on a feature counts as stored


def run(lab: Lab) -> Finding:
    total, found, stored = lab.pick(300, 5_000), {}, {}
    for done, bent in enumerate((True, False)):
        found[bent] = best(trained(FEATURES, DIMENSIONS, DENSITIES, total, lab.seed, bent))
        stored[bent] = [float((w**2).sum() / DIMENSIONS) for w, _ in found[bent]]
        lab.progress(done + 1, 3)
    pentagon, _ = best(trained(5, 2, (0.05,), total, lab.seed, bent=True))[0]
    checks = [
        Check("features per dimension, none sparse", stored[True][0], most=1.1, said=1.0),
        Check("features per dimension, sparsest", stored[True][-1], least=1.5),
        Check("least rise from one density to the next", float(np.diff(stored[True]).min()), least=-0.05),
        Check("farthest angle of the pentagon from 72°", off_pentagon(pentagon), most=5.0),
        Check("features per dimension, sparsest, linear", stored[False][-1], least=1.5, control=True),
    ]
    series = {"bent": stored[True], "linear": stored[False], "pentagon": pentagon.T.tolist()}
    return Finding(checks, series, {"model": as_model(*found[True][-1])})


def trained(
    features: int, dimensions: int, densities: Sequence[float], total: int, seed: int, bent: bool
) -> tuple[Array, Array, Array]:
    """W (densities, STARTS, dimensions, features) and b after training, all at once, and the loss of each."""
    rng = torch.Generator().manual_seed(seed)
    shape = (len(densities), STARTS)
    w = (torch.randn(*shape, dimensions, features, generator=rng) * features**-0.5).requires_grad_()
    b = torch.zeros(*shape, features, requires_grad=True)
    adam = torch.optim.Adam([w, b], lr=1e-2)
    chances = torch.tensor(densities)[:, None, None, None]
    mean = torch.zeros(shape)
    for step in range(total):
        for group in adam.param_groups:
            group["lr"] = 1e-2 * (1 - step / total)
        x = torch.rand(*shape, 256, features, generator=rng)
        x = x * (torch.rand(x.shape, generator=rng) < chances)
        loss = (reconstructed(x, w, b, bent) - x).pow(2).sum(-1).mean(-1)
        adam.zero_grad()
        loss.sum().backward()
        adam.step()
        mean += loss.detach() if step >= 0.9 * total else 0.0
    return w.detach().numpy(), b.detach().numpy(), mean.numpy()


def reconstructed(x: Tensor, w: Tensor, b: Tensor, bent: bool) -> Tensor:
    """relu(WᵀW x + b), or the same without relu, for x (…, N, features)."""
    y = x @ w.transpose(-1, -2) @ w + b[..., None, :]
    return torch.relu(y) if bent else y


def best(found: tuple[Array, Array, Array]) -> list[tuple[Array, Array]]:
    """Of each density, W and b with the least loss."""
    return [(w[loss.argmin()], b[loss.argmin()]) for w, b, loss in zip(*found, strict=True)]


def as_model(w: Array, b: Array) -> Model:
    """The network as a Model: its logits are WᵀW x + b, where x are the shares of the tokens so far, and 1 more for the
    last of them."""
    dimensions, features = w.shape
    config = Config(
        vocab=features,
        block=4 * features,
        d_model=dimensions,
        layers=1,
        heads=1,
        d_head=dimensions,
        norm="none",
        positions="none",
        biases=("unembed",),
    )
    p = params.zeros(config)
    p["W_E"], p["b_U"] = w.T.astype(float), b.astype(float)
    p["layers"][0]["W_V"][0] = p["layers"][0]["W_O"][0] = np.eye(dimensions)
    return Model(config, p, Vocab.numbers(features), {"made": "trained", "about": "features in superposition"})


def off_pentagon(w: Array) -> float:
    """The largest difference, in degrees, of an angle between neighbours in the plane from 72°; 180 if a feature is not
    stored."""
    if (w**2).sum(0).min() < KEPT:
        return 180.0
    angles = np.sort(np.degrees(np.arctan2(w[1], w[0])))
    gaps = np.diff(np.append(angles, angles[0] + 360.0))
    return float(np.abs(gaps - 72.0).max())


def picture(seeds: Sequence[Series]) -> Sequence[Panel]:
    sparse = [1 / density for density in DENSITIES]
    curves = [
        band("relu", sparse, [one["bent"] for one in seeds]),
        band("linear", sparse, [one["linear"] for one in seeds], control=True),
    ]
    groups = {f"seed {i}": [tuple(point) for point in one["pentagon"]] for i, one in enumerate(seeds)}
    title = f"{FEATURES} features in {DIMENSIONS} dimensions"
    mark = [Mark(1.0, "one per dimension")]
    return [
        Lines(title, "1 / (1 − S): sparser to the right", "‖W‖² / m", curves, mark, log_x=True),
        Dots("Five features in two dimensions", "", "", groups, equal=True),
    ]
