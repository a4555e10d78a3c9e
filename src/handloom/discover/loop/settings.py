"""How a run of discovery goes: all but the problem, in one frozen value that goes into the run's folder."""

from dataclasses import asdict, dataclass
from typing import Any

from handloom.core import HandloomError
from handloom.core.checks import is_number, whole
from handloom.core.errors import shown
from handloom.learn.settings import checked

AUTO = "auto"


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What a generation is made of. With the same settings and no limit of time a run gives the same result."""

    seed: int = 0
    model: bool = True  # whether a transformer learns from the best; else search alone goes on
    symmetry: str = AUTO  # under which to search; auto: all that the problem has, in turn
    attempts: int = 400  # searches of a generation without the model
    steps: int = 4_000  # of a short search; some are longer, by Luby's sequence
    keep: int = 500  # constructions that are kept to learn from
    tokens: str = AUTO  # how they are written: cells, sparse or bpe
    smaller: int = 0  # how many smaller sizes are learnt from besides
    learn: int = 300  # steps of training in a generation
    samples: int = 300  # constructions that the model says in a generation
    temperature: float = 1.0  # to begin with; it rises when the samples repeat
    feedback: float = 0.0  # how much better constructions count more: e^feedback a standard deviation
    layers: int = 4
    heads: int = 4
    width: int = 64
    batch: int = 32
    rate: float = 1e-3

    def __post_init__(self) -> None:
        least = {"seed": 0, "attempts": 1, "steps": 1, "keep": 10, "smaller": 0, "learn": 0, "samples": 1}
        for name, value in (least | {"layers": 1, "heads": 1, "width": 1, "batch": 1}).items():
            whole(name, getattr(self, name), value)
        if self.tokens not in (AUTO, "cells", "sparse", "bpe"):
            raise HandloomError(f"tokens={shown(self.tokens)} must be cells, sparse or bpe, or auto to have it chosen")
        for name in ("temperature", "feedback", "rate"):
            if not is_number(getattr(self, name)) or getattr(self, name) < 0.0:
                raise HandloomError(f"{name}={shown(getattr(self, name))} must be a number of 0 or more")

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, values: Any) -> "Settings":
        return cls(**checked(values, cls))
