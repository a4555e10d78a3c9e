"""Running a program without a transformer: every value at every position, one token after another.

Nothing changes behind a position, so a run keeps what it knows and adds one column per token. A head's condition keeps
an index of the positions by what is compared there, so that no position is looked at twice.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from math import isfinite
from typing import Any

from handloom.core import HandloomError
from handloom.core.errors import shown, told
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
    refuse,
)

Here = Callable[[int], Plain]  # the last position → a value there
UNKNOWN = object()


def in_order(answer: Value) -> list[Value]:
    """All values that an answer is computed from, each behind its inputs, and the answer."""
    order: dict[Value, None] = {}
    waiting: list[tuple[Value, bool]] = [(answer, False)]
    while waiting:
        value, ready = waiting.pop()
        if ready:
            order[value] = None
        elif value not in order:
            waiting += [(value, True), *((one, False) for one in reversed(value.inputs))]
    return list(order)


class ProgramRun:
    """The values of a program on the tokens so far."""

    def __init__(self, answer: Value, order: Sequence[Value] | None = None) -> None:
        self.tokens: list[str] = []
        self.places: list[dict[tuple[Plain, ...], list[int]]] = []  # of every condition: what is compared → positions
        self.columns: dict[Value, list[Plain]] = {value: [] for value in order or in_order(answer)}
        self.steps = [(column, self.evaluator(value)) for value, column in self.columns.items()]
        self.answers = self.columns[answer]

    def append(self, token: str) -> Plain:
        """Add a token; the answer behind it."""
        t = len(self.tokens)
        self.tokens.append(token)
        for column, here in self.steps:
            column.append(here(t))
        return self.answers[t]

    def back_to(self, length: int) -> None:
        """Forget all tokens behind the first ones."""
        del self.tokens[length:]
        for column in self.columns.values():
            del column[length:]
        for index in self.places:
            for found in index.values():
                while found and found[-1] >= length:
                    found.pop()

    def evaluator(self, value: Value) -> Here:
        """The function that gives a value at the last position, where its inputs are known."""
        if isinstance(value, Token):
            return self.tokens.__getitem__
        if isinstance(value, Position):
            return lambda t: t
        if isinstance(value, Constant):
            return lambda t: value.value
        if isinstance(value, Linear):
            return self.summing(value)
        if isinstance(value, Map):
            return self.mapping(value)
        if isinstance(value, At):
            taken, places = self.columns[value.value], self.columns[value.place]
            return lambda t: taken[min(max(whole_place(value, places[t]), 0), t)]
        if isinstance(value, Count):
            matches = self.matching(value.where)
            return lambda t: len(matches(t))
        assert isinstance(value, Select)
        return self.selecting(value)

    def summing(self, value: Linear) -> Here:
        terms: list[tuple[Any, list[Any]]] = [(factor, self.columns[one]) for factor, one in value.terms]

        def here(t: int) -> Plain:
            total: Any = value.constant
            try:
                for factor, column in terms:
                    total += factor * column[t]
            except TypeError:
                linear(value, [column[t] for _, column in terms])  # refuses tokens
                raise
            result: Plain = total
            return result

        return here

    def mapping(self, value: Map) -> Here:
        columns, known = [self.columns[one] for one in value.arguments], value.known

        def here(t: int) -> Plain:
            given = tuple([column[t] for column in columns])
            result: Any = known.get(given, UNKNOWN)
            if result is UNKNOWN:
                result = mapped(value, given)
            if result is None:
                after = shown("".join(self.tokens[1:]))
                occurs = f"the function gave None for {', '.join(map(shown, given))}, which does occur, after {after}"
                refuse(value.line, occurs, "None says that it cannot; give a value")
            found: Plain = result
            return found

        return here

    def matching(self, where: Where) -> Callable[[int], Sequence[int]]:
        """The function that gives the positions, without the first, where a condition holds."""
        key = None if where.key is None else self.columns[where.key]
        query = None if where.query is None else self.columns[where.query]
        there = [self.columns[value] for value, _ in where.equal]
        mine = [self.columns[value] for _, value in where.equal]
        index: dict[tuple[Plain, ...], list[int]] = {}
        self.places.append(index)

        def here(t: int) -> Sequence[int]:
            if t and (key is None or key[t]):
                index.setdefault(tuple([column[t] for column in there]), []).append(t)
            if query is not None and not query[t]:
                return ()
            return index.get(tuple([column[t] for column in mine]), ())

        return here

    def selecting(self, value: Select) -> Here:
        matches, column = self.matching(value.where), self.columns[value.value]
        by = None if value.by is None else self.columns[value.by]

        def here(t: int) -> Plain:
            found = matches(t)
            if not found:
                return column[0] if value.otherwise is None else value.otherwise
            if by is not None:
                return column[best_of(value, found, by)]
            if value.order == "latest":
                return column[found[-1]]
            if value.order == "first":
                return column[found[0]]
            return mean_of(value, [column[s] for s in found])

        return here


def linear(value: Linear, inputs: Sequence[Plain]) -> Plain:
    total: Any = value.constant
    for (factor, _), number in zip(value.terms, inputs, strict=True):
        if isinstance(number, str):
            refuse(value.line, f"{number!r} is a token, not a number", "write number(…) of it")
        total = total + factor * number
    result: Plain = total
    return result


def mapped(value: Map, inputs: Sequence[Plain]) -> Plain | None:
    """A user's function of these inputs, called once for each; None if it says that they cannot occur."""
    given = tuple(inputs)
    if given not in value.known:
        value.known[given] = called(value, given)
    return value.known[given]


