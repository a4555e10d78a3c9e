"""Changing a .taotp text: the entries whose numbers are others are written anew, all else stays as it was written.

>>> from handloom.write.taotp import read_taotp
>>> text = "{\\n    'tok_emb': eye(2),  # two tokens\\n    'block_size': 3,\\n}"
>>> changed = read_taotp(text.replace("eye(2)", "[[1, 5], [0, 1]]"))
>>> print(with_weights(text, changed)[0])
{
    'tok_emb': [
        [1, 5],  # '0'
        [0, 1],  # '1'
    ],  # two tokens
    'block_size': 3,
}
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from handloom.core import HandloomError, Model
from handloom.core import params as parameters
from handloom.write.taotp.factoring import same
from handloom.write.taotp.places import Place, places
from handloom.write.taotp.reader import LAYER, TABLES, read_taotp
from handloom.write.taotp.writer import TextOfModel, array_entries

STEP = "    "


class Change(NamedTuple):
    """An entry that is written anew: its name, the line in which it stands, and its new text."""

    name: str
    line: int
    text: str


class Piece(NamedTuple):
    """A part of a text, and what takes its place."""

    first: int
    end: int
    text: str
    change: Change


def with_weights(text: str, model: Model) -> tuple[str, list[Change]]:
    """The text with the weights of this model, which has the same shape, and what changed in it."""
    old = read_taotp(text)
    if old.config != model.config:
        raise HandloomError("the text is of a model of another shape (expected the same one); write the whole model")
    page, found = TextOfModel(model.astype(old.dtype)), places(text)
    pieces = sorted(piece(text, found, page, name, value) for name, value in differences(old, page.model))
    for one in reversed(pieces):
        text = text[: one.first] + one.text + text[one.end :]
    again = read_taotp(text).flat
    if wrong := [name for name, array in page.model.flat.items() if not np.array_equal(array, again[name])]:
        raise HandloomError(f"{wrong[0]}: the text cannot hold this change; write the whole model")
    return text, [one.change for one in pieces]


def differences(old: Model, new: Model) -> Iterator[tuple[str, Any]]:
    """The entries whose numbers are others."""
    yield from differing("", old.params, new.params, TABLES)
    for i, (before, now) in enumerate(zip(old.params["layers"], new.params["layers"], strict=True)):
        yield from differing(f"layers[{i}].", before, now, LAYER)


def differing(
    at: str, old: parameters.Params, new: parameters.Params, known: dict[str, tuple[str, str]]
) -> Iterator[tuple[str, Any]]:
    before, now = array_entries(old, known), array_entries(new, known)
    for name in dict.fromkeys([*before, *now]):
        if not alike(before.get(name, {}), now.get(name, {})):
            yield at + name, now.get(name, {})


def alike(a: Any, b: Any) -> bool:
    """Whether two arrays, or the parts of two norms, are the same."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[part], b[part]) for part in a)
    return isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and same(a, b)


def piece(text: str, found: dict[str, Place], page: TextOfModel, name: str, value: Any) -> Piece:
    """Where an entry's value stands, or would, and its new text."""
    layer, _, short = name.rpartition(".")
    if place := found.get(name):
        new = page.entry(short, value, indent_of(text, place.first))
        return Piece(place.first, place.end, new, Change(name, place.line, f"{short!r}: {new}"))
    within = found.get(layer)
    first = text.index("{", within.first if within else 0) + 1
    indent = indent_of(text, first) + STEP
    new = f"{short!r}: {page.entry(short, value, indent)}"
    return Piece(first, first, f"\n{indent}{new},", Change(name, text.count("\n", 0, first) + 2, new))


def indent_of(text: str, at: int) -> str:
    """The spaces in front of the line in which a character stands."""
    line = text[text.rfind("\n", 0, at) + 1 :]
    return line[: len(line) - len(line.lstrip(" \t"))] if line.strip() else ""
