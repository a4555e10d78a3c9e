"""Sort numbers of several digits, in two layers. Nothing is compared, only counted.

    >>> digit_sort()("42 07 13 07=")
    '07 07 13 42'

To say the next digit of the answer, look at all numbers that begin with what was said of this one, those given and
those said before. Count how often each digit comes next in those given, less how often in those said. What is left are
the numbers still to be said, and the next digit is the smallest of which something is left. So no number is compared
with another, and one that repeats is nothing special.

    layer 0  every position gathers the digits of its own number so far; the digits of the answer become negative
    layer 1  attention counts the digits that come next; the MLP says the smallest that is left

To gather there is a head for each place: it looks at the last token that stands in this place or is a sign (a space or
=). If that is a sign, the place has not come yet and stays empty. So a position that has seen two digits of its number
asks for these two and nothing else, and all numbers that begin with them answer, in equal shares.

Every token is +1 in one direction and −1 in another, and so is every place, so that the mean is 0 and layer norm
divides by the same everywhere. What is gathered, and the time, are too small for it to notice.
"""

from itertools import accumulate
from typing import Any

import numpy as np

from handloom.core import Config, Model, params
from handloom.core.arrays import Array
from handloom.tasks.digit_sorting import ascending_digits
from handloom.write.book import BOOK
from handloom.write.parts.encodings import PLANE, circle

SURE = 40.0  # a lead in the scores that leaves nothing to others: exp(−40)
SMALL, TICK = 2.0**-14, 2.0**-24  # a digit gathered, and the time from one position to the next
LOUD, LOUDER = 1e5, 1e10  # counts, against tokens; and what is to be said, against counts

Directions = dict[str, slice]


def digit_sort(digits: int = 2, length: int = 16, base: int = 10) -> Model:
    """Sorts up to `length` numbers of so many digits, with repeats: base + 6 + 4 · digits dimensions."""
    vocab = ascending_digits(digits, length, base).vocab
    at = directions(digits, base)
    config = Config(
        vocab=len(vocab), block=2 * length * (digits + 1) - 2, d_model=width(at), layers=2, heads=digits + 1,
        d_head=max(base, 3 * digits + 1), d_ff=2 * base + 1, **BOOK,
    )  # fmt: skip
    weights = params.zeros(config)
    write_tokens(weights["W_E"], at)
    write_positions(weights["W_pos"], at)
    prepare, decide = weights["layers"]
    for place in range(1, digits + 1):
        gather(prepare, place, at, config.block)
    repeat_equals(prepare, digits, at)
    make_the_answer_negative(prepare, at)
    count_what_comes_next(decide, at, length)
    say_the_smallest(decide, at, length)
    return Model(config, weights, vocab, {"decode_steps": [1, -1], **notes(at, digits)})


def directions(digits: int, base: int) -> Directions:
    """Where things are in the stream. Signs stand in place 0, the digits of a number in places 1, 2, …"""
    widths = {"digit": base, "space": 1, "equals": 1, "place": digits + 1, "one": 1, "time": 2, "gathered": 3 * digits}
    ends = accumulate(widths.values())
    return {name: slice(end - width, end) for (name, width), end in zip(widths.items(), ends, strict=True)}


def width(at: Directions) -> int:
    return at["gathered"].stop


def unit(at: Directions, square: float = 4.0) -> float:
    """What layer norm divides by where the squares of the stream sum to this: 2 of a token and 2 of its place."""
    return float(np.sqrt(square / width(at)))


def write_tokens(table: Array, at: Directions) -> None:
    """A digit is +1 in its direction and −1 in that of the space; a space and = are opposites."""
    base = len(table) - 2
    table[:base, at["digit"]] = np.eye(base)
    table[:base, at["space"]] = -1.0
    table[base:, at["space"]] = [[1.0], [-1.0]]
    table[base:, at["equals"]] = [[-1.0], [1.0]]


def write_positions(table: Array, at: Directions) -> None:
    """The place, against a direction that is −1 everywhere, and the time. A text begins in place 1."""
    steps, places = np.arange(len(table)), at["place"].stop - at["place"].start
    table[:, at["place"]] = np.eye(places)[(steps + 1) % places]
    table[:, at["one"]] = -1.0
    table[:, at["time"]] = TICK * np.outer(steps, [1.0, -1.0])


def ask_of_all(layer: dict[str, Any], head: int, at: Directions) -> Array:
    """Every position asks the same: the score is what the key says, which is to be written into this view."""
    layer["W_Q"][head, at["one"], 0] = -unit(at) * np.sqrt(layer["W_Q"].shape[-1])
    key: Array = layer["W_K"][head, :, 0]
    return key


def gather(layer: dict[str, Any], place: int, at: Directions, block: int) -> None:
    """The last token in this place, or the last sign: a digit is a point on a circle, a sign is nothing."""
    head, base = place - 1, at["digit"].stop
    key = ask_of_all(layer, head, at)
    key[at["place"]][[0, place]] = SURE * block * unit(at)  # more than the time can be
    key[at["time"]] = SURE / (2 * TICK) * unit(at) * np.array([1.0, -1.0])
    layer["W_V"][head, at["digit"], :3] = unit(at) * circle(base)
    layer["W_O"][head, :3, at["gathered"]][:, 3 * head : 3 * place] = SMALL * np.eye(3)


