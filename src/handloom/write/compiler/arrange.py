"""Arranging: schedule, merge and place in several ways, of which the smallest model is taken.

Parts that wait make layers more alike, and keep numbers longer in the stream. Neurons that clear a dimension cost a row
and a column in every layer, and save one in all tables. Which of this pays depends on the sizes, so it is tried.
"""

from collections.abc import Iterator, Mapping, Sequence

from handloom.write.compiler.codes import Codes
from handloom.write.compiler.inplace import shareable
from handloom.write.compiler.layering import LayerParts, head_width, schedules
from handloom.write.compiler.lowered import Lowered
from handloom.write.compiler.merge import merged
from handloom.write.compiler.place import most_neurons, placed

MOST_SCHEDULES = 50  # that are tried; the standard programs have up to 40
MOST_MORE = 6  # neurons that layers may have more, to clear dimensions
PAIR_AND_TOKEN = 5  # dimensions that every program has

Arranged = tuple[Lowered, Sequence[LayerParts], Mapping[str, int]]


def arranged(lowered: Lowered, codes: Codes, block: int) -> Arranged:
    """The parts in layers and the numbers in dimensions, so that the model is smallest."""
    rows = len(codes.tokens) + block
    return min(arrangements(lowered, codes), key=lambda one: size_of(one, rows))


def arrangements(lowered: Lowered, codes: Codes) -> Iterator[Arranged]:
    for schedule in schedules(lowered, MOST_SCHEDULES):
        whole, layers = merged(lowered, schedule)
        shared = shareable(whole, layers, codes)
        for more in range(MOST_MORE + 1):
            places, cleared = placed(whole, layers, shared, more)
            yield whole, cleared, places


def size_of(arranged: Arranged, rows: int) -> int:
    """How many parameters a model has, whose tables have `rows` rows in all."""
    lowered, layers, places = arranged
    width = PAIR_AND_TOKEN + max(places.values(), default=-1) + 1
    heads = max((len(layer.heads) for layer in layers), default=0)
    per_layer = 4 * heads * head_width(lowered.parts) + 2 * most_neurons(layers)
    return width * (rows + len(layers) * per_layer)
