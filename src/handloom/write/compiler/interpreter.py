"""Running a program without a transformer: every value at every position, one token after another.

Nothing changes behind a position, so a run keeps what it knows and adds one column per token.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from handloom.core import HandloomError
from handloom.core.errors import in_users_code, shown
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


class Run:
    """The values of a program on the tokens so far."""

    def __init__(self, answer: Value) -> None:
        self.answer, self.values = answer, in_order(answer)
        self.columns: dict[Value, list[Plain]] = {value: [] for value in self.values}
        self.tokens: list[str] = []

    def append(self, token: str) -> Plain:
        """Add a token; the answer behind it."""
        self.tokens.append(token)
        for value in self.values:
            self.columns[value].append(self.here(value))
        return self.columns[self.answer][-1]

    def here(self, value: Value) -> Plain:
        """A value at the last position; its inputs are known there."""
        t = len(self.tokens) - 1
        if isinstance(value, Token):
            return self.tokens[t]
        if isinstance(value, Position):
            return t
        if isinstance(value, Constant):
            return value.value
        if isinstance(value, Linear):
            return linear(value, [self.columns[one][t] for one in value.inputs])
        if isinstance(value, Map):
            return self.mapped(value, [self.columns[one][t] for one in value.arguments])
        if isinstance(value, At):
            place = whole_place(value, self.columns[value.place][t])
            return self.columns[value.value][min(max(place, 0), t)]
        if isinstance(value, Count):
            return len(self.matches(value.where))
        assert isinstance(value, Select)
        return self.selected(value)

    def mapped(self, value: Map, inputs: Sequence[Plain]) -> Plain:
        result = mapped(value, inputs)
        if result is None:
            given = ", ".join(map(str, inputs))
            refuse(value.line, f"the function gave None for {given}, which does occur, after {''.join(self.tokens)}",
                   "None says that it cannot; give a value")  # fmt: skip
        return result

    def matches(self, where: Where) -> list[int]:
        """The positions, without the first, where a condition holds."""
        t = len(self.tokens) - 1
        if where.query is not None and not self.columns[where.query][t]:
            return []
        found: Sequence[int] = range(1, t + 1)
        if where.key is not None:
            keys = self.columns[where.key]
            found = [s for s in found if keys[s]]
        for there, here in where.pairs:
            keys, wanted = self.columns[there], self.columns[here][t]
            found = [s for s in found if keys[s] == wanted]
        return list(found)

    def selected(self, value: Select) -> Plain:
        found, column = self.matches(value.where), self.columns[value.value]
        if not found:
            return column[0] if value.otherwise is None else value.otherwise
        if value.order in ("latest", "first"):
            return column[found[-1 if value.order == "latest" else 0]]
        if value.by is not None:
            by = self.columns[value.by]
            best = (min if value.order == "least" else max)(by[s] for s in found)
            return column[next(s for s in found if by[s] == best)]
        return mean_of(value, [column[s] for s in found])


def linear(value: Linear, inputs: Sequence[Plain]) -> Plain:
    total: Any = value.constant
    for (factor, one), number in zip(value.terms, inputs, strict=True):
        if isinstance(number, str):
            refuse(value.line, f"{number!r} is a token, not a number", f"write number({type(one).__name__.lower()})")
        total = total + factor * number
    return total


def mapped(value: Map, inputs: Sequence[Plain]) -> Plain | None:
    """A user's function of these inputs, called once for each; None if it says that they cannot occur."""
    given = tuple(inputs)
    if given not in value.known:
        value.known[given] = called(value, given)
    return value.known[given]


def called(value: Map, given: tuple[Plain, ...]) -> Plain | None:
    with in_users_code(f"{value.line}: the function failed for {', '.join(map(str, given))}"):
        result = value.function(*given)
    if isinstance(result, bool):
        return int(result)
    if result is not None and not isinstance(result, int | float | str | Fraction):
        raise HandloomError(f"{value.line}: the function gave {shown(result)} (expected a number or a token)")
    return result


def whole_place(value: At, place: Plain) -> int:
    if not isinstance(place, int) and not (isinstance(place, float | Fraction) and place == int(place)):
        refuse(value.line, f"{place!r} is not a position", "give a whole number")
    return int(place)


def mean_of(value: Select, found: Sequence[Plain]) -> Plain:
    if len(set(found)) == 1:
        return found[0]
    if any(isinstance(one, str) for one in found):
        refuse(value.line, "several tokens match, and tokens have no mean", "take the latest or the first")
    return Fraction(sum(Fraction(one) for one in found), len(found))
