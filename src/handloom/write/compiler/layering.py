"""Scheduling: every part in a layer where all that it reads is known.

Time runs in half layers: heads of layer i at 2i, its neurons at 2i + 1. What a part writes is known one later. A model
has as many heads in each layer as the layer with the most, and as many neurons: so parts that can wait are spread over
the layers.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

from handloom.write.compiler.lowered import PLANE, HeadPart, Lowered, NeuronPart, Read

Part = HeadPart | NeuronPart
Times = tuple[int, ...]  # the half layer of each part


@dataclass(frozen=True)
class LayerParts:
    heads: tuple[HeadPart, ...]
    neurons: tuple[NeuronPart, ...]


def scheduled(lowered: Lowered) -> list[LayerParts]:
    """The parts, layer by layer, each in the first where it can be."""
    return in_layers(lowered.parts, earliest(lowered))


def schedules(lowered: Lowered, most: int) -> Iterator[list[LayerParts]]:
    """Up to `most` ways to schedule the parts in as few layers: the earliest, then those that differ from one before by
    the place of one part. Those with the smallest layers come first."""
    order, width = Order(lowered.parts), head_width(lowered.parts)
    first = tuple(earliest(lowered))
    known, waiting = {first}, [(load(lowered.parts, first, width), first)]
    for _ in range(most):
        if not waiting:
            return
        _, times = heappop(waiting)
        yield in_layers(lowered.parts, times)
        for moved in order.moves(times):
            if moved not in known:
                known.add(moved)
                heappush(waiting, (load(lowered.parts, moved, width), moved))


def earliest(lowered: Lowered) -> list[int]:
    """The first half layer of each part; that of the answer, when nobody reads the token any more."""
    known = dict.fromkeys([*lowered.columns, *PLANE, "one"], 0)
    times: dict[int, int] = {}
    waiting = list(range(len(lowered.parts)))
    while waiting:
        ready = [i for i in waiting if all(name in known for name in reads_of(lowered.parts[i]))]
        assert ready, "what a part reads is written by another"
        for i in ready:
            part = lowered.parts[i]
            time = max((known[name] for name in reads_of(part)), default=0)
            odd = isinstance(part, NeuronPart)
            times[i] = time + (time % 2 != odd)
        for i in ready:
            for name in writes_of(lowered.parts[i]) - set(PLANE):
                writers = [j for j, part in enumerate(lowered.parts) if name in writes_of(part)]
                if all(j in times for j in writers):
                    known[name] = max(times[j] for j in writers) + 1
        waiting = [i for i in waiting if i not in times]
    last = max(times.values(), default=0)
    for i, part in enumerate(lowered.parts):
        if answers(part):
            times[i] = last - (last % 2 != isinstance(part, NeuronPart)) if times[i] < last else times[i]
    return [times[i] for i in range(len(lowered.parts))]


class Order:
    """Which parts must come before which, as far as what they read and write says."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self.parts = parts
        reads, writes = [reads_of(part) for part in parts], [writes_of(part) - set(PLANE) for part in parts]
        every = range(len(parts))
        self.before = [[j for j in every if writes[j] & reads[i]] for i in every]
        self.after = [[j for j in every if writes[i] & reads[j]] for i in every]
        self.answers = [i for i in every if answers(parts[i])]

    def moves(self, times: Times) -> Iterator[Times]:
        """The times with one part moved elsewhere; an answer stays at the end, behind all that read the token."""
        end = max(times, default=0)
        for i, time in enumerate(times):
            low = 1 + max((times[j] for j in self.before[i]), default=-1)
            high = min((times[j] - 1 for j in self.after[i]), default=end)
            for new in range(low, high + 1):
                if new % 2 == time % 2 and new != time and i not in self.answers:
                    yield (*times[:i], new, *times[i + 1 :])


def load(parts: Sequence[Part], times: Times, width: int) -> tuple[int, int]:
    """What the heads and neurons of a layer cost, per dimension, if all are as large as the largest; then how unequal
    they are."""
    heads, neurons = Counter[int](), Counter[int]()
    for part, time in zip(parts, times, strict=True):
        if isinstance(part, HeadPart):
            heads[time] += 4 * width
        else:
            neurons[time] += 2 * len(part.rows)
    most = max(heads.values(), default=0) + max(neurons.values(), default=0)
    return most, sum(one**2 for one in (*heads.values(), *neurons.values()))


def in_layers(parts: Sequence[Part], times: Sequence[int]) -> list[LayerParts]:
    timed = list(zip(parts, times, strict=True))
    return [
        LayerParts(
            tuple(part for part, time in timed if isinstance(part, HeadPart) and time == 2 * i),
            tuple(part for part, time in timed if isinstance(part, NeuronPart) and time == 2 * i + 1),
        )
        for i in (range(max(times) // 2 + 1) if timed else ())
    ]


def head_width(parts: Sequence[Part]) -> int:
    """The width of the widest head."""
    return max((max(len(p.looks), len(p.moves)) for p in parts if isinstance(p, HeadPart)), default=0)


def answers(part: Part) -> bool:
    """Whether a part writes the answer."""
    return bool(writes_of(part) & set(PLANE))


def reads_of(part: Part) -> set[str]:
    reads: list[Read] = []
    if isinstance(part, HeadPart):
        reads = [*(read for pair in part.looks for read in pair), *(read for read, _ in part.moves)]
    else:
        reads = [read for read, _ in part.rows]
    return {name for read in reads for name in read}


def writes_of(part: Part) -> set[str]:
    rows = part.moves if isinstance(part, HeadPart) else part.rows
    return {name for _, write in rows for name in write}
