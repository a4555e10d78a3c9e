"""Merging: a number that is only ever read together with another one, in one proportion, is added to it instead.

`step + 2 · below` is read as a whole, and step is not read alone once `below` is known: so `below` is written where
step is, twice, and takes no dimension of its own.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from handloom.write.compiler.layering import LayerParts, writes_of
from handloom.write.compiler.lowered import HeadPart, Lowered, NeuronPart, Read, plus

MOST_APART = 32  # times the size of the smaller number

Timed = list[tuple[int, HeadPart | NeuronPart]]


def merged(lowered: Lowered, layers: Sequence[LayerParts]) -> tuple[Lowered, list[LayerParts]]:
    """The same with all merged that can be."""
    layers = [LayerParts(tuple(map(replace, layer.heads)), tuple(map(replace, layer.neurons))) for layer in layers]
    timed = timed_parts(layers)
    bounds, zeros = dict(lowered.bounds), set(lowered.zeros)
    lowered = replace(lowered, bounds=bounds, zeros=zeros, parts=[part for _, part in timed])
    while found := next(mergeable(lowered, timed), None):
        into, name, factor = found
        for _, part in timed:
            substitute(part, into, name, factor)
        ends = [factor * bound for bound in bounds.pop(name)]
        zeros -= {into, name}
        low, high = bounds[into]
        bounds[into] = low + min(0.0, *ends), high + max(0.0, *ends)
    return lowered, layers


def timed_parts(layers: Sequence[LayerParts]) -> Timed:
    """All parts with their half layers."""
    halves = [half for layer in layers for half in (layer.heads, layer.neurons)]
    return [(time, part) for time, half in enumerate(halves) for part in half]


def mergeable(lowered: Lowered, timed: Timed) -> Iterator[tuple[str, str, float]]:
    """A number, another one that can be added to it, and how often."""
    written = {
        name: min(time for time, part in timed if name in writes_of(part))
        for name in lowered.bounds
        if name not in lowered.columns
    }
    for name, first in written.items():
        reads = [(time, read) for time, part in timed for read in reads_in(part)]
        for into in lowered.bounds:
            if into == name or written.get(into, -1) > first:
                continue
            later = [read for time, read in reads if time > first and (into in read or name in read)]
            if later and all(into in read and name in read for read in later):
                factor = later[0][name] / later[0][into]
                if alike(lowered, into, name, factor) and all(
                    abs(read[name] - factor * read[into]) <= 1e-12 * abs(read[name]) for read in later
                ):
                    yield into, name, factor


def alike(lowered: Lowered, into: str, name: str, factor: float) -> bool:
    """Whether two numbers that share a dimension are of similar size: the smaller one loses bits otherwise. Shares of
    the first token are counted with all of them."""
    sizes = [max(map(abs, lowered.bounds[into])), abs(factor) * max(map(abs, lowered.bounds[name]))]
    column = lowered.columns.get(into)
    first = column is not None and column.of == "position" and not any(column.values[1:])
    return max(sizes) <= (1 if first else MOST_APART) * min(sizes)


def reads_in(part: HeadPart | NeuronPart) -> list[Read]:
    if isinstance(part, HeadPart):
        return [*(read for pair in part.looks for read in pair), *(read for read, _ in part.moves)]
    return [read for read, _ in part.rows]


def substitute(part: HeadPart | NeuronPart, into: str, name: str, factor: float) -> None:
    def without(read: Read) -> Read:
        return {one: amount for one, amount in read.items() if one != name}

    def instead(write: Read) -> Read:
        return plus(without(write), {into: factor * write[name]}) if name in write else write

    if isinstance(part, HeadPart):
        part.looks = tuple((without(q), without(k)) for q, k in part.looks)
        part.moves = [(without(read), instead(write)) for read, write in part.moves]
    else:
        part.rows = [(without(read), instead(write)) for read, write in part.rows]
