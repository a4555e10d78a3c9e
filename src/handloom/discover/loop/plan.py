"""The plan of a run: what a generation is made of, in one frozen value that is stored in the run's folder."""

from dataclasses import asdict, dataclass
from typing import Any

from handloom.learn.settings import MODEL, RUN, SEARCH, check_fields, checked, setting

AUTO, MODEL_ITSELF, ORBITS = "auto", "model", "orbits"
TOKENS = (AUTO, "cells", "sparse", ORBITS, "bpe")
PROPOSALS = (MODEL_ITSELF, "random", "marginals", "redrawn")  # the model, and what it is compared with (model/nulls.py)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """With the same plan and without a limit of time, a run gives the same result."""

    seed: int = setting(0, "one seed gives one result", RUN, 0)
    model: bool = setting(True, "search alone, without training a model", MODEL)
    proposals: str = setting(
        MODEL_ITSELF, "who proposes: model; or, to compare with it, random, marginals or redrawn", MODEL
    )
    tokens: str = setting(
        AUTO, "one per cell (cells), chosen element (sparse), orbit (orbits) or piece (bpe); auto: by the pool", MODEL
    )
    augment: int = setting(0, "images of each construction under the symmetries to train on; 0: itself", MODEL, 0)
    smaller: int = setting(0, "also train on this many smaller sizes", MODEL, 0)
    learn: int = setting(300, "steps of training per generation, fewer if the held-out loss rises", MODEL, 0)
    samples: int = setting(2000, "proposals and searches per generation, at most; the first has fewer", MODEL, 1)
    reward: int = setting(0, "batches of policy gradient per generation, after training; needs PyTorch", MODEL, 0)
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
    keep: int = setting(2000, "constructions kept to train on", SEARCH, 10)

    def __post_init__(self) -> None:
        check_fields(self)
        for name, kinds in (("tokens", TOKENS), ("proposals", PROPOSALS)):
            if getattr(self, name) not in kinds:
                from handloom.core.errors import HandloomError, shown

                raise HandloomError(f"{name}={shown(getattr(self, name))} must be one of {', '.join(kinds)}")

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, values: Any) -> "Plan":
        return cls(**checked(values, cls))
