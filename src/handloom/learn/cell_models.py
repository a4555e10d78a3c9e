"""A trained network of cells, as a value: run it on text, save it, load it.

    model = load("runs/strings-1/model.safetensors")      # a Model or a CellModel, whichever the file holds
    model("0110")

The file is that of core/files.py, with the entry `handloom-cells` in its metadata; its `config` names the network.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, overload

import numpy as np
import torch

from handloom.core import HandloomError, Model, Vocab, files, torch_engine
from handloom.core.arrays import Array
from handloom.core.decoding import continue_texts
from handloom.core.model import read_only
from handloom.core.params import check_finite
from handloom.core.trace import Edits
from handloom.learn.cells import Cells, State
from handloom.learn.kinds import CELLS_ENTRY


@dataclass(frozen=True, eq=False, repr=False)
class CellModel:
    """A network, its weights by name, a vocabulary and notes. Like a Model, it does not change."""

    network: Cells
    arrays: Mapping[str, Any]
    vocab: Vocab
    notes: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if len(self.vocab) != self.network.vocab:
            raise HandloomError(f"the vocabulary has {len(self.vocab)} tokens, the network {self.network.vocab}")
        arrays = {name: read_only(name, array) for name, array in self.arrays.items()}
        check_arrays(self.network, arrays)
        check_finite(arrays)
        object.__setattr__(self, "arrays", MappingProxyType(arrays))
        object.__setattr__(self, "notes", MappingProxyType(dict(self.notes)))

    def __repr__(self) -> str:
        count = sum(array.size for array in self.arrays.values())
        return f"CellModel({self.network.kind}, {self.network.vocab} tokens; {count:,} parameters)"

    @property
    def config(self) -> Cells:
        """The sizes, for decoding."""
        return self.network

    @overload
    def __call__(self, text: str = "", **how: Any) -> str: ...
    @overload
    def __call__(self, text: Sequence[str], **how: Any) -> list[str]: ...
    def __call__(self, text: str | Sequence[str] = "", **how: Any) -> str | list[str]:
        """Continue a text, or each of several; `how` is as in `generate`, except that there is one engine."""
        texts = [text] if isinstance(text, str) else text
        outputs = continue_texts(self, texts, **how | {"engine": CellEngine()})
        return outputs[0] if isinstance(text, str) else outputs


def check_arrays(network: Cells, arrays: Mapping[str, Any]) -> None:
    """Raise an error if the names, shapes or dtypes of arrays are not the network's."""
    few = network.layers > len(arrays)  # every layer has an array, so some are missing
    needed = {} if few else {name: tuple(weight.shape) for name, weight in network.module().named_parameters()}
    if few or {name: tuple(array.shape) for name, array in arrays.items()} != needed:
        raise HandloomError(f"the arrays do not have the names and shapes of this {network.kind}")
    if {str(array.dtype) for array in arrays.values()} != {"float32"}:
        raise HandloomError("the arrays of a network of cells must be float32")


def save_cells(model: CellModel, path: str | os.PathLike[str]) -> None:
    """Write a model file. If interrupted, the existing file stays."""
    files.write_model(path, CELLS_ENTRY, model.network.to_json(), model.vocab, model.notes, dict(model.arrays))


def load_cells(path: str | os.PathLike[str]) -> Model | CellModel:
    """Read a model file of either kind, with the checks of `handloom.core.load`."""
    return files.read_model(path, read)


def read(file: Any) -> Model | CellModel:
    metadata = file.metadata() or {}
    if CELLS_ENTRY not in metadata:
        return files.read(file)
    about = files.read_about(metadata, CELLS_ENTRY)
    network, vocab = Cells.from_json(about["config"]), Vocab.from_json(about["vocab"])
    arrays = files.read_arrays(file, about, lambda described: check_arrays(network, described))
    return CellModel(network, arrays, vocab, about["notes"])


class CellEngine:
    """The engine that `generate` runs a CellModel on."""

    def Decoder(self, model: CellModel) -> "CellDecoder":
        return CellDecoder(model)

    decoders_at_once = staticmethod(torch_engine.decoders_at_once)
    pool = staticmethod(torch_engine.pool)


class CellDecoder:
    """The rows of a batch, extended token by token; finished rows leave it."""

    def __init__(self, model: CellModel) -> None:
        self.kind, self.module = model.network.kind, model.network.module()
        self.module.to_empty(device="cpu")
        self.module.load_state_dict({name: torch.tensor(array) for name, array in model.arrays.items()})
        self.rows: list[int] = []
        self.state: State = ()

    def advance(self, rows: Sequence[int], tokens: Sequence[Sequence[int]]) -> Array:
        """Feed each row its next tokens, first its prompt and then one at a time; returns the logits (B, V)."""
        with torch.no_grad():
            if self.rows:
                self.keep(rows)
                logits, self.state = self.module.step(torch.tensor([new[0] for new in tokens]), self.state)
            else:
                lengths = [len(new) for new in tokens]
                ids = torch.tensor([[*new, *[0] * (max(lengths) - len(new))] for new in tokens])
                logits, self.state = self.module.begin(ids, torch.tensor(lengths))
        self.rows = list(rows)
        return logits.double().numpy()

    def keep(self, rows: Sequence[int]) -> None:
        """Drop all rows but these."""
        if list(rows) != self.rows:
            place = {row: i for i, row in enumerate(self.rows)}
            self.state = tuple(part[[place[row] for row in rows]] for part in self.state)

    def rerun(self, windows: Any, edits: Edits | None = None, last: int | None = None) -> Array:
        """The logits (B, T, V) of windows (B, T), computed from the beginning."""
        if edits:
            raise HandloomError("a network of cells has no sites to edit; edits are for transformers")
        if self.kind == "encoder-decoder":
            raise HandloomError("an encoder-decoder cannot run without its cache; leave out cache=False")
        ids = torch.as_tensor(np.asarray(windows))
        with torch.no_grad():
            logits = self.module(ids, torch.ones(len(ids), dtype=torch.int64), lambda x: x)
        return logits[:, -(last or ids.shape[1]) :].double().numpy()
