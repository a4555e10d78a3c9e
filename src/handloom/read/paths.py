"""Path expansion: every logit as a sum over the paths from a token, a position or a bias through heads to the output.

    found = paths(model, "4 0 8 0 1 3 0 8 0", answer="1")
    print(found.top(5))                     # the largest, each a source and the heads it went through
    found.by_heads                          # what all paths through 0, 1, 2, … heads contribute together

With patterns and norm scales as they were in the run (`frozen.py`) the expansion is exact for every Config: the
contributions of all paths sum to the logit. MLPs are sources of paths, or with `through_gates` steps of them. All
constants that reach the output through the same steps are one path, from "bias".

What is ranked is the contribution to the logit of the answer minus the mean logit, or minus the logit of another
token: what a path adds to all logits alike changes no prediction.

There are about (1 + heads)^layers paths. Paths are followed backwards from the output, in the order of an upper bound
of what can still come (the length of the covector at each position times the length of what any path can have written
there), until no path can be larger than those found. Up to ALL paths all of them are listed.
"""

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from handloom.core import HandloomError, Model
from handloom.core.arrays import Array
from handloom.core.checks import whole
from handloom.core.finding import find
from handloom.core.registry import offered
from handloom.read.frozen import BIAS, EMBED, Frozen, FrozenHead, run_frozen
from handloom.read.target import ROUNDING, Target, spell_amount, target_of

ALL = 10_000  # paths up to which all are listed
KEPT = 100  # of more paths, those that are searched for
MOST_STEPS = 100_000  # tried in a search
SHOWN = 10  # printed


@dataclass(frozen=True)
class Path:
    """A source, the heads (and MLPs) it went through, and what it adds to the target."""

    steps: tuple[str, ...]
    contribution: float

    def __str__(self) -> str:
        return " → ".join(self.steps)

    def to_json(self) -> dict[str, Any]:
        return {"path": list(self.steps), "contribution": self.contribution}


@dataclass(frozen=True)
class Paths:
    """The paths of a run to one output, largest first."""

    target: Target
    paths: tuple[Path, ...]
    count: int  # of all paths
    by_heads: tuple[float, ...]  # the sums over all paths through 0, 1, 2, … heads
    proven: bool  # no path that is not listed is larger than one that is

    def top(self, number: int) -> "Paths":
        """The largest ones only."""
        if number > len(self.paths) < self.count:
            raise HandloomError(
                f"paths: {number} are asked for and {len(self.paths)} of {self.count:,} are known; "
                f"search for more with keep={number}"
            )
        return replace(self, paths=self.paths[:number])

    def to_json(self) -> dict[str, Any]:
        return {
            **self.target.to_json(),
            "count": self.count,
            "proven": self.proven,
            "by_heads": list(self.by_heads),
            "paths": [path.to_json() for path in self.paths],
        }

    def __str__(self) -> str:
        largest = max((abs(path.contribution) for path in self.paths), default=0.0)
        some = [path for path in self.paths[:SHOWN] if abs(path.contribution) > ROUNDING * largest]
        lines = [f"{spell_amount(path.contribution, largest):>12}  {path}" for path in some]
        if rest := self.count - len(lines):
            left = spell_amount(self.target.total - sum(path.contribution for path in some), largest)
            lines.append(f"{left:>12}  {rest:,} other path{'s' if rest > 1 else ''}")
        doubt = "" if self.proven else " (larger paths may be missing)"
        heads = ", ".join(f"{n}: {spell_amount(value, largest)}" for n, value in enumerate(self.by_heads))
        return "\n".join([f"{self.target}{doubt}", *lines, f"by number of heads: {heads}"])

    def _repr_html_(self) -> str | None:
        """What a notebook shows."""
        return offered("html")(self)


def paths(
    model: Model | str,
    text: Any,
    answer: str | int | None = None,
    against: str | int | None = None,
    position: int = -1,
    through_gates: bool = False,
    keep: int = KEPT,
) -> Paths:
    """The paths to the logit of an answer, by default the token that the model predicts, at a position of a text or of
    token ids. It is compared with the mean logit, or with the logit of the token `against`. Of more than 10,000 paths
    the `keep` largest are searched for."""
    model = find(model).model
    frozen, run = run_frozen(model, text, through_gates)
    target = target_of(model, run, answer, against, position)
    start = first_chain(frozen, target.weights)
    number = count_paths(frozen)
    if number <= ALL:
        found, proven = [Path(steps, float(value)) for steps, value in expansion(frozen, start)], True
    else:
        found, proven = search(frozen, start, whole("keep", keep, 1))
    return Paths(target, ranked(found), number, tuple(map(float, sums_by_heads(frozen, start))), proven)


def ranked(found: list[Path]) -> tuple[Path, ...]:
    """Largest first; those that differ by rounding only, in the order of their names."""
    largest = max((abs(path.contribution) for path in found), default=0.0) or 1.0
    return tuple(sorted(found, key=lambda p: (-round(abs(p.contribution) / largest, 9), len(p.steps), p.steps)))


class Chain(NamedTuple):
    """The end of a path: its steps, how many sublayers lie below it, the covector there, and what its biases add."""

    steps: tuple[str, ...]
    depth: int
    covector: Array  # (..., T, D)
    constant: Any


def first_chain(frozen: Frozen, weights: Array) -> Chain:
    return Chain((), len(frozen.sublayers), *frozen.covector(weights))


