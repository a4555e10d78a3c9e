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
    layer 6     output what is nearest to the centre

Layer norm must give all tokens one length, to 1e-7, or "nearest" means nothing. So what the layers write is small:
the token has mean square 1 in the first five dimensions, and the three others, where the layers work, stay below 0.03.
"""

import numpy as np

from handloom.core import HandloomError, Model
from handloom.core.arrays import Array
from handloom.tasks.sorting import ascending_with_repeats
from handloom.write.parts.loudness import HARD, LOUD
from handloom.write.parts.stream import Direction, Head, Layer, Neurons, Stream, assemble

HOPS = 4
SAME = 1200.0  # hard enough for the fine circle, and soft enough that equal tokens weigh the same
ARC = 2.5  # angle that all numbers take; less than π, so that the sine grows with the number
FAR = 0.56  # the first step, in arcs: more than half, so that something is always found
NEAR = 5 / 6  # the last step, in units: finds a number one unit above v and none that is two above
BEYOND = 1.05  # how much further than the step that found something the last layer looks
TWIST = 0.2  # angle between neighbours on the fine circle, which tells them apart where order does not matter
COARSE, FINE = np.sqrt(7.0), 1.0  # radii of the two circles: together mean square 1 in eight dimensions
SINE_SCALE, CENTRE_SCALE, MARK = 3e-3, 5e-4, 1e-3
SHUT = 5.0  # more than any change of the centre


def directions() -> Stream:
    """The number on two circles, along four orthonormal directions across (1, 1, 1, 1, 1), so that its mean is zero;
    the first two are the coarse circle. Layer norm takes away the mean of all eight dimensions, an eighth of the sum of
    the last three: the number's readings are blind to that, the others put it back."""
    across = np.array([np.array([1.0] * k + [-k] + [0.0] * (4 - k)) / np.sqrt(k * (k + 1)) for k in range(1, 5)])
    number, back = np.pad(across, ((0, 0), (0, 3))), np.eye(8)[5:]
    read = np.pad(np.eye(3) + 1 / 5, ((0, 0), (5, 0)))
    return Stream(
        {
            "number": Direction(number, number, "token", (0, 5), "W_E"),
            "coarse": Direction(number[:2], number[:2], "angle", None, "W_E"),
            "work": Direction(back[:1], read[:1], "number", (5, 6)),
            "centre": Direction(CENTRE_SCALE * back[1:], read[1:] / CENTRE_SCALE, "angle", (6, 8), "W_E"),
        }
    )


STREAM = directions()
read, write = STREAM.read, STREAM.write
COARSE_NOW, CENTRE_NOW = read(coarse=np.eye(2)), read(centre=np.eye(2))  # (2, 8)
COSINE, SINE = COARSE_NOW


def big_sort(n: int = 1001, length: int = 16, lowest: int = 1) -> Model:
    """Sorts up to `length` numbers, with repeats, out of n − 1 many from `lowest` on: 8 dimensions, 7 layers."""
    if n < 3 or length < 1:
        raise HandloomError(f"sort needs n of at least 3 and a length of at least 1, not n={n} and length={length}")
    vocab, unit = ascending_with_repeats(n, length, lowest).vocab, ARC / (n - 1)
    parts = [smallest_step(unit) ** (2 ** (HOPS - 1 - i) / (2**HOPS - 1)) for i in range(HOPS)]
    layers = [
        mark_what_follows_the_end(),
        see_whether_used_up(length),
        *(try_a_smaller_step(part, unit) for part in parts),
        output_the_nearest(),
    ]
    fields = {"activation": "relu", "biases": ("mlp",)}
    return assemble(
        STREAM, vocab, tokens(n - 1, unit), np.zeros((2 * length, 8)), layers, {"decode_steps": [1, -1]}, **fields
    )


