"""What every line of a program costs: heads, neurons and dimensions, for the notes of its model and for people."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from handloom.core import Model
from handloom.write.compiler.layering import LayerParts, writes_of
from handloom.write.compiler.lowered import PLANE, Lowered
from handloom.write.compiler.shown import CostTable, LineCost
from handloom.write.compiler.values import Line

SHARED = Line("", 0, "token, position and the constant 1, which all lines share")
PAIR_AND_TOKEN = 5  # dimensions that every program has


def costs_of(lowered: Lowered, places: Mapping[str, int], layers: Sequence[LayerParts]) -> list[list[Any]]:
    """Rows of line, text, heads, neurons, dimensions. A dimension belongs to the line that first writes it."""
    heads, neurons, dimensions = Counter[Line](), Counter[Line](), Counter[Line]({SHARED: PAIR_AND_TOKEN})
    owned: set[int] = set()

    def own(names: Sequence[str], line: Line) -> None:
        new = {places[name] for name in names} - owned
        owned.update(new)
        dimensions[line] += len(new)

    own([*lowered.columns], SHARED)
    for layer in layers:
        for head in layer.heads:
            heads[head.line] += 1
            own(sorted(writes_of(head) - set(PLANE)), head.line)
        for part in layer.neurons:
            neurons[part.line] += len(part.rows)
            own(sorted(writes_of(part) - set(PLANE)), part.line)
    lines = sorted({*heads, *neurons, *dimensions}, key=lambda line: (line.number == 0, line.number, line.text))
    return [[line.number, line.text, heads[line], neurons[line], dimensions[line]] for line in lines]


def cost_of(model: Model) -> CostTable:
    """The cost of every line, from the notes of a compiled model."""
    return CostTable(tuple(LineCost(*row) for row in model.notes.get("cost", ())))
