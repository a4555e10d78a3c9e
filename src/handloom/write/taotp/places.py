"""Where the entries of a .taotp text stand: for messages about an entry, and to write one anew.

>>> found = places('{\\n  "layers": [{"Q": zeros(2)}],\\n}')
>>> found["layers[0].Q"].line, sorted(found)
(2, ['layers', 'layers[0]', 'layers[0].Q'])
"""

import ast
import re
import warnings
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from handloom.core import HandloomError


class TextError(HandloomError):
    """Something in a text cannot be used. `line` and `column` count from 1."""

    def __init__(self, message: str, line: int = 1, column: int = 1) -> None:
        super().__init__(message)
        self.line, self.column = line, column


class Place(NamedTuple):
    """Where an entry begins, its name included; and from which character to which its value stands."""

    line: int
    column: int
    first: int
    end: int


def places(text: str) -> dict[str, Place]:
    """Every entry of a text with its place: `tok_emb`, `layers[0]`, `layers[0].Q`, `config.heads`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of odd escapes in strings
        tree = ast.parse(text, mode="eval").body
    lines = lines_of(text)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))

    def at(line: int, byte: int) -> int:
        return starts[line - 1] + characters(lines[line - 1], byte)

    def place(key: ast.expr, value: ast.expr) -> Place:
        column = characters(lines[key.lineno - 1], key.col_offset) + 1
        end = at(value.end_lineno or value.lineno, value.end_col_offset or 0)
        return Place(key.lineno, column, at(value.lineno, value.col_offset), end)

    return {name: place(key, value) for name, key, value in named(tree, "")}


def named(node: ast.expr, at: str) -> Iterator[tuple[str, ast.expr, ast.expr]]:
    """The entries in a dict, with those in layers and in dicts of theirs."""
    for key, value in zip(node.keys, node.values, strict=True) if isinstance(node, ast.Dict) else ():
        if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
            continue
        yield at + key.value, key, value
        yield from named(value, f"{at}{key.value}.")
        for i, item in enumerate(value.elts if isinstance(value, ast.List) and key.value == "layers" else ()):
            yield f"{at}{key.value}[{i}]", item, item
            yield from named(item, f"{at}{key.value}[{i}].")


def lines_of(text: str) -> list[str]:
    """The lines as Python counts them, each with its end."""
    return re.findall(r"[^\r\n]*(?:\r\n|\r|\n|\Z)", text)


def characters(line: str, byte: int) -> int:
    """How many characters stand before a byte of a line."""
    return len(line.encode()[:byte].decode(errors="ignore"))


def place_of(message: str, found: Mapping[str, Place]) -> Place | None:
    """The place of the entry that a message is about: the first that it names, or the nearest that has it."""
    for word in re.findall(r"[\w\[\].]+", message):
        for known in (word, f"config.{word}"):
            while known and known not in found:
                known = known.rpartition(".")[0]
            if known and (known != "config" or word.startswith("config")):
                return found[known]
    return found.get("tokens") if message.startswith("Vocab") else None
