"""Heads are bottlenecks of low rank: a head of width K computes matrices of rank K, and cannot have every pattern.

Bukatin's slides say that "low-rank bottlenecks are ubiquitous" (W_OV and W_QK of rank at most K), and Bhojanapalli et
al. 2020 that heads narrower than the sequence cannot express all attention patterns. Here both are decided exactly. A
pattern P is softmax of scores q · k of rank K if and only if log P, up to a number per row, has rank K, so the width
that a pattern needs is the rank of log P with its rows centred. Random patterns of T positions need T − 1. To look at
a given place is different: two numbers are enough for every such pattern, keys on a circle and queries pointing at
them; one number is not, as the largest score is then at an end of the line. These are the controls: width T − 2 for a
random pattern and width 1 for a place, with the smallest KL that gradient descent finds.

The picture has this KL for every width.
"""

from collections.abc import Sequence

import numpy as np

from handloom.core import Config, params
from handloom.core.arrays import Array
from handloom.core.reference import softmax
from handloom.lab.experiment import Check, Claim, Finding, Lab, Series
from handloom.view.figures.panels import Lines, Mark, Panel, band

CLAIM = Claim(
    name="rank",
    says="W_OV and W_QK have rank ≤ d_head; a head narrower than T − 1 cannot have every pattern of T positions",
    source="Elhage et al. 2021; Bhojanapalli et al. 2020",
    papers=("2002.07028",),
    seed="Bukatin",
    number="rank ≤ d_head; T − 1 (from memory)",
    quick=0.2,
    full=1,
)
T = 8  # positions
WIDTHS = tuple(range(1, T + 1))
D, K, HEADS = 24, 5, 4  # of the model whose heads are looked at
LOUD = 400.0  # length of the queries that point at a place
STARTS = 4  # of gradient descent, for every width


def run(lab: Lab) -> Finding:
    rng = lab.rng()
    ranks, together = ranks_of_heads(lab.seed)
    random = rng.dirichlet(np.ones(T), T)
    places = np.eye(T)[rng.permutation(T)]
    steps = lab.pick(1500, 6000)
    fits = {name: best_fits(P, steps, rng) for name, P in (("random", random), ("places", places))}
    needed = width_needed(random)
    return Finding(
        checks=[
            Check("largest rank of W_OV and W_QK, d_head = 5", max(ranks), most=K, said=K),
            Check("width that a random pattern of 8 positions needs", needed, least=T - 1, most=T - 1, said=T - 1),
            Check("KL of that width, written down", kl(random, exact_scores(random, needed)), most=1e-9, form=".1e"),
            Check(
                "KL of width 2 for any place, written down", kl(places, circle_scores(places)), most=1e-9, form=".1e"
            ),
            Check("rank of W_OV, all four heads together", together, most=K, control=True),
            Check(
                "KL of width 6 for the random one, best found",
                fits["random"][T - 3],
                most=1e-9,
                control=True,
                form=".1e",
            ),
            Check("KL of width 1 for any place, best found", fits["places"][0], most=1e-9, control=True, form=".1e"),
        ],
        series={"widths": list(WIDTHS), **fits},
    )


def ranks_of_heads(seed: int) -> tuple[list[int], int]:
    """The ranks of W_OV and W_QK of every head of a random model, and that of the heads' W_OV side by side."""
    config = Config(vocab=2, block=2, d_model=D, layers=1, heads=HEADS, d_head=K)
    layer = params.random(config, seed)["layers"][0]
    OV, QK = layer["W_V"] @ layer["W_O"], layer["W_Q"] @ np.swapaxes(layer["W_K"], -1, -2)
    return np.linalg.matrix_rank(np.concatenate([OV, QK])).tolist(), int(np.linalg.matrix_rank(OV.sum(0)))


def centred(scores: Array) -> Array:
    """Scores less their rows' means, which softmax does not see."""
    return scores - scores.mean(-1, keepdims=True)


def width_needed(P: Array) -> int:
    """The smallest rank of scores whose softmax is P. Scores are log P plus a number per row; centring them takes the
    number away and cannot raise the rank, so that no choice of numbers needs less than the centred ones."""
    return int(np.linalg.matrix_rank(centred(np.log(P))))


def exact_scores(P: Array, width: int) -> Array:
    """The scores of the best q and k of this width, in the sense of squares of scores."""
    U, sizes, V = np.linalg.svd(centred(np.log(P)))
    return (U[:, :width] * sizes[:width]) @ V[:width]


def circle_scores(P: Array) -> Array:
    """Scores of width 2 that look where each row of P has its 1: keys on a circle, queries that point at them."""
    angles = 2 * np.pi * np.arange(T) / T
    keys = np.stack([np.cos(angles), np.sin(angles)], axis=-1)  # (T, 2)
    scores: Array = LOUD * (P @ keys) @ keys.T
    return scores


def kl(P: Array, scores: Array) -> float:
    """Nats per row from a pattern to the softmax of scores."""
    logs = scores - scores.max(-1, keepdims=True)
    logs = logs - np.log(np.exp(logs).sum(-1, keepdims=True))
    own = np.log(P, out=np.zeros_like(P), where=P > 0)
    return float((P * (own - logs)).sum(-1).mean())


def best_fits(P: Array, steps: int, rng: np.random.Generator) -> list[float]:
    """For every width the smallest KL over some starts, by Adam on q and k. All widths are fitted at once: those that
    a width does not have are multiplied by 0."""
    mask = (np.arange(T) < np.array(WIDTHS)[:, None])[:, None, None, :]  # (widths, 1, 1, T)
    weights = rng.normal(0, 1, (2, len(WIDTHS), STARTS, T, T)) * mask
    first, second = np.zeros_like(weights), np.zeros_like(weights)
    for step in range(1, steps + 1):
        q, k = weights
        slope = (softmax(q @ np.swapaxes(k, -1, -2)) - P) / T
        gradient = np.stack([slope @ k, np.swapaxes(slope, -1, -2) @ q])
        first, second = 0.9 * first + 0.1 * gradient, 0.99 * second + 0.01 * gradient**2
        rate = 0.1 * (1 - step / steps) ** 0.5 / (1 - 0.9**step) * np.sqrt(1 - 0.99**step)
        weights -= rate * mask * first / (np.sqrt(second) + 1e-9)
    q, k = weights
    return [min(kl(P, one) for one in width) for width in q @ np.swapaxes(k, -1, -2)]


def picture(seeds: Sequence[Series]) -> Sequence[Panel]:
    widths = seeds[0]["widths"]
    names = {"random": "a random pattern", "places": "look at place p(t)"}
    curves = [
        band(words, widths, [[max(x, 1e-12) for x in one[name]] for one in seeds]) for name, words in names.items()
    ]
    marks = [Mark(T - 1, "T − 1 (Bhojanapalli et al. 2020)", "x"), Mark(2, "2: a circle", "x")]
    return [
        Lines(
            "Patterns of 8 positions", "width of the head", "smallest KL found, nats per row", curves, marks, log_y=True
        )
    ]
