"""Emission: directions for all numbers, and a Model of the scheduled parts.

The stream is `high low | three dimensions of the token | one dimension per number`. High and low hold C and −C, so that
layer norm divides by nearly the same number everywhere. The token's dimensions always add up to 0. So a read takes its
amount from them in equal parts, its coefficients add up to 0, and the mean that layer norm subtracts is not seen.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from handloom.core import Model, Vocab
from handloom.core.arrays import Array
from handloom.write.compiler.codes import Codes
from handloom.write.compiler.layering import LayerParts
from handloom.write.compiler.levels import LONG
from handloom.write.compiler.lower import SHORT
from handloom.write.compiler.lowered import PLANE, HeadPart, Lowered, Read
from handloom.write.compiler.values import Count, Select
from handloom.write.parts.encodings import PLANE as AXES
from handloom.write.parts.readings import EMBEDDED, LAST
from handloom.write.parts.stream import Direction, Head, Layer, Neurons, Stream, assemble, explained, joined

C = 2.0**10  # what stands in high and low,
C_LONG = 2.0**13  # and in a block of more than LONG positions, where norm must change less from one to the next
LOUD = 2.0**3  # how much larger all but the token is in programs that count: what reads take from it rounds less then
MARGIN = 16.0  # the least difference between the logits of the answer and of any other token


def loudness(lowered: Lowered, block: int) -> float:
    """Within what all numbers stay: more if some are shares of many positions, which lie close together."""
    heads = (part for part in lowered.parts if isinstance(part, HeadPart) and part.looks)
    values = [one for head in heads for one in head.values]
    shares = any(isinstance(one, Count) or (isinstance(one, Select) and one.order == "all") for one in values)
    return LOUD if shares and block > SHORT else 1.0


def stream_of(lowered: Lowered, places: Mapping[str, int], block: int) -> Stream:
    """A direction for every number, scaled so that it stays within the loudness, behind the pair that holds ±pin."""
    loud = loudness(lowered, block)
    pin = loud * (C if block <= LONG else C_LONG)
    every = np.eye(5 + max(places.values(), default=-1) + 1)
    high, low, token = every[:1], every[1:2], every[2:5]
    directions = {
        "high": Direction(high, high, "ballast", (0, 1)),
        "low": Direction(low, low, "ballast", (1, 2)),
        "one": Direction(pin * (high - low), (high - low) / (2 * pin)),
    }
    for name, axis in zip(PLANE, AXES, strict=True):
        directions[name] = Direction(axis[None] @ token, axis[None] @ token)
    for name, place in places.items():
        scale = 2.0 ** np.ceil(np.log2(max(map(abs, lowered.bounds[name])))) / loud
        own = every[5 + place : 6 + place]
        directions[name] = Direction(own / scale, scale * (own - token.sum(0) / 3), "number", (5 + place, 6 + place))
    named = joined(Stream(directions, pin * np.sqrt(2 / len(every))), token=PLANE, answer=PLANE)
    return explained(
        named,
        token={"points": "W_E", "sites": (*EMBEDDED, "0.resid_pre")},
        answer={"points": "W_U", "sites": LAST},
    )


def emitted(
    lowered: Lowered,
    places: Mapping[str, int],
    layers: Sequence[LayerParts],
    vocab: Vocab,
    block: int,
    codes: Codes,
    notes: Mapping[str, object],
) -> Model:
    """The Model of all parts."""
    stream = stream_of(lowered, places, block)
    columns = {
        of: {n: np.array(c.values) for n, c in lowered.columns.items() if c.of == of} for of in ("token", "position")
    }
    tokens = stream.write(**dict(zip(PLANE, codes.points.T, strict=True)), **columns["token"])
    positions = np.broadcast_to(stream.write(one=1.0, **columns["position"]), (block, stream.width))
    built = [layer_of(stream, layer) for layer in layers]
    model = assemble(stream, vocab, tokens, positions, built, notes, activation="relu", biases=())
    gains = np.zeros(stream.width)
    gains[2:5] = stream.scale * MARGIN / codes.least_margin()
    flat = model.flat | {"ln_final.w": gains}
    return model.with_(params=flat)


def layer_of(stream: Stream, layer: LayerParts) -> Layer:
    def pair(read: Read, write: Read) -> tuple[Array, Array]:
        return stream.read(**read), stream.write(**write)

    heads = [
        Head(
            str(part.line),
            [(stream.read(**q), stream.read(**k)) for q, k in part.looks],
            [pair(*move) for move in part.moves],
        )
        for part in layer.heads
    ]
    rows = [pair(*row) for part in layer.neurons for row in part.rows]
    about = "; ".join(dict.fromkeys(str(part.line) for part in layer.neurons))
    return Layer(heads, Neurons(about, rows) if rows else None)
