"""The residual stream as a value: directions with names, how each is read behind a norm, and how it is written.

    >>> stream = axes({"number": 1, "token": 3}, scale=4.0)     # layer norm divides this stream by 4
    >>> stream.write(number=2.0).tolist()
    [2.0, 0.0, 0.0, 0.0]
    >>> stream.read(number=1.0, token=[0.0, 0.0, 5.0]).tolist()
    [4.0, 0.0, 0.0, 20.0]

A program names its directions once. Its heads and neurons are made of what they read and what they write, each with a
few words that say what it is for, and `assemble` turns them into a Model. The sizes of the model follow from its parts,
and so do the notes: `directions`, `readings`, `heads` and `mlps` are written with the weights, not beside them.

A direction holds k numbers. `read` and `write` take amounts (..., k), or (...) if k is 1, and give rows (..., D) that
add up over the names and broadcast: `write(digit=np.eye(10), space=-1.0)` is ten rows.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, Literal

import numpy as np

from handloom.core import Config, Model, Vocab, params
from handloom.core.arrays import Array
from handloom.write.parts.exact import ScalarMLP

Kind = Literal["number", "angle", "token", "ballast"]
Points = Literal["W_E", "W_pos", "W_U"]
Pairs = Sequence[tuple[Array, Array]]  # rows that belong together, each (D,) or (m, D)


@dataclass(frozen=True)
class Direction:
    """k numbers in the stream: 1 of number i adds `writes[i]` to it, and its product with `reads[i]` gives number i.
    An angle or a token is read whole; ballast carries nothing, but keeps the mean or the length of the stream.

    `points` are the numbers (n, k) that are there for each of `values`, or the table whose rows they are read from: W_E
    for tokens, W_pos for positions, W_U for what the logits are highest for. docs/machine.md has what each means."""

    writes: Array  # (k, D)
    reads: Array  # (k, D)
    kind: Kind = "number"
    at: tuple[int, int] | None = None  # first and last + 1 of the dimensions that have its name, if any do
    points: Points | Array | None = None
    values: Sequence[str] = ()  # names of the points, if not those of the table, or 0, 1, 2, …
    sites: Sequence[str] = ()  # where it can be read, if not everywhere

    def note(self, scale: float) -> dict[str, Any]:
        """How to read it, as JSON values."""
        points = self.points.tolist() if isinstance(self.points, np.ndarray) else self.points
        more = {"points": points, "values": list(self.values), "sites": list(self.sites)}
        found = {"vectors": self.reads.tolist(), "scale": float(scale), "kind": self.kind}
        return found | {name: value for name, value in more.items() if value}


@dataclass(frozen=True)
class Stream:
    """Directions by name, and the number that layer norm divides the stream by."""

    directions: Mapping[str, Direction]
    scale: float = 1.0

    @property
    def width(self) -> int:
        return next(iter(self.directions.values())).writes.shape[1]

    def write(self, **amounts: Any) -> Array:
        """Rows (..., D) that add these amounts to the stream."""
        return self.rows(amounts, lambda direction: direction.writes)

    def read(self, **amounts: Any) -> Array:
        """Rows (..., D) whose products with the stream behind a norm are these amounts of the directions."""
        return self.rows(amounts, lambda direction: direction.reads * self.scale)

    def rows(self, amounts: Mapping[str, Any], of: Callable[[Direction], Array]) -> Array:
        total: Array = np.zeros(self.width)
        for name, amount in amounts.items():
            rows, amount = of(self.directions[name]), np.asarray(amount, np.float64)
            total = total + (amount[..., None] if len(rows) == 1 else amount) @ rows
        return total

    @property
    def notes(self) -> dict[str, Any]:
        """The names of dimensions, and how to read each direction."""
        at = {name: direction.at for name, direction in self.directions.items() if direction.at}
        dimensions = {name: first if end - first == 1 else [first, end] for name, (first, end) in at.items()}
        readings = {name: direction.note(self.scale) for name, direction in self.directions.items()}
        return ({"directions": dimensions} if dimensions else {}) | {"readings": readings}


def axes(widths: Mapping[str, int], scale: float = 1.0, **kinds: Kind) -> Stream:
    """Directions side by side, each along dimensions of its own; they are numbers if no other kind is given."""
    ends = list(accumulate(widths.values()))
    every = np.eye(ends[-1])
    directions = {}
    for (name, width), end in zip(widths.items(), ends, strict=True):
        own = every[end - width : end]
        directions[name] = Direction(own, own, kinds.get(name, "number"), (end - width, end))
    return Stream(directions, scale)


def joined(stream: Stream, **names: Sequence[str]) -> Stream:
    """The stream with new names for tokens that several of its directions make up together."""
    every = dict(stream.directions)
    for name, parts in names.items():
        writes, reads = (np.vstack([getattr(every[part], of) for part in parts]) for of in ("writes", "reads"))
        every[name] = Direction(writes, reads, "token")
    return Stream(every, stream.scale)


def explained(stream: Stream, **names: Mapping[str, Any] | Direction) -> Stream:
    """The stream with more said of some directions, their points, values and sites, and with further directions."""
    every = dict(stream.directions)
    for name, more in names.items():
        every[name] = more if isinstance(more, Direction) else replace(every[name], **more)
    return replace(stream, directions=every)


def pinned(size: float, *names: str) -> Stream:
    """One dimension per name behind a pair, high and low, that holds ±size at every position. The pair balances what is
    written, so that the mean stays 0, and is so large that layer norm divides by nearly the same number everywhere.
    `one` reads the constant 1 from it."""
    every = np.eye(len(names) + 2)
    pair = every[:1] - every[1:2]
    balance = (every[:1] + every[1:2]) / 2
    directions = {
        "high": Direction(every[:1], every[:1], "ballast", (0, 1)),
        "low": Direction(every[1:2], every[1:2], "ballast", (1, 2)),
        "one": Direction(size * pair, pair / (2 * size)),
    }
    for i, name in enumerate(names, 2):
        own = every[i : i + 1]
        directions[name] = Direction(own - balance, own, "number", (i, i + 1))
    return Stream(directions, size * np.sqrt(2 / len(every)))


@dataclass(frozen=True)
class Head:
    """A position's score for another is the sum of query · key over `looks`; for each of `moves`, what is read there is
    written here. `hard` multiplies the queries instead of √d_head the keys: for a head whose scores are so far apart
    that no one needs their size, or that makes up for the division by √d_head itself."""

    about: str
    looks: Pairs  # what the query reads, what the key reads
    moves: Pairs  # what the value reads, what is written for every 1 of it
    hard: float | None = None

    @property
    def width(self) -> int:
        return max(count(self.looks), count(self.moves))


@dataclass(frozen=True)
class Neurons:
    """What neurons read, and what each writes for every 1 above 0."""

    about: str
    rows: Pairs
    bias: Any = 0.0  # b_in, (F,)
    always: Any = 0.0  # b_out, (D,)


@dataclass(frozen=True)
class Layer:
    heads: Sequence[Head] = ()
    neurons: Neurons | None = None


def scalar_neurons(about: str, mlp: ScalarMLP, row: Array) -> Neurons:
    """The neurons of a function of one number, which this row (D,) reads."""
    return Neurons(about, [(np.outer(mlp.w_in, row), mlp.W_out)], mlp.b_in, mlp.b_out)


def config_of(stream: Stream, vocab: Vocab, block: int, layers: Sequence[Layer], **fields: Any) -> Config:
    """The Config of these parts, if they are not too many to be a model; `fields` are those that are no sizes."""
    config = Config(
        vocab=len(vocab),
        block=block,
        d_model=stream.width,
        layers=len(layers),
        heads=max(len(layer.heads) for layer in layers),
        d_head=max((head.width for layer in layers for head in layer.heads), default=1),
        d_ff=max(count(layer.neurons.rows) if layer.neurons else 0 for layer in layers),
        **fields,
    )
    params.check_size(config)
    return config


def assemble(
    stream: Stream,
    vocab: Vocab,
    tokens: Array,  # (V, D)
    positions: Array,  # (N, D)
    layers: Sequence[Layer],
    notes: Mapping[str, Any],
    **fields: Any,
) -> Model:
    """The Model of these parts, with its notes."""
    config = config_of(stream, vocab, len(positions), layers, **fields)
    weights = params.zeros(config)
    weights["W_E"][:], weights["W_pos"][:] = tokens, positions
    for arrays, layer in zip(weights["layers"], layers, strict=True):
        for h, head in enumerate(layer.heads):
            put_head({name: arrays[name][h] for name in ("W_Q", "W_K", "W_V", "W_O")}, head)
        if layer.neurons:
            put_neurons(arrays, layer.neurons)
    return Model(config, weights, vocab, {**notes, **stream.notes, **words(layers)})


def count(pairs: Pairs) -> int:
    return sum(len(np.atleast_2d(row)) for row, _ in pairs)


def put_head(arrays: Mapping[str, Array], head: Head) -> None:
    """Set W_Q, W_K, W_V (D, K) and W_O (K, D)."""
    r, m = count(head.looks), count(head.moves)
    if r:
        queries, keys = (np.vstack(rows) for rows in zip(*head.looks, strict=True))
        root = np.sqrt(arrays["W_K"].shape[-1])
        arrays["W_Q"][:, :r] = (queries if head.hard is None else head.hard * queries).T
        arrays["W_K"][:, :r] = (keys * root if head.hard is None else keys).T
    if m:
        values, outputs = (np.vstack(rows) for rows in zip(*head.moves, strict=True))
        arrays["W_V"][:, :m], arrays["W_O"][:m] = values.T, outputs


def put_neurons(arrays: Mapping[str, Array], neurons: Neurons) -> None:
    """Set W_in (D, F) and W_out (F, D), and b_in (F,) and b_out (D,) if there is something in them."""
    reads, writes = (np.vstack(rows) for rows in zip(*neurons.rows, strict=True))
    F = len(reads)
    arrays["W_in"][:, :F], arrays["W_out"][:F] = reads.T, writes
    if np.any(neurons.bias):
        arrays["b_in"][:F] = neurons.bias
    if np.any(neurons.always):
        arrays["b_out"][:] = neurons.always


def words(layers: Sequence[Layer]) -> dict[str, Any]:
    """What each head and each MLP is for."""
    heads = {f"{i}.{h}": head.about for i, layer in enumerate(layers) for h, head in enumerate(layer.heads)}
    mlps = {str(i): layer.neurons.about for i, layer in enumerate(layers) if layer.neurons}
    return {"heads": heads} | ({"mlps": mlps} if mlps else {})
