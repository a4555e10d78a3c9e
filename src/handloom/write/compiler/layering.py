"""Scheduling: every part in the first layer where all that it reads is known.

Time runs in half layers: heads of layer i at 2i, its neurons at 2i + 1. What a part writes is known one later.
"""

from dataclasses import dataclass

from handloom.write.compiler.lowered import PLANE, HeadPart, Lowered, NeuronPart, Read


@dataclass(frozen=True)
class LayerParts:
    heads: tuple[HeadPart, ...]
    neurons: tuple[NeuronPart, ...]


def scheduled(lowered: Lowered) -> list[LayerParts]:
    """The parts, layer by layer."""
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
    for i, part in enumerate(lowered.parts):  # the answer comes when nobody reads the token any more
        if writes_of(part) & set(PLANE):
            times[i] = last - (last % 2 != isinstance(part, NeuronPart)) if times[i] < last else times[i]
    layers = range(last // 2 + 1) if times else range(0)
    return [LayerParts(at(lowered, times, 2 * i), at(lowered, times, 2 * i + 1)) for i in layers]  # type: ignore[arg-type]


def at(lowered: Lowered, times: dict[int, int], time: int) -> tuple[HeadPart | NeuronPart, ...]:
    return tuple(part for i, part in enumerate(lowered.parts) if times[i] == time)


def reads_of(part: HeadPart | NeuronPart) -> set[str]:
    reads: list[Read] = []
    if isinstance(part, HeadPart):
        reads = [*(read for pair in part.looks for read in pair), *(read for read, _ in part.moves)]
    else:
        reads = [read for read, _ in part.rows]
    return {name for read in reads for name in read}


def writes_of(part: HeadPart | NeuronPart) -> set[str]:
    rows = part.moves if isinstance(part, HeadPart) else part.rows
    return {name for _, write in rows for name in write}
