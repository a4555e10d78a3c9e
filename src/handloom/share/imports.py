"""Importing: one door for models of other tools, `import_model(source, ...)`.

import_model("gpt2")                                     # a folder as Hugging Face saves it
import_model("ckpt.pt", tokens="input.txt")              # a checkpoint of nanoGPT
import_model("model.pt", tokens="names.txt", heads=4)    # a state dict of makemore
"""

import os

from handloom.core import HandloomError, Model
from handloom.core.files import as_path, what_is
from handloom.share.characters import read_tokens
from handloom.share.checkpoints import load_checkpoint
from handloom.share.folders import load_folder


def import_model(
    source: str | os.PathLike[str],
    tokens: str | os.PathLike[str] | None = None,
    *,
    heads: int | None = None,
    activation: str | None = None,
    eps: float | None = None,
    norm: str | None = None,
) -> Model:
    """The Model of a folder with a config.json, or of a checkpoint: of nanoGPT, of makemore's transformer, or a state
    dict of TransformerLens. `tokens` is a file with its characters, its training text, or a tokenizer.json. A folder
    tells everything else. A state dict of makemore needs `heads`; `activation`, `eps` and `norm` (layer, rms, none)
    replace the defaults of a checkpoint's tool, which `notes["assumed"]` lists."""
    given = {"heads": heads, "activation": activation, "eps": eps, "norm": norm}
    choices = {name: value for name, value in given.items() if value is not None}
    if what_is(as_path(source)) != "folder":
        return load_checkpoint(as_path(source), tokens, choices)
    for name in choices:
        raise HandloomError(f"{source}: its config.json tells {name}; leave {name} out")
    model = load_folder(source)
    if tokens is None:
        return model
    notes = {name: value for name, value in model.notes.items() if name != "tokens"}
    return model.with_(vocab=read_tokens(as_path(tokens), model.config.vocab), notes=notes)
