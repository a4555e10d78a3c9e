"""Where heads look, in numbers: for each thing a head may look at, how much more of its attention goes there than
chance would give.

    measure(model, rows).scores["1.0"]["induction 3"]

    score = (mass − chance) / (1 − chance)

`mass` is the attention on the targets, `chance` what even attention would give, both averaged over the positions that
have a target and something else to look at. Even attention scores 0, all attention on targets 1. The targets:

    offset k        the token k back; 0 is the position itself (in a model that sees both ways k may be negative)
    position p      the same position from everywhere
    same token      other positions with the token that is here
    induction n     positions whose n tokens before are the n tokens up to here
    same token + d  positions d behind one with the token that is here (d = 1 is induction 1)
    token =         the one place of a token that delimits the parts of the task's inputs

Two scores have no targets: "broad" is the entropy of the attention as a share of the largest there could be,
"skip-gram" how much of the scores a pair of tokens explains (`token_pairs.py`). (Olsson et al. 2022 name heads so.)
"""

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from handloom.core import Model, choose_engine
from handloom.core.arrays import Array
from handloom.read.attention import AT_ONCE, check_heads, fast_engine, to_numpy
from handloom.read.head_rows import HeadRows
from handloom.read.token_pairs import PairFit

MOST_CONTEXT = 4  # tokens of "induction n"
FURTHER = (2, 3)  # d of "same token + d"
FEWEST = 5  # different positions, and different rows, that must have a target, if there are as many
SITES = ["*.pattern", "*.scores", "*.z", "*.resid_pre"]


@dataclass(frozen=True)
class Measured:
    """What was measured on some rows, by head: its scores by name, and the largest share of the stream that it writes
    anywhere, by length."""

    rows: HeadRows
    scores: dict[str, dict[str, float]]
    writes: dict[str, float]


def measure(model: Model, rows: HeadRows) -> Measured:
    """Where the heads of a model look on rows."""
    check_heads(model)
    config = model.config
    engine = choose_engine(fast_engine(model, sum(map(len, rows.ids))))
    sums = Sums(model, rows)
    for group, counts in groups(rows, config.layers * config.heads):
        sums.add(group, counts, engine.forward(model, group, SITES)[1])
    scores = sums.scores()
    heads = list(np.ndindex(config.layers, config.heads))
    found = {
        f"{i}.{h}": {name: float(one[i, h]) for name, one in scores.items() if np.isfinite(one[i, h])} for i, h in heads
    }
    return Measured(rows, found, {f"{i}.{h}": float(sums.writes[i, h]) for i, h in heads})


def writes_on(model: Model, rows: HeadRows) -> dict[str, float]:
    """Only that share, by head."""
    check_heads(model)
    config = model.config
    engine = choose_engine(fast_engine(model, sum(map(len, rows.ids))))
    largest = np.zeros((config.layers, config.heads))
    for group, _ in groups(rows, config.layers * config.heads):
        largest = np.maximum(largest, largest_writes(model, engine.forward(model, group, ["*.z", "*.resid_pre"])[1]))
    return {f"{i}.{h}": float(largest[i, h]) for i, h in np.ndindex(largest.shape)}


