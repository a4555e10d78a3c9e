"""Layer by layer a white-box transformer compresses its tokens and makes them sparse.

Yu et al. 2023 (CRATE): attention whose queries, keys and values are one projection U is a step that lowers the coding
rate of the tokens, and the MLP is a step of sparse coding (ISTA). The claim: the rate falls and the sparsity rises with
depth, because of training, and the accuracy is close to that of a usual vision transformer (79.5 % on ImageNet for the
base size). Here: pictures of 8 × 8 dots, ten glyphs at random with noise and shifts, 16 patches, 6 layers 32 wide; the
usual transformer beside it has as many parameters.

That training does it is a check of its own: more layers must do their part than in the same network before training.
(At first the untrained network was the control, and with one seed of three it passed, so that the experiment said
nothing about the rest.) Control: a network that was trained on shuffled labels must not come close in accuracy.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from handloom.core.arrays import Array
from handloom.lab.experiment import Check, Claim, Finding, Lab, Series
from handloom.view.figures.panels import Bars, Lines, Mark, Panel, band

if TYPE_CHECKING:
    from torch import Tensor

CLAIM = Claim(
    name="crate",
    says="in a white-box transformer the coding rate falls and the sparsity rises layer by layer",
    source="Yu et al. 2023",
    papers=("2311.13110",),
    seed="Bukatin",
    number="both monotone over most layers; accuracy close to a usual transformer's",
    quick=2.9,
    full=35,
)
CLASSES, SIDE, PATCH, WIDTH, LAYERS, HEADS = 10, 8, 2, 32, 6, 4
STEP, THRESHOLD, EPS = 0.1, 0.1, 0.5  # of ISTA, and of the rate
NOISE = 0.35

Labels = Callable[[Array, np.random.Generator], Array]  # of the pictures' classes, those that are taught


def run(lab: Lab) -> Finding:
    steps = lab.pick(40, 1500)
    glyphs = lab.rng(1).random((CLASSES, SIDE, SIDE)) < 0.5
    test = pictures(glyphs, 2_000, lab.rng(2))
    crate, before, usual = (
        train(kind, count, glyphs, lab) for kind, count in (("crate", steps), ("crate", 0), ("usual", steps))
    )
    mistaught = train("crate", steps, glyphs, lab, labels=shuffled)
    trained, untrained = (measures(net, test[0][:300]) for net in (crate, before))
    right, theirs, by_chance = (accuracy(net, test) for net in (crate, usual, mistaught))
    return Finding(
        checks=[
            Check("layers of 6 that lower the rate", falls(trained[0]), least=5, form=".0f"),
            lab.in_time(Check("layers of 5 that make tokens sparser", falls(trained[1]), least=4, form=".0f")),
            lab.in_time(
                Check("of these 11, those that do it since training", gained(trained, untrained), least=1, form=".0f")
            ),
            lab.in_time(Check("accuracy less the usual transformer's", right - theirs, least=-0.05)),
            Check("the same, taught shuffled labels", by_chance - theirs, least=-0.05, control=True),
        ],
        series={
            "rate": trained[0],
            "nonzero": trained[1],
            "rate before": untrained[0],
            "nonzero before": untrained[1],
            "accuracy": [right, theirs, by_chance],
        },
    )


def gained(trained: Sequence[Sequence[float]], untrained: Sequence[Sequence[float]]) -> int:
    """How many more layers do their part after training than before, in both measures."""
    return sum(falls(after) - falls(before) for after, before in zip(trained, untrained, strict=True))


def falls(values: Sequence[float]) -> int:
    return sum(later < earlier for earlier, later in pairwise(values))


def pictures(glyphs: Array, count: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Glyphs shifted by up to one dot, with noise, as patches (B, 16, 4); and which they are."""
    which = rng.integers(0, CLASSES, count)
    shifts = rng.integers(-1, 2, (count, 2))
    drawn = np.stack([np.roll(glyphs[c], tuple(s), (0, 1)) for c, s in zip(which, shifts, strict=True)]).astype(float)
    drawn += NOISE * rng.normal(size=drawn.shape)
    cut = drawn.reshape(count, SIDE // PATCH, PATCH, SIDE // PATCH, PATCH).swapaxes(2, 3)
    return cut.reshape(count, -1, PATCH * PATCH), which


def make(kind: str, seed: int) -> dict[str, "Tensor"]:
    """The weights. A layer of CRATE has U, an output and a dictionary; a usual one has Q, K, V, output and an MLP, so
    it has fewer layers for as many parameters: 2 of 8 · width² against 6 of 3 · width²."""
    import torch

    rng = torch.Generator().manual_seed(seed)
    layers = LAYERS if kind == "crate" else LAYERS * 3 // 8
    names = ("U", "O", "D") if kind == "crate" else ("Q", "K", "V", "O", "in1", "in2", "out1", "out2")

    def matrix(*shape: int) -> "Tensor":
        return (torch.randn(shape, generator=rng) * shape[0] ** -0.5).requires_grad_()

    weights = {f"{i}.{name}": matrix(WIDTH, WIDTH) for i in range(layers) for name in names}
    tokens = (SIDE // PATCH) ** 2
    return weights | {
        "embed": matrix(PATCH * PATCH, WIDTH),
        "pos": matrix(tokens, WIDTH),
        "read": matrix(WIDTH, CLASSES),
    }


def forward(weights: dict[str, "Tensor"], x: "Tensor") -> tuple["Tensor", list[tuple["Tensor", "Tensor", "Tensor"]]]:
    """The scores of the classes, and for each layer of CRATE the tokens before it, after attention, and after it."""
    import torch
    from torch.nn import functional as F

    z, seen = x @ weights["embed"] + weights["pos"], []
    for i in range(sum(name.endswith(".O") for name in weights)):
        start, normed = z, F.layer_norm(z, (WIDTH,))
        if f"{i}.U" in weights:
            u = heads(normed @ weights[f"{i}.U"])
            z = z + joined(F.scaled_dot_product_attention(u, u, u)) @ weights[f"{i}.O"]
            middle, D = F.layer_norm(z, (WIDTH,)), weights[f"{i}.D"]
            z = F.relu(middle + STEP * (middle - middle @ D.T) @ D - STEP * THRESHOLD)
            seen.append((start, middle, z))
        else:
            q, k, v = (heads(normed @ weights[f"{i}.{name}"]) for name in "QKV")
            z = z + joined(F.scaled_dot_product_attention(q, k, v)) @ weights[f"{i}.O"]
            wide = torch.cat([weights[f"{i}.in1"], weights[f"{i}.in2"]], 1)
            back = torch.cat([weights[f"{i}.out1"], weights[f"{i}.out2"]], 0)
            z = z + F.gelu(F.layer_norm(z, (WIDTH,)) @ wide) @ back
    return F.layer_norm(z, (WIDTH,)).mean(1) @ weights["read"], seen


def heads(x: "Tensor") -> "Tensor":
    return x.unflatten(-1, (HEADS, -1)).transpose(1, 2)


def joined(x: "Tensor") -> "Tensor":
    return x.transpose(1, 2).flatten(2)


def true(which: Array, rng: np.random.Generator) -> Array:
    return which


def shuffled(which: Array, rng: np.random.Generator) -> Array:
    return rng.permutation(which)


def train(kind: str, steps: int, glyphs: Array, lab: Lab, labels: Labels = true) -> dict[str, "Tensor"]:
    import torch
    from torch.nn import functional as F

    weights, rng = make(kind, lab.seed), lab.rng(3)
    adam = torch.optim.Adam(weights.values(), 2e-3)
    for step in range(steps):
        x, which = pictures(glyphs, 64, rng)
        scores, _ = forward(weights, torch.tensor(x, dtype=torch.float32))
        adam.zero_grad()
        F.cross_entropy(scores, torch.tensor(labels(which, rng))).backward()
        adam.step()
        lab.progress(step, steps)
    return weights


def accuracy(weights: dict[str, "Tensor"], test: tuple[Array, Array]) -> float:
    import torch

    with torch.no_grad():
        scores, _ = forward(weights, torch.tensor(test[0], dtype=torch.float32))
    return float((scores.argmax(-1).numpy() == test[1]).mean())


def measures(weights: dict[str, "Tensor"], x: Array) -> tuple[list[float], list[float]]:
    """At the start and after each layer's attention, the rate as that layer sees it; after each layer, the share of
    entries that are not 0."""
    import torch

    with torch.no_grad():
        _, seen = forward(weights, torch.tensor(x, dtype=torch.float32))
        subspaces: list[Any] = [weights[f"{i}.U"] for i in range(LAYERS)]
        rates = [rate(seen[0][0], subspaces[0])] + [rate(seen[i][1], subspaces[i]) for i in range(LAYERS)]
        nonzero = [float((after > 0).float().mean()) for _, _, after in seen]
    return rates, nonzero


def rate(z: "Tensor", U: "Tensor") -> float:
    """The coding rate of tokens (B, n, D) against the subspaces of the heads: ½ Σ log det(I + p/(n ε²) zᵀz), a mean."""
    import torch
    from torch.nn import functional as F

    parts = heads(F.layer_norm(z, (WIDTH,)) @ U)  # (B, H, n, p)
    n, p = parts.shape[-2:]
    gram = parts.transpose(-1, -2) @ parts * p / (n * EPS**2)
    return float(0.5 * torch.logdet(torch.eye(p) + gram).sum(-1).mean())


def picture(seeds: Sequence[Series]) -> Sequence[Panel]:
    def panel(name: str, title: str, y: str) -> Panel:
        layers = range(len(seeds[0][name]))
        curves = [
            band("trained", layers, [one[name] for one in seeds]),
            band("before training", layers, [one[f"{name} before"] for one in seeds], control=True),
        ]
        return Lines(title, "layer", y, curves)

    names = ["white-box", "usual", "labels shuffled"][: len(seeds[0]["accuracy"])]
    accuracies = [[one["accuracy"][i] for one in seeds] for i in range(len(names))]
    return [
        panel("rate", "Coding rate after attention", "nats"),
        panel("nonzero", "Sparsity after ISTA", "share not 0"),
        Bars("Accuracy", "share right", names, accuracies, names[1:], [Mark(1 / CLASSES, "a guess")]),
    ]
