"""A Learner of a network of cells: the same methods as of a transformer's, around a CellModel instead of a Model."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from handloom.core import HandloomError, Vocab, generate
from handloom.core.arrays import Arrays
from handloom.learn.batches import Strings
from handloom.learn.cell_models import CellEngine, CellModel, save
from handloom.learn.cells import Cells
from handloom.learn.evaluation import Say
from handloom.learn.settings import Settings


@dataclass
class CellLearner:
    """A network of cells to be trained, from the beginning or from a model that there is."""

    network: Cells
    vocab: Vocab
    base: CellModel | None = None
    notes: dict[str, Any] = field(default_factory=dict)
    masked = False

    def to_json(self) -> dict[str, Any]:
        """What is needed to make it again, but for its weights."""
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
        """Refuse strings that the network cannot read; how long they are does not matter."""
        if self.network.kind == "encoder-decoder" and not strings.asked.min():
            raise HandloomError("an encoder-decoder reads a question of one token or more; one here has none")

    def start(self, settings: Settings) -> Arrays:
        if settings.lora:
            raise HandloomError(f"lora is for transformers, and this is a {self.network.kind}: leave it out")
        if self.base is not None:
            return {name: np.array(array) for name, array in self.base.arrays.items()}
        return self.network.start(settings.seed)

    def model(self, arrays: Arrays, notes: dict[str, Any]) -> CellModel:
        return CellModel(self.network, arrays, self.vocab, self.notes | notes)

    def save(self, model: CellModel, path: Path) -> None:
        save(model, path)

    def speaker(self, arrays: Arrays, lengths: Sequence[int], seed: int, engine: str = "torch") -> Say:
        """How the model with these weights goes on from prompts, on torch; answers may have these lengths."""
        model = self.model(arrays, {})
        return lambda prompts, temperature: generate(
            model, prompts, steps=max(lengths), temperature=temperature, seed=seed, engine=CellEngine()
        )