def dot(g: Array, x: Array) -> Any:
    return (g * x).sum((-1, -2))


def follow(frozen: Frozen, chain: Chain) -> tuple[dict[str, Any], list[tuple[str, int, Array]]]:
    """What each source adds that goes through these steps and no others; and each step that may come before them: its
    name, sublayer, and the covector on what it writes."""
    g, bias, earlier = chain.covector, chain.constant, []
    found: dict[str, Any] = {}
    for j in reversed(range(chain.depth)):
        sublayer = frozen.sublayers[j]
        bias = bias + dot(g, sublayer.after.bias)
        g = sublayer.after.back(g)
        bias = bias + dot(g, sublayer.bias)
        found |= {name: dot(g, x) for name, x in sublayer.sources.items()}
        earlier += [(name, j, g) for name in sublayer.steps]
    found |= {name: dot(g, x) for name, x in frozen.sources.items()}
    return found | ({BIAS: bias} if frozen.biased else {}), earlier


def longer(frozen: Frozen, chain: Chain, step: str, j: int, g: Array) -> Chain:
    """A chain with a step before it."""
    sublayer = frozen.sublayers[j]
    return Chain((step, *chain.steps), j, sublayer.back(step, g), dot(g, sublayer.constants[step]))


def expansion(frozen: Frozen, chain: Chain) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every path that ends in a chain, and its contribution."""
    found, earlier = follow(frozen, chain)
    yield from (((source, *chain.steps), value) for source, value in found.items())
    for step in earlier:
        yield from expansion(frozen, longer(frozen, chain, *step))


def search(frozen: Frozen, start: Chain, keep: int) -> tuple[list[Path], bool]:
    """The `keep` largest paths, and whether these are proven to be the largest."""
    lengths, order = longest_rows(frozen), count()
    waiting: list[Any] = []  # steps that may come before a chain, the one with the largest bound first
    best: list[tuple[float, int, Path]] = []  # the smallest first
    chain, tried = start, 0
    while tried <= MOST_STEPS:
        found, earlier = follow(frozen, chain)
        tried += len(earlier)
        for source, value in found.items():
            heapq.heappush(best, (abs(value), next(order), Path((source, *chain.steps), float(value))))
        while len(best) > keep:
            heapq.heappop(best)
        floor = best[0][0] if len(best) == keep else -1.0
        for step in earlier:
            bound = bound_of(longer(frozen, chain, *step), lengths)
            if bound > floor:
                heapq.heappush(waiting, (-bound, next(order), chain, step))
        if not waiting or -waiting[0][0] <= floor:
            return [path for _, _, path in best], True
        _, _, before, step = heapq.heappop(waiting)
        chain = longer(frozen, before, *step)  # made again, since to keep all of them would fill the memory
    return [path for _, _, path in best], False


def bound_of(chain: Chain, lengths: list[Array]) -> float:
    """No path that ends in this chain contributes more."""
    each = row_lengths(chain.covector) * lengths[chain.depth]  # (T,), by Cauchy and Schwarz
    return float(each.sum() + abs(chain.constant))


def longest_rows(frozen: Frozen) -> list[Array]:
    """At each depth, up to which length (T,) any one path from a source to there can have written each row."""
    bias = np.zeros_like(frozen.sources[EMBED])  # what biases add without going through a step
    found = [np.max([row_lengths(x) for x in frozen.sources.values()], axis=0)]
    for sublayer in frozen.sublayers:
        before, after = sublayer.before, sublayer.after
        written = [found[-1], *map(row_lengths, sublayer.sources.values())]
        for name, step in sublayer.steps.items():
            grown = step.growth(found[-1] / before.scale, before.P)
            written.append(grown + row_lengths(sublayer.constants[name]))
        lengths = np.max(written, axis=0) * np.linalg.norm(after.P, 2) / after.scale
        bias = after.linear(bias + sublayer.bias) + after.bias
        found.append(np.maximum(lengths, row_lengths(bias)))
    return found


def row_lengths(x: Array) -> Array:
    return np.asarray(np.linalg.norm(x, axis=-1))


def count_paths(frozen: Frozen) -> int:
    """The number of paths to the output, from that to each depth."""
    number = len(frozen.sources) + frozen.biased
    for sublayer in frozen.sublayers:
        number += len(sublayer.sources) + len(sublayer.steps) * number
    return number


def sums_by_heads(frozen: Frozen, start: Chain) -> Array:
    """The sums over all paths through 0, 1, 2, … heads: one pass, whatever the number of paths."""
    most = sum(any(isinstance(step, FrozenHead) for step in one.steps.values()) for one in frozen.sublayers)
    g = np.stack([start.covector, *[np.zeros_like(start.covector)] * most])  # (1 + most, ..., T, D)
    sums = np.stack([start.constant, *[np.zeros_like(start.constant)] * most])
    for sublayer in reversed(frozen.sublayers):
        sums += dot(g, sublayer.after.bias)
        g = sublayer.after.back(g)
        sums += dot(g, sublayer.bias) + sum(dot(g, x) for x in sublayer.sources.values())
        through = np.zeros_like(g)
        for name, step in sublayer.steps.items():
            one = int(isinstance(step, FrozenHead))  # more head on the path
            through[one:] += sublayer.back(name, g[: len(g) - one])
            sums[one:] += dot(g[: len(g) - one], sublayer.constants[name])
        g = g + through
    return np.asarray(sums + sum(dot(g, x) for x in frozen.sources.values()))