def groups(rows: HeadRows, heads: int) -> Iterator[tuple[Array, Array]]:
    """Rows of one length together, (B, T), as many as fit, and which of their positions count, (B, T)."""
    for length in sorted({len(row) for row in rows.ids}):
        same = [i for i, row in enumerate(rows.ids) if len(row) == length]
        most = max(2, AT_ONCE // (heads * length * length))
        for few in (same[at : at + most] for at in range(0, len(same), most)):
            counts = np.arange(length) >= np.array([rows.starts[i] for i in few])[:, None]
            yield np.stack([rows.ids[i] for i in few]), counts


class Sums:
    """Sums over rows of what the scores are made of, for every head, (L, H) each."""

    def __init__(self, model: Model, rows: HeadRows) -> None:
        self.model, self.delimiters, self.rows = model, rows.delimiters, len(rows.ids)
        self.shape = shape = (model.config.layers, model.config.heads)
        self.mass: dict[str, Array] = defaultdict(lambda: np.zeros(shape))
        self.chance: dict[str, float] = defaultdict(float)
        self.places: dict[str, Array] = defaultdict(lambda: np.zeros(model.config.block, int))  # rows with a target
        self.in_rows: dict[str, int] = defaultdict(int)
        self.entropy, self.writes = np.zeros(shape), np.zeros(shape)
        self.counted = np.zeros(model.config.block, int)
        self.fit = PairFit(model, max(map(len, rows.ids))) if rows.kind == "random" else None

    def add(self, rows: Array, counts: Array, trace: Any) -> None:
        """Rows (B, T), which of their positions count, and what a run computed."""
        T, layers = rows.shape[1], self.shape[0]
        seen = np.tri(T, dtype=bool) | (not self.model.config.causal)  # (T, S)
        counts = counts & (seen.sum(-1) > 1)
        patterns = stacked(trace, "pattern", layers)
        self.counted[:T] += counts.sum(0)
        self.add_fixed(np.einsum("lhbts,bt->lhts", patterns, counts.astype(float)), seen, counts)
        for name, at in found_targets(rows, self.delimiters):
            few = (at & seen).sum(-1)
            where = counts & (few > 0) & (few < seen.sum(-1))  # (B, T): there is something else to look at
            mass = np.einsum("lhbts,bts->lh", patterns, (at & seen & where[:, :, None]).astype(float))
            chance = float((where * few / seen.sum(-1)).sum())
            self.note(name, mass, chance, where.sum(0), int(where.any(1).sum()))
        self.entropy += entropy_shares(patterns, seen)[:, :, counts].sum(-1)
        self.writes = np.maximum(self.writes, largest_writes(self.model, trace))
        if self.fit:
            self.fit.add(stacked(trace, "scores", layers), rows, seen)

    def add_fixed(self, patterns: Array, seen: Array, counts: Array) -> None:
        """Offsets and positions, which are the same in all rows: patterns (L, H, T, S) summed over rows, where they
        count."""
        T, often = len(seen), counts.sum(0)
        index = np.arange(T)
        offsets = np.arange(1 - T if seen[0, 1:].any() else 0, T)
        columns = {"offset": (offsets, index[:, None] - offsets), "position": (index, np.tile(index, (T, 1)))}
        for kind, (numbers, at) in columns.items():  # at (T, n): where each position looks, by number
            inside = np.clip(at, 0, T - 1)
            there = (at == inside) & np.take_along_axis(seen, inside, -1)
            mass = (np.take_along_axis(patterns, inside[None, None], -1) * there).sum(-2)  # (L, H, n)
            chances, in_rows = (often / seen.sum(-1)) @ there, (counts.astype(int) @ there > 0).sum(0)
            for j, number in enumerate(numbers.tolist()):
                self.note(f"{kind} {number}", mass[:, :, j], chances[j], often * there[:, j], in_rows[j])

    def note(self, name: str, mass: Array, chance: float, places: Array, in_rows: int) -> None:
        """Add to one kind of targets: attention, chance, how often each position has one, and how many rows have."""
        self.mass[name] += mass
        self.chance[name] += chance
        self.places[name][: len(places)] += places
        self.in_rows[name] += in_rows

    def scores(self) -> dict[str, Array]:
        """Of every kind of targets that enough positions and rows have, the score of every head; and the others."""
        found = {}
        for name, mass in self.mass.items():
            if self.enough(name):
                total = self.places[name].sum()
                chance = self.chance[name] / total
                found[name] = (mass / total - chance) / (1 - chance)
        if self.counted.any():
            found["broad"] = self.entropy / self.counted.sum()
        return found | (self.fit.scores() if self.fit else {})

    def enough(self, name: str) -> bool:
        """Whether enough positions and rows have a target of this name. Where a single position counts, all offsets are
        positions: there only the latter have a score."""
        places, all_places = (int(np.count_nonzero(some)) for some in (self.places[name], self.counted))
        needed = 1 if all_places == 1 else max(2, min(FEWEST, math.ceil(all_places / 2)))
        single = all_places == 1 and name.startswith("offset")
        return not single and places >= needed and self.in_rows[name] >= min(FEWEST, self.rows)


def found_targets(rows: Array, delimiters: dict[int, str]) -> Iterator[tuple[str, Array]]:
    """Targets that depend on the tokens, (B, T, S) each."""
    same = rows[:, :, None] == rows[:, None, :]
    yield "same token", same & ~np.eye(rows.shape[1], dtype=bool)
    for later in FURTHER:
        yield f"same token + {later}", shifted(same, 0, later)
    context = np.ones_like(same)
    for n in range(1, MOST_CONTEXT + 1):  # row[s − n … s − 1] = row[t − n + 1 … t]
        context = context & shifted(same, n - 1, n)
        yield f"induction {n}", context
    for token, text in delimiters.items():
        yield f"token {text}", np.broadcast_to((rows == token)[:, None, :], same.shape)


def shifted(same: Array, down: int, right: int) -> Array:
    """same[t − down, s − right], false where there is no such place."""
    found, T = np.zeros_like(same), same.shape[1]
    found[:, down:, right:] = same[:, : max(T - down, 0), : max(T - right, 0)]
    return found


def stacked(trace: Any, name: str, layers: int) -> Array:
    """A site of all layers, (L, H, B, T, S)."""
    return np.stack([to_numpy(trace[f"{i}.{name}"]) for i in range(layers)]).swapaxes(1, 2)


def entropy_shares(patterns: Array, seen: Array) -> Array:
    """The entropy of each position's attention, 1 if it is even over all that it sees, (L, H, B, T)."""
    logs = np.log(np.where(patterns > 0, patterns, 1.0))
    largest = np.log(np.maximum(seen.sum(-1), 2))
    shares: Array = -(patterns * logs).sum(-1) / largest
    return shares


def largest_writes(model: Model, trace: Any) -> Array:
    """What each head writes as a share of the stream it adds to, by length, where that is largest, (L, H)."""
    found = []
    for i, layer in enumerate(model.params["layers"]):
        z, W = to_numpy(trace[f"{i}.z"]), np.asarray(layer["W_O"], np.float64)  # (B, H, T, K), (H, K, D)
        squares = np.einsum("bhtk,hkj,bhtj->bht", z, W @ W.swapaxes(1, 2), z)
        stream = (to_numpy(trace[f"{i}.resid_pre"]) ** 2).sum(-1)[:, None]  # (B, 1, T)
        shares = np.maximum(squares, 0) / np.where(stream > 0, stream, np.finfo(float).tiny)
        found.append(np.sqrt(shares.max((0, 2))))
    return np.array(found)
