"""Rewriting: the same program in a form that is cheaper to lower.

A function of a token that was found elsewhere is computed before it is fetched, where it is a column of the embedding
and takes no neurons: f(at(q)) becomes at(q, f(token)). A function of tokens becomes one of their numbers in the
vocabulary. Numbers that are compared with == in a condition become points on a circle.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import cos, pi, sin
from typing import Any

from handloom.write.compiler.fuse import inlined
from handloom.write.compiler.ranges import Ranges, bases, computed, is_column
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
    Where,
)

DECIMALS = 12  # of points on a circle, so that the sine of π is 0, and takes no dimension
FEWER = 4  # times fewer values than what it is computed from has a digit
WELL_APART = 4  # tokens on a circle, whose middle then is as far from each as others are


def rewritten(answer: Value, ranges: Ranges) -> Value:
    """The answer by the cheaper graph."""
    if isinstance(answer, Map) and all(isinstance(one, str) for one in ranges.values[answer.arguments[0]]):
        answer = answer.arguments[0]  # a token is its own answer
    whole = Rewriting(ranges).new(answer)
    if isinstance(whole, Constant) or is_column(whole):
        return Select(whole, Where(), "latest", line=whole.line)  # something has to write it: a head that looks here
    return whole


class Rewriting:
    """Rewrites the values of one program; each is rewritten once."""

    def __init__(self, ranges: Ranges) -> None:
        self.ranges = ranges
        self.done: dict[Value, Value] = {}

    def new(self, value: Value) -> Value:
        if value not in self.done:
            self.done[value] = self.rewrite(value)
        return self.done[value]

    def rewrite(self, value: Value) -> Value:
        if isinstance(value, Map | Linear) and (source := fetched(value)) is not None:
            return self.before_fetching(value, source)
        if isinstance(value, Map):
            return self.with_numbers(without_multiples(value))
        if isinstance(value, Linear):
            return replace(value, terms=tuple((factor, self.new(one)) for factor, one in value.terms))
        if isinstance(value, At):
            return replace(value, value=self.new(value.value), place=self.new(value.place))
        if isinstance(value, Count):
            return replace(value, where=self.condition(value.where))
        if isinstance(value, Select):
            by = None if value.by is None else self.new(value.by)
            return replace(value, value=self.new(value.value), where=self.condition(value.where), by=by)
        return value

    def before_fetching(self, value: Value, source: At | Select) -> Value:
        """f(what a head fetches) becomes what the head fetches of f."""

        def function(given: Plain) -> Plain:
            return computed(value, {source: given})

        inner = Map(function, (source.value,), line=value.line)
        if isinstance(source, At):
            return self.new(replace(source, value=inner, line=value.line))
        otherwise = None if source.otherwise is None else function(source.otherwise)
        return self.new(replace(source, value=inner, otherwise=otherwise, line=value.line))

    def with_numbers(self, value: Map) -> Map:
        """Tokens among the arguments become their numbers; a function of one token or position stays as it is."""
        if is_column(value):
            return value
        texts = [any(isinstance(one, str) for one in self.ranges.values[argument]) for argument in value.arguments]
        if not any(texts):
            return replace(value, arguments=tuple(map(self.new, value.arguments)))

        def function(*given: Any) -> Any:
            every = zip(given, texts, value.arguments, strict=True)
            return value.function(*(self.ranges.values[one][int(i)] if text else i for i, text, one in every))

        arguments = tuple(
            self.new(numbered(one, {v: i for i, v in enumerate(self.ranges.values[one])}) if text else one)
            for one, text in zip(value.arguments, texts, strict=True)
        )
        return replace_map(value, function, arguments)

    def condition(self, where: Where) -> Where:
        pairs, circles = [], []
        for there, here in where.pairs:
            both = (*self.ranges.values[there], *self.ranges.values[here])
            if len(set(both)) == 1:
                continue  # always equal
            tokens = set(self.ranges.tokens)
            apart = len(tokens) >= WELL_APART and all(isinstance(one, str) for one in both)
            if set(both) <= tokens or (apart and set(self.ranges.values[there]) <= tokens):
                pairs.append((self.new(there), self.new(here)))
            else:
                mine = self.points(here, both)
                circles.append((mine if there is here else self.points(there, both), mine, len(set(both))))
        key, query = (None if flag is None else self.new(flag) for flag in (where.key, where.query))
        return Where(tuple(pairs), key, query, circles=tuple(circles))

    def points(self, value: Value, both: tuple[Plain, ...]) -> tuple[Value, Value]:
        """Where a value lies on the circle of all values that are compared; if it is computed, at once with it."""
        angle = {one: 2 * pi * i / len(set(both)) for i, one in enumerate(sorted(set(both), key=str))}
        maps = [Map(lambda v, f=f: round(f(angle[v]), DECIMALS), (value,), line=value.line) for f in (cos, sin)]
        if isinstance(value, Map) and not is_column(value) and not self.is_digit(value):
            maps = [inlined(one, 0, value) for one in maps]
        return tuple(map(self.new, maps))  # type: ignore[return-value]

    def is_digit(self, value: Map) -> bool:
        """Whether a value has far fewer cases than what neurons compute it from, and its points would round as much."""
        given = [one for one in value.arguments if not is_column(one) and neurons_compute(one)]
        most = max((len(self.ranges.values[one]) for one in given), default=0)
        return FEWER * len(self.ranges.values[value]) <= most


def neurons_compute(value: Value) -> bool:
    """Whether neurons compute a value, or a term of it."""
    if isinstance(value, Linear):
        return any(neurons_compute(one) for one in value.inputs)
    return isinstance(value, Map) and not is_column(value)


def without_multiples(value: Map) -> Map:
    """A function of multiples of values, and of these plus a constant, as one of the values themselves."""
    simple = [isinstance(one, Linear) and len(one.terms) == 1 for one in value.arguments]
    if not any(simple):
        return value
    inner = [one.inputs[0] if linear else one for one, linear in zip(value.arguments, simple, strict=True)]

    def function(*given: Plain) -> Any:
        every = zip(value.arguments, inner, given, strict=True)
        return value.function(*(computed(one, {source: number}) for one, source, number in every))

    return without_multiples(replace_map(value, function, tuple(inner)))


def numbered(value: Value, numbers: Mapping[Plain, int]) -> Value:
    """A value by its number among those that it can have."""
    if isinstance(value, At):
        return replace(value, value=numbered(value.value, numbers))
    if isinstance(value, Select):
        otherwise = None if value.otherwise is None else numbers[value.otherwise]
        return replace(value, value=numbered(value.value, numbers), otherwise=otherwise)
    if isinstance(value, Map) and not is_column(value):
        return replace(value, function=numbering(value, numbers))
    return Map(numbers.__getitem__, (value,), line=value.line)


def numbering(value: Map, numbers: Mapping[Plain, int]) -> Callable[..., int | None]:
    """The number of what a function gives; None where it gives None."""

    def function(*given: Plain) -> int | None:
        result = value.function(*given)
        return None if result is None else numbers[result]

    return function


def replace_map(value: Map, function: Callable[..., Any], arguments: tuple[Value, ...]) -> Map:
    return Map(function, arguments, line=value.line)


def fetched(value: Value) -> At | Select | None:
    """What a head fetches of the token or of the position alone, if that is all a value is computed from."""
    sources = bases(value)
    if len(sources) != 1 or not isinstance(sources[0], At | Select):
        return None
    inner = bases(sources[0].value)
    columns = len(inner) == 1 and isinstance(inner[0], Token | Position)
    averaged = (
        isinstance(sources[0], Select) and sources[0].order == "all" and not isinstance(sources[0].value, Constant)
    )
    linear = isinstance(value, Linear)  # free where it is
    return sources[0] if columns and not averaged and not linear else None
