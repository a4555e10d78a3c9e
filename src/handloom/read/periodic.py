"""Periodic structure: what a model that adds in a cyclic group computes with, frequency by frequency.

    found = read.periodic("runs/modular-addition-1")
    found.frequencies                       # (2, 10, 17): the key frequencies
    print(found)                            # what they carry, and the losses at every checkpoint

Small transformers learn a + b modulo p by trigonometry: they embed a as points on circles, cos(2πka/p), sin(2πka/p),
for a few frequencies k, and give c a logit that is a sum of cos(2πk(a + b − c)/p). (Nanda et al., "Progress measures
for grokking via mechanistic interpretability", 2023, whose definitions are adapted here.)

All p² inputs are run, and the logits behind the last token are a function of a, b and c. Two-dimensional Fourier
transforms over a and b write it as a sum of waves. A wave of a + b is one with the same frequency k in a and in b:
cos and sin of 2πk(a + b)/p.

- The share of a frequency in the logits: the variance over all a and b that its waves of a + b carry, summed over c, as
  a share of all variance. The mean over c is taken away first, since the softmax ignores it.
- Key frequencies: those with a share of 1 % or more, and of at least four times what each would have if the variance
  were spread evenly over all waves. `fewest(0.95)` are the fewest that carry 95 % of the variance, if any do.
- The share of a frequency in the embedding: of the variance over the rows of W_E that belong to the p numbers.
- A neuron's frequency: the one that carries most of its variance behind the last token, by the eight waves in which a
  and b have that frequency or none; and that share.
- Restricted loss: of the logits with only the waves of a + b at key frequencies, and the constant; over all inputs.
- Excluded loss: of the logits without these waves, and with all others; over the inputs that were trained on, or all,
  if these are not known. A model that has memorised loses nothing by it.

For the checkpoints of a run, key frequencies are those of its last model. A run must have kept some (`keep`), and been
trained on a `fraction` of all inputs, for the losses to be told apart.
"""

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from handloom.core import HandloomError, Model
from handloom.core.arrays import Array
from handloom.core.callbacks import Progress
from handloom.core.files import what_is
from handloom.core.finding import find, load
from handloom.core.reference import forward
from handloom.core.registry import offered
from handloom.runs.folder import ABOUT, Folder
from handloom.tasks import Learnable, Task, task_of
from handloom.tasks.splits import split_inputs

KEY, TIMES_EVEN = 0.01, 4.0  # least share of a key frequency; and how many times an even spread
MOST_ELEMENTS = 256  # of a group: the logits are p³ numbers
ROWS = 2_000  # inputs that are run together


@dataclass(frozen=True)
class Losses:
    """Mean losses per input in nats, and the share of right answers, of one model. `train` and `test` are None if it
    is not known what was trained on."""

    step: int
    loss: float  # over all inputs
    train: float | None
    test: float | None
    restricted: float
    excluded: float
    right: float  # of the inputs that were not trained on, or of all
    carried: float  # share of the logits' variance that key frequencies carry


