"""Model: a transformer as one value. Written, compiled and trained ones are all this.

    >>> from handloom.core import Config, Model, Vocab, params
    >>> config = Config(vocab=3, block=4, d_model=3)
    >>> model = Model(config, params.random(config, seed=0), Vocab.numbers(3), {"made": "at random"})
    >>> model
    Model(3 tokens, 4 positions, 0 layers, 3 wide; 21 parameters)

A Model does not change: its arrays are read-only copies. `model.with_(...)` makes a changed one.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, overload

import numpy as np

from handloom.core import params as parameters
from handloom.core.config import Config
from handloom.core.errors import HandloomError
from handloom.core.params import Params
from handloom.core.vocab import Vocab


@dataclass(frozen=True, eq=False, repr=False)
class Model:
    """Config, Params, Vocab, and notes: where it came from, what its parts are called, how long it runs."""

    config: Config
    params: Params
    vocab: Vocab
    notes: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if len(self.vocab) != self.config.vocab:
            raise HandloomError(
                f"Model: the vocabulary has {len(self.vocab)} tokens, the Config asks for {self.config.vocab}"
            )
        flat = {name: fixed(array) for name, array in parameters.flatten(self.params).items()}
        parameters.check(self.config, flat)
        object.__setattr__(self, "params", parameters.unflatten(self.config, flat))
        try:
            notes = json.loads(json.dumps(dict(self.notes), allow_nan=False))
        except (TypeError, ValueError, RecursionError) as error:
            raise HandloomError(f"Model: notes must be plain JSON values ({error})") from error
        object.__setattr__(self, "notes", notes)

    def __repr__(self) -> str:
        c = self.config
        count = sum(array.size for name, array in self.flat.items() if not parameters.is_norm(name))
        sizes = f"{c.vocab} tokens, {c.block} positions, {c.layers} layers, {c.d_model} wide"
        return f"Model({sizes}; {count:,} parameters)"

    @property
    def flat(self) -> dict[str, Any]:
        """The arrays by name: `W_E`, `layers.0.W_Q`, …"""
        return parameters.flatten(self.params)

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(self.params["W_E"].dtype)

    def astype(self, dtype: Any) -> "Model":
        """The same model with its weights rounded to float32, or held in float64."""
        if self.dtype == np.dtype(dtype):
            return self
        return self.with_(params={name: array.astype(dtype) for name, array in self.flat.items()})

    def with_(self, **changes: Any) -> "Model":
        """A copy with some of config, params (nested or flat), vocab, notes replaced."""
        return replace(self, **changes)

    @overload
    def __call__(self, text: str = "", **how: Any) -> str: ...
    @overload
    def __call__(self, text: Sequence[str], **how: Any) -> list[str]: ...
    def __call__(self, text: str | Sequence[str] = "", **how: Any) -> str | list[str]:
        """Go on from a text, or from each of several; `how` is as in `generate`."""
        from handloom.core.decoding import continue_texts

        return continue_texts(self, [text], **how)[0] if isinstance(text, str) else continue_texts(self, text, **how)


def fixed(array: Any) -> np.ndarray[Any, Any]:
    """A read-only array of its own; whole numbers become float64."""
    array = np.asarray(array)
    if array.flags.writeable or array.base is not None or not array.flags.c_contiguous:
        array = np.array(array, order="C", dtype=np.float64 if array.dtype.kind in "iub" else None)
        array.flags.writeable = False
    return array
