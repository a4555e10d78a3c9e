"""The options of `train`, for those who ask: `help(hl.train)` lists every one, and a notebook completes them.

They are the fields of Settings and the sizes of the kinds of models, and are read from there.
"""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import Any, NamedTuple, TypeVar

from handloom.core import Config, HandloomError
from handloom.learn.kinds import CELLS, MAKEMORE, SIZES
from handloom.learn.settings import Settings

Function = TypeVar("Function", bound=Callable[..., Any])
FOLLOWS = {"d_head": "width // heads", "d_ff": "4 * width"}  # defaults that follow from others
SIZES_IN_WORDS = {
    "layers": "layers; rnn, gru and lstm have 1, an encoder-decoder 2",
    "heads": "attention heads per layer",
    "width": "the width of the residual stream; d_model is another name for it",
    "d_head": "the width of a head",
    "d_ff": "neurons per layer, 0 for none; mlp, rnn, gru and lstm have 64",
    "norm": "layer, rms or none",
    "place": "of the norms: pre or post",
    "eps": "what a norm adds to the variance",
    "activation": "relu, gelu, gelu_tanh, silu or none",
    "positions": "table, sinusoid, rotary or none",
    "rotary_base": "the base of rotary positions",
    "causal": "False: see both ways, and learn to predict hidden tokens",
    "tied": "unembed with the embedding",
    "biases": "which parts have biases",
    "context": "tokens that an mlp sees",
}


class Option(NamedTuple):
    name: str
    default: Any
    written: str  # the default as help shows it
    about: str


def with_width(choices: dict[str, Any]) -> dict[str, Any]:
    """Choices in which width is called d_model, as in a Config."""
    if "width" not in choices:
        return choices
    if "d_model" in choices:
        raise HandloomError("width and d_model are two names for one size (expected one of them); leave out the other")
    return {"d_model" if name == "width" else name: value for name, value in choices.items()}


def options() -> Iterator[Option]:
    """Every option but those that `train` names itself, with its default."""
    for setting in fields(Settings):
        yield Option(setting.name, setting.default, repr(setting.default), setting.metadata["about"])
    usual = {field.name: field.default for field in fields(Config)} | {"context": CELLS["mlp"]["context"]} | MAKEMORE
    for name, about in SIZES_IN_WORDS.items():
        size = "d_model" if name == "width" else name
        assert size in SIZES
        default = None if name in FOLLOWS else usual[size]
        yield Option(name, default, FOLLOWS.get(name, repr(default)), about)


def listed(function: Function) -> Function:
    """The function, with all options in its help and in its signature."""
    found = list(options())
    wide = max(len(f"{option.name}={option.written}") for option in found)
    lines = [f"    {f'{option.name}={option.written}':<{wide}}  {option.about}" for option in found]
    function.__doc__ = "\n\n".join([inspect.cleandoc(function.__doc__ or ""), "\n".join(lines)])
    signature = inspect.signature(function)
    named = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    more = [inspect.Parameter(o.name, inspect.Parameter.KEYWORD_ONLY, default=o.default) for o in found]
    function.__signature__ = signature.replace(parameters=[*named, *more])  # type: ignore[attr-defined]
    return function