@dataclass(frozen=True)
class Periodic:
    """Shares by frequency, and losses with and without key frequencies. A tuple of shares begins with frequency 1."""

    modulus: int
    frequencies: tuple[int, ...]  # the key ones
    logits: tuple[float, ...]
    embedding: tuple[float, ...]
    neurons: Mapping[str, Sequence[tuple[int, float]]]  # "0.mlp" → frequency and share of each neuron; 0 of a dead one
    losses: Losses
    checkpoints: tuple[Losses, ...] = ()

    def fewest(self, share: float = 0.95) -> tuple[int, ...] | None:
        """The fewest frequencies that carry this share of the logits' variance; None if all together carry less."""
        order = np.argsort(-np.array(self.logits), kind="stable")
        carried = np.cumsum(np.array(self.logits)[order])
        if carried[-1] < share:
            return None
        return tuple(sorted(int(k) + 1 for k in order[: int((carried < share).sum()) + 1]))

    @property
    def excluded_rises(self) -> int | None:
        """The first checkpoint from which on the excluded loss is above half of log p, the loss of a guess."""
        return since([(one.step, one.excluded > math.log(self.modulus) / 2) for one in self.checkpoints])

    @property
    def test_falls(self) -> int | None:
        """The first checkpoint from which on the test loss is below half of log p."""
        half = math.log(self.modulus) / 2
        return since([(one.step, one.test is not None and one.test < half) for one in self.checkpoints])

    def __str__(self) -> str:
        shares = [f"{k}: {self.logits[k - 1]:.1%}" for k in self.frequencies]
        few = self.fewest()
        lines = [
            f"a + b modulo {self.modulus}: {len(shares)} key frequencies carry {self.losses.carried:.1%} of the "
            "logits' variance" + (f" ({', '.join(shares)})" if shares else ""),
            f"95 % of it: {f'{len(few)} frequencies' if few else 'more than all waves of a + b carry'}",
            *neuron_lines(self.neurons),
            "",
            f"{'step':>8}  {'train':>9}  {'test':>9}  {'restricted':>10}  {'excluded':>9}  {'right':>6}",
            *(loss_line(one) for one in self.checkpoints or (self.losses,)),
        ]
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        neurons = {part: [list(one) for one in each] for part, each in self.neurons.items()}
        return asdict(self) | {"neurons": neurons}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "Periodic":
        lists = {name: tuple(values[name]) for name in ("frequencies", "logits", "embedding")}
        neurons = {part: [(int(k), float(s)) for k, s in each] for part, each in values["neurons"].items()}
        checkpoints = tuple(Losses(**one) for one in values["checkpoints"])
        losses = Losses(**values["losses"])
        return cls(values["modulus"], neurons=neurons, losses=losses, checkpoints=checkpoints, **lists)

    def _repr_html_(self) -> str | None:
        """What a notebook shows."""
        return offered("html")(self)


@dataclass(frozen=True)
class Sums:
    """All inputs a + b of a cyclic group, the token of each element, and which inputs were trained on."""

    rows: Array  # (p, p, T)
    elements: Array  # (p,)
    trained_on: Array | None = None  # (p, p), true or false

    @property
    def modulus(self) -> int:
        return len(self.elements)

    @property
    def right(self) -> Array:
        """The token of a + b, (p, p)."""
        every = np.arange(self.modulus)
        return np.asarray(self.elements[(every[:, None] + every) % self.modulus])


def periodic(
    model: Model | str | os.PathLike[str], task: Task | None = None, progress: Progress | None = None
) -> Periodic:
    """The frequencies with which a model adds modulo p. Of a run also the losses at every checkpoint that it kept."""
    found, folder = find(model)
    sums = sums_of(task or task_of(found, folder))
    check_model(found, sums)
    run = run_folder(model)
    if run:
        sums = with_training_set(sums, task or task_of(found, folder), run)
    logits, neurons = outputs(found, sums)
    shares = logit_shares(logits[..., sums.elements])
    keys = key_frequencies(shares, sums.modulus)
    embedding = wave_shares(np.asarray(found.params["W_E"], np.float64)[sums.elements])
    last = losses_of(logits, sums, keys, int(found.notes.get("steps", 0)))
    kept = list(losses_over(run, sums, keys, progress)) if run else []
    return Periodic(
        sums.modulus, keys, numbers(shares), numbers(embedding),
        {part: neuron_waves(values) for part, values in neurons.items()}, last, tuple(kept),
    )  # fmt: skip


def sums_of(task: Learnable | None) -> Sums:
    """The inputs of a task, if it is a + b in a cyclic group: two tokens vary, over the same p tokens, and the answer
    is the one at a + b modulo p, in the order of the vocabulary."""
    wrong = HandloomError(
        "periodic: the model's task is not a sum in a cyclic group (expected one such as modular-addition or sum, with "
        f"up to {MOST_ELEMENTS} numbers); name the task"
    )
    if not isinstance(task, Task) or task.every is None or not 4 <= (task.count or 0) <= MOST_ELEMENTS**2:
        raise wrong
    inputs = list(task.every())
    p = math.isqrt(len(inputs))
    if p * p != len(inputs) or len({len(row) for row in inputs}) > 1:
        raise wrong
    rows = np.array(sorted(inputs))  # (p², T)
    varied = [np.unique(column) for column in rows.T if len(np.unique(column)) > 1]
    if len(varied) != 2 or not np.array_equal(varied[0], varied[1]) or len(varied[0]) != p:
        raise wrong
    sums = Sums(rows.reshape(p, p, -1), varied[0])
    answers = [(task.oracle(row) or [-1])[0] for row in rows.tolist()]
    if answers != sums.right.ravel().tolist():
        raise wrong
    return sums


