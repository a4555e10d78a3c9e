"""Checks of input: whole numbers, finite numbers, JSON, and the token ids that every run begins with."""

import json
import math
from numbers import Integral, Real
from typing import Any, Protocol

import numpy as np

from handloom.core.errors import HandloomError, shown


def whole(name: str, value: Any, least: int) -> int:
    """value as an int, if it is a whole number (Python's or NumPy's) and not below `least`."""
    if issubclass(type(value), Integral) and type(value) is not bool and value >= least:
        return int(value)
    raise HandloomError(f"{name}={shown(value)} must be a whole number of at least {least}")


def is_number(value: Any) -> bool:
    """Whether value is a finite number, NumPy's or Python's."""
    try:
        return issubclass(type(value), Real) and type(value) is not bool and math.isfinite(value)
    except OverflowError:  # an int that no float can hold
        return False


def parse_json(text: str | bytes) -> Any:
    """`json.loads`, where text that is nested too deeply raises a ValueError, like all that is not JSON."""
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def to_json(value: Any, allow_nan: bool = False) -> str:
    """`json.dumps`, where any value that is not plain JSON raises a ValueError."""
    try:
        return json.dumps(value, allow_nan=allow_nan)
    except (TypeError, RecursionError) as error:
        raise ValueError(str(error)) from error


class Sizes(Protocol):
    """The sizes of a network, a transformer or another, that limit the tokens it takes."""

    @property
    def vocab(self) -> int: ...

    @property
    def block(self) -> int: ...

    @property
    def causal(self) -> bool: ...


def check_tokens(config: Sizes, tokens: Any, start: int = 0) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Token ids (..., T) as an integer array: at least one, at most a block, all in the vocabulary."""
    try:
        ids = np.asarray(tokens.cpu() if hasattr(tokens, "cpu") else tokens)  # a tensor may be on a GPU
    except ValueError as error:
        raise HandloomError("the prompts differ in length; run them one at a time, or use generate") from error
    if ids.ndim == 0:
        raise HandloomError(f"tokens must be a list of token ids, not {shown(tokens)}")
    if ids.shape[-1] == 0:
        raise HandloomError("the prompt is empty; give at least one token")
    if ids.dtype.kind not in "iu":
        raise HandloomError(f"tokens must be whole numbers, not {ids.dtype}; vocab.encode makes them from text")
    if start + ids.shape[-1] > config.block:
        raise HandloomError(
            f"the prompt has {start + ids.shape[-1]} tokens and the block holds {config.block}; shorten it"
        )
    if ids.size and (ids.min() < 0 or ids.max() >= config.vocab):
        wrong = int(ids.min() if ids.min() < 0 else ids.max())
        raise HandloomError(f"token {wrong} is not in the vocabulary; tokens are 0 to {config.vocab - 1}")
    return ids.astype(np.int64)