def tokens(values: int, unit: float) -> Array:
    """The numbers in order on the coarse arc, the end token below all of them; the fine circle tells neighbours apart.
    The centre begins at the number itself."""
    angles = unit * (np.array([*range(values), -1]) - (values - 1) / 2)
    code = np.hstack([coarse(angles), FINE * circle_at(TWIST / unit * angles)])
    return write(number=code, work=[0.0] * values + [MARK], centre=coarse(angles))


def circle_at(angles: Array) -> Array:
    return np.stack([np.cos(angles), np.sin(angles)], axis=-1)


def coarse(angles: Array) -> Array:
    return COARSE * circle_at(angles)


def smallest_step(unit: float) -> float:
    """Which part of the first step leads NEAR units above v: p(v) + m (p(v + far) − p(v)) has this direction."""
    far, slope = FAR * ARC, np.tan(NEAR * unit)
    return float(slope / (np.sin(far) + slope * (1 - np.cos(far))))


def mark_what_follows_the_end() -> Layer:
    """Attend to the end token, where there is one to be seen, and take its mark."""
    look = COSINE, read(work=1.0) / MARK  # the cosine is positive on the whole arc: one question for all
    about = "looks at the end token, and takes its mark"
    return Layer([Head(about, [look], [(read(work=1.0), write(work=1.0))], HARD)])


def see_whether_used_up(length: int) -> Layer:
    """Average the mark over the tokens equal to v: 1/2 if v was output as often as it was given, at most
    (length − 1) / (2 length − 1) if not. If it is used up, the centre takes the first step."""
    number = read(number=np.eye(4))
    about = "looks at the tokens equal to mine, and takes the mean of their marks"
    head = Head(about, [(number, number)], [(read(work=1.0), write(work=1.0))], SAME)
    apart = 1 / (8 * length - 4)  # from 1/2 to halfway between the two
    steep = SHUT / apart
    step = circle_at(np.array([FAR * ARC, FAR * ARC + np.pi / 2])) - np.eye(2)  # from p(v) to p(v + far)
    gate, bias = steep * read(work=1.0) / MARK, -steep * (1 + 1 / 2 - apart)  # 1: the own mark
    about = "if my number is used up, the centre takes the first step"
    return Layer([head], move_centre(about, read(coarse=step.T), gate, bias))


def try_a_smaller_step(part: float, unit: float) -> Layer:
    """Look near a centre that is nearer to v. If what is found there is not v, this is the new centre."""
    closer = (1 - part) * (COARSE_NOW - CENTRE_NOW)
    about = "looks near a centre closer to my number, and takes what it finds"
    head = Head(about, [(CENTRE_NOW + closer, COARSE_NOW)], [(SINE, write(work=SINE_SCALE))], HARD)
    smallest = COARSE * (np.sin(ARC / 2) - np.sin(ARC / 2 - unit))
    about = "if it found something other than my number, the centre moves there"
    return Layer([head], move_centre(about, closer, 2 * SHUT / smallest * read(work=1.0) / SINE_SCALE, -SHUT))


def move_centre(about: str, change: Array, gate: Array, bias: float) -> Neurons:
    """Add `change` to the centre if gate + bias is SHUT or more, and nothing if it is −SHUT or less. What was found is
    then forgotten: minus the own sine is left to work with, so that the next hop finds the difference."""
    rows = [
        (change + gate, write(centre=np.eye(2))),
        (gate, write(centre=[-1.0, -1.0])),
        (read(work=1.0) / SINE_SCALE + SINE, write(work=-SINE_SCALE)),
    ]
    return Neurons(about, rows, np.array([bias, bias, bias, SHUT]), write(work=SHUT * SINE_SCALE))


def output_the_nearest() -> Layer:
    """Nearest to a point a little beyond the centre, so that what was just found there is found again."""
    look = BEYOND * CENTRE_NOW - (BEYOND - 1) * COARSE_NOW, COARSE_NOW
    number = read(number=np.eye(4)), write(number=LOUD * np.eye(4))
    about = "looks at the number nearest to the centre, and copies it, loudly"
    return Layer([Head(about, [look], [number], HARD)])