def check_model(model: Model, sums: Sums) -> None:
    """Raise an error for a model that cannot be run on these inputs."""
    if not model.config.causal:
        raise HandloomError("periodic: this model sees both ways (expected a causal one, whose last token predicts)")
    if int(sums.rows.max()) >= model.config.vocab or sums.rows.shape[-1] > model.config.block:
        raise HandloomError("periodic: the model cannot read the task's inputs (other tokens, or too few positions)")


def run_folder(model: Any) -> Folder | None:
    """The run that a name stands for, if it is one of `learn`."""
    if isinstance(model, Model) or what_is(Path(model)) != "folder" or what_is(Path(model) / ABOUT) != "file":
        return None
    return Folder.open(Path(model))


def with_training_set(sums: Sums, task: Any, run: Folder) -> Sums:
    """The inputs, with those marked that a run was trained on, if that was a fraction of all."""
    settings = run.about("learn", ["settings"])["settings"]
    if not settings.get("fraction"):
        return sums
    known = {tuple(row) for row in split_inputs(task, settings["fraction"], settings["seed"])[0]}
    rows = sums.rows.reshape(-1, sums.rows.shape[-1]).tolist()
    marks = np.array([tuple(row) in known for row in rows]).reshape(sums.rows.shape[:2])
    return Sums(sums.rows, sums.elements, marks)


def outputs(model: Model, sums: Sums, neurons: bool = True) -> tuple[Array, dict[str, Array]]:
    """The logits (p, p, V) behind the last token, and the neurons there, (p, p, F) of each MLP."""
    sites = [f"{i}.mlp_post" for i in range(model.config.layers if model.config.d_ff and neurons else 0)]
    rows = sums.rows.reshape(-1, sums.rows.shape[-1])
    parts: dict[str, list[Array]] = {name: [] for name in ("logits", *sites)}
    for start in range(0, len(rows), ROWS):
        trace = forward(model, rows[start : start + ROWS], ["logits", *sites])[1]
        for name, found in parts.items():
            found.append(trace[name][:, -1])
    whole = {name: np.concatenate(found).reshape(*sums.rows.shape[:2], -1) for name, found in parts.items()}
    return whole.pop("logits"), {site.replace(".mlp_post", ".mlp"): values for site, values in whole.items()}


def energies(values: Array) -> Array:
    """The square of every wave of functions (p, p, n) of a and b, summed over the n: (p, p); the constant is 0."""
    found = (np.abs(np.fft.fft2(values, axes=(0, 1))) ** 2).sum(-1)
    found[0, 0] = 0.0
    return np.asarray(found)


