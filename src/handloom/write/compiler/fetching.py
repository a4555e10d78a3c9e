"""What a head fetches, in every case: the numbers that its weights read there, as a table of the program's value.

A head that takes one position gives what was read there. One that takes several gives their mean, and one that counts
gives the share of the first token, 1/(1 + n). Beside the table is the error: of what is read, of weights that should be
equal and are not, and of what softmax leaves to all other positions.
"""

from dataclasses import dataclass, replace

import numpy as np

from handloom.core.arrays import Array
from handloom.write.compiler.cases import Domains, unproven
from handloom.write.compiler.compile import CompilePlan
from handloom.write.compiler.lowered import HeadPart
from handloom.write.compiler.selections import HeadWeights, Selections
from handloom.write.compiler.signals import Cases, Signal
from handloom.write.compiler.streams import TINY, Reads, Streams, U
from handloom.write.compiler.values import At, Constant, Count, Plain, Select, Value

Table = dict[Plain, tuple[float, float]]  # a value → what is written for it, and its error


@dataclass(frozen=True)
class Move:
    """A column of what a head reads there (D, 1), the row that it writes here (1, D), and how many numbers are added
    to each dimension, (D,)."""

    read: Array
    write: Array
    terms: Array


class Fetching:
    """The heads of one model; each number that one fetches becomes a signal."""

    def __init__(self, plan: CompilePlan, domains: Domains, eps: float) -> None:
        self.plan, self.domains, self.eps = plan, domains, eps
        self.selections = Selections(domains, plan.once)
        self.left = float(np.exp(-self.selections.lead)) * plan.ranges.block  # what softmax leaves to the rest

    def fetched(self, streams: Streams, head: HeadWeights, part: HeadPart | None, move: Move) -> Signal:
        """One number that a head fetches, as a function of the value that it is in the program."""
        if part is None or not part.values:
            raise unproven("a head writes that the program does not have")
        found = []
        for value in part.values:
            if not isinstance(value, At | Select | Count):
                raise unproven("a head computes what heads do not")
            unequal = self.selections.check(streams, head, value)
            found.append(self.taken(streams, value, move, unequal))
        return min(found, key=lambda signal: float(signal.most_wrong().max()) + bend(signal))

    def taken(self, streams: Streams, value: At | Select | Count, move: Move, unequal: float) -> Signal:
        inner: Value = Constant(1) if isinstance(value, Count) else value.value
        found = streams.read(move.read, self.eps, [] if isinstance(inner, Constant) else [inner])
        found = with_factor(found)
        table = self.table(value, inner, found, unequal)
        self.domains.of[value] = tuple(table)
        cases: Cases = {(one,): row for row, one in enumerate(table)}
        amounts, errors = (np.array([entry[i] for entry in table.values()])[:, None] for i in (0, 1))
        size = np.abs(move.write)

        def written(amount: Array, error: Array) -> Array:  # (n, 1) twice → (n, D)
            return error @ size + (np.abs(amount) + error) @ (size * (move.terms + 1) * U) + TINY * (size > 0)

        first_error = written(found.first[None], found.first_error[None])[0]
        return Signal((value,), cases, amounts, move.write, found.first, written(amounts, errors), first_error)

    def table(self, value: At | Select | Count, inner: Value, found: Reads, unequal: float) -> Table:
        """What a head gives for each value that it can fetch."""
        if isinstance(value, Count):
            return {n: share(found, float(n), unequal, self.left) for n in self.plan.ranges.values[value]}
        numbers, errors = found.values[:, 0], found.errors[:, 0]
        first, first_error = float(found.first[0]), float(found.first_error[0])
        every = np.append(numbers, first)
        rest = self.left * float(np.ptp(every)) + 8 * U * float(np.abs(every).max())
        cases = [(inner.value,)] if isinstance(inner, Constant) else found.cases
        known = {case[0]: (float(a), float(e)) for case, a, e in zip(cases, numbers, errors, strict=True)}
        block = self.plan.ranges.block
        if value in self.plan.totals:
            return shared(totals_table(known, (first, first_error), block), every, unequal, rest, block)
        assert not isinstance(value, Count)
        at_first = self.plan.ranges.at_first[value.value]
        otherwise = at_first if isinstance(value, At) or value.otherwise is None else value.otherwise
        if isinstance(value, Select) and value.order == "all" and len(known) > 1:
            means = {mean: on_a_line(known, float(mean)) for mean in self.plan.ranges.values[value]}
            known = shared(means, numbers, unequal, 0.0, block)
        elif isinstance(value, Select) and (value.order == "all" or value.by is value.value):  # of equal numbers
            known = shared(known, np.zeros(1), unequal, 0.0, block)
        apart = 0.0
        if otherwise in known:
            apart = abs(known[otherwise][0] - first) / 2
            first, first_error = (known[otherwise][0] + first) / 2, max(known[otherwise][1], first_error)
        return {one: (a, e + rest) for one, (a, e) in {**known, otherwise: (first, first_error + apart)}.items()}