def called(value: Map, given: tuple[Plain, ...]) -> Plain | None:
    try:
        result = value.function(*given)
    except HandloomError:
        raise
    except Exception as error:
        failure = f"the function failed for {', '.join(map(shown, given))}: {told(error)}"
        raise HandloomError(f"{value.line}: {failure}") from error
    if hasattr(result, "item"):  # NumPy's numbers
        result = result.item()
    if isinstance(result, bool):
        return int(result)
    if isinstance(result, float) and not isfinite(result):
        refuse(value.line, f"the function gave {result} for {', '.join(map(shown, given))}", "give a finite number")
    if result is not None and not isinstance(result, int | float | str | Fraction):
        gave = f"the function gave {shown(result)} for {', '.join(map(shown, given))}"
        refuse(value.line, gave, "give a number or a token")
    return result


def whole_place(value: At, place: Plain) -> int:
    if isinstance(place, int):
        return place
    if isinstance(place, str) or not isfinite(place) or place != int(place):
        refuse(value.line, f"{place!r} is not a position", "give a whole number")
    return int(place)


def best_of(value: Select, found: Sequence[int], by: Sequence[Any]) -> int:
    """The first position where a number is least or greatest."""
    token = next((by[s] for s in found if isinstance(by[s], str)), None)
    if token is not None:
        refuse(value.line, f"{token!r} is a token, not a number", "write number(…) of it")
    best = (min if value.order == "least" else max)(by[s] for s in found)
    return next(s for s in found if by[s] == best)


def mean_of(value: Select, found: Sequence[Plain]) -> Plain:
    if len(set(found)) == 1:
        return found[0]
    numbers: list[Any] = [one for one in found if not isinstance(one, str)]
    if len(numbers) < len(found):
        refuse(value.line, "several tokens match, and tokens have no mean", "take the latest or the first")
    if all(isinstance(one, int) for one in numbers):
        return fraction(sum(numbers), len(numbers))
    return Fraction(sum(map(Fraction, numbers)), len(numbers))


@lru_cache(10_000)
def fraction(a: int, b: int) -> Fraction:
    return Fraction(a, b)


def failed(error: Exception, name: str) -> HandloomError:
    """What becomes of an error in arithmetic: numbers too large for it."""
    return HandloomError(f"{name}: its numbers are too large ({error}); compute with smaller ones")
