"""A label that needs the future: a network that reads one way is at chance, one that reads both ways gets all right.

Mehlig's slides name bidirectional recurrent networks (Schuster and Paliwal 1997; Lipton et al. 2015) beside Google's
translation of 2016 (Wu et al.), whose first layer reads both ways. Translation itself is another experiment. Here the
label of place t is the exclusive or of the bits two places before and two after it. Attention is tried too, with
its mask and without. Nothing is scaled down: the claim is about what can be seen. As a check that reading one way is no
handicap in itself, the same network also learns the label that needs the past alone. The control reads the other way:
twice as many units, but only one direction.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from handloom.lab.experiment import Check, Claim, Finding, Lab, Series
from handloom.view.figures.panels import Bars, Mark, Panel

CLAIM = Claim(
    name="both-ways",
    says="reading both ways learns labels that need the future, where reading one way stays at chance",
    source="Schuster and Paliwal 1997; Lipton et al. 2015; Wu et al. 2016",
    papers=("1506.00019", "1609.08144"),
    seed="Mehlig",
    number="100 % and 50 %",
    quick=2.5,
    full=20,
)
LENGTH, REACH, WIDTH = 12, 2, 32
NAMES = {
    "past": "past label, one way",
    "one": "one way",
    "backwards": "backwards",
    "both": "both ways",
    "masked": "attention, masked",
    "open": "attention, not masked",
}


class Directed(nn.Module):
    """A GRU that reads forwards, both ways, or backwards."""

    def __init__(self, direction: str) -> None:
        super().__init__()
        self.direction, both = direction, direction == "both"
        self.cell = nn.GRU(2, WIDTH if both else 2 * WIDTH, batch_first=True, bidirectional=both)
        # neurons, because no line separates an exclusive or of what the two directions know
        self.out = nn.Sequential(nn.Linear(2 * WIDTH, 2 * WIDTH), nn.ReLU(), nn.Linear(2 * WIDTH, 2))

    def forward(self, x: Tensor) -> Tensor:
        if self.direction == "backwards":
            return self.out(self.cell(x.flip(1))[0].flip(1))
        return self.out(self.cell(x)[0])


class Attended(nn.Module):
    """One layer of attention and neurons, with learned positions."""

    def __init__(self, masked: bool) -> None:
        super().__init__()
        self.masked, width = masked, 2 * WIDTH
        self.embed, self.out = nn.Linear(2, width), nn.Linear(width, 2)
        self.positions = nn.Parameter(torch.randn(LENGTH, width) / 10)
        sizes = {"nhead": 4, "dim_feedforward": 2 * width, "dropout": 0.0, "batch_first": True, "norm_first": True}
        self.layer = nn.TransformerEncoderLayer(width, **sizes)  # type: ignore[arg-type]

    def forward(self, x: Tensor) -> Tensor:
        mask = nn.Transformer.generate_square_subsequent_mask(LENGTH) if self.masked else None
        return self.out(self.layer(self.embed(x) + self.positions, mask))


def run(lab: Lab) -> Finding:
    right = {}
    names = [name for name in NAMES if not lab.quick or name not in ("masked", "open")]
    for done, name in enumerate(names):
        right[name] = accuracy(network(name, lab.seed), name == "past", lab)
        lab.progress(done + 1, len(names))
    checks = [
        Check("future label, read both ways", right["both"], least=0.99, said=1.0, form=".1%"),
        Check("future label, read one way", right["one"], most=0.55, said=0.5, form=".1%"),
        Check("past label, read one way", right["past"], least=0.99, said=1.0, form=".1%"),
        Check("future label, attention not masked", right.get("open"), least=0.99, form=".1%"),
        Check("future label, attention masked", right.get("masked"), most=0.55, form=".1%"),
        Check("future label, read backwards", right["backwards"], least=0.99, control=True, form=".1%"),
    ]
    return Finding(checks, {"right": right})


def network(name: str, seed: int) -> nn.Module:
    torch.manual_seed(seed)
    if name in ("masked", "open"):
        return Attended(name == "masked")
    return Directed("one" if name == "past" else name)


def labelled(count: int, past: bool, rng: torch.Generator) -> tuple[Tensor, Tensor]:
    """Random bits as one-hot vectors, and the label of each place: of what is REACH places before, and of what is REACH
    after it or, if only the past counts, twice REACH before. Places from which this is outside have none."""
    ids = torch.randint(0, 2, (count, LENGTH), generator=rng)
    labels = torch.full_like(ids, -100)
    first, last, after = (2 * REACH, LENGTH, -2 * REACH) if past else (REACH, LENGTH - REACH, REACH)
    labels[:, first:last] = ids[:, first - REACH : last - REACH] ^ ids[:, first + after : last + after]
    return nn.functional.one_hot(ids, 2).float(), labels


def accuracy(net: nn.Module, past: bool, lab: Lab) -> float:
    """The share of right labels on fresh strings, after training."""
    steps, rng = lab.pick(80, 1_000), torch.Generator().manual_seed(lab.seed)
    adam = torch.optim.Adam(net.parameters(), lr=lab.pick(1e-2, 5e-3) if isinstance(net, Directed) else 2e-3)
    for _ in range(steps):
        x, labels = labelled(lab.pick(32, 64), past, rng)
        adam.zero_grad()
        nn.functional.cross_entropy(net(x).flatten(0, 1), labels.flatten()).backward()
        adam.step()
    x, labels = labelled(2_000, past, rng)
    with torch.no_grad():
        found = net(x).argmax(-1)
    return float((found == labels)[labels >= 0].float().mean())


def picture(seeds: Sequence[Series]) -> Sequence[Panel]:
    names = [name for name in NAMES if all(name in one["right"] for one in seeds)]
    values = [[one["right"][name] for one in seeds] for name in names]
    marks = [Mark(0.5, "chance"), Mark(1.0, "")]
    title = "Label: the bit two before xor the bit two after"
    return [Bars(title, "labels right", [NAMES[name] for name in names], values, [NAMES["backwards"]], marks)]
