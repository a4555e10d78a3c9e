"""The values of the language: what a program computes at every position, as a graph that grows while it is written.

A Value is one of five things, and every word of the language makes one of them:

    Token, Position     the token here, and the number of tokens before it
    Constant            the same everywhere
    Linear              a sum of multiples of other values
    Map                 any function of finitely many values, of one or several others
    Select              what stands at the positions where something holds: the latest of them, the first, the mean

Inside `where=`, `there(x)` is x at the position that is looked at, and x is the value here. A condition compares the
two, or tests one of them. It becomes a Where, the conjunction that one attention head can test.
"""

import linecache
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, NoReturn

from handloom.core import HandloomError
from handloom.core.errors import shown

Plain = int | float | Fraction | str  # what a value can be at a position: a number, or a token
Order = Literal["latest", "first", "all", "least", "greatest"]  # which of the matches count

END = "<>"  # the token in front of every input, and behind every answer
HERE = Path(__file__).parent


@dataclass(frozen=True)
class Line:
    """Where in a user's file a value was made."""

    file: str
    number: int
    text: str

    def __str__(self) -> str:
        place = f"{Path(self.file).name}, line {self.number}" if self.number else "the program"
        return f"{place}: {self.text}" if self.text else place


def users_line() -> Line:
    """The line of the innermost caller that is not part of the compiler."""
    frame = sys._getframe(1)
    while frame.f_back and (frame.f_code.co_filename == "<string>" or Path(frame.f_code.co_filename).parent == HERE):
        frame = frame.f_back
    file, number = frame.f_code.co_filename, frame.f_lineno
    return Line(file, number, linecache.getline(file, number).strip())


def refuse(line: Line, why: str, remedy: str) -> NoReturn:
    raise HandloomError(f"{line}: {why}; {remedy}")


def token_of(answer: Plain) -> str:
    """The token that an answer names: itself, or a number's digits."""
    return answer if isinstance(answer, str) else str(int(answer)) if answer == int(answer) else str(answer)


