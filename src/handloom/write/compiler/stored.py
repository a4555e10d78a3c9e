"""A program as data, in the notes of its model: so a file is enough to run the interpreter, with no code of the user's.

The values are a list, each behind those that it is computed from and names by their numbers. A function is the table of
its cases, which are finitely many. Notes come from anyone: whatever is in them is checked, and the work it makes is
bounded.

    ["token"]  ["position"]  ["constant", 3]
    ["sum", constant, [[factor, i], …]]
    ["table", [i, …], [[argument, …, result], …]]
    ["sign", i, [result below 0, at 0, above 0]]
    ["at", i, place]  ["count", where]
    ["select", order, i, where, by, otherwise]      where: {"pairs": [[there, here], …], "key": i, "query": i}

A fraction is [numerator, denominator], and what is not there null.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import isfinite
from pathlib import Path
from typing import Any, NoReturn, get_args

from handloom.core import HandloomError, Model
from handloom.core.errors import shown
from handloom.tasks.task import Task
from handloom.write.compiler.source import MOST_POSITIONS, TokenProgram, vocab_of
from handloom.write.compiler.totals import sign
from handloom.write.compiler.values import (
    At,
    Constant,
    Count,
    Line,
    Linear,
    Map,
    Order,
    Plain,
    Position,
    Select,
    Token,
    Value,
    Where,
)

KEY = "compiled"  # of the notes
VERSION = 1
MOST_STORED = 1_000  # values
MOST_ROWS = 100_000  # of all tables together
MOST_INPUTS = 50  # of one value
LARGEST = 10**15  # number


def as_notes(program: TokenProgram) -> dict[str, Any]:
    """A program for the notes of its model."""
    numbers = {value: i for i, value in enumerate(program.order)}
    lines = [value.line for value in program.order]
    rows = [row_of(value, numbers, program) for value in program.order]
    if len(rows) > MOST_STORED:
        raise HandloomError(f"{program.name}: it computes {len(rows)} values (expected up to {MOST_STORED}); use fewer")
    if (size := sum(len(row[2]) for row in rows if row[0] == "table")) > MOST_ROWS:
        raise HandloomError(f"{program.name}: its functions have {size:,} cases in all (expected up to {MOST_ROWS:,}); "
                            "compute them in steps, each of fewer values")  # fmt: skip
    return {
        "version": VERSION,
        "name": program.name,
        "about": program.about,
        "asks": program.asked.expression,
        "steps": program.steps,
        "values": rows,
        "names": {name: numbers[value] for value, name in program.names.items() if value in numbers},
        "file": Path(program.answer.line.file).name,
        "lines": [line.number for line in lines],
        "text": {str(line.number): line.text for line in lines},
    }


def row_of(value: Value, numbers: dict[Value, int], program: TokenProgram) -> list[Any]:
    if isinstance(value, Constant):
        return ["constant", plain_out(value.value)]
    if isinstance(value, Linear):
        return ["sum", plain_out(value.constant), [[plain_out(f), numbers[one]] for f, one in value.terms]]
    if isinstance(value, Map) and value.of_sign:
        return ["sign", numbers[value.arguments[0]], [plain_out(value.function(sign)) for sign in (-1, 0, 1)]]
    if isinstance(value, Map):
        cases = program.ranges.cases(value).items()
        rows = sorted(([*map(plain_out, given), plain_out(result)] for given, result in cases), key=repr)
        return ["table", [numbers[one] for one in value.arguments], rows]
    if isinstance(value, At):
        return ["at", numbers[value.value], numbers[value.place]]
    if isinstance(value, Count):
        return ["count", where_out(value.where, numbers)]
    if isinstance(value, Select):
        by = None if value.by is None else numbers[value.by]
        otherwise = None if value.otherwise is None else plain_out(value.otherwise)
        return ["select", value.order, numbers[value.value], where_out(value.where, numbers), by, otherwise]
    return ["token"] if isinstance(value, Token) else ["position"]


def where_out(where: Where, numbers: dict[Value, int]) -> dict[str, Any]:
    key, query = (None if flag is None else numbers[flag] for flag in (where.key, where.query))
    return {"pairs": [[numbers[there], numbers[here]] for there, here in where.pairs], "key": key, "query": query}


def plain_out(one: Plain) -> Any:
    if isinstance(one, Fraction):
        return int(one) if one.denominator == 1 else [one.numerator, one.denominator]
    return one


def stored_program(model: Model) -> TokenProgram | None:
    """The program that a model's notes hold; None if they hold none."""
    if KEY not in model.notes:
        return None
    return Reading(model).program()


def stored_task(model: Model) -> Task | None:
    """The task of a compiled model: its program, run by the interpreter."""
    found = stored_program(model)
    return None if found is None else found.task


