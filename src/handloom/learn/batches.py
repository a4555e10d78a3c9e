"""Batches for the torch trainer: padded arrays, cut into lanes.

A batch is cut into groups of strings of about the same length. The gradient is exactly that of the whole batch, since
the loss is a sum over tokens; but little is padded, and several cores can work on the groups, each with its own lane.
"""

from dataclasses import dataclass

import numpy as np

from handloom.core import Vocab
from handloom.core.arrays import Array
from handloom.learn.data import NOTHING, Strings

WASTE = 1.1  # ratio of padded to real tokens above which a lane works on two groups
MASK = "<mask>"  # the token that hides others in masked training


@dataclass(frozen=True)
class Batch:
    """Inputs and targets, (B, T), padded at the end; a target of NOTHING is not predicted."""

    inputs: Array
    targets: Array
    asked: Array  # (B,)

    @property
    def count(self) -> int:
        """The number of predicted tokens."""
        return int((self.targets != NOTHING).sum())


def padded_batch(strings: Strings, rows: Array) -> Batch:
    """These rows as one batch. Each token has its target or, if the strings have none, every token is predicted from
    those before it."""
    starts, lengths, asked = strings.starts[rows], strings.lengths[rows], strings.asked[rows]
    at = np.arange(lengths.max())
    inside = at < lengths[:, None]
    places = np.where(inside, starts[:, None] + at, 0)
    ids = np.where(inside, strings.ids[places], 0)  # (B, T), or without targets (B, T + 1)
    if strings.targets is not None:
        return Batch(ids, np.where(inside, strings.targets[places], NOTHING), asked)
    predicted = inside & (at >= asked[:, None])
    return Batch(ids[:, :-1], np.where(predicted, ids, NOTHING)[:, 1:], asked)


def hide(strings: Strings, rows: Array, rng: np.random.Generator, vocab: Vocab, share: float = 0.15) -> Batch:
    """These rows, all of one length, for masked training: some tokens of the answers are predicted from all others.
    As in BERT, 80 % of these are hidden, 10 % replaced by another token, 10 % left as they are."""
    whole = padded_batch(strings, rows)
    ids = np.concatenate([whole.inputs, np.where(whole.targets[:, -1:] == NOTHING, 0, whole.targets[:, -1:])], 1)
    free = np.arange(ids.shape[1]) >= whole.asked[:, None]
    chosen = free & (rng.random(ids.shape) < share)
    chosen[np.arange(len(ids)), ids.shape[1] - 1 - rng.integers(0, free.sum(1))] = True  # at least one per row
    how = rng.random(ids.shape)
    shown = np.where(chosen & (how < 0.8), vocab.id(MASK), ids)
    shown = np.where(chosen & (how >= 0.9), rng.integers(0, len(vocab), ids.shape), shown)
    return Batch(shown, np.where(chosen, ids, NOTHING), whole.asked)


Lanes = list[list[Batch]]


def lanes_of(strings: Strings, rows: Array, lanes: int) -> Lanes:
    """A batch as groups of similar length, dealt out so that all lanes have about the same work."""
    lengths = strings.read[rows]
    rows = rows[np.argsort(lengths, kind="stable")]
    groups = cut(rows, lanes)
    if padded(strings, groups) > WASTE * lengths.sum():
        groups = cut(rows, 2 * lanes)
    dealt: Lanes = [[] for _ in range(lanes)]
    for i, group in enumerate(groups):
        lane = i if i < lanes else 2 * lanes - 1 - i  # short ones first, then long ones in the other direction
        dealt[lane].append(padded_batch(strings, group))
    return dealt


def cut(rows: Array, count: int) -> list[Array]:
    return [group for group in np.array_split(rows, count) if len(group)]


def padded(strings: Strings, groups: list[Array]) -> int:
    return sum(len(group) * int(strings.read[group].max()) for group in groups)


def masked_lanes_of(strings: Strings, rows: Array, lanes: int, rng: np.random.Generator, vocab: Vocab) -> Lanes:
    """The same for a model that sees both ways, in groups of one length each: it would see padding. Tokens are hidden
    and predicted, unless the strings have targets."""
    lengths = strings.lengths[rows]
    groups = [rows[lengths == length] for length in np.unique(lengths)]
    dealt: Lanes = [[] for _ in range(lanes)]
    for i, group in enumerate(groups):
        whole = strings.targets is not None
        dealt[i % lanes].append(padded_batch(strings, group) if whole else hide(strings, group, rng, vocab))
    return dealt
