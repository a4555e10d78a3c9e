"""Folders as Hugging Face saves them: config.json, the weights, and the tokenizer become a Model.

    model = load_folder("gpt2")             # `hl.load("gpt2/")` calls it
    model("The cat sat on", steps=10)

The folder of a model that handloom exported has a note in its config.json: its own vocabulary, its task. A note may come
from anyone, and is checked like the notes of a model file.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from handloom.core import Config, HandloomError, Model, Vocab
from handloom.core.arrays import Arrays
from handloom.core.errors import one_line, shown
from handloom.core.files import as_path, what_is
from handloom.share.from_gpt2 import from_gpt2
from handloom.share.tensors import Tensors, open_tensors, read_json
from handloom.share.tokenizer_reader import folder_vocab

CONFIG = "config.json"
NOTE = "handloom"  # the key of config.json with what handloom noted about a model
LLAMA = ("llama", "mistral", "qwen2")
Reader = Callable[[Mapping[str, Any], Tensors], tuple[Config, Arrays]]


def load_folder(path: str | os.PathLike[str]) -> Model:
    """The model of a folder with a config.json. Nothing in it can run code."""
    folder = as_path(path)
    if what_is(folder / CONFIG) != "file":
        raise HandloomError(f"{folder} has no {CONFIG}; name a folder as Hugging Face saves a model")
    values = read_json(folder / CONFIG)
    try:
        read = reader_of(values)
        config, arrays = read(values, open_tensors(folder))
        vocab, notes = folder_vocab(folder, values, config.vocab), {"imported": f"{values.get('model_type')} folder"}
        return noted(Model(config, arrays, vocab, notes), values.get(NOTE))
    except HandloomError as error:
        raise HandloomError(named(folder, str(error))) from error
    except MemoryError as error:
        raise HandloomError(f"{folder} does not fit in memory; {one_line(error)}") from error


def named(folder: Path, message: str) -> str:
    return message if message.startswith(str(folder)) else f"{folder} cannot be loaded: {message}"


def reader_of(values: Mapping[str, Any]) -> Reader:
    """The function that reads an architecture."""
    kind = values.get("model_type")
    if kind is None and values.get("architectures") == ["GPT2LMHeadModel"]:
        kind = "gpt2"
    if kind == "gpt2":
        return from_gpt2
    if kind in LLAMA:
        return llama_reader()
    known = ", ".join(("gpt2", *LLAMA))
    raise HandloomError(f"its architecture is {shown(kind)} (expected one of {known}); convert it to one of these")


def llama_reader() -> Reader:
    from handloom.share.llama import from_llama

    return from_llama


def noted(model: Model, note: Any) -> Model:
    """The model with the vocabulary and the notes that handloom left when it exported it, if they fit. Rows behind the
    noted vocabulary, which the export added, are left out."""
    if not isinstance(note, dict):
        return model
    if isinstance(notes := note.get("notes"), dict):
        model = model.with_(notes={**notes, **model.notes})
    if "vocab" not in note:
        return model
    vocab = Vocab.from_json(note["vocab"])
    if vocab.tokens != model.vocab.tokens[: len(vocab)]:
        return model  # the tokenizer has changed since
    return first_tokens(model, vocab)


def first_tokens(model: Model, vocab: Vocab) -> Model:
    """The model with only the rows of that vocabulary."""
    V, flat = len(vocab), model.flat
    cut = {"W_E": flat["W_E"][:V]} | ({} if model.config.tied else {"W_U": flat["W_U"][:, :V]})
    return model.with_(config=replace(model.config, vocab=V), params=flat | cut, vocab=vocab)
