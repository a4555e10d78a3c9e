"""Skip-grams: how much of a head's scores a pair of tokens explains, and how much a pair of positions.

A head that looks from b at every a before it, wherever that is, has scores (q·k) that depend on the pair of tokens
(b, a) alone; one that looks at the token before has scores that depend on the pair of positions alone. In rows of
random tokens the two are independent. The mean score of each pair is taken over half of the rows, and R², the share of
the variance that these means explain, over the other half: a mean explains nothing of the entries it was not made of
unless the pair matters.
"""

import numpy as np

from handloom.core import Model
from handloom.core.arrays import Array, Arrays

MOST_TOKENS = 64  # of a vocabulary; with more, hardly any pair occurs twice in the rows


class PairSums:
    """For each pair (numbers below `size`), half of the rows, and head: sums of scores and of their squares."""

    def __init__(self, size: int, layers: int, heads: int) -> None:
        self.size = size
        self.counts = np.zeros((2, size * size))
        self.sums, self.squares = np.zeros((2, size * size, layers, heads)), np.zeros((2, size * size, layers, heads))

    def add(self, here: Array, there: Array, half: Array, scores: Array) -> None:
        """Entries: a pair, its half, and the scores (entries, L, H)."""
        at = (half, here * self.size + there)
        np.add.at(self.counts, at, 1.0)
        np.add.at(self.sums, at, scores)
        np.add.at(self.squares, at, scores**2)

    def explained(self) -> Array:
        """R² of every head, (L, H), on the second half; NaN where its scores do not vary."""
        known = (self.counts[0] > 0) & (self.counts[1] > 0)
        means = self.sums[0, known] / self.counts[0, known, None, None]
        whole = self.squares[1, known].sum(0)
        change = (2 * means * self.sums[1, known] - means**2 * self.counts[1, known, None, None]).sum(0)
        with np.errstate(invalid="ignore", divide="ignore"):
            shares: Array = np.where(whole > 0, change / whole, np.nan)
        return shares


class PairFit:
    """Collects the scores of all heads on rows of random tokens."""

    def __init__(self, model: Model, longest: int) -> None:
        config = model.config
        self.bos = model.vocab.ids.get(model.vocab.bos or "", -1)
        self.tokens = PairSums(config.vocab, config.layers, config.heads) if config.vocab <= MOST_TOKENS else None
        self.positions = PairSums(longest, config.layers, config.heads)

    def add(self, scores: Array, rows: Array, seen: Array) -> None:
        """Scores (L, H, B, T, S) of rows (B, T). Those of a position count from their mean over what it sees, as
        softmax sees them. `bos`, which has one position only, does not count."""
        plain = rows != self.bos
        use = seen & plain[:, None, :] & plain[:, :, None]  # (B, T, S)
        means = np.where(use, scores, 0.0).sum(-1, keepdims=True) / np.maximum(use.sum(-1, keepdims=True), 1)
        b, t, s = np.nonzero(use)
        centred = np.moveaxis((scores - means)[:, :, b, t, s], -1, 0)  # (entries, L, H)
        if self.tokens is not None:
            self.tokens.add(rows[b, t], rows[b, s], b % 2, centred)
        self.positions.add(t, s, b % 2, centred)

    def scores(self) -> Arrays:
        found = {"by position": self.positions.explained()}
        return found if self.tokens is None else {"skip-gram": self.tokens.explained(), **found}
