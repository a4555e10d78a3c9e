"""Edits that were made in a page, as weights: `layers.2.W_V[0,2,0]=8027.8`, or what was taken out, `2.z[0]=0`.

What is taken out adds nothing to the stream, and so do weights of zero: of a head those in W_O, of a neuron its row in
W_out. One look of a head at one position is no weight, so that a model without it cannot be written down.
"""

import re
from typing import Any, NamedTuple

from handloom.core import HandloomError, Model
from handloom.core.arrays import Array
from handloom.core.errors import shown

PATTERN = re.compile(r"([\w.]{1,60})(?:\[(\d{1,7}(?:,\d{1,7}){0,3})\])?=(-?[\d.]+(?:e[+-]?\d+)?)", re.IGNORECASE)
MOST = 10_000  # edits of one model
Arrays = dict[str, Array]


class Edit(NamedTuple):
    """A number that is another: of a weight, or of a site."""

    what: str
    at: tuple[int, ...]
    value: float

    def __str__(self) -> str:
        return (
            f"{self.what}[{','.join(map(str, self.at))}]={self.value:g}" if self.at else f"{self.what}={self.value:g}"
        )


def edits_of(body: dict[str, Any]) -> list[Edit]:
    """The edits that a request has."""
    texts = body.get("edits") or []
    if not isinstance(texts, list) or len(texts) > MOST:
        raise HandloomError(f"edits={shown(texts)} (expected a list of up to {MOST:,} texts); take some back")
    return [read_edit(text) for text in texts]


def read_edit(text: Any) -> Edit:
    found = PATTERN.fullmatch(text) if isinstance(text, str) else None
    try:
        value = float(found[3]) if found else 0.0
    except ValueError:
        found = None
    if not found:
        raise HandloomError(f"{shown(text)} is no edit (expected one such as layers.0.W_V[0,2,1]=0.5); correct it")
    return Edit(found[1], tuple(map(int, found[2].split(","))) if found[2] else (), value)


def edited(model: Model, edits: list[Edit]) -> Model:
    """The model with the edits in its weights."""
    if not edits:
        return model
    arrays = {name: array.copy() for name, array in model.flat.items()}
    for edit in edits:
        if edit.what in arrays:
            arrays[edit.what][place(edit, arrays[edit.what])] = edit.value
        else:
            take_out(model, arrays, edit)
    return model.with_(params=arrays)


def place(edit: Edit, array: Array) -> tuple[int, ...]:
    if len(edit.at) != array.ndim or any(i >= size for i, size in zip(edit.at, array.shape, strict=True)):
        raise HandloomError(f"{edit}: {edit.what} has the shape {array.shape} (expected a place in it); take it back")
    return edit.at


def take_out(model: Model, arrays: Arrays, edit: Edit) -> None:
    """Put zeros where that has the effect of the edit."""
    layer, _, site = edit.what.rpartition(".")
    at = f"layers.{layer}."
    groups: dict[str, list[str]] = {
        "embed": ["W_E"] * (not model.config.tied),
        "pos_embed": ["W_pos"],
        "attn_out": [f"{at}W_O", f"{at}b_O"],
        "mlp_out": [f"{at}W_out", f"{at}b_out"],
    }
    if edit.value == 0 and site in groups and not edit.at and (there := [n for n in groups[site] if n in arrays]):
        for name in there:
            arrays[name][...] = 0.0
    elif edit.value == 0 and site in ("z", "mlp_post") and len(edit.at) == 1:
        name = f"{at}{'W_O' if site == 'z' else 'W_out'}"
        rows = arrays.get(name, arrays["W_E"][:0])
        rows = rows if site == "z" else rows.reshape(-1, rows.shape[-1])  # the experts' neurons side by side; a view
        if edit.at[0] >= len(rows):
            raise HandloomError(f"{edit}: the model has no such head or neuron; take it back")
        rows[edit.at[0]] = 0.0
    else:
        raise HandloomError(
            f"{edit}: no weight does the same (expected an edit of weights); take it back, or use Python"
        )
