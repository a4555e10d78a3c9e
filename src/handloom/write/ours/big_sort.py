"""Sort with many values and repeats, right in float32: a search for the next number in hops along a circle.

The numbers stand in order on an arc, a unit apart. What follows the number v is v again, if it is not yet used up, and
otherwise the smallest number above v. Attention can find the number nearest to a centre. With the centre a distance r
above v it finds v itself or something above v, and it finds something above if and only if the next number is less
than 2r away; and if it is more than r away, what is found is the next number. So all that is needed is an r that is
right within a factor of 2, out of 1,000. A centre is the vector of v plus m times a fixed step, and a hop that tries a
smaller m is linear; binary search over the powers of a ratio needs four hops.

    layer 0     who comes after the = ?                 every position looks for the end token
    layer 1     is v used up?                           the average of that mark over the tokens equal to v is then 1/2
    layers 2-5  is there something near above v?        try smaller steps, keep one that finds something
    layer 6     say what is nearest to the centre

Layer norm must give all tokens one length, to 1e-7, or "nearest" means nothing. So what the layers write is small:
the token has mean square 1 in the first five dimensions, and the three others, where the layers work, stay below 0.03.
"""

from typing import Any

import numpy as np

from handloom.core import Config, HandloomError, Model, params
from handloom.core.arrays import Array
from handloom.tasks.sorting import ascending_with_repeats

HOPS = 4
HARD, LOUD = 1e8, 1e6
SAME = 1200.0  # hard enough for the fine circle, and soft enough that equal tokens weigh the same
ARC = 2.5  # angle that all numbers take; less than π, so that the sine grows with the number
FAR = 0.56  # the first step, in arcs: more than half, so that something is always found
NEAR = 5 / 6  # the last step, in units: finds a number one unit above v and none that is two above
BEYOND = 1.05  # how much further than the step that found something the last layer looks
TWIST = 0.2  # angle between neighbours on the fine circle, which tells them apart where order does not matter
COARSE, FINE = np.sqrt(7.0), 1.0  # radii of the two circles: together mean square 1 in eight dimensions
WORK, CENTRE = slice(5, 6), slice(6, 8)  # dimensions where the layers work
SINE_SCALE, CENTRE_SCALE, MARK = 3e-3, 5e-4, 1e-3
SHUT = 5.0  # more than any change of the centre


def big_sort(n: int = 1001, length: int = 16, lowest: int = 1) -> Model:
    """Sorts up to `length` numbers, with repeats, out of n − 1 many from `lowest` on: 8 dimensions, 7 layers."""
    if n < 3 or length < 1:
        raise HandloomError(f"sort needs n of at least 3 and a length of at least 1, not n={n} and length={length}")
    vocab, values = ascending_with_repeats(n, length, lowest).vocab, n - 1
    config = Config(
        vocab=n, block=2 * length, d_model=8, layers=HOPS + 3, heads=1, d_head=4, d_ff=4, activation="relu",
        biases=("mlp",),
    )  # fmt: skip
    unit = ARC / values
    angles = unit * (np.array([*range(values), -1]) - (values - 1) / 2)  # the end token stands below all numbers
    weights = params.zeros(config)
    code = np.hstack([coarse(angles), FINE * circle_at(TWIST / unit * angles)])
    weights["W_E"][:] = np.hstack([code @ SPREAD, np.zeros((values + 1, 1)), CENTRE_SCALE * coarse(angles)])
    weights["W_E"][-1, WORK] = MARK
    mark, count, *hops, last = weights["layers"]
    mark_what_follows_the_end(mark)
    see_whether_used_up(count, length)
    for i, hop in enumerate(hops):
        try_a_smaller_step(hop, smallest_step(unit) ** (2 ** (HOPS - 1 - i) / (2**HOPS - 1)), unit)
    say_the_nearest(last)
    return Model(config, weights, vocab, {"decode_steps": [1, -1], **NOTES})


NOTES: dict[str, Any] = {
    "directions": {"number": [0, 5], "work": 5, "centre": [6, 8]},
    "heads": {
        "0.0": "looks at the end token, and takes its mark",
        "1.0": "looks at the tokens equal to mine, and takes the mean of their marks",
        **{f"{i}.0": "looks near a centre closer to my number, and takes what it finds" for i in range(2, HOPS + 2)},
        f"{HOPS + 2}.0": "looks at the number nearest to the centre, and copies it, loudly",
    },
    "mlps": {
        "1": "if my number is used up, the centre takes the first step",
        **{str(i): "if it found something other than my number, the centre moves there" for i in range(2, HOPS + 2)},
    },
}


def circle_at(angles: Array) -> Array:
    return np.stack([np.cos(angles), np.sin(angles)], axis=-1)