class Reading:
    """Reads a program from notes; whatever is not as `as_notes` writes it is refused."""

    def __init__(self, model: Model) -> None:
        self.notes, self.model = model.notes[KEY], model
        self.values: list[Value] = []
        self.rows = 0
        self.kinds: dict[str, Callable[..., Value]] = {
            "token": self.token,
            "position": self.position,
            "constant": lambda value: Constant(self.plain(value), line=self.line),
            "sum": self.sum,
            "table": self.table,
            "sign": self.sign,
            "at": lambda value, place: At(self.value(value), self.value(place), line=self.line),
            "count": lambda where: Count(self.where(where), line=self.line),
            "select": self.select,
        }

    def fail(self, what: str) -> NoReturn:
        raise HandloomError(f"the program in the model's notes: {what}; compile it again")

    def take(self, name: str, *kinds: type) -> Any:
        found = self.notes.get(name) if isinstance(self.notes, dict) else None
        if not isinstance(found, kinds) or isinstance(found, bool):
            self.fail(f"its {name} is {shown(found)}")
        return found

    def program(self) -> TokenProgram:
        if self.take("version", int) != VERSION:
            self.fail(f"its version is {shown(self.notes['version'])}, and this handloom reads {VERSION}")
        values, steps = self.take("values", list), self.take("steps", int, type(None))
        if not 0 < len(values) <= MOST_STORED:
            self.fail(f"it has {len(values):,} values (expected 1 to {MOST_STORED:,})")
        if steps is not None and not 0 < steps <= MOST_POSITIONS:
            self.fail(f"its steps are {shown(steps)}")
        if (vocab := self.model.vocab) != vocab_of(vocab.tokens):
            self.fail("the model's vocabulary is not of a compiled program")
        file, lines, text = self.take("file", str), self.take("lines", list), self.take("text", dict)
        for i, row in enumerate(values):
            number = lines[i] if i < len(lines) and isinstance(lines[i], int) else 0
            self.line = Line(file, number, str(text.get(str(number), ""))[:200])
            self.values.append(self.read(i, row))
        name, about, asks = (self.take(key, str) for key in ("name", "about", "asks"))
        names = {self.value(i): str(key) for key, i in self.take("names", dict).items()}
        found = TokenProgram(name, about, asks, self.values[-1], names, steps, vocab.tokens)
        if strange := set(found.asked.alphabet) - set(vocab.tokens):
            self.fail(f"an input may have {shown(min(strange))}, which is no token of the model")
        return found

    def read(self, i: int, row: Any) -> Value:
        if not isinstance(row, list) or not row or not isinstance(row[0], str) or row[0] not in self.kinds:
            self.fail(f"value {i} is {shown(row)}")
        try:
            return self.kinds[row[0]](*row[1:])
        except TypeError:
            self.fail(f"value {i} is {shown(row)}")

    def token(self) -> Value:
        return Token(line=self.line)

    def position(self) -> Value:
        return Position(line=self.line)

    def sum(self, constant: Any, terms: Any) -> Value:
        pairs = [(self.number(factor), self.value(i)) for factor, i in self.rows_of(terms, 2)]
        return Linear(tuple(pairs), self.number(constant), line=self.line)

    def table(self, arguments: Any, cases: Any) -> Value:
        given = tuple(self.value(i) for i in self.some(arguments))
        rows = [tuple(map(self.plain, row)) for row in self.rows_of(cases, len(given) + 1, MOST_ROWS)]
        self.rows += len(rows)
        if not given or self.rows > MOST_ROWS:
            self.fail(f"its tables have more than {MOST_ROWS:,} rows, or no arguments")
        entries = {row[:-1]: row[-1] for row in rows}
        return Map(lambda *asked: entries.get(asked), given, line=self.line)

    def sign(self, value: Any, results: Any) -> Value:
        given = [self.plain(one) for one in self.some(results, 3)]
        if len(given) != 3:
            self.fail(f"value {len(self.values)} has {shown(results)} (expected 3 results)")
        return Map(lambda one: given[1 + sign(one)], (self.value(value),), of_sign=True, line=self.line)

    def select(self, order: Any, value: Any, where: Any, by: Any, otherwise: Any) -> Value:
        if order not in get_args(Order) or (order in ("least", "greatest")) != (by is not None):
            self.fail(f"an order is {shown(order)}, by {shown(by)}")
        key = None if by is None else self.value(by)
        rest = None if otherwise is None else self.plain(otherwise)
        return Select(self.value(value), self.where(where), order, key, rest, line=self.line)

    def where(self, found: Any) -> Where:
        if not isinstance(found, dict) or found.keys() != {"pairs", "key", "query"}:
            self.fail(f"a condition is {shown(found)}")
        pairs = tuple((self.value(there), self.value(here)) for there, here in self.rows_of(found["pairs"], 2))
        key, query = (None if i is None else self.value(i) for i in (found["key"], found["query"]))
        return Where(pairs, key, query)

    def value(self, i: Any) -> Value:
        """A value that has been read."""
        if not isinstance(i, int) or isinstance(i, bool) or not 0 <= i < len(self.values):
            self.fail(f"value {len(self.values)} is computed from {shown(i)}, which is none before it")
        return self.values[i]

    def some(self, found: Any, most: int = MOST_INPUTS) -> Sequence[Any]:
        if not isinstance(found, list) or len(found) > most:
            self.fail(f"value {len(self.values)} has {shown(found)} (expected a list of up to {most:,})")
        return found

    def rows_of(self, found: Any, width: int, most: int = MOST_INPUTS) -> Sequence[Any]:
        if wrong := [row for row in self.some(found, most) if not isinstance(row, list) or len(row) != width]:
            self.fail(f"value {len(self.values)} has the row {shown(wrong[0])} (expected {width} entries)")
        rows: list[Any] = found
        return rows

    def plain(self, found: Any) -> Plain:
        if isinstance(found, str):
            return found
        if isinstance(found, list):
            if (
                len(found) != 2
                or not all(isinstance(one, int) and abs(one) <= LARGEST for one in found)
                or not found[1]
            ):
                self.fail(f"{shown(found)} is no fraction")
            return Fraction(*found)
        return self.number(found)

    def number(self, found: Any) -> Any:
        if isinstance(found, bool) or not isinstance(found, int | float) or not isfinite(found) or abs(found) > LARGEST:
            self.fail(f"{shown(found)} is no number up to {LARGEST:,}")
        return found
