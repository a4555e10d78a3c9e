"""A class seen a few times has small outputs everywhere, but its largest outputs are still on the right pictures.

Jaghouar et al. 2022, with Mehlig, have a picture of ranked traffic signs: a network that saw a sign a few times never
gives it as its answer, and yet the pictures ranked first in that sign's output are that sign, so one can look for rare
signs in new data. Here a sign is a random picture of 8 × 8 with noise. Ten classes have 1,000 pictures each, ten others
have 1, 2, 5 or 10. Of 4,000 new pictures, 200 of each class, the ten with the largest output of each rare class are
looked at.

There are ten rare classes for a reason. With one, the network ranks its pictures first even if it has seen none of
them: they look like nothing known. That is the control here, ten classes never seen, and with other strange classes
about it must fail.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from handloom.lab.experiment import Check, Claim, Finding, Lab, Series
from handloom.view.figures.panels import Lines, Mark, Panel, band

CLAIM = Claim(
    name="few-shot-rare",
    says="the largest outputs for a rarely seen class are on pictures of it, although all are small",
    source="Jaghouar et al. 2022",
    seed="Mehlig",
    number="a picture of ranked traffic signs",
    quick=2.6,
    full=2,
)
CLASSES, PIXELS = 10, 64  # frequent classes, and as many rare ones
NOISE = 1.5  # standard deviation; pixels are ±1
SEEN = (0, 1, 2, 5, 10)
CLAIMED = 5  # pictures at which the claim is checked


def run(lab: Lab) -> Finding:
    rows = []
    for done, seen in enumerate(SEEN):
        rows.append(ranked(seen, lab))
        lab.progress(done + 1, len(SEEN))
    precision, outputs, answered = map(list, zip(*rows, strict=True))
    at = SEEN.index(CLAIMED)
    checks = [
        Check(f"right among the ten first, {CLAIMED} seen", precision[at], least=0.8, form=".1%"),
        Check(f"median output for its own pictures, {CLAIMED} seen", outputs[at], most=0.5),
        Check(f"pictures answered with it, {CLAIMED} seen", answered[at], most=0.5, form=".1%"),
        Check("right among the ten first, none seen", precision[0], least=0.8, control=True, form=".1%"),
    ]
    return Finding(checks, {"seen": list(SEEN), "precision": precision, "output": outputs, "answered": answered})


def ranked(seen: int, lab: Lab) -> tuple[float, float, float]:
    """Over the rare classes: the share of right pictures among the ten first, the median output for its own pictures,
    and the share of them for which it is the answer."""
    rng = torch.Generator().manual_seed(lab.seed)
    signs = torch.randint(0, 2, (2 * CLASSES, PIXELS), generator=rng) * 2.0 - 1.0
    counts = [lab.pick(500, 1_000)] * CLASSES + [seen] * CLASSES
    labels = torch.arange(2 * CLASSES).repeat_interleave(torch.tensor(counts))
    outputs = trained(drawn(signs, labels, rng), labels, 10, rng)
    new = torch.arange(2 * CLASSES).repeat_interleave(200)
    with torch.no_grad():
        shares = outputs(drawn(signs, new, rng)).softmax(-1)
    rare = torch.arange(CLASSES, 2 * CLASSES)
    first = shares[:, rare].argsort(0, descending=True)[:10]  # (10, CLASSES)
    own = torch.stack([shares[new == one, one] for one in rare])
    right = torch.stack([shares[new == one].argmax(-1) == one for one in rare])
    return float((new[first] == rare).float().mean()), float(own.median()), float(right.float().mean())


def drawn(signs: Tensor, labels: Tensor, rng: torch.Generator) -> Tensor:
    """A picture with noise for each label."""
    return signs[labels] + NOISE * torch.randn(len(labels), PIXELS, generator=rng)


def trained(pictures: Tensor, labels: Tensor, epochs: int, rng: torch.Generator) -> nn.Module:
    """A network with one hidden layer, trained on these pictures."""
    torch.manual_seed(rng.initial_seed())
    net = nn.Sequential(nn.Linear(PIXELS, 64), nn.ReLU(), nn.Linear(64, 2 * CLASSES))
    adam = torch.optim.Adam(net.parameters(), lr=1e-3)
    for _ in range(epochs):
        for batch in torch.randperm(len(labels), generator=rng).split(100):
            adam.zero_grad()
            nn.functional.cross_entropy(net(pictures[batch]), labels[batch]).backward()
            adam.step()
    return net


def picture(seeds: Sequence[Series]) -> Sequence[Panel]:
    names = {
        "precision": "right among the ten first",
        "output": "median output, own pictures",
        "answered": "own pictures answered with it",
    }
    curves = [band(name, seeds[0]["seen"], [one[key] for one in seeds]) for key, name in names.items()]
    marks = [Mark(0.8, "claimed: first above"), Mark(0.5, "output below")]
    return [Lines("Ten rare classes beside ten frequent ones", "pictures seen of each", "share", curves, marks)]
