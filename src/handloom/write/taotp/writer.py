"""Writing the TAOTP language: Model → entries → text that reads as the same Model, exactly."""

import os
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import numpy as np

from handloom.core import Config, HandloomError, Model, Vocab
from handloom.core import params as parameters
from handloom.core.arrays import Array
from handloom.core.files import as_path, write_atomically
from handloom.write.taotp.reader import LAYER, NORMS, TABLES, TURNED, WORDS, Entries, gather, read_taotp


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
    entries = book_entries(model)
    config, vocab, defaults = model.config, model.vocab, Vocab.numbers(model.config.vocab)
    shared = {"heads": config.heads, "kv_heads": config.kv_heads} if config.kv_heads else {}
    shared |= {name: getattr(config, name) for name in ("experts", "top", "d_ff")} if config.experts else {}
    implied = gather(entries | {"config": shared})[2]
    different = shared | {
        f.name: value for f in fields(Config) if (value := getattr(config, f.name)) != getattr(implied, f.name)
    }
    if vocab != defaults:
        words = vocab.to_json()
        yield from ((n, repr(words[n])) for n in WORDS if n == "tokens" or words[n] != getattr(defaults, n))
    if different:
        yield "config", repr({n: list(value) if isinstance(value, tuple) else value for n, value in different.items()})
    if model.dtype == np.float32:
        yield "dtype", "'float32'"
    for name, value in entries.items():
        yield name, layout(value, "    ")
    if model.notes:
        yield "notes", repr(dict(model.notes))


def book_entries(model: Model) -> Entries:
    """A model's arrays under the book's names and turned its way; norms that do nothing and zero positions left out."""
    entries = array_entries(model.params, TABLES)
    if model.config.positions != "table" or is_zero(entries["pos_emb"]):
        entries.pop("pos_emb", None)
        entries["block_size"] = model.config.block
    if model.params["layers"]:
        entries["layers"] = [array_entries(layer, LAYER) for layer in model.params["layers"]]
    return entries


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


def layout(value: Any, indent: str) -> str:
    """A value as text: a row of a matrix on a line, the simplest matrices by their names."""
    deeper = indent + "    "
    if isinstance(value, dict):
        return "{\n" + "".join(f"{deeper}{n!r}: {layout(v, deeper)},\n" for n, v in value.items()) + indent + "}"
    if isinstance(value, np.ndarray) and value.ndim == 1:
        return f"zeros({value.size})" if is_zero(value) else f"[{', '.join(map(decimal, value))}]"
    if isinstance(value, np.ndarray) and (name := simple(value)):
        return name
    if isinstance(value, list | np.ndarray):
        return "[\n" + "".join(f"{deeper}{layout(item, deeper)},\n" for item in value) + indent + "]"
    return repr(value)


def simple(matrix: Array) -> str:
    """zeros or a multiple of eye, if the matrix is one to the last bit."""
    if is_zero(matrix):
        return f"zeros({', '.join(map(str, matrix.shape))})"
    if matrix.ndim == 2 and matrix.shape[0] == matrix.shape[1] > 1:
        scale = matrix[0, 0]
        if same(matrix, scale * np.eye(len(matrix), dtype=matrix.dtype)):
            return f"eye({len(matrix)})" if scale == 1 else f"{decimal(scale)} * eye({len(matrix)})"
    return ""


def decimal(number: Any) -> str:
    """The shortest text that reads as this number in its dtype."""
    text = str(number)
    return text if type(number)(float(text)) == number else repr(float(number))


def is_zero(array: Array) -> bool:
    return same(array, np.zeros_like(array))


def same(a: Array, b: Array) -> bool:
    """Equal in every bit, so that 0 is not −0."""
    return bool(np.array_equal(a, b) and np.array_equal(np.signbit(a), np.signbit(b)))
