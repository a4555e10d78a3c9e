"""How a model is trained: all but the task and the model, in one frozen value that goes into the run's folder."""

import math
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, get_args

from handloom.core import HandloomError
from handloom.core.checks import is_number, whole
from handloom.core.errors import shown

Schedule = Literal["constant", "cosine", "linear"]


def setting(default: Any, about: str) -> Any:
    """A field with its default, and what it is, for `help`."""
    return field(default=default, metadata={"about": about})


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The defaults are makemore's, but for clipping."""

    steps: int = setting(15_000, "steps of training")
    batch: int = setting(32, "strings per step")
    rate: float = setting(5e-4, "the learning rate")
    schedule: Schedule = setting("constant", "constant; cosine, linear: falling to 0 at the last step")  # noqa: RUF009
    warmup: int = setting(0, "steps in which the rate rises from 0")
    decay: float = setting(0.01, "weight decay, on matrices and embeddings")
    betas: tuple[float, float] = setting((0.9, 0.99), "AdamW's")
    clip: float = setting(1.0, "the largest norm of a gradient; 0: as it is")
    dropout: float = setting(0.0, "the share of values left out")
    every: int = setting(500, "steps between evaluations, at which the run is also saved")
    samples: int = setting(200, "strings sampled at an evaluation")
    patience: int = setting(0, "stop after this many evaluations without a better held-out loss; 0: never")
    until: float = setting(0.0, "stop at the first evaluation with this success rate; 0: never")
    keep: int = setting(0, "keep the model every this many steps; 0: only the last and the best")
    count: int = setting(0, "strings drawn from the task; 0: 10,000, and of a text file all its lines")
    lora: int = setting(0, "train matrices of this rank to add to those of `start`; 0: train all weights")
    seed: int = setting(0, "one seed gives one run")
    lanes: int = setting(0, "parts of a batch, whose gradients are added up in order; 0: as many as suit the engine")

    def __post_init__(self) -> None:
        least = {"steps": 0, "batch": 1, "warmup": 0, "every": 1, "samples": 0, "patience": 0, "keep": 0}
        for name, value in (least | {"lora": 0, "seed": 0, "lanes": 0, "count": 10 if self.count else 0}).items():
            whole(name, getattr(self, name), value)
        if self.schedule not in get_args(Schedule):
            raise HandloomError(f"schedule={shown(self.schedule)} must be one of {', '.join(get_args(Schedule))}")
        limits = dict.fromkeys(("rate", "decay", "clip"), math.inf) | {"dropout": 0.99, "until": 1.0}
        for name, most in limits.items():
            value = getattr(self, name)
            if not is_number(value) or not 0.0 <= value <= most:
                allowed = "0 or more" if most == math.inf else f"from 0 to {most:g}"
                raise HandloomError(f"{name}={shown(value)} must be a number {allowed}")
        if not isinstance(self.betas, list | tuple) or len(self.betas) != 2:
            raise HandloomError(f"betas={shown(self.betas)} must be two numbers, such as (0.9, 0.99)")
        if not all(is_number(beta) and 0.0 <= beta < 1.0 for beta in self.betas):
            raise HandloomError(f"betas={shown(self.betas)} must be from 0 to below 1")
        object.__setattr__(self, "betas", tuple(self.betas))

    def rate_at(self, step: int) -> float:
        """The learning rate of a step, counted from 0."""
        if step < self.warmup:
            return self.rate * (step + 1) / self.warmup
        if self.schedule == "constant":
            return self.rate
        gone = min(1.0, (step - self.warmup) / max(1, self.steps - self.warmup))
        return self.rate * (0.5 + 0.5 * math.cos(math.pi * gone) if self.schedule == "cosine" else 1.0 - gone)

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"betas": list(self.betas)}

    @classmethod
    def from_json(cls, values: Any) -> "Settings":
        return cls(**checked(values, cls))


def checked(values: Any, kind: Any) -> dict[str, Any]:
    """Values for the fields of a dataclass, from JSON."""
    known = {f.name for f in fields(kind)}
    if not isinstance(values, dict) or not set(values) <= known:
        raise HandloomError(f"settings must be an object with some of {', '.join(sorted(known))}")
    return values
