"""The answer: its token's point is written onto the plane of the token that is here, loudly."""

import numpy as np

from handloom.core.arrays import Array
from handloom.write.compiler.hinges import fewest_hinges
from handloom.write.compiler.lower import Lowering
from handloom.write.compiler.lowered import ONE, PLANE, NeuronPart, plus
from handloom.write.compiler.ranges import Cases, bases
from handloom.write.compiler.values import (
    At,
    Count,
    Linear,
    Map,
    Position,
    Select,
    Token,
    Value,
    refuse,
    token_of,
)

MANY = 64  # positions from which the last of all counts, whose share is nearest to the next, must be flat


def say_answer(lowering: Lowering, value: Value) -> None:
    """Write the answer's point onto the token's own, loudly."""
    single = len(bases(value)) == 1 and isinstance(bases(value)[0], Token | Position)
    if isinstance(value, Map | Linear) and not single:
        say_computed(lowering, value)
    elif isinstance(value, At | Select) and any(isinstance(one, str) for one in lowering.ranges.values[value]):
        moved, codes = lowering.taken_plane(value), lowering.codes
        for (read, constant), turn, target in zip(moved, codes.turn, PLANE, strict=True):
            if turn:
                lowering.move(value, plus(read, one=constant), {target: float(turn)})
        if codes.shift.any():
            lowering.head(value, *(read for read, _ in moved)).moves.append(
                (ONE, plus(dict(zip(PLANE, map(float, codes.shift), strict=True))))
            )
    else:
        refuse(value.line, "an answer of this form cannot be emitted", "return a token that is fetched or computed")


def say_computed(lowering: Lowering, value: Map | Linear) -> None:
    if isinstance(value, Linear):
        value = Map(lambda total: total, (value,), line=value.line)
        cases: Cases = {(one,): one for one in lowering.ranges.values[value.arguments[0]]}
    else:
        cases = lowering.ranges.cases(value)
    codes = np.array([lowering.codes.answer(token_of(one)) for one in cases.values()])
    arguments = np.array([[lowering.plain(value, one) for one in given] for given in cases])
    if len(value.arguments) == 1 and isinstance(total := value.arguments[0], Linear):
        terms, _ = lowering.flat(total)
        direction = along(arguments[:, 0], codes)
        if direction is not None and all(isinstance(one, Map) and lowering.only_here(one) for _, one in terms):
            say_sum(lowering, total, *direction)
            return
    if len(value.arguments) == 1 and isinstance(value.arguments[0], Count):
        if lowering.ranges.block > MANY:
            arguments, codes = np.vstack([arguments, arguments[-1:] + 1]), np.vstack([codes, codes[-1:]])
        arguments, reads = 1 / (1 + arguments), [lowering.share(value.arguments[0])]
    else:
        reads = [lowering.number(one) for one in value.arguments]
    if value.arguments[0] in lowering.ranges.signs:
        arguments, codes = lowering.of_sign(
            value, value.arguments[0], lambda _, one: lowering.codes.answer(token_of(one))
        )
    hinged = fewest_hinges(arguments, codes)
    lowering.add_neurons(value, hinged, reads, PLANE)
    add_constant(lowering, hinged.constant)


def say_sum(lowering: Lowering, total: Linear, direction: Array, start: Array) -> None:
    """Say a sum whose answers lie on a line: every term is written along it."""
    terms, constant = lowering.flat(total)
    for factor, one in terms:
        constant += lowering.write_term(factor, one, PLANE, direction)
    add_constant(lowering, start + constant * direction)


def add_constant(lowering: Lowering, constant: Array) -> None:
    part = lowering.lowered.parts[-1]
    assert isinstance(part, NeuronPart)
    part.rows.append((ONE, plus(dict(zip(PLANE, map(float, constant), strict=True)))))


def along(x: Array, points: Array) -> tuple[Array, Array] | None:
    """The direction and the start of the line on which points lie at x; None if they do not."""
    if not np.ptp(x):
        return None
    low, high = int(x.argmin()), int(x.argmax())
    direction: Array = (points[high] - points[low]) / (x[high] - x[low])
    start: Array = points[low] - x[low] * direction
    right = np.allclose(start + x[:, None] * direction, points, rtol=1e-9, atol=1e-9)
    return (direction, start) if right else None
