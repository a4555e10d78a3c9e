"""Levels: how a head finds the positions that a condition names, as sums of products of a query and a key.

Softmax gives all weight to the highest score if the next one is far enough below: STEP, which leaves e⁻⁴⁰ of it. So a
score is a sum of levels. A condition that holds adds its level, and one that fails costs more than the order of
positions can make up for. The first token never matches. It rests between the matches and the others, so that a head
which finds nothing has a place to look at.

    match, and further on, or back      L ± STEP · position
    the first token                     R, STEP below the lowest match
    no match                            lower by the gap G, STEP below the first token
"""

from dataclasses import dataclass

import numpy as np

from handloom.core.arrays import Array
from handloom.write.compiler.codes import Codes
from handloom.write.compiler.lower import FEW, Lowering
from handloom.write.compiler.lowered import ONE, PLANE, Read, plus, times
from handloom.write.compiler.ranges import one_token
from handloom.write.compiler.values import END, At, Count, Select, Value

STEP = 40.0  # between levels
WIDE_STEP = 80.0  # where many are ordered, and matched by numbers that are computed: their errors grow with all steps
FAR = 160.0  # from the first token to the matches and to the rest, there
NEAR = 26.0  # from what many positions count, all alike, to the rest
TIES = 2.0  # steps between positions of equal numbers, which may be off by more than their order leaves room for
LONG = 128  # positions up to which the squares of positions are small enough for float32
DIRECTIONS = 720  # tried for a read that picks out one token

Looks = list[tuple[Read, Read]]


@dataclass(frozen=True)
class Spread:
    """What the order among matches adds: to the key, at most and at least to a match, at most to any other position."""

    key: Read
    lowest: float
    highest: float
    rest: float  # what it adds at the first token


def looks_of(lowering: Lowering, value: At | Select | Count) -> Looks:
    """The queries and keys of the head that a value needs."""
    if isinstance(value, At):
        return nearest_place(lowering, value)
    if value in lowering.totals:
        return []  # everywhere alike
    return Levels(lowering, value).looks()


def nearest_place(lowering: Lowering, value: At) -> Looks:
    """−(p − q)², without the q² that all keys share: 2qp − p², counted from the middle. These numbers grow as the
    square of the block, and with them what is rounded: so does the step, for long ones."""
    step = STEP * max(1.0, (lowering.ranges.block / LONG) ** 2)
    place = plus(lowering.number(value.place), one=-lowering.middle)
    here = plus(lowering.position(), one=-lowering.middle)
    return [(times(2 * step, place), here), (ONE, times(-step, lowering.square()))]


