"""The names of a model's parts, from its notes, where its writer put them.

Notes have `directions` (name → [first, last + 1] of the stream's dimensions), `heads` ("layer.head" → words) and `mlps`
("layer" → words).
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from handloom.core import HandloomError, Model
from handloom.core.arrays import Array
from handloom.core.errors import one_line

NOT_USED = "not used"


def check_notes(name: str, model: Model) -> None:
    """Raise an error if the notes do not name parts of this model; a file may have any."""
    try:
        direction_names(model)
        parts = [*model.notes.get("heads", {}).values(), *model.notes.get("mlps", {}).values()]
        if not all(isinstance(words, str) for words in parts):
            raise ValueError("what heads and MLPs do must be text")
    except (TypeError, ValueError, IndexError, AttributeError) as error:
        raise HandloomError(f"{name}: its notes are damaged: {one_line(error)}") from error


def direction_names(model: Model) -> list[str]:
    """A name for every dimension of the stream."""
    names = [f"d{i}" for i in range(model.config.d_model)]
    for name, place in model.notes.get("directions", {}).items():
        first, end = place if isinstance(place, list | tuple) else (place, place + 1)
        for i in range(first, end):
            names[i] = name if end - first == 1 else f"{name} {i - first}"
    return names


def token_names(model: Model) -> list[str]:
    """The tokens, those that could not be seen in quotes."""
    return [token if token.strip() and token.isprintable() else repr(token) for token in model.vocab.tokens]


def head_words(model: Model) -> dict[str, str]:
    """Every head, "layer.head", and what it is for."""
    words = model.notes.get("heads", {})
    return {
        f"{i}.{h}": words.get(f"{i}.{h}", NOT_USED if unused(model, layer, h) else "")
        for i, h, layer in heads_of(model)
    }


def heads_of(model: Model) -> Iterator[tuple[int, int, Any]]:
    for i, layer in enumerate(model.params["layers"]):
        yield from ((i, h, layer) for h in range(model.config.heads))


def unused(model: Model, layer: Any, h: int) -> bool:
    """Whether a head adds nothing to the stream, whatever it reads."""
    group = h // model.config.per_group
    values = np.any(layer["W_V"][group]) or ("b_V" in layer and np.any(layer["b_V"][group]))
    return not (values and np.any(layer["W_O"][h]))


def mlp_words(model: Model) -> dict[str, str]:
    """Every MLP, by its layer, and what it is for."""
    words, found = model.notes.get("mlps", {}), {}
    for i, layer in enumerate(model.params["layers"] if model.config.d_ff else ()):
        silent = not (np.any(layer["W_out"]) or np.any(layer.get("b_out", 0.0)))
        found[str(i)] = words.get(str(i), NOT_USED if silent else "")
    return found


def matrices(model: Model) -> Iterator[tuple[str, Array, list[str], list[str]]]:
    """Every weight matrix that is not all zero, with the names of its rows and columns."""
    directions, tokens = direction_names(model), token_names(model)
    for name, array in model.flat.items():
        part = name.rpartition(".")[2]
        if array.ndim < 2:
            continue
        for h, matrix in enumerate(array if array.ndim == 3 else [array]):
            label = f"{name}[{h}]" if array.ndim == 3 else name
            inner = [str(k) for k in range(max(matrix.shape))]
            rows = {"W_E": tokens, "W_pos": inner, "W_O": inner, "W_out": inner}.get(part, directions)
            columns = {"W_E": directions, "W_pos": directions, "W_O": directions, "W_out": directions, "W_U": tokens}
            if np.any(matrix):
                height, width = matrix.shape
                yield label, matrix, rows[:height], columns.get(part, inner)[:width]
