"""Text to values: Python's literals, and a few names for matrices. The words of the TAOTP language.

    >>> evaluate_literal('{"a": [1, -2.5, "x"], "b": 2 * eye(2) + ones(2, 2)}')
    {'a': [1, -2.5, 'x'], 'b': array([[3., 1.],
           [1., 3.]])}
    >>> evaluate_literal("secrets")
    Traceback (most recent call last):
    handloom.write.taotp.places.TextError: line 1: there is no name 'secrets'; there is pi, and text goes in quotes

There are numbers, strings, True, False, None, lists, dicts, the number pi, the functions below, and + − * / for numbers
and matrices. A text is walked, never run, and what it may make is bounded.
"""

import ast
import base64
import math
import operator
import warnings
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from handloom.core import HandloomError
from handloom.core.arrays import Array
from handloom.core.checks import whole
from handloom.core.errors import counted, one_line, shown
from handloom.write.parts.encodings import circle, on_circle, padding, turn
from handloom.write.taotp.places import TextError, characters, lines_of

MOST_TEXT = 2**23  # characters in a text; larger models belong in a model file
MOST_COMMAS = 2**18  # Python's syntax tree takes a kilobyte for each number
MOST_NUMBERS = 2**24  # numbers in all matrices that a text makes on its way
MOST_NESTED = 100


