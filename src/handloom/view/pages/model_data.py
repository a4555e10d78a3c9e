"""A model as a page carries it: JSON with its arrays in base64, safe inside HTML, and logits to check the engine with.

    '<script type="application/json" id="model">' + model_json(model) + "</script>"

`web/engine/model.js` reads it. float32 stays float32; so do float64 arrays whose every number a float32 holds exactly.
Arrays of mostly zeros are stored as places and numbers. Names, tokens and notes in a model file are a stranger's text:
nothing in them can end the script or begin a tag.

`stored` are a few inputs of the model's task with the reference's logits where predictions count, with which a page
checks itself when it is loaded. (Elsewhere some of the book's programs make logits of nothing but rounding.)
"""

import json
from base64 import b64encode
from collections.abc import Sequence
from typing import Any

import numpy as np

from handloom.core import Model, reference
from handloom.core.arrays import Array
from handloom.core.checks import to_json
from handloom.share.rows import Row, known_task_of, rows_for

STORED = 3  # inputs with their logits
LEFT_OUT = ("compiled", "truth")  # notes that no page shows, and that are as large as a model
MOST = 2_000  # numbers of one
UNSAFE = {character: f"\\u{ord(character):04x}" for character in "<>&"}  # which JSON has in strings only


def model_json(model: Model, inputs: Sequence[Sequence[int]] | None = None) -> str:
    """The model as JSON that HTML can hold as it is. `inputs` are the token ids whose logits are stored; by default a
    few rows of the model's task."""
    return safe_json(packed_model(model, inputs))


def packed_model(model: Model, inputs: Sequence[Sequence[int]] | None = None) -> dict[str, Any]:
    """The model as plain JSON values."""
    if inputs is None:
        rows = rows_for(model, known_task_of(model, None), STORED)
    else:
        rows = [Row([*ids], len(ids)) for ids in inputs]
    vocab = model.vocab.to_json()
    if model.vocab.tokenizer is not None:
        vocab["tokenizer"] = True  # no page can run it, and it is as large as a model
    return {
        "config": model.config.to_json(),
        "vocab": vocab,
        "notes": {name: note for name, note in model.notes.items() if name not in LEFT_OUT},
        "arrays": {name: packed(array) for name, array in model.flat.items()},
        "stored": [stored(model, row) for row in rows],
    }


def stored(model: Model, row: Row) -> dict[str, Any]:
    """An input, and the logits at its last positions, where predictions count."""
    last = max(1, min(row.last, MOST // model.config.vocab))
    return {"ids": [*map(int, row.tokens)], "logits": packed(reference.forward(model, row.tokens)[0][-last:])}


def packed(array: Array) -> dict[str, Any]:
    """An array as its shape, the type of its numbers, and their bytes in base64; `at`, if most are 0, has the places of
    the others."""
    flat = array.ravel()
    with np.errstate(over="ignore"):
        short = flat.astype("<f4")
    numbers = short if np.array_equal(short.astype(flat.dtype), flat) else flat.astype("<f8")
    found = {"shape": [*array.shape], "type": f"f{numbers.itemsize}"}
    (places,) = np.nonzero((flat != 0) | np.signbit(flat))
    if len(places) * (numbers.itemsize + 4) < numbers.nbytes:
        return found | {"data": in_base64(numbers[places]), "at": in_base64(places.astype("<u4"))}
    return found | {"data": in_base64(numbers)}


def in_base64(array: Array) -> str:
    return b64encode(array.tobytes()).decode()


def safe_json(value: Any) -> str:
    """JSON in ASCII, without spaces, that a script element of a page can hold: the characters of tags and of HTML's
    comments are written as escapes."""
    text = json.dumps(json.loads(to_json(value)), separators=(",", ":"))
    for character, escape in UNSAFE.items():
        text = text.replace(character, escape)
    return text
