"""Importing: one door for models of other tools, `import_model(source, ...)`.

import_model("gpt2")                                     # a folder as Hugging Face saves it
import_model("ckpt.pt", tokens="input.txt")              # a checkpoint of nanoGPT
"""

import os
from typing import Any

from handloom.core import HandloomError, Model
from handloom.core.files import as_path, what_is
from handloom.share.characters import read_tokens
from handloom.share.checkpoints import load_checkpoint
from handloom.share.folders import load_folder


def import_model(source: str | os.PathLike[str], tokens: str | os.PathLike[str] | None = None, **choices: Any) -> Model:
    """The Model of a folder with a config.json, or of a checkpoint. `tokens` is a file with its characters, its
    training text, or a tokenizer.json. The choices are those of `load_checkpoint`; a folder leaves nothing open."""
    if what_is(as_path(source)) != "folder":
        return load_checkpoint(source, tokens, **choices)
    if given := [name for name, value in choices.items() if value is not None]:
        raise HandloomError(f"{source}: its config.json tells {given[0]}; leave {given[0]} out")
    model = load_folder(source)
    if tokens is None:
        return model
    notes = {name: value for name, value in model.notes.items() if name != "tokens"}
    return model.with_(vocab=read_tokens(as_path(tokens), model.config.vocab), notes=notes)
