"""The plan of a run: what a generation is made of, in one frozen value that is stored in the run's folder."""

from dataclasses import asdict, dataclass
from typing import Any

from handloom.learn.settings import MODEL, RUN, SEARCH, check_fields, checked, setting

AUTO = "auto"


@dataclass(frozen=True, kw_only=True)
class Plan:
    """With the same plan and without a limit of time, a run gives the same result."""

    seed: int = setting(0, "one seed gives one result", RUN, 0)
    model: bool = setting(True, "search alone, without training a model", MODEL)
    tokens: str = setting(AUTO, "one per cell (cells), chosen element (sparse) or piece (bpe); auto: by size", MODEL)
    smaller: int = setting(0, "also train on this many smaller sizes", MODEL, 0)
    learn: int = setting(300, "steps of training per generation", MODEL, 0)
    samples: int = setting(300, "constructions sampled per generation", MODEL, 1)
    temperature: float = setting(1.0, "temperature of the first samples; it rises when samples repeat", MODEL, 0)
    feedback: float = setting(0.0, "train e^FEEDBACK times as often on one deviation better", MODEL, 0)
    layers: int = setting(4, "layers of the model", MODEL, 1)
    heads: int = setting(4, "attention heads per layer", MODEL, 1)
    width: int = setting(64, "width of the residual stream (d_model)", MODEL, 1)
    batch: int = setting(32, "constructions per step of training", MODEL, 1)
    rate: float = setting(1e-3, "learning rate", MODEL, 0)
    symmetry: str = setting(
        AUTO, "symmetry, such as mirror, or none; a wrong name lists them; auto: all in turn", SEARCH
    )
    attempts: int = setting(400, "searches per generation without the model", SEARCH, 1)
    steps: int = setting(4_000, "steps of a short search; some are longer, by Luby's sequence", SEARCH, 1)
    keep: int = setting(500, "constructions kept to train on", SEARCH, 10)

    def __post_init__(self) -> None:
        check_fields(self)
        if self.tokens not in (AUTO, "cells", "sparse", "bpe"):
            from handloom.core.errors import HandloomError, shown

            raise HandloomError(f"tokens={shown(self.tokens)} must be cells, sparse or bpe, or auto to have it chosen")

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, values: Any) -> "Plan":
        return cls(**checked(values, cls))
