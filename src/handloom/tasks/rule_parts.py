"""The parts of rules about strings, and what each means: a function from strings to numbers or truth values."""

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass

DIGITS = "0123456789"
LONGEST_STRING = 10_000
COMPARE = {"==": operator.eq, "=": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le}
COMPARE |= {">": operator.gt, ">=": operator.ge}
COMPUTE = {"+": operator.add, "-": operator.sub, "*": operator.mul, "%": operator.mod}

Value = Callable[[str], int]  # what a part of a rule is for a string


@dataclass(frozen=True)
class Number:
    value: int


@dataclass(frozen=True)
class Symbol:
    character: str


@dataclass(frozen=True)
class Length:
    pass


@dataclass(frozen=True)
class Digit:
    index: "Part"  # from 1, whatever the length; made of numbers and n
    text: str  # as the rule has it


@dataclass(frozen=True)
class CountOf:
    symbol: str


@dataclass(frozen=True)
class Total:
    pass


@dataclass(frozen=True)
class Arithmetic:
    first: "Part"
    rest: tuple[tuple[str, "Part"], ...]  # signs and what follows them, from left to right


@dataclass(frozen=True)
class Comparison:
    first: "Part"
    rest: tuple[tuple[str, "Part"], ...]


@dataclass(frozen=True)
class Join:
    word: str  # and, or
    parts: tuple["Part", ...]


@dataclass(frozen=True)
class Not:
    part: "Part"


Part = Number | Symbol | Length | Digit | CountOf | Total | Arithmetic | Comparison | Join | Not


def walk(part: Part) -> Iterator[Part]:
    """A part and all parts in it."""
    yield part
    match part:
        case Arithmetic(first, rest) | Comparison(first, rest):
            inner: tuple[Part, ...] = (first, *(other for _, other in rest))
        case Join(_, parts):
            inner = parts
        case Not(inside) | Digit(inside):
            inner = (inside,)
        case _:
            inner = ()
    for other in inner:
        yield from walk(other)


def bound(part: Part) -> int:
    """The largest value of a number, for any string."""
    match part:
        case Number(value):
            return value
        case Length() | CountOf():
            return LONGEST_STRING
        case Total():
            return 9 * LONGEST_STRING
        case Arithmetic(first, rest):
            largest = bound(first)
            for sign, other in rest:
                largest = COMPUTE["*" if sign == "*" else "+"](largest, bound(other))
            return largest
    return 9


def meaning(part: Part, alphabet: str) -> Value:
    """A function that gives the value of a part for any string."""
    zero = ord("0") if set(alphabet) <= set(DIGITS) else 0  # digits are numbers, other symbols their place in Unicode
    match part:
        case Number(value):
            return lambda string: value
        case Symbol(symbol):
            return lambda string: ord(symbol)
        case Length():
            return len
        case Digit(Number(value)):
            return lambda string: ord(string[value - 1]) - zero
        case Digit(index):
            place = meaning(index, alphabet)
            return lambda string: ord(character(string, place(string))) - zero
        case CountOf(symbol):
            return lambda string: string.count(symbol)
        case Total():
            return lambda string: sum(int(symbol) * string.count(symbol) for symbol in alphabet)
        case Arithmetic(first, rest):
            start, steps = meaning(first, alphabet), [(COMPUTE[sign], meaning(x, alphabet)) for sign, x in rest]
            return lambda string: computed(string, start, steps)
        case Comparison(first, rest):
            start, steps = meaning(first, alphabet), [(COMPARE[sign], meaning(x, alphabet)) for sign, x in rest]
            return lambda string: compared(string, start, steps)
        case Join(word, parts):
            quantifier, values = all if word == "and" else any, [meaning(other, alphabet) for other in parts]
            return lambda string: quantifier(value(string) for value in values)
        case Not(inside):
            denied = meaning(inside, alphabet)
            return lambda string: not denied(string)


def computed(string: str, start: Value, steps: list[tuple[Callable[[int, int], int], Value]]) -> int:
    result = start(string)
    for operation, value in steps:
        result = operation(result, value(string))
    return result


def compared(string: str, start: Value, steps: list[tuple[Callable[[int, int], bool], Value]]) -> bool:
    """Chained, as in mathematics: a < b < c."""
    left = start(string)
    for holds, value in steps:
        right = value(string)
        if not holds(left, right):
            return False
        left = right
    return True


def character(string: str, place: int) -> str:
    """Counted from 1; a place below 1 does not count from the end, as it would in Python."""
    if place < 1:
        raise IndexError
    return string[place - 1]
