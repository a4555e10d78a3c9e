"""Gradients through a recurrent network vanish with distance; a gate that can short-cut cures it, and attention too.

Hochreiter and Schmidhuber 1997 (LSTM), Cho et al. 2014 (GRU); Mehlig's slides have Cho's GRU, with the reset gate r
inside the sum, and the remark that z = 1 makes V(t) = V(t − 1):

    V(t) = z V(t − 1) + (1 − z) tanh(W x(t) + U (r V(t − 1)))      (torch.nn.GRU has r U V instead)

Two things are measured. The gradient ‖∂h_T/∂x_{T−k}‖ at the start of training, by random projections of h_T: its
logarithm falls by so much per token. And a latch, "say at the end what the first bit was": the longest string on which
a network has 99 % right within the same number of steps. The gates of GRU and LSTM start open, with a bias of 3 on z
and on what the LSTM keeps: the first LSTM kept all, and the slide's remark is about z = 1. Started as torch does, with
biases of 0, the gates are at ½; this GRU is in the picture, and its gradient vanishes too, at about half the rate of
the plain network's. The control clamps z to 0, which takes the short-cut away.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from handloom.core import Config, torch_engine
from handloom.core import params as parameters
from handloom.lab.experiment import Check, Claim, Finding, Lab, Series
from handloom.learn.learner import Transformer
from handloom.view.figures.panels import Bars, Lines, Panel, band

CLAIM = Claim(
    name="vanishing",
    says="gradients vanish through a plain recurrent network, and not through open gates or attention",
    source="Hochreiter and Schmidhuber 1997; Cho et al. 2014",
    papers=("1406.1078",),
    seed="Mehlig",
    number="z = 1 makes V(t) = V(t − 1)",
    quick=3.9,
    full=28,
)
WIDTH, DISTANCES = 32, 48
OPEN = 3.0  # the bias of an open gate
KEPT = -0.1  # nats per token: a gradient that falls no faster is said to be kept
GATES = {"rnn": 1, "gru": 3, "gru, z = 0": 3, "lstm": 4}  # matrices: the candidate, what is kept, the others
LATCHES = (10, 20, 40, 80, 160)
NETWORKS = ("rnn", "gru", "gru, open", "lstm, open", "transformer", "gru, z = 0")


class Recurrence(nn.Module):
    """A recurrent network that reads bits, with the final state as its output; started as torch starts its cells."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.kind, _, opened = name.partition(", open") if name.endswith("open") else (name, "", None)
        size = WIDTH**-0.5
        self.read = nn.Linear(2, GATES[self.kind] * WIDTH)
        self.back = nn.Parameter(torch.empty(GATES[self.kind], WIDTH, WIDTH).uniform_(-size, size))
        self.out = nn.Linear(WIDTH, 2)
        if opened is not None:
            self.read.bias.data[WIDTH : 2 * WIDTH] += OPEN

    def final(self, x: Tensor) -> Tensor:
        """The last state (B, WIDTH) for inputs (B, T, 2)."""
        read = self.read(x).unflatten(-1, (-1, WIDTH)).unbind(1)
        h = c = x.new_zeros(len(x), WIDTH)
        for now in read:
            h, c = self.step(now.unbind(1), h, c)
        return h

    def step(self, now: Sequence[Tensor], h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
        if self.kind == "rnn":
            return torch.tanh(now[0] + h @ self.back[0]), c
        gates = [torch.sigmoid(one + h @ matrix) for one, matrix in zip(now[1:], self.back[1:], strict=True)]
        if self.kind == "lstm":
            kept, taken, shown = gates
            c = kept * c + taken * torch.tanh(now[0] + h @ self.back[0])
            return shown * torch.tanh(c), c
        z, r = gates
        if self.kind == "gru, z = 0":
            z = torch.zeros_like(z)
        return z * h + (1 - z) * torch.tanh(now[0] + (r * h) @ self.back[0]), c


class Attention(nn.Module):
    """A transformer of two layers of the same width that reads bits, with the last residual as its output."""

    def __init__(self, length: int, seed: int) -> None:
        super().__init__()
        self.config = Config(vocab=2, block=length, d_model=WIDTH, layers=2, heads=2, d_head=16, d_ff=64, tied=False)
        start = Transformer(self.config).start(seed)
        self.weights = nn.ParameterDict({k.replace(".", "/"): torch.tensor(v) for k, v in start.items()})
        self.out = nn.Linear(WIDTH, 2)

    def final(self, x: Tensor) -> Tensor:
        flat = {name.replace("/", "."): weight for name, weight in self.weights.items()}
        p = parameters.unflatten(self.config, flat)
        embedded = {"embed": lambda rows: rows - rows.detach() + x @ flat["W_E"]}  # differentiable by x
        trace = torch_engine.compute(self.config, p, x.argmax(-1), ["resid_final"], embedded)[1]
        return trace["resid_final"][:, -1]


def run(lab: Lab) -> Finding:
    lengths = [length for length in LATCHES if length <= lab.pick(20, 160)]
    steps, batch = lab.pick((50, 32), (400, 64))
    falls, longest = {}, {}
    for done, name in enumerate(NETWORKS):
        falls[name] = gradient_norms(network(name, DISTANCES, lab.seed), lab.seed)
        longest[name] = longest_latch(name, lengths, steps, batch, lab.seed)
        lab.progress(done + 1, len(NETWORKS))
    slopes = {name: log_slope(norms) for name, norms in falls.items()}
    checks = [
        Check("rnn: log of the gradient per token", slopes["rnn"], most=-0.2),
        Check("open gru: log of the gradient per token", slopes["gru, open"], least=KEPT),
        Check("transformer: log of the gradient per token", slopes["transformer"], least=-0.02),
        Check("gru with z = 0: log of the gradient per token", slopes["gru, z = 0"], least=KEPT, control=True),
        lab.in_time(Check("longest latch, open gru to rnn", longest["gru, open"] / longest["rnn"], least=2.0)),
        lab.in_time(Check("longest latch, transformer to rnn", longest["transformer"] / longest["rnn"], least=2.0)),
        Check("longest latch, gru with z = 0 to rnn", longest["gru, z = 0"] / longest["rnn"], least=2.0, control=True),
    ]
    return Finding(checks, {"norms": falls, "longest": longest})


def network(name: str, length: int, seed: int) -> Recurrence | Attention:
    torch.manual_seed(seed)
    return Attention(length, seed) if name == "transformer" else Recurrence(name)


def bit_strings(length: int, count: int, rng: torch.Generator) -> tuple[Tensor, Tensor]:
    """Random strings as one-hot vectors (count, length, 2), and the first bit of each."""
    ids = torch.randint(0, 2, (count, length), generator=rng)
    return nn.functional.one_hot(ids, 2).float(), ids[:, 0]


def gradient_norms(net: Recurrence | Attention, seed: int) -> list[float]:
    """‖∂h_T/∂x_{T−k}‖ for k = 1, 2, …: the root of the mean square over strings and random projections of h_T."""
    rng = torch.Generator().manual_seed(seed)
    x = bit_strings(DISTANCES, 64, rng)[0].double().requires_grad_()
    h = net.double().final(x)
    (slope,) = torch.autograd.grad((h * torch.randn(h.shape, generator=rng)).sum(), x)
    norms = slope.pow(2).sum(-1).mean(0).sqrt().flip(0)[1:]
    return [float(norm) for norm in norms]


def log_slope(norms: Sequence[float]) -> float:
    """The change of the logarithm per token, by least squares."""
    return float(np.polyfit(np.arange(len(norms)), np.log(norms), 1)[0])


def longest_latch(name: str, lengths: Sequence[int], steps: int, batch: int, seed: int) -> int:
    """The longest of these lengths up to which all are learned; 1 if none is."""
    longest = 1
    for length in lengths:
        if not learns_latch(network(name, length, seed), length, steps, batch, seed):
            break
        longest = length
    return longest


def learns_latch(net: Recurrence | Attention, length: int, steps: int, batch: int, seed: int) -> bool:
    """Whether the net has 99 % of fresh strings right at some look within so many steps of Adam."""
    rng = torch.Generator().manual_seed(seed)
    adam = torch.optim.Adam(net.parameters(), lr=5e-3 if isinstance(net, Recurrence) else 1e-3)
    for step in range(1, steps + 1):
        x, first = bit_strings(length, batch, rng)
        adam.zero_grad()
        nn.functional.cross_entropy(net.out(net.final(x)), first).backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        adam.step()
        if step % 25 == 0:
            x, first = bit_strings(length, 500, rng)
            with torch.no_grad():
                if (net.out(net.final(x)).argmax(-1) == first).float().mean() >= 0.99:
                    return True
    return False


def picture(seeds: Sequence[Series]) -> Sequence[Panel]:
    distances = list(range(1, DISTANCES))
    curves = [
        band(name, distances, [one["norms"][name] for one in seeds], control="z = 0" in name) for name in NETWORKS
    ]
    start = np.mean([one["norms"]["gru, open"][0] for one in seeds])
    bound = [float(start * np.exp(KEPT * k)) for k in distances]
    curves.append(band("claimed of an open gate: above", distances, [bound]))
    longest = [[one["longest"][name] for one in seeds] for name in NETWORKS]
    control = [name for name in NETWORKS if "z = 0" in name]
    return [
        Lines("Gradient of the last state", "distance k", "‖∂h_T/∂x_{T−k}‖", curves, log_y=True),
        Bars("Longest latch learned", "bits", list(NETWORKS), longest, control, log_y=True),
    ]
