"""A layer that multiplies its inputs needs far fewer parameters than one that concatenates them.

Jayakumar et al. 2020 (multiplicative interactions): functions such as xᵀWz are exact in a bilinear layer, and need many
hidden units of an MLP on the concatenation [x, z]. Bukatin's slides cite it for attention, whose scores are bilinear.
Here x and z have 6 dimensions, W is random, and MLPs of one hidden layer with 8 to 512 units are trained alike on fresh
data; the bound is an error of 1 % of the variance. Control: for a target that is a sum, u · x + v · z, the bilinear
layer must fail.
"""

from collections.abc import Callable, Sequence

import numpy as np

from handloom.core.arrays import Array
from handloom.lab.experiment import Check, Claim, Finding, Lab, Series
from handloom.view.figures.panels import Lines, Mark, Panel, band

CLAIM = Claim(
    name="multiplicative",
    says="a bilinear layer needs at most a tenth of the parameters that an MLP of [x, z] needs for xᵀWz",
    source="Jayakumar et al. 2020",
    seed="Bukatin",
    number="many more units (no number)",
    quick=2.3,
    full=30,
)
D, ENOUGH, BATCH, RATE = 6, 0.01, 256, 1e-2
Target = Callable[[Array, Array], Array]


def run(lab: Lab) -> Finding:
    widths, steps = lab.pick((16, 64, 256), (8, 16, 32, 64, 128, 256, 512)), lab.pick(700, 2500)
    rng = lab.rng()
    W, u, v = rng.normal(size=(D, D)), rng.normal(size=D), rng.normal(size=D)
    product, total = (lambda x, z: np.einsum("bi,ij,bj->b", x, W, z)), (lambda x, z: x @ u + z @ v)
    mine = error(0, product, steps, lab)
    errors = {}
    for i, width in enumerate(widths):
        lab.progress(i, len(widths))
        errors[width] = error(width, product, steps, lab)
    needed = min((parameters(width) for width, found in errors.items() if found <= ENOUGH), default=None)
    more = (needed or 2 * parameters(widths[-1])) / parameters(0)  # if none is enough, more than the largest
    return Finding(
        checks=[
            Check("bilinear layer: error", mine, most=ENOUGH, form=".1e"),
            Check("parameters of the MLP over its own", more, least=10.0),
            Check("bilinear layer: error on a sum", error(0, total, steps // 2, lab), most=ENOUGH, control=True),
        ],
        series={"points": [[parameters(w), found] for w, found in errors.items()], "bilinear": [parameters(0), mine]},
    )


def parameters(width: int) -> int:
    """Of an MLP of that width with biases; 0 is the bilinear layer."""
    return width * (2 * D + 2) + 1 if width else D * D


def error(width: int, target: Target, steps: int, lab: Lab) -> float:
    """The mean squared error after training, as a share of the target's variance."""
    import torch

    torch.manual_seed(lab.seed)
    net: torch.nn.Module = torch.nn.Bilinear(D, D, 1, bias=False)
    if width:
        net = torch.nn.Sequential(torch.nn.Linear(2 * D, width), torch.nn.ReLU(), torch.nn.Linear(width, 1))
    adam = torch.optim.Adam(net.parameters(), RATE)
    falling = torch.optim.lr_scheduler.CosineAnnealingLR(adam, steps, RATE / 20)
    rng = lab.rng(width, steps)

    def squares(count: int) -> "torch.Tensor":
        x, z = rng.normal(size=(count, D)), rng.normal(size=(count, D))
        y = torch.tensor(target(x, z), dtype=torch.float32)
        both = [torch.tensor(one, dtype=torch.float32) for one in (x, z)]
        out: torch.Tensor = net(torch.cat(both, -1)) if width else net(*both)
        return (out[:, 0] - y).square().mean() / y.var()

    for _ in range(steps):
        adam.zero_grad()
        squares(BATCH).backward()
        adam.step()
        falling.step()
    with torch.no_grad():
        return float(squares(20_000))


def picture(seeds: Sequence[Series]) -> Sequence[Panel]:
    sizes = [size for size, _ in seeds[0]["points"]]
    mine = [[max(one["bilinear"][1], 1e-6)] for one in seeds]
    curves = [
        band("MLP of [x, z]", sizes, [[found for _, found in one["points"]] for one in seeds]),
        band("bilinear layer", [parameters(0)], mine),
    ]
    mark = Mark(ENOUGH, "1 % of the variance")
    return [Lines("xᵀWz, 6 + 6 inputs", "parameters", "error / variance", curves, [mark], log_x=True, log_y=True)]
