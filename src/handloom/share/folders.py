"""Folders as Hugging Face saves them: config.json, the weights, and the tokenizer become a Model.

    model = load_folder("gpt2")             # `hl.load("gpt2/")` calls it
    model("The cat sat on", steps=10)

The folder of a model that handloom exported has its notes in config.json, its task among them. They may come from
anyone, and are checked like the notes of a model file.
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
from handloom.share.llama import KINDS as LLAMA
from handloom.share.llama import from_llama
from handloom.share.tensors import Tensors, open_tensors, read_json
from handloom.share.tokenizer_reader import folder_vocab, token_id
from handloom.share.truth_file import TRUTH

CONFIG = "config.json"
NOTE = "handloom"  # the key of config.json with what handloom noted about a model
NUMBERS = "numbers"  # the note "tokens" of a model without a tokenizer
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
        notes = {"imported": f"{values.get('model_type', 'gpt2')} folder"}
        vocab = folder_vocab(folder, values, config.vocab)
        if vocab is None:
            vocab, notes["tokens"] = numbered(values, config.vocab), NUMBERS
        return with_truth(noted(Model(config, arrays, vocab, notes), values.get(NOTE)), folder)
    except HandloomError as error:
        raise HandloomError(named(folder, str(error))) from error
    except MemoryError as error:
        raise HandloomError(f"{folder} does not fit in memory; {one_line(error)}") from error


def numbered(values: Mapping[str, Any], size: int) -> Vocab:
    """Numbers for tokens, if there is no tokenizer."""
    end = token_id(values.get("eos_token_id"), size)
    return Vocab.numbers(size) if end is None else replace(Vocab.numbers(size), eos=str(end))


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
        return from_llama
    known = ", ".join(("gpt2", *LLAMA))
    raise HandloomError(f"its architecture is {shown(kind)} (expected one of {known}); convert it to one of these")


def noted(model: Model, note: Any) -> Model:
    """The model as it was when handloom exported it: with its notes, and without the unknown token that was added as
    its last."""
    if not isinstance(note, dict):
        return model
    if isinstance(notes := note.get("notes"), dict):
        model = model.with_(notes={**notes, **model.notes})
    last = model.config.vocab - 1
    if not last or model.vocab.tokenizer is not None or model.notes.get("tokens") == NUMBERS:
        return model
    return first_tokens(model, replace(model.vocab, tokens=model.vocab.tokens[:last]))


def with_truth(model: Model, folder: Path) -> Model:
    """The model with the true circuit that lies beside its weights, if it does."""
    if what_is(folder / TRUTH) != "file":
        return model
    return model.with_(notes={**model.notes, "truth": read_json(folder / TRUTH)})


def first_tokens(model: Model, vocab: Vocab) -> Model:
    """The model with only the rows of that vocabulary."""
    V, flat = len(vocab), model.flat
    cut = {"W_E": flat["W_E"][:V]} | ({} if model.config.tied else {"W_U": flat["W_U"][:, :V]})
    return model.with_(config=replace(model.config, vocab=V), params=flat | cut, vocab=vocab)
