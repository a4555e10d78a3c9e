"""Weights in one file: a checkpoint of nanoGPT, of makemore, or a state dict of TransformerLens.

A state dict does not tell all that a model computes. What it leaves open is given, or is the default of the tool whose
names it has; the notes of the Model list what was assumed.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from handloom.core import Config, HandloomError, Model, Vocab
from handloom.core.arrays import Arrays
from handloom.core.checks import whole
from handloom.core.errors import shown
from handloom.core.files import MODEL_FILE, as_path, entry_of, what_is
from handloom.core.finding import CHECKPOINTS
from handloom.share.characters import read_tokens
from handloom.share.folders import NUMBERS
from handloom.share.from_gpt2 import from_gpt2, own_name
from handloom.share.gpt2 import LAYER, TABLES
from handloom.share.tensors import Tensors, as_tensors, load_torch, open_file
from handloom.share.transformer_lens import from_transformer_lens, is_transformer_lens

STATE_DICT = "state dict"  # what the notes call one with GPT-2's names and no sizes, such as makemore's
Choices = dict[str, Any]  # activation, eps, norm, heads, as far as they are given


def load_checkpoint(file: Path, tokens: str | os.PathLike[str] | None, choices: Choices) -> Model:
    """A Model from a file of weights, with what `import_model` was given."""
    if what_is(file) == "nothing":
        raise HandloomError(f"{file}: no such file or folder")
    try:
        config, arrays, notes = read_checkpoint(file, choices)
        if tokens is None:
            vocab, notes["tokens"] = Vocab.numbers(config.vocab), NUMBERS
        else:
            vocab = read_tokens(as_path(tokens), config.vocab, words=notes["imported"] == STATE_DICT)
        return Model(config, arrays, vocab, notes)
    except HandloomError as error:
        known = str(error).startswith((str(file), str(tokens)))
        raise HandloomError(str(error) if known else f"{file} cannot be imported: {error}") from error


def read_checkpoint(file: Path, choices: Choices) -> tuple[Config, Arrays, dict[str, Any]]:
    """Config, arrays and notes."""
    if file.suffix in CHECKPOINTS:
        state = load_torch(file)
        if isinstance(state, Mapping) and isinstance(state.get("model_args"), Mapping):
            return from_nanogpt(state["model_args"], as_tensors(state.get("model")), choices)
        tensors = as_tensors(unwrapped(state))
    elif file.suffix == MODEL_FILE:
        if entry_of(file):
            raise HandloomError("it is a model file of handloom already; use it as it is")
        tensors = open_file(file)
    else:
        endings = ", ".join((MODEL_FILE, *CHECKPOINTS))
        raise HandloomError(
            f"its name ends in {shown(file.suffix)} (expected {endings}, or a folder with a config.json)"
        )
    if is_transformer_lens(tensors):
        return from_transformer_lens(tensors, choices)
    if TABLES["W_E"] in tensors.renamed(own_name):
        return from_state_dict(tensors, choices)
    raise HandloomError(
        f"its tensors, such as {shown(min(tensors, default=''))}, are not those of a model that can be read (expected "
        "the names of GPT-2, nanoGPT, makemore's transformer or TransformerLens)"
    )


def unwrapped(state: Any) -> Any:
    """The state dict inside a checkpoint that keeps it under a name."""
    for name in ("state_dict", "model"):
        if isinstance(state, Mapping) and isinstance(state.get(name), Mapping):
            return state[name]
    return state


def from_nanogpt(sizes: Mapping[str, Any], tensors: Tensors, choices: Choices) -> tuple[Config, Arrays, dict[str, Any]]:
    """A checkpoint of nanoGPT, whose MLP has the exact GELU."""
    check_unused(choices, "heads", "norm")
    renamed = {"block_size": "n_positions"}
    values = {renamed.get(name, name): value for name, value in sizes.items() if isinstance(name, str)}
    return from_names(values, tensors, choices, "gelu", "nanoGPT")


def from_state_dict(tensors: Tensors, choices: Choices) -> tuple[Config, Arrays, dict[str, Any]]:
    """A state dict with GPT-2's names and no sizes, such as makemore's transformer. Shapes tell all but the heads."""
    check_unused(choices, "norm")
    if "heads" not in choices:
        raise HandloomError("a state dict does not tell its number of heads; give heads (makemore's default is 4)")
    own = tensors.renamed(own_name)
    V, D = matrix_shape(own, TABLES["W_E"])
    numbers = {int(n) for name in own if name.startswith("h.") and (n := name.split(".")[1]).isdecimal()}
    hidden = {size for size in matrix_shape(own, f"h.0.{LAYER['W_in']}") if size != D} if numbers else set()
    values = {"vocab_size": V, "n_embd": D, "n_positions": matrix_shape(own, TABLES["W_pos"])[0]}
    values |= {
        "n_layer": len(numbers),
        "n_head": whole("heads", choices["heads"], 1),
        "n_inner": min(hidden, default=D),
    }
    return from_names(values, tensors, choices, "gelu_tanh", STATE_DICT)


def from_names(
    values: Choices, tensors: Tensors, choices: Choices, usual: str, what: str
) -> tuple[Config, Arrays, dict[str, Any]]:
    """What `from_gpt2` makes of sizes and choices, with a usual activation; and the notes."""
    values |= {"activation_function": choices.get("activation", usual), "layer_norm_epsilon": choices.get("eps", 1e-5)}
    notes: dict[str, Any] = {"imported": what}
    if "activation" not in choices:
        notes["assumed"] = {"activation": usual}
    return *from_gpt2(values, tensors), notes


def matrix_shape(tensors: Tensors, name: str) -> tuple[int, int]:
    if len(shape := tensors.shape(name)) != 2:
        raise HandloomError(f"tensor {name} has shape {shape} (expected a matrix)")
    return shape[0], shape[1]


def check_unused(choices: Choices, *names: str) -> None:
    for name in names:
        if name in choices:
            raise HandloomError(f"{name}={shown(choices[name])} is known from the file; leave {name} out")
