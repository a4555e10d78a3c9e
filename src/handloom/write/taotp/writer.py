"""Writing the TAOTP language: Model → entries → text that reads as the same Model, exactly, and can be edited.

Matrices are written as expressions where that is shorter (`factoring.py`), large ones without structure packed;
comments say which row is which direction, and what heads and MLPs are for.
"""

import os
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import numpy as np

from handloom.core import Config, HandloomError, Model, Vocab
from handloom.core import params as parameters
from handloom.core.arrays import Array
from handloom.core.files import as_path, write_atomically
from handloom.write.taotp.comments import dimension_names, layer_words, quoted_tokens
from handloom.write.taotp.factoring import common_factor, entries, factored, literal, plain_length, same
from handloom.write.taotp.literals import pack
from handloom.write.taotp.notes import note_text, strings
from handloom.write.taotp.reader import (
    BY_DIRECTION,
    LAYER,
    NORMS,
    TABLES,
    TURNED,
    WORDS,
    Entries,
    directions_of,
    gather,
    read_taotp,
)

PACKED = 4000  # characters from which a matrix that has no shorter name is packed
WORTH = 0.7  # the share of their length that packing must leave of numbers
ONE_LINE = 110  # characters of a matrix that stands on one line
TO_DIRECTION = ("tok_emb", "pos_emb", "out_emb", "M2")  # their columns are


def save_taotp(model: Model, path: str | os.PathLike[str]) -> None:
    """Write a .taotp file. Interrupted, it leaves what was there before."""
    write_atomically(as_path(path), write_taotp(model).encode())


def write_taotp(model: Model) -> str:
    """A text that reads as this model, exactly."""
    text = "{\n" + "".join(f"    {name!r}: {value},\n" for name, value in written(model)) + "}\n"
    try:
        read_taotp(text)
    except HandloomError as error:
        raise HandloomError(f"this model cannot be written as .taotp; use a .safetensors file ({error})") from error
    return text


def written(model: Model) -> Iterator[tuple[str, str]]:
    """The entries of a model, as text; those that a reader would supply are left out."""
    found = book_entries(model)
    config, vocab, defaults = model.config, model.vocab, Vocab.numbers(model.config.vocab)
    shared = {"heads": config.heads, "kv_heads": config.kv_heads} if config.kv_heads else {}
    shared |= {name: getattr(config, name) for name in ("experts", "top", "d_ff")} if config.experts else {}
    implied = gather(found | {"config": shared})[2]
    different = shared | {
        f.name: value for f in fields(Config) if (value := getattr(config, f.name)) != getattr(implied, f.name)
    }
    if vocab != defaults:
        words = vocab.to_json()
        yield from ((n, strings(words[n])) for n in WORDS if n == "tokens" or words[n] != getattr(defaults, n))
    if different:
        yield "config", repr({n: list(value) if isinstance(value, tuple) else value for n, value in different.items()})
    if model.dtype == np.float32:
        yield "dtype", "'float32'"
    page = TextOfModel(model)
    for name, value in found.items():
        yield name, page.layers(value) if name == "layers" else page.entry(name, value, "    ")
    if model.notes:
        yield "notes", note_text(dict(model.notes), "    ")


def book_entries(model: Model) -> Entries:
    """A model's arrays under the book's names and turned its way; norms that do nothing and zero positions left out."""
    entries = array_entries(model.params, TABLES)
    if model.config.positions != "table" or is_zero(entries["pos_emb"]):
        entries.pop("pos_emb", None)
        entries["block_size"] = model.config.block
    if model.params["layers"]:
        layers = [array_entries(layer, LAYER) for layer in model.params["layers"]]
        entries["layers"] = [{name: a for name, a in layer.items() if not supplied(name, a)} for layer in layers]
    return entries


def supplied(name: str, array: Any) -> bool:
    """Whether a reader supplies an array of a layer: one without entries, or zeros as a bias that MLPs have anyway."""
    return isinstance(array, np.ndarray) and (not array.size or (name in ("b1", "b2") and is_zero(array)))


def array_entries(arrays: parameters.Params, known: dict[str, tuple[str, str]]) -> Entries:
    entries: Entries = {}
    for name, (target, _) in known.items():
        if target in arrays:
            entries[name] = np.swapaxes(arrays[target], -1, -2) if target in TURNED else arrays[target]
    for name, target in NORMS.items():
        parts = {"gamma": arrays.get(target, {}).get("w"), "beta": arrays.get(target, {}).get("b")}
        kept = {n: a for n, a in parts.items() if a is not None and not same(a, np.full_like(a, n == "gamma"))}
        if kept:
            entries[name] = kept
    return entries