def bend(signal: Signal) -> float:
    """How far what is written is from a line over the values: most things are written as they are."""
    numbers = [one for (one,) in signal.cases if not isinstance(one, str)]
    if len(numbers) < len(signal.cases):
        return 0.0
    line = np.column_stack([np.array(numbers, float), np.ones(len(numbers))])
    rest = signal.amounts - line @ np.linalg.lstsq(line, signal.amounts, rcond=None)[0]
    return float(np.abs(rest).max() * np.abs(signal.vectors).max())


def with_factor(found: Reads) -> Reads:
    """Reads where each position's own factor is an error: those of other positions differ from it."""
    return replace(
        found,
        errors=found.errors + found.factor * (np.abs(found.values) + found.errors),
        first_error=found.first_error + found.factor * (np.abs(found.first) + found.first_error),
    )


def share(found: Reads, n: float, unequal: float, left: float) -> tuple[float, float]:
    """What a head gives that takes the first token and n others alike. A weight p that is off by e^u changes by
    p (1 − p)(e^u − 1) at most."""
    first, other = float(found.first[0]), float(found.values[0, 0])
    amount = other + (first - other) / (1 + n)
    size = (abs(first) + n * abs(other)) / (1 + n)
    error = (float(found.first_error[0]) + n * float(found.errors[0, 0])) / (1 + n)
    error += (n + 8) * U * (size + error) + abs(first - other) * (n / (1 + n) ** 2 * float(np.expm1(unequal)) + left)
    return amount, error


def shared(known: Table, numbers: Array, unequal: float, rest: float, block: int) -> Table:
    """A table of means: each term may be wrong, and has a weight that is off."""
    size = float(np.abs(numbers).max(initial=0.0)) + max(abs(a) + e for a, e in known.values())
    wrong = max(e for _, e in known.values()) + rest + (block + 8) * U * size
    wrong += float(np.expm1(unequal)) / 4 * float(np.ptp(numbers))
    return {one: (a, wrong) for one, (a, _) in known.items()}


def totals_table(known: Table, first: tuple[float, float], block: int) -> Table:
    """What a mean over all positions is at its ends: between them, on each side of 0, it is linear."""
    numbers = [float(one) for one in known]
    ends = [min(numbers), -1 / block, 0.0, 1 / block, max(numbers)]
    kept = sorted({end for end in ends if min(*numbers, 0.0) <= end <= max(*numbers, 0.0)})
    start = on_a_line(known, 0.0)[0]
    table = {end: on_a_line(known, end) for end in kept}
    return {end: (a, max(e, first[1]) + abs(first[0] - start)) for end, (a, e) in table.items()}


def on_a_line(known: Table, mean: float) -> tuple[float, float]:
    """What stands for a mean, on a line through the ends of a table, and how wrong any mean of its numbers can be."""
    x, y = np.array([float(one) for one in known]), np.array([a for a, _ in known.values()])
    low, high = int(x.argmin()), int(x.argmax())
    slope = (y[high] - y[low]) / (x[high] - x[low]) if x[high] > x[low] else 0.0
    start = y[low] - slope * x[low]
    wrong = float(np.abs(start + slope * x - y).max()) + max(e for _, e in known.values())
    return float(start + slope * mean), wrong