class Levels:
    """The levels of one selection."""

    def __init__(self, lowering: Lowering, value: Select | Count) -> None:
        self.lowering, self.value, self.where = lowering, value, value.where
        ordered = isinstance(value, Select) and value.order in ("latest", "first") and lowering.ranges.block > FEW
        self.step, self.far = (WIDE_STEP, FAR) if ordered and value.where.circles else (STEP, STEP)
        if isinstance(value, Count) and lowering.ranges.block > FEW:
            self.far = NEAR
        self.spread = self.order()

    def order(self) -> Spread:
        lowering, value, last = self.lowering, self.value, self.lowering.ranges.block - 1
        if isinstance(value, Count) or value.order == "all" or self.unique():
            return Spread({}, 0, 0, 0)
        step = self.step
        if value.order == "latest":
            return Spread(times(step, lowering.position()), step, last * step, 0)
        if value.order == "first":
            return Spread(times(-step, lowering.position()), -last * step, -step, 0)
        return self.order_by(value)

    def order_by(self, value: Select) -> Spread:
        """By a number; of equal ones the first, unless what is taken is the same for them."""
        by, lowering = value.by, self.lowering
        assert by is not None
        numbers = np.array([float(one) for one in lowering.ranges.values[by]])
        sign, read = (1.0 if value.order == "greatest" else -1.0), None
        shared = isinstance(by, Count) and lowering.ranges.block <= FEW
        if shared and isinstance(by, Count):  # its head gives 1/(1 + n)
            numbers, sign, read = 1 / (1 + numbers), -sign, lowering.share(by)
        gaps, last = np.abs(np.diff(numbers)), lowering.ranges.block - 1
        ties = 0.0 if by is value.value else TIES * STEP
        if not len(gaps):
            return Spread(times(-ties, lowering.position()), -ties * last, -ties, 0)
        read = lowering.number(by) if read is None else read
        before = np.arange(len(gaps)) if isinstance(by, Count) else 0  # a count of n is at a position from n on
        step = WIDE_STEP if last >= FEW and not ties else STEP
        factor = sign * float(((step + ties * (last - before)) / gaps).max())
        at_first = float(lowering.ranges.at_first[by])
        sizes = factor * numbers
        return Spread(
            plus(times(factor, read), times(-ties, lowering.position())),
            sizes.min() - ties * last,
            sizes.max() - ties,
            factor * (1 / (1 + at_first) if shared else at_first),
        )

    def unique(self) -> bool:
        """Whether at most one position can match."""
        token = self.one_token()
        return token is not None and token in self.lowering.once

    def one_token(self) -> str | None:
        return one_token(self.where.key, self.lowering.ranges.tokens)

    def looks(self) -> Looks:
        token = self.one_token()
        alone = not self.where.pairs and not self.where.circles and self.where.query is None
        others = len(self.lowering.codes.tokens) > 2
        if (
            token is not None
            and token in self.lowering.beside_end
            and alone
            and others
            and isinstance(self.value, Select)
        ):
            return self.beside_first(token)
        lowering, first = self.lowering, self.lowering.first()
        equal = isinstance(self.value, Count)  # the first token counts along
        rest = self.spread.lowest - (0 if equal else self.far)
        gap = self.spread.highest - rest + self.far
        pairs: Looks = []
        key: Read = self.spread.key
        level = 0.0
        for there, here in self.where.pairs:
            most, apart = lowering.codes.match()
            factor = gap / apart
            keys, queries = lowering.plane(there), lowering.plane(here)
            points = zip(keys, queries, lowering.codes[str(lowering.ranges.at_first[there])], strict=True)
            pairs += [(times(factor, q), plus(k, times(-float(c), first))) for k, q, c in points]
            level += factor * most
        for point_there, point_here, count in self.where.circles:
            size = gap / (1 - np.cos(2 * np.pi / count))
            for k, q in zip(point_there, point_here, strict=True):
                start = float(lowering.ranges.at_first[k])
                pairs.append((times(size, lowering.number(q)), plus(lowering.number(k), times(-start, first))))
            level += size
        if self.where.key is not None:
            read, size, at_first = self.flag(self.where.key, gap)
            key, level = plus(key, read, times(-at_first, first)), level + size
        if self.where.query is not None:
            pairs.append((times(gap, plus(lowering.number(self.where.query), one=-1.0)), plus(ONE, times(-1.0, first))))
        key = plus(key, times(level + rest - self.spread.rest, first))
        key = {name: amount for name, amount in key.items() if name != "one"}  # all keys share it
        return [(query, key) for query, key in (*pairs, (ONE, key)) if query and key]

    def flag(self, key: Value, gap: float) -> tuple[Read, float, float]:
        """A read that is `size` where the key holds and at least the gap lower elsewhere; size, and it at the first
        token."""
        token = self.one_token()
        if token is None or float(self.lowering.ranges.at_first[key]):
            return times(gap, self.lowering.number(key)), gap, gap * float(self.lowering.ranges.at_first[key])
        direction, apart = picking(self.lowering.codes, token, END)
        factor = gap / apart
        codes = self.lowering.codes
        read = {PLANE[i]: factor * float(direction[i]) for i in (0, 1)}
        return read, factor * float(codes[token] @ direction), factor * float(codes[END] @ direction)

    def beside_first(self, token: str) -> Looks:
        """One read finds the token, rests at the first token and stays away from all others, as the first token's point
        lies beside this one."""
        codes, spread, directions = self.lowering.codes, self.spread, every_direction()
        above = directions @ (codes[token] - codes[END])
        below = directions @ codes[END] - highest(codes, directions, token, END)
        there = (above > 1e-6) & (below > 1e-6)
        assert there.any(), "the first token lies beside this one"
        above, below, directions = above[there], below[there], directions[there]
        factors = np.maximum(
            (STEP - spread.lowest + spread.rest) / above, (STEP + spread.highest - spread.rest) / below
        )
        factor, direction = float(factors.min()), directions[factors.argmin()]
        read = {PLANE[i]: factor * float(direction[i]) for i in (0, 1)}
        key = plus(read, spread.key)
        return [(ONE, {name: amount for name, amount in key.items() if name != "one"})]


def picking(codes: Codes, token: str, *ignored: str) -> tuple[Array, float]:
    """The direction in which a token lies furthest above all others but the ignored ones, and how far."""
    directions = every_direction()
    above = directions @ codes[token] - highest(codes, directions, token, *ignored)
    best = int(above.argmax())
    return directions[best], float(above[best])


def every_direction() -> Array:
    """Directions that are tried, (DIRECTIONS, 2)."""
    angles = np.linspace(0, 2 * np.pi, DIRECTIONS, endpoint=False)
    return np.column_stack([np.cos(angles), np.sin(angles)])


def highest(codes: Codes, directions: Array, token: str, *ignored: str) -> Array:
    """How high tokens other than these lie at most, in each direction; without others, the point across this one."""
    others = [codes[name] for name in codes.tokens if name not in (token, *ignored)] or [-codes[token]]
    found: Array = (directions @ np.array(others).T).max(1)
    return found
