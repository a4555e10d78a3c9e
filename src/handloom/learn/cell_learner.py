"""A Learner of a network of cells: the same methods as for a transformer, around a CellModel instead of a Model."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from handloom.core import HandloomError, Vocab, generate
from handloom.core.arrays import Arrays
from handloom.learn.cell_models import CellEngine, CellModel, save_cells
from handloom.learn.cells import Cells
from handloom.learn.data import Strings
from handloom.learn.evaluation import Sampler
from handloom.learn.settings import Settings


@dataclass
class CellLearner:
    """A network of cells to be trained, from random weights or from an existing model."""

    network: Cells
    vocab: Vocab
    base: CellModel | None = None
    notes: dict[str, Any] = field(default_factory=dict)
    masked = False

    def to_json(self) -> dict[str, Any]:
        """All but the weights."""
        return {
            "kind": self.network.kind,
            "config": self.network.to_json(),
            "vocab": self.vocab.to_json(),
            "notes": self.notes,
        }

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "CellLearner":
        return cls(Cells.from_json(values["config"]), Vocab.from_json(values["vocab"]), None, values["notes"])

    def check(self, strings: Strings) -> None:
        """Raise an error if the network cannot read the strings; they may have any length."""
        if self.network.kind == "encoder-decoder" and not strings.asked.min():
            raise HandloomError("an encoder-decoder reads questions of one token or more; one of these has none")

    def start(self, settings: Settings) -> Arrays:
        if settings.lora:
            raise HandloomError(f"lora: a {self.network.kind} has no LoRA (expected a transformer); leave it out")
        if self.base is not None:
            return {name: np.array(array) for name, array in self.base.arrays.items()}
        return self.network.start(settings.seed)

    def model(self, arrays: Arrays, notes: dict[str, Any]) -> CellModel:
        return CellModel(self.network, arrays, self.vocab, self.notes | notes)

    def save(self, model: CellModel, path: Path) -> None:
        save_cells(model, path)

    def sampler(self, arrays: Arrays, lengths: Sequence[int], seed: int, engine: str = "torch") -> Sampler:
        """A function that generates with these weights, on torch; `lengths` are the possible lengths of an answer."""
        model = self.model(arrays, {})
        return lambda prompts, temperature: generate(
            model, prompts, steps=max(lengths), temperature=temperature, seed=seed, engine=CellEngine()
        )
