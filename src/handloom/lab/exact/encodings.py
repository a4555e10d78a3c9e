"""A random rotation tells 256 positions apart with far fewer dimensions than the sinusoidal encoding.

The Art of Transformer Programming, figure 7.9: how much of its attention a position gives to itself when queries and
keys are the encoding, at the position where that is least. The book has the sinusoidal encoding at 0.94 with 256
dimensions, and a random rotation above 0.99 from about 10 dimensions on. Nothing is scaled down: each seed draws 100
rotations of its own for every number of dimensions, and takes their median. Control: angles that are all equal tell
positions apart in no number of dimensions. `handloom write encodings` draws the chapter's other figures.
"""

from collections.abc import Sequence

import numpy as np

from handloom.lab.experiment import Check, Claim, Finding, Lab, Series
from handloom.view.figures.panels import Lines, Mark, Panel, band
from handloom.write.parts.positions import rotation_distinguishability, sinusoidal_angles

CLAIM = Claim(
    name="encodings",
    says="a random rotation tells 256 positions apart with far fewer dimensions than the sinusoidal encoding",
    source="The Art of Transformer Programming, figure 7.9",
    seed="the book",
    number="random above 0.99 from about 10 dimensions, sinusoidal 0.94 with 256",
    quick=0.2,
    full=1,
)
POSITIONS, DRAWS = 256, 100
DIMENSIONS = (4, 8, 10, 12, 16, 20, 24, 28, 32, 40, 64, 128, 256)


def run(lab: Lab) -> Finding:
    rng = lab.rng()
    ours = {d: random_rotations(d, rng) for d in DIMENSIONS}
    theirs = {d: rotation_distinguishability(sinusoidal_angles(d), POSITIONS) for d in DIMENSIONS}
    equal = rotation_distinguishability(np.full(128, rng.uniform(0, 2 * np.pi)), POSITIONS)
    needed = min((d for d in DIMENSIONS if ours[d] > 0.99), default=10_000)
    return Finding(
        checks=[
            Check("sinusoidal, 256 dimensions", theirs[256], least=0.93, most=0.95, said=0.94),
            Check("random rotation, 10 dimensions", ours[10], least=0.99, said=0.99),
            Check("random above 0.99 with a tenth of 256 dimensions or so", needed, most=32, said=10),
            Check("equal angles, 256 dimensions", equal, least=0.93, control=True),
        ],
        series={"dimensions": list(DIMENSIONS), "random": list(ours.values()), "sinusoidal": list(theirs.values())},
    )


def random_rotations(d: int, rng: np.random.Generator) -> float:
    """The median over draws of the angles."""
    draws = rng.uniform(0, 2 * np.pi, (DRAWS, d // 2))
    return float(np.median([rotation_distinguishability(angles, POSITIONS) for angles in draws]))


def picture(seeds: Sequence[Series]) -> Sequence[Panel]:
    x = seeds[0]["dimensions"]
    curves = [band(name, x, [series[name] for series in seeds]) for name in ("random", "sinusoidal")]
    marks = [Mark(0.99, "0.99 from about 10 dimensions (the book)"), Mark(10, "10", "x")]
    return [Lines(f"{POSITIONS} positions", "dimensions", "distinguishability", curves, marks, log_x=True)]
