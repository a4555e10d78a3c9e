"""The words of the language. A program is a function that gives the next token, from the tokens so far.

from handloom.language import *

@program(asks="[a-d]{0,5}>")                        # abc> → cba
def reverse():
    return at(2 * find(">") - position - 1)         # at last that is the first token, <>, which ends the answer

token, position, number(token)      what is here
at(q), back(k), find("+")           the token at a position, k positions before; the position of the first +
latest, first, mean                 x at the latest position, the first, or all, where a condition holds
least, greatest                     x where it is least or greatest
count, seen                         how many positions there are like that, and whether there is one
there(x)                            in a condition: x at the position that is looked at
apply, choose, table                any function of values here; if and else; a fixed table
greater, lesser                     of two numbers here
+ - * // % == != < <= > >= & | ~    as in Python
END                                 ends the answer
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from handloom.write.compiler.source import as_program as program
from handloom.write.compiler.values import (
    END,
    At,
    Count,
    Line,
    Plain,
    Position,
    Select,
    There,
    Token,
    Value,
    Where,
    apply,
    as_value,
    as_where,
    refuse,
    users_line,
)

__all__ = [
    "END", "apply", "at", "back", "choose", "count", "find", "first", "greater", "greatest", "latest", "least",
    "lesser", "mean", "number", "position", "program", "seen", "table", "there", "token",
]  # fmt: skip

NOWHERE = Line("", 0, "")
token: Value = Token(line=NOWHERE)
position: Value = Position(line=NOWHERE)


def number(value: Any) -> Value:
    """The number that a token is; 0 for other tokens."""
    return apply(lambda text: int(text) if str(text).isdecimal() else 0, value)


def there(value: Any) -> There:
    """In a condition: the value at the position that is looked at."""
    return There(as_value(value))


def at(place: Any, value: Any = token) -> Value:
    """The value at a position that is computed, or at the nearest position so far."""
    return At(as_value(value), as_value(place))


def back(steps: int, value: Any = token) -> Value:
    """The value `steps` positions before this one, or at the first token."""
    return at(position - steps, value)


def find(text: str) -> Value:
    """The position of the first such token so far; 0 if there is none."""
    return first(position, where=looking_for(text))


def looking_for(text: Any) -> Where:
    """The condition that this token is there."""
    if not isinstance(text, str):
        refuse(users_line(), f"{text!r} is not a token", 'name one, as in find(">")')
    return replace(as_where(there(token) == text), sought=text)


def latest(value: Any, where: Any, otherwise: Plain | None = None) -> Value:
    """The value at the latest position where the condition holds."""
    return Select(as_value(value), as_where(where), "latest", None, otherwise)


def first(value: Any, where: Any, otherwise: Plain | None = None) -> Value:
    """The value at the first position where the condition holds."""
    return Select(as_value(value), as_where(where), "first", None, otherwise)


def mean(value: Any, where: Any = None, otherwise: Plain | None = None) -> Value:
    """The mean of the value over all positions where the condition holds."""
    return Select(as_value(value), Where() if where is None else as_where(where), "all", None, otherwise)


def least(by: Any, value: Any = None, where: Any = None, otherwise: Plain | None = None) -> Value:
    """The value, by default the number itself, where the number `by` is least."""
    return extreme("least", by, value, where, otherwise)


def greatest(by: Any, value: Any = None, where: Any = None, otherwise: Plain | None = None) -> Value:
    """The value, by default the number itself, where the number `by` is greatest."""
    return extreme("greatest", by, value, where, otherwise)


def extreme(order: Any, by: Any, value: Any, where: Any, otherwise: Plain | None) -> Value:
    condition = Where() if where is None else as_where(where)
    return Select(as_value(by if value is None else value), condition, order, as_value(by), otherwise)


def count(where: Any) -> Value:
    """How many positions there are where the condition holds."""
    return Count(as_where(where))


def seen(what: Any) -> Value:
    """1 if a token occurred so far, or if a condition holds anywhere; otherwise 0."""
    condition = looking_for(what) if isinstance(what, str) else what
    return Select(as_value(1), as_where(condition), "all", None, 0)


def choose(condition: Any, yes: Any, no: Any) -> Value:
    """`yes` where the condition is not 0, otherwise `no`."""
    return apply(lambda flag, a, b: a if flag else b, condition, yes, no)


def greater(a: Any, b: Any) -> Value:
    """The greater of two numbers here."""
    return as_value(b) + apply(lambda difference: max(difference, 0), as_value(a) - b)


def lesser(a: Any, b: Any) -> Value:
    """The lesser of two numbers here."""
    return as_value(b) - apply(lambda difference: max(difference, 0), as_value(b) - a)


def table(entries: Mapping[Any, Plain], value: Any, otherwise: Plain | None = None) -> Value:
    """What a fixed table has for a value."""
    line = users_line()

    def look(key: Any) -> Plain:
        found = entries.get(key, otherwise)
        if found is None:
            refuse(line, f"the table has no entry for {key!r}", "add it, or give otherwise=")
        return found

    return apply(look, value)