def evaluate_literal(text: str) -> Any:
    """The value of a text."""
    if not isinstance(text, str):
        raise HandloomError(f"expected the text of a .taotp file, not {shown(text)}")
    if len(text) > MOST_TEXT or text.count(",") > MOST_COMMAS:
        raise HandloomError(
            f"the text is too large: it may have {MOST_TEXT:,} characters and {MOST_COMMAS:,} commas; "
            "a model of this size belongs in a .safetensors file"
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of odd escapes in strings
            tree = ast.parse(text, mode="eval").body
    except SyntaxError as error:
        why = "a number has too many digits" if "integer string conversion" in error.msg else error.msg
        line = error.lineno or 1
        raise TextError(f"line {line} cannot be read: {why}", line, error.offset or 1) from error
    except ValueError as error:
        raise HandloomError(f"the text cannot be read: {one_line(error)}") from error
    except (RecursionError, MemoryError) as error:
        raise HandloomError("the text cannot be read: it is nested too deeply") from error
    with np.errstate(all="ignore"):  # what overflows is infinite, and no model takes that
        walk = Evaluation()
        try:
            return walk.value(tree)
        except HandloomError as error:
            column = characters(lines_of(text)[walk.line - 1], walk.byte) + 1
            raise TextError(f"line {walk.line}: {error}", walk.line, column) from error


@dataclass
class Evaluation:
    """A walk over a syntax tree, which counts how deep it is and how many numbers it has made."""

    depth: int = 0
    numbers: int = 0
    line: int = 0  # where it went wrong,
    byte: int = 0  # and at which byte of the line

    def value(self, node: ast.expr) -> Any:
        self.depth += 1
        try:
            if self.depth > MOST_NESTED:
                raise HandloomError(f"this is nested deeper than {MOST_NESTED}")
            if isinstance(node, ast.Attribute):
                raise HandloomError(f"{shown('.' + node.attr)}: the language has no attributes; {WHAT_THERE_IS}")
            if type(node) not in KINDS:
                raise HandloomError(f"this ({type(node).__name__}) is not a part of the language; {WHAT_THERE_IS}")
            return KINDS[type(node)](self, node)
        except HandloomError:
            if not self.line:
                self.line, self.byte = node.lineno, node.col_offset
            raise
        finally:
            self.depth -= 1

    def make(self, size: int) -> None:
        """Count numbers before they are made."""
        self.numbers += size
        if self.numbers > MOST_NUMBERS:
            raise HandloomError(f"this makes {counted(self.numbers)} numbers; a text may make {MOST_NUMBERS:,}")

    def constant(self, node: ast.Constant) -> Any:
        if not isinstance(node.value, int | float | str | None):
            raise HandloomError(f"{shown(node.value)} is not a part of the language")
        return node.value

    def items(self, node: ast.List | ast.Tuple) -> list[Any]:
        """A list; *"abc" in it stands for "a", "b", "c", and *zeros(2, 3) for two rows."""
        items: list[Any] = []
        for item in node.elts:
            if isinstance(item, ast.Starred):
                spread = self.value(item.value)
                if not isinstance(spread, str | list) and np.ndim(spread) == 0:
                    raise HandloomError(f"* spreads a string, a list or the rows of a matrix, not {shown(spread)}")
                items.extend(spread)
            else:
                items.append(self.value(item))
        return items

    def entries(self, node: ast.Dict) -> dict[str, Any]:
        items: dict[str, Any] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
                raise HandloomError("the name of an entry is a string in quotes")
            if key.value in items:
                raise HandloomError(f"the entry {shown(key.value)} is there twice")
            items[key.value] = self.value(value)
        return items

    def name(self, node: ast.Name) -> float:
        if node.id != "pi":
            raise HandloomError(f"there is no name {shown(node.id)}; there is pi, and text goes in quotes")
        return math.pi

    def call(self, node: ast.Call) -> Any:
        name = getattr(node.func, "id", "") or getattr(node.func, "attr", "")  # eye, or that of np.eye
        if not isinstance(node.func, ast.Name) or name not in FUNCTIONS:
            called = name if isinstance(node.func, ast.Name) else f"….{name}" if name else type(node.func).__name__
            hint = f"write {name}(…)" if name in FUNCTIONS else f"there are {', '.join(FUNCTIONS)}"
            raise HandloomError(f"there is no function {shown(called)}; {hint}")
        function = FUNCTIONS[name]
        given = [self.value(argument) for argument in node.args]
        takes = function.takes if function.takes != "*" else "n" * len(given)
        if node.keywords or len(given) != len(takes) or not 1 <= len(given) <= 3:
            raise HandloomError(f"write {function.usage}")
        arguments = [ARGUMENTS[kind](value) for kind, value in zip(takes, given, strict=True)]
        self.make(function.size(*arguments))
        return function.make(*arguments)

    def minus(self, node: ast.UnaryOp) -> Any:
        if not isinstance(node.op, ast.USub | ast.UAdd):
            raise HandloomError(
                f"this sign ({type(node.op).__name__}) is not a part of the language; there are + - * /"
            )
        value = self.value(node.operand)
        value = value if is_number(value) else as_array(value)
        self.make(np.size(value))
        return -value if isinstance(node.op, ast.USub) else value

    def operation(self, node: ast.BinOp) -> Any:
        """Number by number, or matrix by matrix of the same shape, or every entry by a number."""
        if type(node.op) not in OPERATORS:
            raise HandloomError(
                f"this sign ({type(node.op).__name__}) is not a part of the language; there are + - * /"
            )
        a, b = as_array(self.value(node.left)), as_array(self.value(node.right))
        if a.shape != b.shape and a.ndim and b.ndim:
            raise HandloomError(
                f"{shape_text(a.shape)} and {shape_text(b.shape)} do not go together; shapes must be the same"
            )
        self.make(max(a.size, b.size))
        result = OPERATORS[type(node.op)](a, b)
        return result if result.ndim else float(result)


KINDS: dict[type[ast.expr], Callable[..., Any]] = {
    ast.Constant: Evaluation.constant,
    ast.List: Evaluation.items,
    ast.Tuple: Evaluation.items,
    ast.Dict: Evaluation.entries,
    ast.Name: Evaluation.name,
    ast.Call: Evaluation.call,
    ast.UnaryOp: Evaluation.minus,
    ast.BinOp: Evaluation.operation,
}
OPERATORS: dict[type[ast.operator], Callable[[Array, Array], Array]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


@dataclass(frozen=True)
class Function:
    """What a name in front of brackets makes, from what arguments, and how many numbers that is."""

    usage: str
    takes: str  # a letter for each argument, see ARGUMENTS; * is one or more n
    size: Callable[..., int]
    make: Callable[..., Any]


def half_circle(count: int) -> Array:
    """`count` points in order on half of the circle, its ends left out."""
    return on_circle(np.pi * np.arange(1, count + 1) / (count + 1))


def blocks(parts: list[list[Array]]) -> Array:
    """[[a, b], [c, d]]: a beside b, and below them c beside d."""
    try:
        return np.block(parts)
    except ValueError as error:
        raise HandloomError(f"these blocks do not fit together: {one_line(error)}") from error


def rows(matrix: Array, which: list[int]) -> Array:
    """Some rows of a matrix, in this order."""
    if wrong := [i for i in which if i >= len(matrix)]:
        raise HandloomError(f"there is no row {shown(wrong[0])}; they are 0 to {len(matrix) - 1}")
    return matrix[np.array(which, int)]


def packed(text: str, *shape: int) -> Array:
    """Numbers as compressed bytes in base 85, float64 or float32."""
    size = math.prod(shape)
    try:
        data = zlib.decompressobj().decompress(base64.b85decode(text), 8 * size + 1)
    except (ValueError, zlib.error) as error:
        raise HandloomError(f"the packed text is damaged: {one_line(error)}") from error
    if not size or len(data) not in (4 * size, 8 * size):
        raise HandloomError(f"the packed text has {len(data)} bytes, expected {8 * size} or {4 * size}")
    return np.frombuffer(data, f"<f{len(data) // size}").astype(np.float64).reshape(shape)


def pack(array: Array) -> str:
    """The text that `packed` reads as this matrix."""
    data = zlib.compress(np.ascontiguousarray(array, f"<f{array.dtype.itemsize}").tobytes(), 9)
    return f"packed('{base64.b85encode(data).decode()}', {', '.join(map(str, array.shape))})"


WHAT_THERE_IS = "there are numbers, text in quotes, lists, dicts, + - * / and functions such as circle(3)"
FUNCTIONS = {
    "zeros": Function("zeros(n), zeros(n, m) or zeros(n, m, k)", "*", lambda *n: math.prod(n), lambda *n: np.zeros(n)),
    "ones": Function("ones(n), ones(n, m) or ones(n, m, k)", "*", lambda *n: math.prod(n), lambda *n: np.ones(n)),
    "eye": Function("eye(n)", "n", lambda n: n * n, np.eye),
    "circle": Function("circle(n)", "n", lambda n: 3 * n, circle),
    "half_circle": Function("half_circle(n)", "n", lambda n: 3 * n, half_circle),
    "on_circle": Function("on_circle(angle)", "x", lambda x: 3, on_circle),
    "turn": Function("turn(angle)", "x", lambda x: 9, turn),
    "padding": Function("padding(n)", "n", lambda n: n, padding),
    "rows": Function("rows(matrix, [0, 2, 2])", "mi", lambda m, i: len(i) * m.shape[1], rows),
    "blocks": Function("blocks([[a, b], [c, d]])", "g", lambda g: sum(m.size for row in g for m in row), blocks),
    "packed": Function("packed('text', n, m)", "tnn", lambda text, n, m: n * m, packed),
    "sqrt": Function("sqrt(x)", "x", lambda x: 1, lambda x: float(np.sqrt(x))),
}


def matrix(value: Any) -> Array:
    array = as_array(value)
    if array.ndim != 2:
        raise HandloomError(f"this is {shape_text(array.shape)}, expected a matrix")
    return array


def number(value: Any) -> float:
    array = as_array(value)
    if array.ndim:
        raise HandloomError(f"this is {shape_text(array.shape)}, expected a number")
    return float(array)


def packed_text(value: Any) -> str:
    if not isinstance(value, str):
        raise HandloomError(f"this is {shown(value)}, expected a packed text in quotes")
    return value


def row_numbers(value: Any) -> list[int]:
    if not isinstance(value, list):
        raise HandloomError(f"this is {shown(value)}, expected a list of row numbers")
    return [whole("row", i, 0) for i in value]


def grid(value: Any) -> list[list[Array]]:
    if not isinstance(value, list) or not value or not all(isinstance(row, list) and row for row in value):
        raise HandloomError("blocks takes a list of rows of matrices: blocks([[a, b], [c, d]])")
    return [[matrix(part) for part in row] for row in value]


ARGUMENTS: dict[str, Callable[[Any], Any]] = {
    "t": packed_text,
    "n": lambda value: whole("size", value, 0),
    "x": number,
    "m": matrix,
    "i": row_numbers,
    "g": grid,
}


def as_array(value: Any) -> Array:
    """Numbers, lists and matrices in one array."""
    try:
        return np.array(plain(value), np.float64)
    except OverflowError as error:
        raise HandloomError("a whole number is too large: no float can hold it") from error
    except HandloomError:
        raise
    except ValueError as error:
        raise HandloomError("rows have different lengths, or are nested unevenly; all must be alike") from error


def plain(value: Any) -> Any:
    """The same, if there is nothing but numbers in it."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, np.ndarray) or is_number(value):
        return value
    raise HandloomError(f"{shown(value)} is not a number")


def is_number(value: Any) -> bool:
    return type(value) in (int, float)


def shape_text(shape: tuple[int, ...]) -> str:
    return " × ".join(map(str, shape)) or "one number"