class TextOfModel:
    """The text of a model's arrays."""

    def __init__(self, model: Model) -> None:
        self.model, self.dtype = model, model.dtype
        self.directions, self.tokens = dimension_names(model), quoted_tokens(model)
        named = {first: name for name, (first, end) in directions_of(dict(model.notes)).items() if end - first == 1}
        self.named = named if len(named) == len(set(named.values())) else {}
        self.counts = tuple(dict.fromkeys((model.config.vocab, model.config.block)))

    def layers(self, layers: list[Entries]) -> str:
        text = "[\n"
        for i, layer in enumerate(layers):
            words = list(layer_words(self.model, i))
            text += " " * 8 + "{\n" + "".join(f"{' ' * 12}{line}\n" for line in words)
            text += "".join(f"{' ' * 12}{n!r}: {self.entry(n, value, ' ' * 12)},\n" for n, value in layer.items())
            text += " " * 8 + "},\n"
        return text + "    ]"

    def entry(self, name: str, value: Any, indent: str) -> str:
        """An array, or a norm's gain and bias."""
        if isinstance(value, dict):
            return "{" + ", ".join(f"{n!r}: {self.row(v)}" for n, v in value.items()) + "}"
        if not isinstance(value, np.ndarray):
            return repr(value)
        if value.ndim == 1:
            return self.row(value)
        rows = self.directions if name in BY_DIRECTION else self.tokens if name in ("tok_emb", "out_emb") else []
        columns = self.directions if name in TO_DIRECTION else []
        if value.ndim == 2:
            return self.matrix(value, indent, rows, columns)
        deeper, heads = indent + "    ", [self.matrix(one, indent + "    ", rows, columns) for one in value]
        if is_zero(value):
            return f"zeros({', '.join(map(str, value.shape))})"
        if len(heads) == 1 and "\n" not in heads[0]:
            return f"[{heads[0]}]"
        return "[\n" + "".join(f"{deeper}{text},\n" for text in heads) + indent + "]"

    def row(self, row: Array) -> str:
        if not row.size:
            return "[]"
        name = factored(row[None], self.dtype, self.counts) if row.size > 2 else ""
        if is_zero(row):
            return f"zeros({row.size})"
        if name.endswith(f"ones(1, {row.size})"):
            return name.replace(f"ones(1, {row.size})", f"ones({row.size})")
        return literal(row)

    def matrix(self, matrix: Array, indent: str, rows: list[str], columns: list[str]) -> str:
        """An expression; or row by row, with the names of rows and columns as comments."""
        if not matrix.size:
            return f"zeros({', '.join(map(str, matrix.shape))})"
        name = factored(matrix, self.dtype, self.counts)
        if rows is self.directions and (not name or name.startswith("blocks")):
            name = self.by_name(matrix, indent) or name
        if name:
            return name
        factor, rest = common_factor(matrix, self.dtype)
        if (length := plain_length(rest)) > PACKED and len(short := pack(matrix)) < length * WORTH:
            return short
        text = literal(rest)
        if len(text) <= ONE_LINE - len(indent) and not rows and not columns:
            return f"{factor} * {text}" if factor else text
        return (f"{factor} * " if factor else "") + row_by_row(rest, indent, rows, columns)

    def by_name(self, matrix: Array, indent: str) -> str:
        """A matrix of which most rows are zero by its other rows, if these are named."""
        there = [i for i, row in enumerate(matrix) if not is_zero(row)]
        if not there or 2 * len(there) > len(matrix) + 1 or any(i not in self.named for i in there):
            return ""
        factor, rest = common_factor(matrix, self.dtype)
        rows = [f"{factor} * {literal(rest[i])}" if factor else literal(rest[i]) for i in there]
        lines = [f"{self.named[i]!r}: {row}" for i, row in zip(there, rows, strict=True)]
        if len(text := "{" + ", ".join(lines) + "}") + len(indent) <= ONE_LINE:
            return text
        return "{\n" + "".join(f"{indent}    {line},\n" for line in lines) + indent + "}"


def row_by_row(matrix: Array, indent: str, rows: list[str], columns: list[str]) -> str:
    """A matrix as literals, a row on a line, and rows of zeros that follow each other together."""
    deeper, table = indent + "    ", entries(matrix)
    wide = [max(len(row[j]) for row in table) for j in range(matrix.shape[1])]
    lines = [f"{deeper}# {', '.join(columns)}\n"] if columns else []
    for group in groups_of_rows(matrix):
        names = ", ".join(rows[group])
        if len(table[group]) > 1:
            row = f"*zeros({len(table[group])}, {matrix.shape[1]})"
        else:
            row = f"[{', '.join(text.rjust(w) for text, w in zip(table[group][0], wide, strict=True))}]"
        lines.append(f"{deeper}{row},{f'  # {names}' if names else ''}\n")
    return f"[\n{''.join(lines)}{indent}]"


def groups_of_rows(matrix: Array) -> Iterator[slice]:
    """Rows one by one, and zero rows that follow each other."""
    zeros = [is_zero(row) for row in matrix]
    first = 0
    for end in range(1, len(zeros) + 1):
        if end == len(zeros) or not (zeros[first] and zeros[end]):
            yield slice(first, end)
            first = end


def is_zero(array: Array) -> bool:
    return same(array, np.zeros_like(array))
