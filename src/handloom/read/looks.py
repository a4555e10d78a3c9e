"""Where a digit is written, which heads look at another one, and whether that has an effect.

    seen = looks_between(mean_attention(model, rows), marks=[3, 7], first=0, layers=range(4), heads=range(4))
    print(*effects(model, seen, strings, marks=[3, 7], first=0), sep="\n")

A head that looks at a digit need not use it: some look there by coincidence. So the effect is measured by mean ablation
of one edge: at the position that writes, the value that the head reads at the digit is replaced by its mean over many
strings. The look has an effect if the right digit becomes less likely: by one percentage point or more, by more than
chance allows (four standard errors), and by more than nine of ten controls lose, in which a head loses what it looks at
most among the digits that are not marked.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from handloom.core import Model, choose_engine
from handloom.core.arrays import Array
from handloom.core.callbacks import Progress
from handloom.core.reference import softmax
from handloom.read.attention import fast_engine, to_numpy

FEWEST = 20  # strings for a test
RUNS = 10  # of the model, about, to test the looks from one digit
LEAST, ERRORS, MOST_HEADS = 0.01, 4.0, 0.9  # what an effect must exceed, as above


@dataclass(frozen=True)
class Look:
    """The share of its attention that a head gives, where one digit is written, to an earlier one. If it was tested,
    also how likely the right digit is on average with it and without it, and whether that is an effect."""

    written: int
    at: int
    layer: int
    head: int
    share: float
    even: float  # the share if attention were even
    likely: float | None = None
    without: float | None = None
    effect: bool | None = None

    @property
    def marked(self) -> bool:
        """Whether the head gives it more than twice the attention it would give evenly."""
        return self.share > 2 * self.even

    def __str__(self) -> str:
        look = (
            f"where digit {self.written} is written, layer {self.layer}, head {self.head} gives digit {self.at} "
            f"{self.share:.0%} of its attention (evenly it would be {self.even:.0%})"
        )
        if self.likely is None or self.without is None:
            return f"{look}; whether that has an effect was not tested"
        if not self.effect:
            return f"{look}, without effect: the right digit has {self.likely:.0%}, and without it {self.without:.0%}"
        return f"{look}; without it the right digit has {self.without:.0%} instead of {self.likely:.0%}"


def looks_between(
    patterns: Array, marks: Sequence[int], first: int, layers: Sequence[int], heads: Sequence[int]
) -> list[Look]:
    """The looks between marked digits in patterns (all layers, all heads, T, T): for each that is written, each before
    it and each of these heads; those that look there most come first."""
    found = []
    for written in sorted(set(marks)):
        row = written - first - 1
        for at in sorted(set(marks)):
            if first <= at < written and row < patterns.shape[2]:
                shares = [(float(patterns[i, h, row, at - first]), i, h) for i in layers for h in heads]
                shares.sort(key=lambda one: (-one[0], one[1:]))
                found += [Look(written, at, i, h, share, 1 / (row + 1)) for share, i, h in shares]
    return found


def effects(
    model: Model,
    seen: Sequence[Look],
    strings: Sequence[Sequence[int]],
    marks: Sequence[int],
    first: int,
    progress: Progress | None = None,
) -> list[Look]:
    """One look per digit that is written and digit that is looked at: of those with an effect the strongest, otherwise
    the head that looks there most. Strings are right ones, whole; fewer than 20 that are long enough are not tested."""
    chosen: list[Look] = []
    pairs = sorted({(look.written, look.at) for look in seen})
    for written in sorted({written for written, _ in pairs}):
        long = [string[: written - first + 1] for string in strings if len(string) > written - first]
        wanted = len(long) >= FEWEST and any(look.marked for look in seen if look.written == written)
        run = Ablation(model, np.array(long), [mark - first for mark in marks]) if wanted else None
        for at in (at for digit, at in pairs if digit == written):
            same = [look for look in seen if (look.written, look.at) == (written, at)]
            chosen.append(strongest([run.tested(look, at - first) if run and look.marked else look for look in same]))
            if progress:
                progress(len(chosen), len(pairs))
    return chosen


def strongest(same: Sequence[Look]) -> Look:
    """Of the looks from one digit at another, those that look most first, the one to report."""
    real = [look for look in same if look.effect]
    return max(real, key=lambda look: (look.likely or 0.0) - (look.without or 0.0)) if real else same[0]


class Ablation:
    """A model on strings of one length, whose last token is the one to predict: how likely that is, (B,), and how
    likely if a head no longer reads a position."""

    def __init__(self, model: Model, strings: Array, marks: Sequence[int], engine: str | None = None) -> None:
        self.model, self.read, self.right = model, strings[:, :-1], strings[:, -1]
        self.engine = choose_engine(engine or fast_engine(model, RUNS * strings.size))
        logits, trace = self.engine.forward(model, self.read, ["*.pattern", "*.v"])
        self.layers = range(model.config.layers)
        self.patterns = [to_numpy(trace[f"{i}.pattern"])[:, :, -1] for i in self.layers]  # (B, H, T) each
        self.values = [to_numpy(trace[f"{i}.v"]) for i in self.layers]  # (B, H, T, K) each
        self.likely = self.chances(logits)
        self.marks = marks

    @cached_property
    def usual(self) -> float:
        """What nine of ten controls lose at most."""
        lost = [float((self.likely - self.without(*edge)).mean()) for edge in self.controls()]
        return float(np.quantile(lost, MOST_HEADS)) if lost else 0.0

    def tested(self, look: Look, column: int) -> Look:
        """A look at a column, with how likely the right token is without it."""
        after = self.without(look.layer, look.head, column)
        lost = self.likely - after  # (B,)
        chance = max(LEAST, ERRORS * float(lost.std()) / math.sqrt(len(lost)))
        effect = bool(lost.mean() > chance) and bool(lost.mean() > self.usual)
        return replace(look, likely=float(self.likely.mean()), without=float(after.mean()), effect=effect)

    def chances(self, logits: Any) -> Array:
        """How likely the right token is, string by string."""
        return np.asarray(softmax(to_numpy(logits)[:, -1])[np.arange(len(self.right)), self.right])

    def without(self, layer: int, head: int, column: int) -> Array:
        """The same if this head reads there only the mean over all strings."""
        values = self.values[layer][:, head, column]  # (B, K)
        change = self.patterns[layer][:, head, column, None] * (values.mean(0) - values)

        def edit(z: Any) -> Any:  # (B, H, T, K), of either engine
            z[:, head, -1] += z.new_tensor(change) if hasattr(z, "new_tensor") else change
            return z

        return self.chances(self.engine.forward(self.model, self.read, (), {f"{layer}.z": edit})[0])

    def controls(self) -> Iterator[tuple[int, int, int]]:
        """What each head looks at most among the digits that vary and are not marked: layer, head, column."""
        varied = [c for c in range(self.read.shape[1]) if c not in self.marks and len(np.unique(self.read[:, c])) > 1]
        for layer in self.layers if varied else ():
            shares = self.patterns[layer].mean(0)[:, varied]  # (H, columns)
            yield from ((layer, head, varied[int(row.argmax())]) for head, row in enumerate(shares))