def repeat_equals(layer: dict[str, Any], head: int, at: Directions) -> None:
    """Find = and write it again. Where none is to be seen this finds digits, which have nothing in its direction."""
    ask_of_all(layer, head, at)[at["equals"]] = SURE * unit(at)
    layer["W_V"][head, at["equals"], 0] = unit(at)
    layer["W_O"][head, 0, at["equals"]], layer["W_O"][head, 0, at["space"]] = 1.0, -1.0


def make_the_answer_negative(layer: dict[str, Any], at: Directions) -> None:
    """Turn digit − 2 space + equals, whose squares are 6, into space − digit. Read at the unit that belongs to them, a
    digit alone is √2, = twice is 1.8, and all of these but both together stay below 0."""
    base, unit_here = at["digit"].stop, unit(at, 6.0 + 2.0)
    layer["W_in"][at["digit"], :base] = 4 * unit_here * np.eye(base)
    layer["W_in"][at["equals"], :base] = 3 * unit_here
    layer["b_in"][:base] = -6.0
    layer["W_out"][:base, at["digit"]] = -2 * np.eye(base)
    layer["W_out"][:base, at["space"]] = 3.0
    layer["W_out"][:base, at["equals"]] = -1.0


def count_what_comes_next(layer: dict[str, Any], at: Directions, length: int) -> None:
    """Look at the next place of all numbers that begin with what was gathered. Their mean, with the answer's digits
    negative, is how many are left of each digit, divided by how many there are.

    A digit said weighs a little more than one given, so that no rounding leaves anything of a digit that is used up:
    more by a third of 1 / length, or by less than half where a space asks, as it asks √2 times as hard. So of a digit
    that is not used up at least 1/2 is left. (Said and given differ in the space's direction, by 2.)"""
    base, places = at["digit"].stop, at["place"].stop - at["place"].start
    on_planes = np.kron(np.eye(places - 1), PLANE.T) * unit(at) / SMALL
    each = SURE / (3 - 3 * np.cos(2 * np.pi / base))  # a neighbour on the circle is a lead behind
    all_of_it = 3 * each * (places - 1)  # what numbers can score by beginning alike; the place outweighs it
    prefix, place = slice(0, 2 * places - 2), slice(2 * places - 2, 3 * places - 2)
    query, key = layer["W_Q"][0], layer["W_K"][0]
    query[at["gathered"], prefix], key[at["gathered"], prefix] = each * on_planes, on_planes
    hard = 2 * SURE + all_of_it
    query[at["place"], place] = hard * unit(at) * np.roll(np.eye(places), 1, axis=1)
    key[at["place"], place] = unit(at) * np.eye(places)
    key[at["space"], place] = unit(at) * np.log(1 + 1 / (3 * length)) / (2 * hard)
    query *= np.sqrt(query.shape[-1])
    layer["W_V"][0, at["digit"], :base] = unit(at) * np.eye(base)
    layer["W_O"][0, :base, at["digit"]] = LOUD * np.eye(base)
    layer["W_O"][0, :base, at["space"]] = -LOUD


def say_the_smallest(layer: dict[str, Any], at: Directions, length: int) -> None:
    """Two neurons a digit: 1 if any of it is left, else 0, each digit said twice as loud as the next. And one more says
    the space, behind the last place, louder than any digit.

    Counts, and minus their sum in the space's direction, drown all else, so that layer norm makes their squares sum to
    the width. Half of one of `length` is then at least √(width / 2) / (2 · length)."""
    base, least = at["digit"].stop, np.sqrt(width(at) / 2) / (2 * length)
    rise, stop = slice(0, base), slice(base, 2 * base)
    layer["W_in"][at["digit"], rise] = layer["W_in"][at["digit"], stop] = 2 / least * np.eye(base)
    layer["b_in"][rise], layer["b_in"][stop] = -1.0, -2.0
    layer["W_out"][rise, at["digit"]] = LOUDER * np.diag(2.0 ** np.arange(base - 1, -1, -1))
    layer["W_out"][stop, at["digit"]] = -layer["W_out"][rise, at["digit"]]
    layer["W_in"][at["place"].stop - 1, -1] = 2 * unit(at)
    layer["b_in"][-1] = -1.0
    layer["W_out"][-1, at["space"]] = 2.0**base * LOUDER


def notes(at: Directions, digits: int) -> dict[str, Any]:
    return {
        "directions": {name: [part.start, part.stop] for name, part in at.items()},
        "heads": {
            **{
                f"0.{place - 1}": f"looks at the last token that is a sign or in place {place}, and gathers its digit"
                for place in range(1, digits + 1)
            },
            f"0.{digits}": "looks at =, if it has come, and writes it again",
            "1.0": "looks at the next place of all numbers that begin as mine does, and counts each digit, loudly",
        },
        "mlps": {
            "0": "a digit after = becomes negative",
            "1": "the smallest digit of which some are left is said loudest; behind the last place, a space",
        },
    }
