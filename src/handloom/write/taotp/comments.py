"""Comments in a .taotp text: what heads and MLPs are for and which row is which direction, from a model's notes.

Notes may hold anything; what does not fit the model is left out."""

from collections.abc import Iterator, Mapping
from textwrap import wrap
from typing import Any

from handloom.core import Model
from handloom.write.taotp.reader import directions_of

WIDE = 100  # characters of a comment on a line
LONG = 40  # of a name


def dimension_names(model: Model) -> list[str]:
    """A name for every dimension of the stream; none if the notes name none."""
    names = [""] * model.config.d_model
    for name, (first, end) in directions_of(dict(model.notes)).items():
        for i in range(first, min(end, len(names))):
            names[i] = short(name if end - first == 1 else f"{name} {i - first}")
    return names if any(names) else []


def quoted_tokens(model: Model) -> list[str]:
    return [short(repr(token)) for token in model.vocab.tokens]


def layer_words(model: Model, layer: int) -> Iterator[str]:
    """Comment lines: the number of a layer, and what its heads and its MLP are for."""
    heads, mlps = model.notes.get("heads"), model.notes.get("mlps")
    every = {f"Head {h}": said(heads, f"{layer}.{h}") for h in range(model.config.heads)}
    every |= {"MLP": said(mlps, str(layer))}
    for text in [f"Layer {layer}", *(f"{name}: {text}" for name, text in every.items() if text)]:
        yield from (f"# {line}" for line in wrap(text, WIDE, subsequent_indent="    "))


def said(notes: Any, name: str) -> str:
    text = notes.get(name) if isinstance(notes, Mapping) else None
    return text.rstrip(".") if isinstance(text, str) and text.isprintable() else ""


def short(name: str) -> str:
    """A name that fits in a comment on one line."""
    return name[:LONG] if name.isprintable() else repr(name)[:LONG]