def coarse(angles: Array) -> Array:
    return COARSE * circle_at(angles)


def smallest_step(unit: float) -> float:
    """Which part of the first step leads NEAR units above v: p(v) + m (p(v + far) − p(v)) has this direction."""
    far, slope = FAR * ARC, np.tan(NEAR * unit)
    return float(slope / (np.sin(far) + slope * (1 - np.cos(far))))


# Four orthonormal directions across (1, 1, 1, 1, 1): what is written along them has mean zero.
SPREAD = np.array([np.array([1.0] * k + [-k] + [0.0] * (4 - k)) / np.sqrt(k * (k + 1)) for k in range(1, 5)])

# What a layer reads. Layer norm has taken away the mean, an eighth of the sum of the last three dimensions; the
# first four readings are blind to that, the others put it back.
READ = np.zeros((8, 7))
READ[:5, :4] = SPREAD.T
READ[5:, 4:] = np.eye(3) + 1 / 5
READ_COARSE, READ_TOKEN = READ[:, :2], READ[:, :4]
READ_SINE, READ_COSINE = READ[:, 1], READ[:, 0]
READ_WORK, READ_CENTRE = READ[:, 4], READ[:, 5:] / CENTRE_SCALE


def mark_what_follows_the_end(layer: dict[str, Array]) -> None:
    """Attend to the end token, where there is one to be seen, and take its mark."""
    layer["W_Q"][0, :, 0] = HARD * READ_COSINE  # positive on the whole arc: one question for all
    layer["W_K"][0, :, 0] = READ_WORK / MARK
    layer["W_V"][0, :, 0] = READ_WORK
    layer["W_O"][0, 0, WORK] = 1.0


def see_whether_used_up(layer: dict[str, Array], length: int) -> None:
    """Average the mark over the tokens equal to v: 1/2 if v was said as often as it was given, at most
    (length − 1) / (2 length − 1) if not. If it is used up, the centre takes the first step."""
    layer["W_Q"][0] = SAME * READ_TOKEN
    layer["W_K"][0] = READ_TOKEN
    layer["W_V"][0, :, 0] = READ_WORK
    layer["W_O"][0, 0, WORK] = 1.0
    apart = 1 / (8 * length - 4)  # from 1/2 to halfway between the two
    steep = SHUT / apart
    step = circle_at(np.array([FAR * ARC, FAR * ARC + np.pi / 2])) - np.eye(2)  # from p(v) to p(v + far)
    move_centre(layer, READ_COARSE @ step, steep * READ_WORK / MARK, -steep * (1 + 1 / 2 - apart))  # 1: the own mark


def try_a_smaller_step(layer: dict[str, Array], part: float, unit: float) -> None:
    """Look near a centre that is nearer to v. If what is found there is not v, this is the new centre."""
    closer = (1 - part) * (READ_COARSE - READ_CENTRE)
    layer["W_Q"][0, :, :2] = HARD * (READ_CENTRE + closer)
    layer["W_K"][0, :, :2] = READ_COARSE
    layer["W_V"][0, :, 0] = READ_SINE
    layer["W_O"][0, 0, WORK] = SINE_SCALE
    smallest = COARSE * (np.sin(ARC / 2) - np.sin(ARC / 2 - unit))
    move_centre(layer, closer, 2 * SHUT / smallest * READ_WORK / SINE_SCALE, -SHUT)


def move_centre(layer: dict[str, Array], change: Array, gate: Array, bias: float) -> None:
    """Add `change` to the centre if gate + bias is SHUT or more, and nothing if it is −SHUT or less. What was found is
    then forgotten: minus the own sine is left to work with, so that the next hop finds the difference."""
    layer["W_in"][:, :2] = change + gate[:, None]
    layer["W_in"][:, 2] = gate
    layer["W_in"][:, 3] = READ_WORK / SINE_SCALE + READ_SINE
    layer["b_in"][:] = [bias, bias, bias, SHUT]
    layer["W_out"][:2, CENTRE] = CENTRE_SCALE * np.eye(2)
    layer["W_out"][2, CENTRE] = -CENTRE_SCALE
    layer["W_out"][3, WORK] = -SINE_SCALE
    layer["b_out"][WORK] = SHUT * SINE_SCALE


def say_the_nearest(layer: dict[str, Array]) -> None:
    """Nearest to a point a little beyond the centre, so that what was just found there is found again."""
    layer["W_Q"][0, :, :2] = HARD * (BEYOND * READ_CENTRE - (BEYOND - 1) * READ_COARSE)
    layer["W_K"][0, :, :2] = READ_COARSE
    layer["W_V"][0] = READ_TOKEN
    layer["W_O"][0, :, :5] = LOUD * SPREAD
