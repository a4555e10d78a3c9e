"""The torch trainer: one step of training, on one core or several, of any Network.

Two things make it fast (docs/LOG.md has the numbers). All weights lie in one array, so that clipping and AdamW are a
few operations on it and not on a hundred small ones. And a batch is cut into lanes, each with its own gradient and its
own core, so that no small operation waits for another core. The lanes' gradients are added in a fixed order.
"""

from collections.abc import Callable, Mapping
from math import prod

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from handloom.core import Vocab, torch_engine
from handloom.core.arrays import Array, Arrays
from handloom.core.seeds import Use, derived, generator
from handloom.learn.batches import Batch, Lanes, lanes_of, masked_lanes_of
from handloom.learn.data import NOTHING, Strings
from handloom.learn.learner import Network
from handloom.learn.processes import Processes
from handloom.learn.settings import Settings

AT_ONCE = 100  # strings in a group when only measuring


class TorchTrainer:
    """Trains the weights of a network that are not frozen, from given weights and, in a resumed run, given moments."""

    def __init__(
        self,
        network: Network,
        arrays: Arrays,
        settings: Settings,
        moments: Arrays | None = None,
        device: str = "cpu",
        processes: Processes | None = None,
        masked: Vocab | None = None,  # if given, tokens are hidden, and predicted from all others
    ) -> None:
        self.network, self.settings, self.device, self.masked = network, settings, device, masked
        self.processes, self.count = processes or Processes(), settings.lanes or cores(device)
        names = sorted(arrays.keys() - network.frozen)  # always in one order: sums depend on it
        names.sort(key=lambda name: not is_decayed(name, arrays[name]))  # those that decay first
        self.shapes = {name: arrays[name].shape for name in names}
        self.frozen = {n: torch.tensor(a, device=device) for n, a in arrays.items() if n in network.frozen}
        self.flat = joined(arrays, names).to(device)
        self.gradient = torch.zeros_like(self.flat)
        decayed = sum(arrays[name].size for name in names if is_decayed(name, arrays[name]))
        self.parts = [part for part in (slice(0, decayed), slice(decayed, len(self.flat))) if self.flat[part].numel()]
        self.optimizer = self.adamw()
        self.steps = 0
        if moments:
            self.restore(moments)
        self.lanes = [Lane(self, self.processes.rank * self.count + i) for i in range(self.count)]
        self.pool = torch_engine.pool(min(self.count, cores(device)))

    def adamw(self) -> torch.optim.AdamW:
        groups = []
        for part, decay in zip(self.parts, (self.settings.decay, 0.0), strict=False):
            tensor = self.flat[part].requires_grad_()
            tensor.grad = self.gradient[part]
            groups.append({"params": [tensor], "weight_decay": decay if part.start == 0 else 0.0})
        return torch.optim.AdamW(groups, lr=self.settings.rate, betas=self.settings.betas, fused=True)

    def step(self, strings: Strings, rows: Array, rng: np.random.Generator, rate: float) -> tuple[float, int]:
        """Train on these rows; returns the mean loss per token, before the change, and the number of tokens, of all
        processes. If the loss is not finite, returns NaN and changes nothing."""
        lanes = self.batch(strings, rows, rng)
        count = sum(batch.count for lane in lanes for batch in lane)
        losses = self.work(lambda lane, batches: lane.learn(batches), lanes)
        if len(self.lanes) == 1:
            return self.update(sum(losses), count, rate)
        return self.pool.submit(self.update, sum(losses), count, rate).result()  # on one core, as the lanes are

    def update(self, loss: float, count: int, rate: float) -> tuple[float, int]:
        """Add up the lanes' gradients and take a step of AdamW."""
        self.gradient.copy_(self.lanes[0].gradient)
        for lane in self.lanes[1:]:
            self.gradient += lane.gradient
        totals = torch.tensor([loss, float(count)], dtype=torch.float64, device=self.device)
        if self.processes.share:
            self.processes.share(self.gradient)
            self.processes.share(totals)
        count = int(totals[1])
        self.gradient /= totals[1]
        norm = float(self.gradient.norm())
        loss = float(totals[0] / totals[1])
        if not np.isfinite(norm) or not np.isfinite(loss):
            return float("nan"), count
        if self.settings.clip and norm > self.settings.clip:
            self.gradient *= self.settings.clip / norm
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.step()
        self.steps += 1
        return loss, count

    def batch(self, strings: Strings, rows: Array, rng: np.random.Generator) -> Lanes:
        """This process's lanes of a batch."""
        lanes = self.dealt(strings, rows, self.count * self.processes.count, rng)
        return lanes[self.processes.rank * self.count : (self.processes.rank + 1) * self.count]

    def dealt(self, strings: Strings, rows: Array, lanes: int, rng: np.random.Generator) -> Lanes:
        if self.masked:
            return masked_lanes_of(strings, rows, lanes, rng, self.masked)
        return lanes_of(strings, rows, lanes)

    def loss(self, strings: Strings) -> float:
        """The mean loss per token of all strings, without training."""
        rng = generator(self.settings.seed, Use.HIDDEN)
        lanes: Lanes = [[] for _ in range(self.count)]
        for i, group in enumerate(np.array_split(np.argsort(strings.lengths), -(-len(strings) // AT_ONCE))):
            lanes[i % self.count] += self.dealt(strings, group, 1, rng)[0]
        count = sum(batch.count for lane in lanes for batch in lane)
        return sum(self.work(lambda lane, batches: lane.measure(batches), lanes)) / count

    def work(self, do: Callable[["Lane", list[Batch]], float], lanes: Lanes) -> list[float]:
        """Let all lanes do their part at the same time."""
        if len(self.lanes) == 1:
            return [do(self.lanes[0], lanes[0])]
        return list(self.pool.map(do, self.lanes, lanes))

    def arrays(self) -> Arrays:
        """The current weights, all of them."""
        trained = {name: tensor.detach().cpu().numpy().copy() for name, tensor in self.views(self.flat).items()}
        return trained | {name: tensor.cpu().numpy() for name, tensor in self.frozen.items()}

    def moments(self) -> Arrays:
        """The state of AdamW: running means of gradients (m.…) and of their squares (v.…)."""
        found: Arrays = {}
        for letter, key in (("m", "exp_avg"), ("v", "exp_avg_sq")):
            flat = torch.zeros_like(self.flat)
            for part, group in zip(self.parts, self.optimizer.param_groups, strict=True):
                state = self.optimizer.state[group["params"][0]]
                if key in state:
                    flat[part] = state[key]
            found |= {f"{letter}.{name}": t.cpu().numpy().copy() for name, t in self.views(flat).items()}
        return found | {"steps": np.array([self.steps])}

    def restore(self, moments: Arrays) -> None:
        self.steps = int(moments["steps"][0])
        m, v = (joined({n: moments[f"{letter}.{n}"] for n in self.shapes}, list(self.shapes)) for letter in "mv")
        for part, group in zip(self.parts, self.optimizer.param_groups, strict=True):
            self.optimizer.state[group["params"][0]] = {
                "step": torch.tensor(float(self.steps)),
                "exp_avg": m[part].to(self.device),
                "exp_avg_sq": v[part].to(self.device),
            }

    def views(self, flat: Tensor) -> dict[str, Tensor]:
        """The parts of an array that holds all weights, by name."""
        sizes = [prod(shape) for shape in self.shapes.values()]
        return {n: part.view(s) for (n, s), part in zip(self.shapes.items(), flat.split(sizes), strict=True)}


class Lane:
    """Works on a part of each batch, with shared weights and a gradient of its own."""

    def __init__(self, trainer: TorchTrainer, number: int) -> None:
        self.trainer, self.number = trainer, number
        self.gradient = torch.zeros_like(trainer.flat)
        self.rng = torch.Generator(trainer.device)
        self.weights: dict[str, Tensor] = dict(trainer.frozen)
        for (name, weight), slope in zip(
            trainer.views(trainer.flat).items(), trainer.views(self.gradient).values(), strict=True
        ):
            leaf = weight.detach().requires_grad_()
            leaf.grad = slope  # autograd adds to it in place
            self.weights[name] = leaf

    def learn(self, batches: list[Batch]) -> float:
        """The sum of the losses of these batches, and their gradient."""
        self.gradient.zero_()
        settings, total = self.trainer.settings, 0.0
        if settings.dropout:
            self.rng.manual_seed(derived(settings.seed, Use.DROPOUT, self.trainer.steps, self.number))
        for batch in batches:
            loss = self.loss(batch, settings.dropout)
            loss.backward()
            total += float(loss.detach())
        return total

    def measure(self, batches: list[Batch]) -> float:
        with torch.no_grad():
            return sum(float(self.loss(batch, 0.0)) for batch in batches)

    def loss(self, batch: Batch, dropout: float) -> Tensor:
        device = self.trainer.device
        ids, targets, asked = (torch.from_numpy(a).to(device) for a in (batch.inputs, batch.targets, batch.asked))
        logits = self.trainer.network.logits(self.weights, ids, asked, dropout, self.rng if dropout else None)
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=NOTHING, reduction="sum")


def cores(device: str) -> int:
    """The number of lanes: one per core, up to eight; one on a GPU."""
    return 1 if device != "cpu" else max(1, min(8, torch.get_num_threads()))


def is_decayed(name: str, array: Array) -> bool:
    """Matrices and embeddings decay; biases and norms do not."""
    return array.ndim > 1 and "b_" not in name and "bias" not in name


def joined(arrays: Mapping[str, Array], names: list[str]) -> Tensor:
    if not names:
        return torch.zeros(0)
    return torch.from_numpy(np.concatenate([np.asarray(arrays[name], np.float32).ravel() for name in names]))
