"""A Learner: a network with its vocabulary, what it begins with, and how it speaks.

It stands between the training loop, which knows weights by name, and what people have: Models.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from handloom.core import Config, Model, Vocab, generate, save
from handloom.core.arrays import Arrays
from handloom.learn.batches import Strings
from handloom.learn.evaluation import Say
from handloom.learn.masked import unmask
from handloom.learn.network import Transformer, check_fits
from handloom.learn.settings import Settings


@dataclass
class Learner:
    """A transformer to be trained, from the beginning or from a model that there is."""

    transformer: Transformer
    vocab: Vocab
    base: Model | None = None
    rank: int = 0  # of LoRA
    notes: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.network: Any = low_rank(self.transformer, self.rank) if self.rank else self.transformer
        self.masked = not self.transformer.config.causal

    def to_json(self) -> dict[str, Any]:
        """What is needed to make it again, but for its weights."""
        return {
            "kind": "transformer",
            "config": self.transformer.config.to_json(),
            "frozen": sorted(self.transformer.frozen),
            "vocab": self.vocab.to_json(),
            "lora": self.rank,
            "notes": self.notes,
        }

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "Learner":
        transformer = Transformer(Config.from_json(values["config"]), frozenset(values["frozen"]))
        return cls(transformer, Vocab.from_json(values["vocab"]), None, values["lora"], values["notes"])

    def check(self, strings: Strings) -> None:
        """Refuse strings that the model cannot read."""
        check_fits(self.transformer.config, int(strings.lengths.max()) - (not self.masked))

    def start(self, settings: Settings) -> Arrays:
        arrays = self.transformer.start(settings.seed)
        if self.base is not None:
            arrays = {name: np.array(array, np.float32) for name, array in self.base.flat.items()}
        return self.network.begin(arrays, settings.seed) if self.rank else arrays

    def model(self, arrays: Arrays, notes: dict[str, Any]) -> Model:
        whole = self.network.merged(arrays) if self.rank else arrays
        return Model(self.transformer.config, whole, self.vocab, self.notes | notes)

    def save(self, model: Model, path: Path) -> None:
        save(model, path)

    def speaker(self, arrays: Arrays, lengths: Sequence[int], seed: int, engine: str = "auto") -> Say:
        """How the model with these weights goes on from prompts; answers may have these lengths."""
        model, longest = self.model(arrays, {}), max(lengths)
        if self.masked:
            return lambda prompts, temperature: unmask(model, prompts, lengths, temperature, seed)
        return lambda prompts, temperature: generate(
            model, prompts, steps=longest, temperature=temperature, seed=seed, engine=engine
        )


def low_rank(transformer: Transformer, rank: int) -> Any:
    from handloom.learn.lora import LowRank  # here, because it loads torch

    return LowRank(transformer, rank)
