"""The options of `train`: `help(hl.train)` lists every one, a notebook completes them, `handloom learn` takes them.

They are the fields of Settings and the sizes of the kinds of models, and are read from there.
"""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import Any, NamedTuple, TypeVar

from handloom.core import Config, HandloomError
from handloom.learn.kinds import CELLS, MAKEMORE
from handloom.learn.settings import MODEL, Settings

Function = TypeVar("Function", bound=Callable[..., Any])
FOLLOWS = {"d_head": "width // heads", "d_ff": "4 * width"}  # defaults that follow from others
SIZES_IN_WORDS = {  # of causal, tied and gated, what the value does that is not the default
    "layers": "layers; rnn, gru and lstm have 1, an encoder-decoder 2",
    "heads": "attention heads per layer",
    "width": "width of the residual stream (d_model)",
    "d_head": "width of a head",
    "d_ff": "neurons per layer, 0 for none; mlp, rnn, gru and lstm have 64",
    "norm": "kind of norm: layer, rms or none",
    "place": "place of the norms: pre or post",
    "eps": "added to the variance by a norm",
    "activation": "activation of neurons: relu, gelu, gelu_tanh, silu or none",
    "positions": "kind of positions: table, sinusoid, rotary or none",
    "rotary_base": "base of rotary positions",
    "causal": "see both ways, and learn to predict hidden tokens",
    "tied": "unembed with the embedding",
    "biases": "parts that have biases: some of attn, mlp, norm, unembed",
    "gated": "multiply each neuron by a linear one, as SwiGLU does",
    "kv_heads": "heads for keys and values, each shared by several; 0 for as many as heads",
    "context": "tokens that an mlp sees",
}


class Option(NamedTuple):
    """An option of `train` or `discover`, for its help and for the command line."""

    name: str
    default: Any
    about: str  # of a boolean: what the value does that is not the default
    group: str
    least: float | None = None
    written: str | None = None  # the default, where it follows from other options


def with_width(choices: dict[str, Any]) -> dict[str, Any]:
    """Choices in which width is called d_model, as in a Config."""
    if "width" not in choices:
        return choices
    if "d_model" in choices:
        raise HandloomError("width and d_model are two names for one size (expected one of them); leave out the other")
    return {"d_model" if name == "width" else name: value for name, value in choices.items()}


def options() -> Iterator[Option]:
    """Every option of `train` but those that it names itself."""
    yield from options_of(Settings)
    usual = {field.name: field.default for field in fields(Config)} | {"context": CELLS["mlp"]["context"]} | MAKEMORE
    for name, about in SIZES_IN_WORDS.items():
        default = None if name in FOLLOWS else usual["d_model" if name == "width" else name]
        yield Option(name, default, about, MODEL, written=FOLLOWS.get(name))


def options_of(settings: Any) -> Iterator[Option]:
    """An option for each field of a class of settings."""
    for one in fields(settings):
        yield Option(one.name, one.default, one.metadata["about"], one.metadata["group"], one.metadata["least"])


def listed(function: Function) -> Function:
    """The function, with all options in its help and in its signature."""
    found = list(options())
    heads = [f"{option.name}={option.written or repr(option.default)}" for option in found]
    abouts = [f"False: {option.about}" if option.default is True else option.about for option in found]
    wide = max(map(len, heads))
    lines = [f"    {head:<{wide}}  {about}" for head, about in zip(heads, abouts, strict=True)]
    function.__doc__ = "\n\n".join([inspect.cleandoc(function.__doc__ or ""), "\n".join(lines)])
    signature = inspect.signature(function)
    named = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    more = [inspect.Parameter(o.name, inspect.Parameter.KEYWORD_ONLY, default=o.default) for o in found]
    function.__signature__ = signature.replace(parameters=[*named, *more])  # type: ignore[attr-defined]
    return function
