"""Placing: every number gets a dimension of the stream. One that nobody reads any more makes room for a later one.

Its dimension must be cleared for that, by a neuron that takes away what is in it (two if it can be of both signs), in
the same layer or an earlier one. It is done where a layer has neurons to spare: all layers are as wide as the widest.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from handloom.write.compiler.layering import LayerParts, reads_of, writes_of
from handloom.write.compiler.lowered import PLANE, Lowered, NeuronPart, Read
from handloom.write.compiler.values import Line

Span = tuple[int, int]  # when a number is first known and last read, in half layers


def placed(
    lowered: Lowered, layers: Sequence[LayerParts], shared: Mapping[str, Sequence[str]], more: int = 0
) -> tuple[dict[str, int], list[LayerParts]]:
    """The dimension of every number, and the layers with the neurons that clear some. Layers may have that many neurons
    more than the widest of them."""
    spans = spans_of(lowered, layers)
    spare = [most_neurons(layers) + more - count_neurons(layer) for layer in layers]
    places: dict[str, int] = {}
    holder: dict[int, str] = {}  # dimension → the number that has it last
    cleared: list[list[str]] = [[] for _ in layers]
    for name in sorted(lowered.bounds, key=lambda name: spans[name][0]):
        found = reusable(name, holder, spans, spare, lowered.bounds)
        share = next((place for place, old in holder.items() if old in shared.get(name, ())), None)
        if share is not None:
            place = share
        elif found is None:
            place = len(holder)
        else:
            place, layer = found
            cleared[layer].append(holder[place])
            spare[layer] -= len(clearing(holder[place], lowered.bounds))
        places[name], holder[place] = place, name
    return places, [with_clearing(layer, names, lowered) for layer, names in zip(layers, cleared, strict=True)]


def spans_of(lowered: Lowered, layers: Sequence[LayerParts]) -> dict[str, Span]:
    """When every number is written first, and read last; a column is there from the beginning."""
    first, last = dict.fromkeys(lowered.columns, -1), dict.fromkeys(lowered.bounds, -1)
    for time, parts in enumerate(part for layer in layers for part in (layer.heads, layer.neurons)):
        for part in parts:
            for name in writes_of(part) - set(PLANE):
                first.setdefault(name, time)
                last[name] = max(last[name], time)
            for name in reads_of(part) & last.keys():
                last[name] = max(last[name], time)
    return {name: (first[name], last[name]) for name in lowered.bounds}


def reusable(
    name: str,
    holder: Mapping[int, str],
    spans: Mapping[str, Span],
    spare: Sequence[int],
    bounds: Mapping[str, tuple[float, float]],
) -> tuple[int, int] | None:
    """A dimension that is free when a number is written, and the layer whose neurons clear it."""
    written = spans[name][0]
    for place, old in holder.items():
        needed = len(clearing(old, bounds))
        for layer, left in enumerate(spare):
            time = 2 * layer + 1
            if spans[old][1] <= time <= written and written >= 0 and needed <= left:
                return place, layer
    return None


def clearing(name: str, bounds: Mapping[str, tuple[float, float]]) -> list[tuple[Read, Read]]:
    """The neurons that take a number away."""
    low, high = bounds[name]
    sides = [side for side, there in ((1.0, high > 0), (-1.0, low < 0)) if there]
    return [({name: side}, {name: -side}) for side in sides]


def most_neurons(layers: Sequence[LayerParts]) -> int:
    return max(map(count_neurons, layers), default=0)


def count_neurons(layer: LayerParts) -> int:
    return sum(len(part.rows) for part in layer.neurons)


def with_clearing(layer: LayerParts, names: Sequence[str], lowered: Lowered) -> LayerParts:
    rows = [row for name in names for row in clearing(name, lowered.bounds)]
    if not rows:
        return layer
    about = Line("", 0, f"clears {', '.join(names)}")
    return replace(layer, neurons=(*layer.neurons, NeuronPart(rows, about)))
