"""Checks of what is given: whole numbers, finite numbers, and the token ids every run begins with."""

import math
from numbers import Integral, Real
from typing import Any, Protocol

import numpy as np

from handloom.core.errors import HandloomError, shown


def whole(name: str, value: Any, least: int) -> int:
    """value as an int of at least so much; NumPy's integers are ints too."""
    if issubclass(type(value), Integral) and type(value) is not bool and value >= least:
        return int(value)
    raise HandloomError(f"{name}={shown(value)} must be a whole number of at least {least}")


def is_number(value: Any) -> bool:
    """Whether it is a finite number, NumPy's or Python's."""
    try:
        return issubclass(type(value), Real) and type(value) is not bool and math.isfinite(value)
    except OverflowError:  # an int that no float can hold
        return False


class Sizes(Protocol):
    """What there is to know of a Config, or of another network, to give it tokens."""

    @property
    def vocab(self) -> int: ...

    @property
    def block(self) -> int: ...

    @property
    def causal(self) -> bool: ...


def check_tokens(config: Sizes, tokens: Any, start: int = 0) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Token ids (..., T) as an integer array: at least one, no more than fit in the block, all in the vocabulary."""
    try:
        ids = np.asarray(tokens.cpu() if hasattr(tokens, "cpu") else tokens)  # a tensor may be on a GPU
    except ValueError as error:
        raise HandloomError("the prompts differ in length; run them one by one, or use generate") from error
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
