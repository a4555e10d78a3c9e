"""Lowering: values become numbers in the residual stream, and what computes them: heads and neurons.

Every variable is one number along one direction of the stream, or two if it is a token, which is a point on a circle. A
read is a sum of multiples of such numbers, and costs nothing. What a head looks for is in `levels.py`, how a function
becomes neurons in `hinges.py`.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from handloom.core.arrays import Array
from handloom.write.compiler.codes import Codes
from handloom.write.compiler.hinges import Hinged, fewest_hinges, flat_around, with_a_linear_part
from handloom.write.compiler.lowered import (
    PLANE,
    Column,
    HeadPart,
    Lowered,
    NeuronPart,
    Read,
    affine,
    plus,
    times,
    without_one,
)
from handloom.write.compiler.ranges import Ranges, bases, computed, is_column, one_token
from handloom.write.compiler.totals import by_sign, points_of
from handloom.write.compiler.values import (
    At,
    Constant,
    Count,
    Linear,
    Map,
    Plain,
    Position,
    Select,
    Token,
    Value,
    refuse,
    token_of,
)

TINY = 1e-9
SHORT = 7  # positions up to which counts are exact enough to be compared as they are

FEW = 12  # positions up to which the shares that heads give for counts are exact enough to be ordered by
STEEP = 0.425  # of the gap between two differences of counts: by less than this they may be wrong


class Lowering:
    """Lowers the values of one program; each is lowered once."""

    def __init__(
        self,
        ranges: Ranges,
        codes: Codes,
        names: Mapping[Value, str],
        levels: Any,
        once: frozenset[str],
        beside_end: tuple[str, ...],
        uses: Counter[Value],
        totals: frozenset[Value] = frozenset(),
        always: frozenset[str] = frozenset(),
    ) -> None:
        self.ranges, self.codes, self.names = ranges, codes, names
        self.once, self.beside_end, self.uses = once, beside_end, uses
        self.totals, self.always = totals, always
        self.lowered = Lowered()
        self.reads: dict[Value, dict[str, float]] = {}
        self.points: dict[Value, tuple[Read, Read]] = {}
        self.heads: dict[Any, HeadPart] = {}
        self.times: dict[str, int] = {}  # when each number is known, in half layers
        self.levels = levels
        self.compared, self.tested = ranges.compared(), ranges.tested()
        self.middle = (ranges.block - 1) / 2

    # numbers

    def number(self, value: Value) -> Read:
        """The read that gives a number."""
        if value not in self.reads:
            self.reads[value] = self.lower_number(value)
        return self.reads[value]

    def lower_number(self, value: Value) -> dict[str, float]:
        if isinstance(value, Constant):
            return plus({"one": self.plain(value, value.value)})
        sources = bases(value)
        if len(sources) == 1 and isinstance(sources[0], Token | Position):
            return self.column(value, sources[0])
        if isinstance(value, Linear):
            return self.summed(value)
        if isinstance(value, Map):
            return self.neurons(value)
        if isinstance(value, Count):
            return self.counted(value)
        assert isinstance(value, At | Select)
        return self.fetched(value)

    def summed(self, value: Linear) -> dict[str, float]:
        """Sums cost nothing. Several numbers that heads fetch, or neurons compute, for this sum alone are added up
        where they are written."""
        terms, constant = self.flat(value)
        together = [(f, one) for f, one in terms if self.only_here(one)]
        together = together if len(together) > 1 else []
        alone = [(f, one) for f, one in terms if not any(one is other for _, other in together)]
        total = plus(*(times(factor, self.number(one)) for factor, one in alone), one=constant)
        if not together:
            return total
        name, low, high = self.new(self.name(value), 1.0), 0.0, 0.0
        for factor, one in together:
            constant = self.write_term(factor, one, (name,), np.ones(1))
            numbers = [factor * self.plain(one, number) - constant for number in self.ranges.values[one]]
            low, high, total = low + min(numbers), high + max(numbers), plus(total, one=constant)
        self.lowered.bounds[name] = (low, high)
        return plus(total, {name: 1.0})

    def flat(self, value: Linear, factor: float = 1.0) -> tuple[list[tuple[float, Value]], float]:
        """The terms of a sum, and of the sums in it that serve it alone; and its constant."""
        terms: list[tuple[float, Value]] = []
        constant = factor * value.constant
        for times_it, one in value.terms:
            if isinstance(one, Linear) and self.uses[one] == 1 and not is_column(one):
                more, its = self.flat(one, factor * times_it)
                terms, constant = terms + more, constant + its
            elif isinstance(one, Constant):
                constant += factor * times_it * self.plain(one, one.value)
            else:
                terms.append((factor * times_it, one))
        return terms, constant

    def only_here(self, one: Value) -> bool:
        """Whether a term of a sum is fetched or computed for that sum alone."""
        return self.uses[one] == 1 and isinstance(one, At | Select | Map) and not is_column(one)

    def write_term(self, factor: float, one: Value, targets: tuple[str, ...], direction: Array) -> float:
        """Have a term of a sum written along a direction; the constant that is still to be added."""
        if isinstance(one, Map):
            hinged, reads = self.hinged(one, False)
            self.add_neurons(one, replace(hinged, change=factor * hinged.change * direction), reads, targets)
            return factor * float(hinged.constant[0])
        assert isinstance(one, At | Select)
        read, constant = without_one(self.resting(one, self.number(one.value)))
        self.move(one, times(factor, read), plus(dict(zip(targets, map(float, direction), strict=True))))
        return factor * constant

    def plain(self, value: Value, number: Plain) -> float:
        if isinstance(number, str):
            refuse(value.line, f"{number!r} is a token, not a number", "write number(...) of it")
        return float(number)

    def column(self, value: Value, source: Value) -> dict[str, float]:
        """A function of the token, or of the position, is a column of their embedding."""
        given = self.ranges.tokens if isinstance(source, Token) else tuple(range(self.ranges.block))
        numbers = [self.plain(value, computed(value, {source: one})) for one in given]
        return self.column_of("token" if isinstance(source, Token) else "position", numbers, self.name(value))

    def column_of(self, of: str, numbers: list[float], name: str) -> dict[str, float]:
        """The read of a column: of those that there are, if they give it; otherwise of a new one."""
        wanted = np.array(numbers)
        if np.ptp(wanted) <= 1e-9 * np.abs(wanted).max():
            return plus(one=float(wanted[0]))
        known = {one: np.array(column.values) for one, column in self.lowered.columns.items() if column.of == of}
        if (read := affine(known, wanted)) is not None:
            return read
        centre = self.middle if of == "position" and name == "position" else 0.0
        name = self.new(name, *(wanted - centre))
        self.lowered.columns[name] = Column(of, tuple(wanted - centre))
        return plus({name: 1.0}, one=centre)

    def position(self) -> Read:
        return self.column_of("position", [float(t) for t in range(self.ranges.block)], "position")

    def square(self) -> Read:
        """The square of the position, counted from the middle."""
        return self.column_of("position", [(t - self.middle) ** 2 for t in range(self.ranges.block)], "square")

    def first(self) -> Read:
        """1 at the first token."""
        return self.column_of("position", [1.0] + [0.0] * (self.ranges.block - 1), "first")

    def name(self, value: Value) -> str:
        return self.names.get(value, "position" if isinstance(value, Position) else type(value).__name__.lower())

    def new(self, name: str, *numbers: float) -> str:
        """A name for a new number of the stream, which has these values, or values between them."""
        unique, i = name, 2
        while unique in self.lowered.bounds or unique in ("one", *PLANE):
            unique, i = f"{name}.{i}", i + 1
        self.lowered.bounds[unique] = float(min(numbers)), float(max(numbers))
        return unique

    # tokens

    def plane(self, value: Value) -> tuple[Read, Read]:
        """The two reads that give where a token lies in the plane of the circle."""
        if value not in self.points:
            self.points[value] = self.lower_plane(value)
        return self.points[value]

    def lower_plane(self, value: Value) -> tuple[Read, Read]:
        if isinstance(value, Token):
            return {PLANE[0]: 1.0}, {PLANE[1]: 1.0}
        if isinstance(value, Constant):
            x, y = self.codes[token_of(value.value)]
            return {"one": float(x)}, {"one": float(y)}
        sources = bases(value)
        if len(sources) == 1 and isinstance(sources[0], Token | Position):
            return self.plane_columns(value, sources[0])
        name = self.name(value)
        targets = tuple(self.new(f"{name}.{axis}", -self.codes.size, self.codes.size) for axis in "xy")
        if isinstance(value, Map):
            hinged, reads = self.hinged(value)
            self.add_neurons(value, hinged, reads, targets)
            written: Array = np.asarray(hinged.change.any(axis=0))  # a coordinate may be the same in all cases
            for target in (t for t, w in zip(targets, written, strict=True) if not w):
                del self.lowered.bounds[target]
            return tuple(  # type: ignore[return-value]
                plus({t: float(w)}, one=float(c)) for t, w, c in zip(targets, written, hinged.constant, strict=True)
            )
        assert isinstance(value, At | Select)
        moved = self.taken_plane(value)
        for (read, _), target in zip(moved, targets, strict=True):
            self.move(value, read, {target: 1.0})
        return tuple(plus({t: 1.0}, one=c) for (_, c), t in zip(moved, targets, strict=True))  # type: ignore[return-value]

    def plane_columns(self, value: Value, source: Value) -> tuple[Read, Read]:
        given = self.ranges.tokens if isinstance(source, Token) else tuple(range(self.ranges.block))
        rows = np.array([self.codes[token_of(computed(value, {source: one}))] for one in given])
        of, name = "token" if isinstance(source, Token) else "position", self.name(value)
        return tuple(self.column_of(of, rows[:, i].tolist(), f"{name}.{'xy'[i]}") for i in (0, 1))  # type: ignore[return-value]

    # heads

    def head(self, value: At | Select | Count, *reads: Read) -> HeadPart:
        """The head that looks where a value says and takes what is read there; two that look alike are one, if they can
        be in one layer."""
        looks = tuple(self.levels(self, value))
        time = self.when([*(read for pair in looks for read in pair), *reads], False)
        key = time, tuple((tuple(sorted(q.items())), tuple(sorted(k.items()))) for q, k in looks)
        if key not in self.heads:
            self.heads[key] = HeadPart(looks, value.line)
            self.lowered.parts.append(self.heads[key])
        head = self.heads[key]
        if not any(value is one for one in head.values):
            head.values.append(value)
        return head

    def when(self, reads: Iterable[Read], neurons: bool) -> int:
        """The first half layer of heads, or of neurons, in which all that is read is known."""
        time = max((self.times.get(name, 0) for read in reads for name in read), default=0)
        return time + (time % 2 != neurons)

    def move(self, value: At | Select | Count, read: Read, write: Read) -> None:
        """Have a head read there and write here."""
        head = self.head(value, read)
        head.moves.append((read, write))
        time = self.when([*(each for pair in head.looks for each in pair), read], False)
        self.written(write, time)

    def written(self, write: Read, time: int) -> None:
        for name in write:
            if name not in PLANE:
                self.times[name] = max(self.times.get(name, 0), time + 1)

    def fetched(self, value: At | Select) -> dict[str, float]:
        """A number that a head fetches."""
        read, constant = without_one(self.resting(value, self.number(value.value)))
        if not read:
            return plus(one=constant)
        for known, target in self.head(value, read).moves:
            if dict(known) == read and len(target) == 1:
                return plus({next(iter(target)): 1.0}, one=constant)
        numbers = [self.plain(value, one) for one in self.ranges.values[value]]
        name = self.new(self.name(value), *(number - constant for number in numbers))
        self.move(value, read, {name: 1.0})
        if all(self.is_first(one) for one in read) and self.always_finds(value):
            self.lowered.zeros.add(name)
        return plus({name: 1.0}, one=constant)

    def is_first(self, name: str) -> bool:
        """Whether a number is 0 everywhere but at the first token."""
        column = self.lowered.columns.get(name)
        return column is not None and column.of == "position" and not any(column.values[1:])

    def always_finds(self, value: At | Select) -> bool:
        """Whether a head that rests at the first token finds another one wherever an answer is given."""
        if isinstance(value, At) or value.where.pairs or value.where.circles or value.where.query is not None:
            return False
        return one_token(value.where.key, self.ranges.tokens) in self.always

    def resting(self, value: At | Select, read: Read) -> Read:
        """What is read, with what the value is when nothing matches, at the first token."""
        if isinstance(value, At) or value.otherwise is None:
            return read
        change = self.plain(value, value.otherwise) - self.plain(value, self.ranges.at_first[value.value])
        return plus(read, times(change, self.first())) if change else read

    def taken_plane(self, value: At | Select) -> list[tuple[Read, float]]:
        """What a head reads of a token, and the constants to add."""
        reads: list[Read] = list(self.plane(value.value))
        if isinstance(value, Select) and value.otherwise is not None:
            at_first = self.codes[token_of(self.ranges.at_first[value.value])]
            change = self.codes[token_of(value.otherwise)] - at_first
            reads = [
                plus(read, times(float(c), self.first())) if c else read for read, c in zip(reads, change, strict=True)
            ]
        return [without_one(read) for read in reads]

    def counted(self, value: Count) -> dict[str, float]:
        """A head gives 1/(1 + n), the first token's share; neurons make n of it."""
        numbers = np.array([[self.plain(value, n)] for n in self.ranges.values[value]])
        hinged = self.least(value, 1 / (1 + numbers), numbers, False)
        if not len(hinged.at):  # it never holds
            return plus(one=float(hinged.constant[0]))
        name = self.new(self.name(value), *(float(n) for n in (numbers - hinged.constant)[:, 0]))
        self.add_neurons(value, hinged, [self.share(value)], (name,))
        return plus({name: 1.0}, one=float(hinged.constant[0]))

    def share(self, value: Count) -> Read:
        read = self.first()
        for known, target in self.head(value, read).moves:
            if known == read:
                return target
        name = self.new(f"share of {self.name(value)}", 0.0, 1.0)
        self.move(value, read, {name: 1.0})
        return {name: 1.0}

    # neurons

    def neurons(self, value: Map) -> dict[str, float]:
        hinged, reads = self.hinged(value)
        straight = plus(*self.straight(hinged, reads), one=float(hinged.constant[0]))
        if not len(hinged.at):
            return straight
        name = self.new(self.name(value), *self.bent(value, hinged))
        self.add_neurons(value, hinged, reads, (name,))
        return plus(straight, {name: 1.0})

    def straight(self, hinged: Hinged, reads: list[Read]) -> list[Read]:
        """The part of a map that is read as it is."""
        return [times(factor, read) for factor, read in zip(hinged.linear, reads, strict=bool(hinged.linear))]

    def bent(self, value: Map, hinged: Hinged) -> list[float]:
        """What the neurons of a map add up to."""
        cases = self.ranges.cases(value)
        numbers = np.array([self.plain(value, one) for one in cases.values()]) - hinged.constant[0]
        if hinged.linear:
            numbers -= np.array([[self.plain(value, one) for one in given] for given in cases]) @ np.array(
                hinged.linear
            )
        return [*map(float, numbers), *([-TINY] if self.passes_errors(value) else [])]

    def passes_errors(self, value: Map) -> bool:
        """Whether a number is computed from a large count and may be as wrong, so that one that is 0 is below it."""
        counts = any(isinstance(one, Count) for one in bases(value))
        return counts and self.ranges.block > SHORT and len(self.ranges.values[value]) > 2

    def hinged(self, value: Map, linear: bool = True) -> tuple[Hinged, list[Read]]:
        """A map as hinges, and the reads of its arguments. A count alone is taken as the share that its head gives."""
        cases = self.ranges.cases(value)
        results = np.array([self.result(value, one) for one in cases.values()])
        if len(value.arguments) == 1 and (mean := value.arguments[0]) in self.ranges.signs:
            return fewest_hinges(*self.of_sign(value, mean, self.result)), [self.number(mean)]
        arguments = np.array([[self.plain(value, one) for one in given] for given in cases])
        if len(value.arguments) == 1 and isinstance(value.arguments[0], Count):
            return self.least(value, 1 / (1 + arguments), results, False), [self.share(value.arguments[0])]
        return self.least(value, arguments, results, linear), [self.number(one) for one in value.arguments]

    def least(self, value: Value, arguments: Array, results: Array, linear: bool) -> Hinged:
        """The hinges of a function; if heads compare it with many others, none that errors of its arguments pass."""
        if value in self.compared and self.ranges.block > SHORT:
            return flat_around(fewest_hinges(arguments, results), arguments, results)
        if value in self.tested and self.ranges.block > FEW and any(isinstance(one, Count) for one in bases(value)):
            return flat_around(fewest_hinges(arguments, results), arguments, results, STEEP)
        return (with_a_linear_part if linear and results.shape[1] == 1 else fewest_hinges)(arguments, results)

    def of_sign(self, value: Map, mean: Value, result: Callable[[Map, Plain], Any]) -> tuple[Array, Array]:
        """Where a function of a mean's sign must be right, and what it gives there."""
        signs = by_sign(value, mean, self.ranges)
        assert signs is not None, "it is a function of the sign"
        points = points_of(signs, mean, self.ranges)
        return np.array([[at] for at, _ in points]), np.array([result(value, signs[sign]) for _, sign in points])

    def result(self, value: Map, one: Plain) -> list[float]:
        texts = any(isinstance(each, str) for each in self.ranges.values[value])
        return [float(c) for c in self.codes[token_of(one)]] if texts else [float(one)]

    def add_neurons(self, value: Value, hinged: Hinged, reads: list[Read], targets: tuple[str, ...]) -> None:
        rows: list[tuple[Read, Read]] = []
        total = plus(*(times(factor, read) for factor, read in zip(hinged.multiples, reads, strict=True)))
        for at, side, change in zip(hinged.at, hinged.side, hinged.change, strict=True):
            read = times(float(side), plus(total, one=-float(at)))
            rows.append((read, plus(dict(zip(targets, map(float, change), strict=True)))))
        self.lowered.parts.append(NeuronPart(rows, value.line, value))
        self.written(dict.fromkeys(targets, 1.0), self.when((read for read, _ in rows), True))
