"""Notes as text: readings on a line each, long lists of letters as one string, matrices of numbers by expressions."""

from typing import Any

import numpy as np

from handloom.write.taotp.factoring import factored
from handloom.write.taotp.scalars import expression_of

ONE_LINE = 110  # characters of a note that stands on one line


def note_text(value: Any, indent: str) -> str:
    """A JSON value as text, which reads as the same value."""
    if isinstance(value, dict) and value:
        return entries_text(value, indent)
    if is_matrix(value):
        name = factored(np.array(value), np.dtype("float64"))
        rows = ", ".join(f"[{', '.join(map(float_text, row))}]" for row in value)
        return name if name and len(name) < len(rows) else f"[{rows}]"
    return float_text(value) if type(value) is float else strings(value)


def entries_text(value: dict[str, Any], indent: str) -> str:
    deeper = indent + "    "
    lines = [f"{name!r}: {note_text(item, deeper)}" for name, item in value.items()]
    short = "{" + ", ".join(lines) + "}"
    if len(short) + len(indent) <= ONE_LINE and "\n" not in short:
        return short
    return "{\n" + "".join(f"{deeper}{line},\n" for line in lines) + indent + "}"


def is_matrix(value: Any) -> bool:
    """A list of equal rows of floats."""
    if not isinstance(value, list) or not value or not all(isinstance(row, list) and row for row in value):
        return False
    return len({len(row) for row in value}) == 1 and all(type(x) is float for row in value for x in row)


def float_text(number: float) -> str:
    """An expression that is a float, not a whole number."""
    text = expression_of(number)
    return text + ".0" if text.lstrip("-").isdecimal() else text


def strings(value: Any) -> str:
    """The repr of a value; of a list, letters that follow each other as one string."""
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        return repr(value)
    parts: list[str] = []
    letters = ""
    for item in [*value, ""]:
        if len(item) == 1:
            letters += item
            continue
        if letters:
            parts.append(repr(letters) if len(letters) == 1 else f"*{letters!r}")
            letters = ""
        parts.append(repr(item))
    parts.pop()  # the end
    return f"[{', '.join(parts)}]"