class Operators:
    """Arithmetic and comparison, of values here or there; Python's `if` and loops are refused."""

    __hash__ = object.__hash__

    def apply(self, function: Callable[..., Any], *others: Any) -> Any:
        raise NotImplementedError

    def linear(self, terms: "list[tuple[float, Any]]", constant: float) -> Any:
        raise NotImplementedError

    def plus(self, other: Any, mine: float, its: float) -> Any:
        if isinstance(other, int | float):
            return self.linear([(mine, self)], its * other)
        if isinstance(other, Operators):
            return self.linear([(mine, self), (its, other)], 0)
        return NotImplemented

    def __add__(self, other: Any) -> Any:
        return self.plus(other, 1, 1)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self.plus(other, 1, -1)

    def __rsub__(self, other: Any) -> Any:
        return self.plus(other, -1, 1)

    def compared(self, other: Any, test: Callable[[Any], int]) -> Any:
        """A test of the difference: a sum costs nothing, and one number has fewer cases than two."""
        if isinstance(self, Value) and not isinstance(self, Constant) and isinstance(other, int) and other == 0:
            return Map(test, (self,), of_sign=True)
        difference = self - other
        return NotImplemented if difference is NotImplemented else difference.apply(test)

    def __neg__(self) -> Any:
        return self.linear([(-1, self)], 0)

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, int | float):
            return self.linear([(other, self)], 0)
        return self.apply(lambda a, b: a * b, other)

    __rmul__ = __mul__

    def __floordiv__(self, other: Any) -> Any:
        return self.apply(lambda a, b: a // b, other)

    def __mod__(self, other: Any) -> Any:
        return self.apply(lambda a, b: a % b, other)

    def __eq__(self, other: Any) -> Any:
        return self.apply(lambda a, b: int(a == b), other)

    def __ne__(self, other: Any) -> Any:
        return self.apply(lambda a, b: int(a != b), other)

    def __lt__(self, other: Any) -> Any:
        return self.compared(other, lambda difference: int(difference < 0))

    def __le__(self, other: Any) -> Any:
        return self.compared(other, lambda difference: int(difference <= 0))

    def __gt__(self, other: Any) -> Any:
        return self.compared(other, lambda difference: int(difference > 0))

    def __ge__(self, other: Any) -> Any:
        return self.compared(other, lambda difference: int(difference >= 0))

    def __and__(self, other: Any) -> Any:
        return self.apply(lambda a, b: int(bool(a) and bool(b)), other)

    def __or__(self, other: Any) -> Any:
        return self.apply(lambda a, b: int(bool(a) or bool(b)), other)

    def __invert__(self) -> Any:
        return self.apply(lambda a: int(not a))

    def __bool__(self) -> NoReturn:
        refuse(users_line(), "a value differs from position to position, so Python cannot branch on it",
               "write choose(condition, a, b), and & | ~ for and, or, not")  # fmt: skip

    def __iter__(self) -> NoReturn:
        refuse(users_line(), "a value is not a sequence", "look at other positions with at, back, latest or first")

    def __index__(self) -> NoReturn:
        refuse(users_line(), "a value is not one number", "apply(function, value) computes with it at every position")

    __int__ = __float__ = __len__ = __index__


@dataclass(frozen=True, eq=False)
class Value(Operators):
    """What a program computes at every position."""

    line: Line = field(default_factory=users_line, kw_only=True)

    @property
    def inputs(self) -> "tuple[Value, ...]":
        """The values it is computed from, here or at other positions."""
        return ()

    def apply(self, function: Callable[..., Any], *others: Any) -> Any:
        if any(isinstance(other, There | Where) for other in others):
            return NotImplemented  # `there` makes the condition
        return apply(function, self, *others)

    def linear(self, terms: list[tuple[float, Any]], constant: float) -> Any:
        if any(isinstance(other, There) for _, other in terms):
            return NotImplemented
        return Linear(tuple(terms), constant)


@dataclass(frozen=True, eq=False)
class Token(Value):
    """The token here."""


@dataclass(frozen=True, eq=False)
class Position(Value):
    """How many tokens are before this one; the first token, in front of the input, is at 0."""


@dataclass(frozen=True, eq=False)
class Constant(Value):
    value: Plain


@dataclass(frozen=True, eq=False)
class Linear(Value):
    terms: tuple[tuple[float, Value], ...]
    constant: float

    @property
    def inputs(self) -> tuple[Value, ...]:
        return tuple(value for _, value in self.terms)


@dataclass(frozen=True, eq=False)
class Map(Value):
    function: Callable[..., Any]
    arguments: tuple[Value, ...]
    of_sign: bool = False  # whether it is a function of one number, of which only the sign matters
    known: dict[tuple[Plain, ...], Plain | None] = field(
        default_factory=dict, init=False, repr=False
    )  # what it gave so far

    @property
    def inputs(self) -> tuple[Value, ...]:
        return self.arguments


Point = tuple[Value, Value]


@dataclass(frozen=True, eq=False)
class Where(Operators):
    """A condition that a head can test: every pair is equal, `key` holds there, `query` holds here."""

    pairs: tuple[tuple[Value, Value], ...] = ()  # there, here
    key: Value | None = None
    query: Value | None = None
    sought: str | None = None  # the token that must occur for the condition to make sense
    circles: tuple[tuple[Point, Point, int], ...] = ()  # points there and here, of that many on a circle (rewrite.py)

    @property
    def inputs(self) -> tuple[Value, ...]:
        flags = (flag for flag in (self.key, self.query) if flag is not None)
        points = (value for there, here, _ in self.circles for value in (*there, *here))
        return (*(value for pair in self.pairs for value in pair), *points, *flags)

    @property
    def equal(self) -> tuple[tuple[Value, Value], ...]:
        """All that must be equal, there and here; points are equal if both their coordinates are."""
        points = (pair for there, here, _ in self.circles for pair in zip(there, here, strict=True))
        return (*self.pairs, *points)

    def __and__(self, other: Any) -> "Where":
        other = as_where(other)
        return Where(self.pairs + other.pairs, both(self.key, other.key), both(self.query, other.query))

    __rand__ = __and__

    def apply(self, function: Callable[..., Any], *others: Any) -> NoReturn:
        remedy = "join conditions of here and there by &, and compute | and ~ of here or of there alone before"
        refuse(users_line(), "a head cannot test this condition", remedy)

    def linear(self, terms: list[tuple[float, Any]], constant: float) -> NoReturn:
        refuse(users_line(), "a condition is not a number", "count(where=condition) counts where it holds")


@dataclass(frozen=True, eq=False)
class There(Operators):
    """A value at the position that is looked at."""

    value: Value

    def apply(self, function: Callable[..., Any], *others: Any) -> Any:
        if any(isinstance(other, Where) for other in others):
            return NotImplemented
        if any(isinstance(other, Value) and not isinstance(other, Constant) for other in others):
            refuse(users_line(), "a head compares there with here only by ==",
                   "write there(x) == y, with all of here on the right")  # fmt: skip
        return There(apply(function, self.value, *(o.value if isinstance(o, There) else o for o in others)))

    def linear(self, terms: list[tuple[float, Any]], constant: float) -> Any:
        if any(isinstance(other, Value) for _, other in terms):
            refuse(users_line(), "a head cannot add here to there", "move what is here to the other side of ==")
        return There(Linear(tuple((factor, other.value) for factor, other in terms), constant))

    def __eq__(self, other: Any) -> Any:
        if isinstance(other, Value) and not isinstance(other, Constant):
            return Where(pairs=((self.value, other),))
        return super().__eq__(other)

    __hash__ = object.__hash__

    def __and__(self, other: Any) -> Any:
        return super().__and__(other) if isinstance(other, There) else as_where(self) & other

    __rand__ = __and__


@dataclass(frozen=True, eq=False)
class Select(Value):
    """The value at the matching positions: the latest, the first, the first one where `by` is least or greatest, or
    the mean of all. The first token never matches; if nothing does, the value is `otherwise`, and without
    that what stands at the first token."""

    value: Value
    where: Where
    order: Order
    by: Value | None = None
    otherwise: Plain | None = None

    @property
    def inputs(self) -> tuple[Value, ...]:
        return (self.value, *self.where.inputs, *(() if self.by is None else (self.by,)))


@dataclass(frozen=True, eq=False)
class At(Value):
    """The value at the position `place`, or at the nearest one so far."""

    value: Value
    place: Value

    @property
    def inputs(self) -> tuple[Value, ...]:
        return self.value, self.place


@dataclass(frozen=True, eq=False)
class Count(Value):
    """The number of matching positions, without the first token."""

    where: Where

    @property
    def inputs(self) -> tuple[Value, ...]:
        return self.where.inputs


def both(a: Value | None, b: Value | None) -> Value | None:
    return b if a is None else a if b is None else a & b


def as_value(value: Any) -> Value:
    """A value; a number or a token stands for itself at every position."""
    if isinstance(value, Value):
        return value
    if isinstance(value, int | float | str):
        return Constant(int(value) if isinstance(value, bool) else value)
    refuse(users_line(), f"{shown(value)} is not a value", "give a value of the language, a number or a token")


def as_where(condition: Any) -> Where:
    """A condition as a head tests it."""
    if isinstance(condition, Where):
        return condition
    if isinstance(condition, There):
        return Where(key=condition.value)
    if isinstance(condition, Value):
        return Where(query=condition)
    refuse(users_line(), f"{shown(condition)} is not a condition", 'write where=there(token) == "a", for example')


def apply(function: Callable[..., Any], *arguments: Any) -> Value:
    """Any function of the values here. Constants among them are put into the function."""
    values = tuple(map(as_value, arguments))
    variable = tuple(value for value in values if not isinstance(value, Constant))
    if not variable:
        return as_value(function(*(value.value for value in values if isinstance(value, Constant))))
    if len(variable) == len(values):
        return Map(function, values)

    def partial(*given: Any) -> Any:
        rest = iter(given)
        return function(*(value.value if isinstance(value, Constant) else next(rest) for value in values))

    return Map(partial, variable)
