"""The strings a model learns from, all in memory, and the batches made of them.

A batch is cut into groups of strings of about the same length. The gradient is exactly that of the whole batch, for the
loss is a sum over tokens; but hardly anything is padded, and the groups can be worked on by several cores, each with a
lane of its own. Which strings are in the batch of a step follows from the seed and the number of the step alone, so
that a run can go on from any step.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from handloom.core import Vocab
from handloom.core.arrays import Array
from handloom.core.seeds import Use, generator
from handloom.tasks.task import Ids

NOTHING = -1  # a target that is not to be learnt
WASTE = 1.1  # padded tokens to real ones, above which a lane works on two groups
MASK = "<mask>"  # what hides a token in masked training


@dataclass(frozen=True)
class Strings:
    """Rows of token ids, one after the other; the first `asked` of each row are given, the others are to be learnt."""

    ids: Array  # (all tokens,)
    starts: Array  # (rows + 1,), where each row begins, and the end
    asked: Array  # (rows,)

    @classmethod
    def of(cls, pairs: Sequence[tuple[Ids, Ids]]) -> "Strings":
        lengths = [len(asked) + len(answer) for asked, answer in pairs]
        ids = np.fromiter((token for pair in pairs for part in pair for token in part), np.int64, sum(lengths))
        return cls(
            ids,
            np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]),
            np.array([len(a) for a, _ in pairs], np.int64),
        )

    def __len__(self) -> int:
        return len(self.asked)

    @property
    def lengths(self) -> Array:
        return np.diff(self.starts)

    def row(self, i: int) -> tuple[Ids, Ids]:
        """What is asked in a row, and the answer."""
        row = self.ids[self.starts[i] : self.starts[i + 1]].tolist()
        return row[: self.asked[i]], row[self.asked[i] :]

    def part(self, rows: Sequence[int] | Array) -> "Strings":
        return Strings.of([self.row(int(i)) for i in rows])


@dataclass(frozen=True)
class Batch:
    """Inputs and targets, (B, T), padded at the end; a target of NOTHING is not to be learnt."""

    inputs: Array
    targets: Array
    asked: Array  # (B,)

    @property
    def count(self) -> int:
        """How many tokens are learnt."""
        return int((self.targets != NOTHING).sum())


def pad(strings: Strings, rows: Array) -> Batch:
    """These rows as one batch, in which every token is to be foretold from those before it."""
    starts, lengths, asked = strings.starts[rows], strings.lengths[rows], strings.asked[rows]
    at = np.arange(lengths.max())
    inside = at < lengths[:, None]
    ids = np.where(inside, strings.ids[np.where(inside, starts[:, None] + at, 0)], 0)  # (B, T + 1)
    learnt = inside & (at >= asked[:, None])
    return Batch(ids[:, :-1], np.where(learnt, ids, NOTHING)[:, 1:], asked)


def hide(strings: Strings, rows: Array, rng: np.random.Generator, vocab: Vocab, share: float = 0.15) -> Batch:
    """These rows, all of one length, for masked training: of the tokens to be learnt some are to be told from all
    others. As in BERT, 80 % of these are hidden, 10 % replaced by another token, 10 % left as they are."""
    whole = pad(strings, rows)
    ids = np.concatenate([whole.inputs, np.where(whole.targets[:, -1:] == NOTHING, 0, whole.targets[:, -1:])], 1)
    free = np.arange(ids.shape[1]) >= whole.asked[:, None]
    chosen = free & (rng.random(ids.shape) < share)
    chosen[np.arange(len(ids)), ids.shape[1] - 1 - rng.integers(0, free.sum(1))] = True  # at least one a row
    how = rng.random(ids.shape)
    shown = np.where(chosen & (how < 0.8), vocab.id(MASK), ids)
    shown = np.where(chosen & (how >= 0.9), rng.integers(0, len(vocab), ids.shape), shown)
    return Batch(shown, np.where(chosen, ids, NOTHING), whole.asked)


Lanes = list[list[Batch]]


def lanes_of(strings: Strings, rows: Array, lanes: int) -> Lanes:
    """A batch as groups of like length, dealt out so that every lane has about as much to do."""
    lengths = strings.lengths[rows]
    rows = rows[np.argsort(lengths, kind="stable")]
    groups = cut(rows, lanes)
    if padded(strings, groups) > WASTE * (lengths - 1).sum():
        groups = cut(rows, 2 * lanes)
    dealt: Lanes = [[] for _ in range(lanes)]
    for i, group in enumerate(groups):
        lane = i if i < lanes else 2 * lanes - 1 - i  # short ones first, then long ones in the other direction
        dealt[lane].append(pad(strings, group))
    return dealt


def cut(rows: Array, count: int) -> list[Array]:
    return [group for group in np.array_split(rows, count) if len(group)]


def padded(strings: Strings, groups: list[Array]) -> int:
    return sum(len(group) * int(strings.lengths[group].max() - 1) for group in groups)


def masked_lanes_of(strings: Strings, rows: Array, lanes: int, rng: np.random.Generator, vocab: Vocab) -> Lanes:
    """The same for masked training, where every group is of one length: what is padded would be seen."""
    lengths = strings.lengths[rows]
    groups = [rows[lengths == length] for length in np.unique(lengths)]
    dealt: Lanes = [[] for _ in range(lanes)]
    for i, group in enumerate(groups):
        dealt[i % lanes].append(hide(strings, group, rng, vocab))
    return dealt


def choose(strings: Strings, batch: int, seed: int, step: int) -> tuple[Array, np.random.Generator]:
    """The rows of a step's batch, drawn with replacement, and the generator for whatever else the step draws."""
    rng = generator(seed, Use.BATCHES, step)
    return rng.integers(0, len(strings), batch), rng
