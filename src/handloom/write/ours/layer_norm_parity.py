"""Parity by layer norm: however long the input, the answer stands out by the same margin, as layer norm makes a signal
that fades with the length as loud as any other. After Chiang and Cholak, "Overcoming a theoretical limitation of
self-attention" (2022).

    >>> layer_norm_parity("1-10")("10110=")
    '1'

Attention takes means, so one bit of n changes what it gives by 1/n, and the logits of a transformer with bounded
weights come together as n grows (Hahn, 2020). Theirs and this one decide by a number that is above or below 0. At the
end nothing else is left in the stream. So layer norm divides the number by its own size.

With k ones among the bits, which are at the positions i = 0 … n − 1 with = at n:

    layer 0   at position i the head gives = the weight i and every bit the weight 1, which add up to Z = n + i; so it
              gives k/Z − i/Z, and 1/Z of what marks the first position. Neurons make u = 1/Z where i = k, 0 elsewhere
    layer 1   = looks at the even positions by one head and at the odd ones by another: the mean of u over the even ones
              less that over the odd ones is above 0 if k is even, else below. Neurons take away all else from =

Their transformer has one position code i/n per length. Here the weights of the head make up for the length, so one
model takes all of them. Like theirs it sees both ways, and has its norms behind the sublayers. Every number is stored
as (x, −x), so that the mean is 0. A norm then multiplies all numbers of a position by one factor above 0, which changes
no sign, and no neuron here has a bias.
"""

import numpy as np

from handloom.core import Model
from handloom.core.arrays import Array
from handloom.tasks.sequences import lengths_within, parity
from handloom.write.parts.readings import EMBEDDED, LAST
from handloom.write.parts.stream import Direction, Head, Layer, Neurons, Stream, assemble, explained, joined

NAMES = ("one", "equals", "log", "turn", "first", "apart", "unit", "found", "answer")
NEVER = -12.0  # for log 0, the weight that = has at position 0: e⁻¹² of a bit's
APART = 2.0  # times the factors of two norms, each above 1: the score of even positions, and less that of odd ones
TINY = 1e-20  # eps: the signal's square is far smaller than the usual one


def paired() -> Stream:
    """Every number x as x in one dimension and −x in another."""
    every = np.eye(2 * len(NAMES))
    pairs = (every[i : i + 1] - every[i + len(NAMES) : i + len(NAMES) + 1] for i in range(len(NAMES)))
    return Stream({name: Direction(pair, pair / 2) for name, pair in zip(NAMES, pairs, strict=True)})


STREAM = paired()
read, write = STREAM.read, STREAM.write


def layer_norm_parity(length: str = "1-10") -> Model:
    """Whether the number of ones is odd, of up to this many bits."""
    _, high = lengths_within("layer-norm-parity", length)
    layers = [Layer([weigh_and_count()], find_the_count()), Layer(even_and_odd(), leave_the_answer())]
    vocab, notes = parity(length).vocab, {"decode_steps": 1}
    fields = {"place": "post", "causal": False, "eps": TINY, "activation": "relu", "biases": ()}
    return assemble(with_readings(), vocab, tokens(), positions(high + 1), layers, notes, **fields)


def with_readings() -> Stream:
    stream = joined(STREAM, token=("one", "equals", "answer"), position=("log", "turn", "first"))
    at_the_end = {"points": np.array([[1.0], [-1.0]]), "sites": ("1.resid_post", *LAST)}
    return explained(
        stream,
        token={"points": "W_E", "sites": EMBEDDED},
        position={"points": "W_pos", "sites": ("pos_embed",)},
        answer=at_the_end,
    )


def tokens() -> Array:
    """0, 1 and =. The first two are the answers too: above 0 for 0."""
    return write(one=[0, 1, 0], equals=[0, 0, 1], answer=[1, -1, 0])


def positions(block: int) -> Array:
    i = np.arange(block)
    logs = np.where(i > 0, np.log(np.maximum(i, 1)), NEVER)
    return write(log=logs, turn=(-1.0) ** i, first=(i == 0).astype(float))


def weigh_and_count() -> Head:
    return Head(
        "at all positions, at = as if it were as many as the number of this position: how many ones more than that",
        looks=[(read(log=1), read(equals=1))],
        moves=[(read(one=1, equals=-1), write(apart=1)), (read(first=1), write(unit=1))],
    )


def find_the_count() -> Neurons:
    """A hat over 0, as wide as the unit; and what layer 1 does not need is taken away, lest norms differ by it."""
    return Neurons(
        "a unit where the number of this position is that of the ones",
        [
            (read(apart=1, unit=-1), write(found=1)),
            (read(apart=1), write(found=-2, apart=-1)),
            (read(apart=1, unit=1), write(found=1)),
            (read(apart=-1), write(apart=1)),
            (read(unit=1), write(unit=-1)),
            (read(first=1), write(first=-1)),
            (read(log=1), write(log=-1)),
            (read(log=-1), write(log=1)),
        ],
    )


def even_and_odd() -> list[Head]:
    return [
        Head(
            f"at {which} positions: the unit, if it is there",
            looks=[(read(equals=1), read(turn=sign * APART))],
            moves=[(read(found=1), write(answer=sign))],
        )
        for which, sign in (("even", 1.0), ("odd", -1.0))
    ]


def leave_the_answer() -> Neurons:
    return Neurons(
        "takes away all but the answer from =",
        [
            (read(equals=1), write(equals=-1)),
            (read(turn=1), write(turn=-1)),
            (read(turn=-1), write(turn=1)),
            (read(found=1), write(found=-1)),
        ],
    )
