"""Ranges: which values each variable can have. They are finite, which is what makes a program compilable.

A value that is computed from others here, by maps and sums, has as many cases as these have combinations. Two values
from other positions are taken to be independent, so a range may have values that never occur; it lacks none.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import islice, product
from math import gcd, prod
from typing import Any

from handloom.write.compiler.interpreter import ProgramRun, linear, mapped
from handloom.write.compiler.values import (
    END,
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
    Where,
    refuse,
    token_of,
)

MOST_VALUES = 8_192  # of a variable
FEW_CASES = 2_000  # up to this many, what they are computed from is looked at instead
ROUNDS = 12  # in which the tokens of answers to answers must all be found
MOST_CASES = 200_000  # of the variables that one function is computed from

Cases = dict[tuple[Plain, ...], Plain]  # the arguments of a function → its value


@dataclass(frozen=True)
class Ranges:
    """The values of each variable, and what it is at the first token, where everything is known."""

    values: Mapping[Value, tuple[Plain, ...]]
    at_first: Mapping[Value, Plain]
    tokens: tuple[str, ...]
    block: int
    most: Mapping[str, int]  # how often a token can occur, if that is less than everywhere
    signs: frozenset[Value] = frozenset()  # means of which only the sign is used; the values of some are their ends
    known_cases: dict[Map, Cases] = field(default_factory=dict)

    def how_many(self, where: Where) -> int:
        """At how many positions a condition can hold, at most."""
        about_tokens = (
            where.key is not None and bases(where.key) != () and all(isinstance(one, Token) for one in bases(where.key))
        )
        holds = [t for t in self.tokens if t != END and not (about_tokens and not self.holds(where, t))]
        often = [self.most.get(t, self.block) for t in holds]
        same = any(isinstance(there, Token) for there, _ in where.pairs)
        return min(self.block - 1, max(often, default=0) if same else sum(often))

    def holds(self, where: Where, token: str) -> bool:
        assert where.key is not None
        return bool(computed(where.key, {bases(where.key)[0]: token}))

    def compared(self) -> frozenset[Value]:
        """What heads compare as numbers: the points of their conditions, there and here, and what they order others
        by."""
        heads = [value for value in self.values if isinstance(value, Select | Count)]
        points = [point for head in heads for there, here, _ in head.where.circles for point in (*there, *here)]
        orders = (one.by for one in heads if isinstance(one, Select) and one.by is not one.value)
        return frozenset([*points, *(by for by in orders if by is not None)])

    def tested(self) -> frozenset[Value]:
        """What computes the flags that heads test."""
        heads = (value for value in self.values if isinstance(value, Select | Count))
        return frozenset(innermost(head.where.key) for head in heads if head.where.key is not None)

    def cases(self, value: Map) -> Cases:
        if value not in self.known_cases:
            self.known_cases[value] = self.all_cases(value)
        return self.known_cases[value]

    def all_cases(self, value: Map) -> Cases:
        """What a map gives, for all arguments that can occur together. Where its function gives None, they cannot."""
        results = {given: mapped(value, given) for given in self.arguments(value)}
        return {given: result for given, result in results.items() if result is not None}

    def arguments(self, value: Map) -> Iterable[tuple[Plain, ...]]:
        """All arguments of a map, as far as the ranges tell."""
        sources = bases(value)
        separate = prod(len(self.values[one]) for one in value.arguments)
        if prod(len(self.values[one]) for one in sources) <= max(separate, FEW_CASES):
            every = product(*(self.values[one] for one in sources))
            rows = (dict(zip(sources, given, strict=True)) for given in every)
            arguments = dict.fromkeys(tuple(computed(one, row) for one in value.arguments) for row in rows)
        else:
            arguments = dict.fromkeys(product(*(self.values[one] for one in value.arguments)))
        return (given for given in arguments if None not in given)


def ranges_of(
    answer: Value,
    tokens: Sequence[str],
    block: int,
    most: Mapping[str, int] | None = None,
    before: Ranges | None = None,
) -> Ranges:
    """The ranges of everything that an answer is computed from, where these tokens may occur, each so often at most.
    What was found before, with this block, is taken from there as far as it is the same."""
    run = ProgramRun(answer)
    run.append(END)
    at_first = {value: column[0] for value, column in run.columns.items()}
    found: dict[Value, tuple[Plain, ...]] = {}
    ranges = Ranges(found, at_first, tuple(tokens), block, most or {}, used_by_sign(at_first))
    for value in run.columns:
        known = before.values.get(value) if before is not None else None
        if before is not None and known is not None and unchanged(value, ranges, before):
            found[value] = known
            if isinstance(value, Map):
                ranges.known_cases[value] = before.cases(value)
        else:
            new = in_range(value, possible(value, ranges))
            found[value] = known if known is not None and known == new else new
    return ranges


def unchanged(value: Value, ranges: Ranges, before: Ranges) -> bool:
    """Whether all that a range is found from is the same as before; equal ranges are one object."""
    if isinstance(value, Token | Count) or (value in ranges.signs) != (value in before.signs):
        return False
    return all(ranges.values[one] is before.values[one] for one in {*value.inputs, *bases(value)} - {value})


def used_by_sign(at_first: Mapping[Value, Plain]) -> frozenset[Value]:
    """The means of which only the sign is used, among all values that a program has."""
    testing = {value for value in at_first if isinstance(value, Map) and value.of_sign}
    others = {one for user in at_first.keys() - testing for one in user.inputs}
    return frozenset(
        mean
        for (mean,) in (test.arguments for test in testing)
        if isinstance(mean, Select)
        and mean.order == "all"
        and mean not in others
        and not isinstance(mean.value, Constant)
        and isinstance(at_first[mean.value] if mean.otherwise is None else mean.otherwise, int)
    )


def ranges_in_use(answer: Value, often: Mapping[str, int], block: int, once: bool) -> Ranges:
    """The ranges where the tokens that are asked occur so often at most, and those that are answered anywhere; or not
    at all, if an answer is one token."""
    tokens, most = [*often, END], dict(often)
    ranges: Ranges | None = None
    for _ in range(ROUNDS):
        ranges = ranges_of(answer, tokens, block, most, ranges)
        answers = dict.fromkeys(map(token_of, ranges.values[answer]))
        new = [token for token in answers if token not in tokens]
        unlimited = [] if once else [token for token in most if token in answers]
        if not new and not unlimited:
            return ranges
        tokens[-1:-1] = new
        most = {token: most[token] for token in most if token not in unlimited} | dict.fromkeys(new if once else [], 0)
    refuse(answer.line, f"every answer may make a new token, such as {', '.join(map(repr, new[-2:]))}",
           "limit what is computed of answers, as in (…) % 10")  # fmt: skip


def in_range(value: Value, possible: Iterable[Plain | None]) -> tuple[Plain, ...]:
    """The different values, numbers first."""
    every = {one for one in possible if one is not None}
    if len(every) > MOST_VALUES:
        refuse(value.line, f"this has more than {MOST_VALUES:,} values", "compute with fewer or smaller numbers")
    return tuple(sorted(every, key=in_size))


def in_size(one: Plain) -> tuple[bool, Any, Any]:
    """Numbers before tokens. Fractions are compared as they are, which is slow, only where their floats are equal."""
    return isinstance(one, str), float(one) if isinstance(one, Fraction) else one, one


def possible(value: Value, ranges: Ranges) -> Iterable[Plain]:
    known = ranges.values
    if isinstance(value, Token):
        return ranges.tokens
    if isinstance(value, Position):
        return range(ranges.block)
    if isinstance(value, Constant):
        return [value.value]
    if isinstance(value, Linear):
        return sums(value, ranges)
    if isinstance(value, Map):
        check_cases(value, ranges)
        return ranges.cases(value).values()
    if isinstance(value, Count):
        return range(ranges.how_many(value.where) + 1)
    if isinstance(value, At):
        return known[value.value]
    assert isinstance(value, Select)
    if value.by is not None and isinstance(one := known[value.by][-1], str):
        refuse(value.line, f"{one!r} is a token, not a number", "write number(…) of it")
    rest = ranges.at_first[value.value] if value.otherwise is None else value.otherwise
    taken = known[value.value]
    if value.order == "all" and len(taken) > 1:
        every = means(value, taken, ranges.block)
        taken = ends(taken, ranges.block) if len(every) > MOST_VALUES and value in ranges.signs else every
    return {*taken, rest}


def bases(value: Value) -> tuple[Value, ...]:
    """The variables that a value is computed from at its own position, by maps and sums."""
    if isinstance(value, Linear | Map):
        return tuple(dict.fromkeys(base for one in value.inputs for base in bases(one)))
    return () if isinstance(value, Constant) else (value,)


def innermost(value: Value) -> Value:
    """The function that a function of it alone, of that alone, and so on, is computed from."""
    while isinstance(value, Map) and len(value.arguments) == 1 and isinstance(value.arguments[0], Map):
        value = value.arguments[0]
    return value


def is_column(value: Value) -> bool:
    """Whether a value is a function of the token alone, or of the position."""
    sources = bases(value)
    return len(sources) == 1 and isinstance(sources[0], Token | Position)


def one_token(key: Value | None, tokens: tuple[str, ...]) -> str | None:
    """The only token for which a condition holds, if it is about the token alone."""
    if key is None or len(sources := bases(key)) != 1 or not isinstance(sources[0], Token):
        return None
    true = [token for token in tokens if computed(key, {sources[0]: token})]
    return true[0] if len(true) == 1 else None


def computed(value: Value, given: Mapping[Value, Plain]) -> Any:
    """A value, where the variables that it is computed from are given; None if that cannot occur."""
    if value in given:
        return given[value]
    if isinstance(value, Constant):
        return value.value
    inputs = [computed(one, given) for one in value.inputs]
    if None in inputs:
        return None
    if isinstance(value, Linear):
        return linear(value, inputs)
    assert isinstance(value, Map)
    return mapped(value, inputs)


def sums(value: Linear, ranges: Ranges) -> Iterable[Plain]:
    sources = bases(value)
    if len(sources) == 1:
        return [computed(value, {sources[0]: one}) for one in ranges.values[sources[0]]]
    totals: set[Any] = {value.constant}
    for factor, one in value.terms:
        if any(isinstance(number, str) for number in ranges.values[one]):
            linear(value, [ranges.values[each][-1] for each in value.inputs])  # refuses tokens
        numbers: tuple[Any, ...] = ranges.values[one]
        totals = {total + factor * number for total in totals for number in numbers}
        in_range(value, totals)
    return totals


def check_cases(value: Map, ranges: Ranges) -> None:
    sizes = [prod(len(ranges.values[one]) for one in some) for some in (bases(value), value.arguments)]
    if min(sizes) > MOST_CASES:
        refuse(value.line, f"this function has {min(sizes):,} cases (expected up to {MOST_CASES:,})",
               "compute it in steps, each of fewer values")  # fmt: skip


def means(value: Select, taken: tuple[Plain, ...], block: int) -> tuple[Plain, ...]:
    """All means of up to block − 1 whole numbers."""
    if any(isinstance(one, str) for one in taken):
        return taken  # tokens have no mean: the interpreter refuses it where several match
    numbers = [Fraction(one) for one in taken]
    low, high = min(numbers), max(numbers)
    if any(number.denominator != 1 for number in numbers):
        refuse(value.line, "the mean of numbers that are not whole has too many values", "take the mean of whole ones")
    return means_between(int(low), int(high), block)


def ends(taken: Iterable[Plain], block: int) -> tuple[Plain, ...]:
    """Of all means of whole numbers: the least and the greatest, 0, and numbers next to it that no mean is between."""
    numbers = [Fraction(one) for one in taken]
    low, high = min(numbers), max(numbers)
    around = (one for one in (Fraction(-1, block), Fraction(0), Fraction(1, block)) if low <= one <= high)
    return tuple(dict.fromkeys((low, *around, high)))


@lru_cache(64)
def means_between(low: int, high: int, block: int) -> tuple[Plain, ...]:
    """All fractions between two numbers with denominators below the block, each in its lowest terms."""
    lowest = ((a, b) for b in range(1, block) for a in range(low * b, high * b + 1) if gcd(a, b) == 1)
    return tuple(Fraction(a, b) for a, b in islice(lowest, MOST_VALUES + 1))  # more are refused
