"""What neurons write, in every case of what they compute, and how wrong it can be.

The neurons of a function read one number s, each as c · s + b. So an error of s is the same for all of them, and counts
as often as the slope of what they write there: not at all, where a step is flat.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from handloom.core.arrays import Array
from handloom.write.compiler.cases import Domain, Domains, unproven
from handloom.write.compiler.compile import CompilePlan
from handloom.write.compiler.lowered import NeuronPart
from handloom.write.compiler.signals import Cases, Signal
from handloom.write.compiler.streams import TINY, Norm, Products, Reads, Streams, not_too_large, signed
from handloom.write.compiler.values import Map, Plain, Value

ALIKE = 1e-3  # of what a part writes: what differs by less is one value, and the difference an error
SMALL = 1e-6  # of what a neuron reads: less than this is part of the error
ALONE = 1.001  # errors that the number read is from its case at most,
BETWEEN = 2.0  # and where what is between two cases is one too: then a neuron may turn near either


@dataclass(frozen=True)
class NeuronWeights:
    """What neurons read of the stream behind a norm, (D, F), what they write, (F, D), how many numbers are added to
    each dimension, (D,)."""

    reads: Array
    writes: Array
    terms: Array

    def __getitem__(self, some: Array) -> "NeuronWeights":
        return NeuronWeights(self.reads[:, some], self.writes[some], self.terms)


class Activations:
    """The neurons of one model."""

    def __init__(self, plan: CompilePlan, domains: Domains, eps: float) -> None:
        self.plan, self.domains, self.eps = plan, domains, eps

    def groups(
        self, streams: Streams, part: NeuronPart, neurons: NeuronWeights
    ) -> Iterator[tuple[list[Value], NeuronWeights]]:
        """Neurons that are functions of the same variables: those of a value's arguments, or, where they clear, of what
        they read."""
        if part.value is not None:
            yield list(part.value.arguments) if isinstance(part.value, Map) else [part.value], neurons
            return
        for i in range(len(neurons.writes)):
            one = neurons[np.array([i])]
            yield streams.seen_by(one.reads, self.eps), one

    def written(
        self, streams: Streams, neurons: NeuronWeights, keys: list[Value], value: Value | None, promised: Domain
    ) -> Signal:
        """What neurons write, as a function of what they compute, or of what they read."""
        norm, base, c, apart, more = one_read(streams, neurons.reads, self.eps)
        by_sign = not self.plan.ranges.signs.isdisjoint(keys)
        if by_sign and (len(keys) > 1 or value is None):
            raise unproven("neurons read a mean of which only the sign is known")
        found = streams.read(np.hstack([neurons.reads, base, apart]), self.eps, keys, promised)
        found = with_turns(found, len(c)) if by_sign else found
        every, errors = np.vstack([found.values, found.first]), np.vstack([found.errors, found.first_error])
        own = found.rounded[:, : len(c)] + more / norm.sigma  # (n, F)
        alone = (errors - found.rounded)[:, len(c) :]  # what the neurons share is not summed apart from them
        reach = BETWEEN if by_sign else ALONE
        wrong = along_one_read(neurons, c, own, every[:, len(c) :], alone, reach)
        every, errors = every[:, : len(c)], errors[:, : len(c)]
        wrong = np.minimum(wrong, (errors * (every > -2 * errors)) @ np.abs(neurons.writes))
        wrong += rounded(neurons, every, errors, found.factor)
        if by_sign:  # what is between two cases is one too
            wrong[:-1] = wrong[:-1].max(0)
        active = np.maximum(every, 0)
        cases = {case: row for row, case in enumerate(found.cases)}
        signal = Signal(tuple(keys), cases, active[:-1], neurons.writes, active[-1], wrong[:-1], wrong[-1])
        if value is not None and value in self.domains.of and isinstance(value, Map):
            signal = self.as_value(value, found.cases, signal)
        if by_sign and signal.key[0] is keys[0]:
            raise unproven("what neurons write differs for means of one sign")
        return signal

    def as_value(self, value: Map, cases: list[tuple[Plain, ...]], signal: Signal) -> Signal:
        """What is written as a function of the value that is computed, unless it differs where that does not."""
        results = self.results(value, cases)
        number = {one: i for i, one in enumerate(dict.fromkeys(results))}
        place, written = np.array([number[one] for one in results], int), signal.amounts @ signal.vectors
        low, high = around(place, written, 0.0)
        if ((high - low) / 2 > ALIKE * np.ptp(written, axis=0) + 1e-12).any():
            return signal
        low, high = around(place, written, signal.errors)
        self.domains.of[value] = tuple(number)
        rows: Cases = {(one,): row for one, row in number.items()}
        first = signal.first @ signal.vectors
        return Signal((value,), rows, (low + high) / 2, np.eye(len(first)), first, (high - low) / 2, signal.first_error)

    def results(self, value: Map, cases: list[tuple[Plain, ...]]) -> list[Plain]:
        """What a function gives in these cases."""
        grid = self.domains.grid(value.arguments, [value])
        function = grid.function(value)
        found = [function(*case) for case in cases]
        if None in found:
            raise unproven(f"{value.line}: the function gives None")
        return found


def one_read(streams: Streams, reads: Array, eps: float) -> tuple[Norm, Array, Array, Array, Array]:
    """Reads (D, F) as multiples c (F,) of one (D, 1), what else they read (D, F), mostly of the pair; and how much the
    rest of them can be, (F,), before the norm divides it."""
    norm = streams.norm(eps)
    pair = np.argsort(norm.sizes)[-2:]
    rest = reads.copy()
    rest[pair] = 0.0
    base = rest[:, [int(np.abs(rest).sum(0).argmax())]]
    c = (base.T @ rest / max(float((base.T @ base)[0, 0]), 1e-300))[0]
    apart = rest - base * c
    small = np.abs(apart) <= SMALL * np.abs(rest).max(0)
    more = norm.sizes @ np.abs(apart * small)
    apart = np.where(small, 0.0, apart)
    apart[pair] = reads[pair]
    return norm, base, c, apart, more


def along_one_read(neurons: NeuronWeights, c: Array, own: Array, every: Array, errors: Array, reach: float) -> Array:
    """How wrong what neurons write can be, (n, D), that all read one number s, as c · s + b, and round by their own.
    The first column of what is read, and of its errors, is s; the others are b. A neuron may turn on or off if it does
    within `reach` errors of s."""
    s, error, b, sizes = every[:, :1], errors[:, :1], every[:, 1:], np.abs(neurons.writes)
    own = own + errors[:, 1:]
    middle, near = c * s + b, reach * np.abs(c) * error
    on, (up, down) = (c * (middle > near)) @ neurons.writes, signed(c * (np.abs(middle) <= near), neurons.writes)
    slope = np.maximum(np.abs(on + up), np.abs(on - down))  # those that may turn add some of theirs
    wrong: Array = error * slope + (own * (middle > -near - 2 * own)) @ sizes
    return wrong


def rounded(neurons: NeuronWeights, every: Array, errors: Array, factor: float) -> Array:
    """What is rounded where neurons that read so much (n, F) write, (n, D), and how much the factor of their position
    changes."""
    active = np.maximum(every, 0)
    products = Products(*signed(np.maximum(every + errors, 0), neurons.writes))
    not_too_large(products.up + products.down)
    wrong = products.rounding(neurons.terms) + TINY * neurons.writes.any(0)
    more: Array = wrong + factor * (np.abs(active @ neurons.writes) + errors @ np.abs(neurons.writes))
    return more


def with_turns(found: Reads, count: int) -> Reads:
    """Reads of a mean with the points where one of `count` neurons turns on: between these, what they write is linear,
    and all that is read is as wrong as anywhere."""
    order = np.argsort([float(case[0]) for case in found.cases])
    cases, values = [found.cases[i] for i in order], found.values[order]
    for a, b in zip(range(len(order) - 1), range(1, len(order)), strict=True):
        low, high = float(cases[a][0]), float(cases[b][0])
        if low * high <= 0:
            continue
        for y, z in zip(values[a, :count], values[b, :count], strict=True):
            if y * z < 0:
                share = y / (y - z)
                cases.append((float(low + share * (high - low)),))
                values = np.vstack([values, values[a] + share * (values[b] - values[a])])
    errors = np.broadcast_to(found.errors.max(0), values.shape)
    rounded = np.vstack([np.broadcast_to(found.rounded[:-1].max(0), values.shape), found.rounded[-1]])
    return replace(found, cases=cases, values=values, errors=errors, rounded=rounded)


def around(place: Array, written: Array, errors: Array | float) -> tuple[Array, Array]:
    """The least and the most that is written (n, D), with its errors, in all cases of one place."""
    shape = (int(place.max(initial=-1)) + 1, written.shape[1])
    low, high = np.full(shape, np.inf), np.full(shape, -np.inf)
    np.minimum.at(low, place, written - errors)
    np.maximum.at(high, place, written + errors)
    return low, high
