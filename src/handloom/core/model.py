"""Model: a transformer as one value, whether written, compiled or trained.

    >>> from handloom.core import Config, Model, Vocab, params
    >>> config = Config(vocab=3, block=4, d_model=3)
    >>> model = Model(config, params.random(config, seed=0), Vocab.numbers(3), {"made": "at random"})
    >>> model
    Model(3 tokens, 4 positions, 0 layers, 3 wide; 21 parameters)

A Model does not change: its arrays are read-only copies. `model.with_(...)` makes a changed one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, overload

import numpy as np

from handloom.core import params as parameters
from handloom.core.arrays import Array
from handloom.core.checks import parse_json, to_json
from handloom.core.config import Config
from handloom.core.errors import HandloomError, shown
from handloom.core.params import Params
from handloom.core.registry import offered
from handloom.core.vocab import Vocab


@dataclass(frozen=True, eq=False, repr=False)
class Model:
    """Config, Params, Vocab, and notes: its origin, its task, the names of its parts, the length of its answers."""

    config: Config
    params: Params
    vocab: Vocab
    notes: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.config, Config) or not isinstance(self.vocab, Vocab):
            raise HandloomError("Model: takes a Config, its parameters, a Vocab and optionally notes, in this order")
        if len(self.vocab) != self.config.vocab:
            raise HandloomError(
                f"Model: the vocabulary has {len(self.vocab)} tokens (expected {self.config.vocab}, as in the Config)"
            )
        if not isinstance(self.params, Mapping):
            raise HandloomError(f"Model: params must be a dict of arrays, not {shown(self.params)}")
        flat = {name: read_only(name, array) for name, array in parameters.flatten(self.params).items()}
        parameters.check(self.config, flat)
        parameters.check_finite(flat)
        ordered = {name: flat[name] for name, _ in parameters.shapes(self.config)}
        nested = parameters.unflatten(self.config, ordered)
        nested["layers"] = tuple(map(MappingProxyType, nested["layers"]))
        object.__setattr__(self, "params", MappingProxyType(nested))
        try:
            notes = parse_json(to_json(dict(self.notes)))
        except (TypeError, ValueError) as error:
            raise HandloomError(f"Model: notes must be plain JSON values ({error})") from error
        object.__setattr__(self, "notes", MappingProxyType(notes))

    def __reduce__(self) -> Any:
        """Copies and pickles are checked and read-only too."""
        return Model, (self.config, self.flat, self.vocab, dict(self.notes))

    def __repr__(self) -> str:
        c = self.config
        count = sum(array.size for name, array in self.flat.items() if not parameters.is_norm(name))
        sizes = f"{c.vocab} tokens, {c.block} positions, {c.layers} layers, {c.d_model} wide"
        return f"Model({sizes}; {count:,} parameters)"

    def _repr_html_(self) -> str | None:
        """What a notebook shows."""
        return offered("html")(self)

    @property
    def flat(self) -> dict[str, Any]:
        """The arrays by name: `W_E`, `layers.0.W_Q`, …"""
        return parameters.flatten(self.params)

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(self.params["W_E"].dtype)

    def astype(self, dtype: Any) -> "Model":
        """The same model with its weights rounded to float32, or held in float64."""
        if dtype not in (np.float32, np.float64, "float32", "float64"):
            raise HandloomError(f"a model's dtype is float32 or float64, not {shown(dtype)}")
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
        """Generate after a text, or after each of several; `how` is as in `generate`. A text that is not an input of
        the model's task, as its notes name it, raises an error. `unchecked=True` allows it, such as a question with the
        beginning of its answer."""
        from handloom.core.decoding import continue_texts

        if not isinstance(text, str | list | tuple) or not all(isinstance(one, str) for one in text):
            raise HandloomError(f"a model takes a text or a list of texts, not {shown(text)}")
        return continue_texts(self, [text], **how)[0] if isinstance(text, str) else continue_texts(self, text, **how)


def read_only(name: str, array: Any) -> Array:
    """A read-only copy; whole numbers become float64, a tensor is copied from its device."""
    try:
        array = np.asarray(array.detach().cpu() if hasattr(array, "detach") else array)
    except (TypeError, ValueError) as error:
        raise HandloomError(f"parameter {shown(name)} is not an array of numbers: {shown(array)}") from error
    if array.dtype.kind in "iub":
        array = array.astype(np.float64)
    if array.flags.writeable or array.base is not None or not array.flags.c_contiguous:
        array = np.array(array, order="C")
        array.flags.writeable = False
    return array