def logit_shares(logits: Array) -> Array:
    """The share of variance that waves of a + b carry, for each frequency from 1 to p / 2, in logits (p, p, p)."""
    found = energies(logits - logits.mean(-1, keepdims=True))
    k = np.arange(1, len(logits) // 2 + 1)
    both = found[k, k] + np.where(2 * k == len(logits), 0.0, found[-k, -k])  # k and −k, if these are two
    return np.asarray(both / max(found.sum(), np.finfo(float).tiny))


def key_frequencies(shares: Array, modulus: int) -> tuple[int, ...]:
    even = 2 / (modulus**2 - 1)  # of a pair of all the waves but the constant
    return tuple(int(k) + 1 for k in np.flatnonzero(shares >= max(KEY, TIMES_EVEN * even)))


def wave_shares(rows: Array) -> Array:
    """The share of the variance over rows (p, D) that each frequency from 1 to p / 2 carries."""
    found = (np.abs(np.fft.rfft(rows, axis=0)) ** 2).sum(-1)[1:]
    found[: (len(rows) - 1) // 2] *= 2  # k and −k
    return np.asarray(found / max(found.sum(), np.finfo(float).tiny))


def neuron_waves(values: Array) -> list[tuple[int, float]]:
    """Of neurons (p, p, F), each one's frequency and the share of its variance that this carries; 0 if it is dead."""
    p = len(values)
    found = np.abs(np.fft.fft2(values, axes=(0, 1))) ** 2  # (p, p, F)
    found[0, 0] = 0.0
    total = found.sum((0, 1))
    shares = np.zeros((p // 2 + 1, values.shape[-1]))
    for k in range(1, p // 2 + 1):
        at = sorted({0, k, p - k})
        shares[k] = found[np.ix_(at, at)].sum((0, 1)) / np.maximum(total, np.finfo(float).tiny)
    best = np.where(total > 0, shares.argmax(0), 0)
    return [(int(k), float(shares[k, i])) for i, k in enumerate(best)]


def parted(logits: Array, frequencies: Sequence[int]) -> tuple[Array, Array]:
    """Functions (p, p, V) of a and b in two parts that add up to them and the constant: restricted, which has only the
    waves of a + b at these frequencies and the constant, and excluded, without these waves."""
    waves, p = np.fft.fft2(logits, axes=(0, 1)), len(logits)
    k = np.array([(sign * one) % p for one in frequencies for sign in (1, -1)], int)
    chosen = np.zeros((p, p, 1), bool)
    chosen[k, k] = True
    excluded = np.fft.ifft2(np.where(chosen, 0.0, waves), axes=(0, 1)).real
    return logits - excluded + logits.mean((0, 1)), excluded


def losses_of(logits: Array, sums: Sums, frequencies: Sequence[int], step: int) -> Losses:
    restricted, excluded = (cross_entropy(part, sums.right) for part in parted(logits, frequencies))
    loss, known = cross_entropy(logits, sums.right), sums.trained_on
    right = logits.argmax(-1) == sums.right
    shares = logit_shares(logits[..., sums.elements])
    every = np.ones_like(right) if known is None else known
    new = ~every if known is not None and not every.all() else np.ones_like(every)
    return Losses(
        step=step,
        loss=float(loss.mean()),
        train=None if known is None else float(loss[known].mean()),
        test=None if known is None or known.all() else float(loss[~known].mean()),
        restricted=float(restricted.mean()),
        excluded=float(excluded[every].mean()),
        right=float(right[new].mean()),
        carried=float(sum(shares[k - 1] for k in frequencies)),
    )


def cross_entropy(logits: Array, right: Array) -> Array:
    """The loss of each input, (p, p)."""
    top = logits.max(-1, keepdims=True)
    whole = np.log(np.exp(logits - top).sum(-1)) + top[..., 0]
    return np.asarray(whole - np.take_along_axis(logits, right[..., None], -1)[..., 0])


def losses_over(run: Folder, sums: Sums, frequencies: Sequence[int], progress: Progress | None) -> Iterator[Losses]:
    """The losses of each model that a run kept, the earliest first."""
    files = {int(file.stem.removeprefix("model-")): file for file in run.path.glob("model-*.safetensors")}
    for done, step in enumerate(sorted(files), 1):
        yield losses_of(outputs(load(files[step]), sums, neurons=False)[0], sums, frequencies, step)
        if progress:
            progress(done, len(files))


def since(holds: Sequence[tuple[int, bool]]) -> int | None:
    """The first step from which on something holds to the end."""
    found = None
    for step, there in reversed(holds):
        if not there:
            break
        found = step
    return found


def numbers(shares: Array) -> tuple[float, ...]:
    return tuple(float(share) for share in shares)


def neuron_lines(neurons: Mapping[str, Sequence[tuple[int, float]]]) -> Iterator[str]:
    for part, found in neurons.items():
        alive = [(k, share) for k, share in found if k]
        periodic = sum(share >= 0.85 for _, share in alive)
        yield f"{part}: {len(alive)} of {len(found)} neurons vary, {periodic} of them at one frequency (85 % or more)"


def loss_line(one: Losses) -> str:
    train, test = (f"{'–' if value is None else f'{value:.4g}':>9}" for value in (one.train, one.test))
    return f"{one.step:>8,}  {train}  {test}  {one.restricted:>10.4g}  {one.excluded:>9.4g}  {one.right:>6.1%}"
