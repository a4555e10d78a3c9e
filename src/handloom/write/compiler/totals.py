"""Totals: means over all positions of which only the sign matters, so that the first token may take part.

A mean over the positions behind the first token keeps its sign when the first token, where the number is 0, is counted
too. A head that looks everywhere alike gives it, and needs no number that tells the first token from the others.
"""

from collections.abc import Iterable

from handloom.write.compiler.interpreter import in_order
from handloom.write.compiler.ranges import Ranges
from handloom.write.compiler.values import Map, Plain, Select, Value


def totals_of(answer: Value, ranges: Ranges) -> frozenset[Value]:
    """The means of an answer's graph of which only the sign is used."""
    every = in_order(answer)
    users: dict[Value, list[Value]] = {}
    for value in every:
        for one in value.inputs:
            users.setdefault(one, []).append(value)
    means = (
        value for value in every if isinstance(value, Select) and value.order == "all" and value.otherwise in (None, 0)
    )
    return frozenset(
        value
        for value in means
        if not (value.where.inputs or value.where.pairs)
        and ranges.at_first[value.value] == 0
        and all(isinstance(number, int) for number in ranges.values[value.value])
        and users.get(value)
        and all(isinstance(user, Map) and by_sign(user, value, ranges) is not None for user in users[value])
    )


def by_sign(user: Map, mean: Value, ranges: Ranges) -> dict[int, Plain] | None:
    """What a function of a mean gives for each sign that it can have; None if it is not one of the sign."""
    if user.arguments != (mean,):
        return None
    found: dict[int, Plain] = {}
    for (number,), result in ranges.cases(user).items():
        if found.setdefault(sign(number), result) != result:
            return None
    return found


def sign(number: Plain) -> int:
    assert not isinstance(number, str)
    return (number > 0) - (number < 0)


def points_of(signs: Iterable[int], mean: Value, ranges: Ranges) -> list[tuple[float, int]]:
    """Where the function of a sign must be right: at 0, at the least numbers of both signs and at the greatest."""
    numbers = [float(number) for number in ranges.values[mean] if not isinstance(number, str)]
    least = 1 / ranges.block
    every = {-1: [min(numbers), -least], 0: [0.0], 1: [least, max(numbers)]}
    return [(number, sign) for sign in sorted(signs) for number in every[sign]]
