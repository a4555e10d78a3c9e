"""How a model is trained: all but the task and the model, in one frozen value that goes into the run's folder."""

import math
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, get_args

from handloom.core import HandloomError
from handloom.core.checks import is_number, whole
from handloom.core.errors import shown

Schedule = Literal["constant", "cosine", "linear"]


TRAINING, MODEL, RUN, SEARCH = "Training", "Model", "Run", "Search"  # what options are grouped by, in help


def setting(default: Any, about: str, group: str, least: float | None = None, most: float = math.inf) -> Any:
    """A field with its default, what it is (of a boolean: what its other value does) and its limits. `help`, the
    command line and `check_fields` read them."""
    return field(default=default, metadata={"about": about, "group": group, "least": least, "most": most})


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The defaults are makemore's, but for clipping."""

    steps: int = setting(15_000, "steps of training", TRAINING, 0)
    batch: int = setting(32, "strings per step", TRAINING, 1)
    rate: float = setting(5e-4, "learning rate", TRAINING, 0)
    schedule: Schedule = setting("constant", "schedule of the rate: constant, or cosine or linear to 0", TRAINING)  # noqa: RUF009
    warmup: int = setting(0, "steps in which the rate rises from 0", TRAINING, 0)
    decay: float = setting(0.01, "weight decay, on matrices and embeddings", TRAINING, 0)
    betas: tuple[float, float] = setting((0.9, 0.99), "betas of AdamW", TRAINING)
    clip: float = setting(1.0, "largest norm of a gradient; 0: any", TRAINING, 0)
    dropout: float = setting(0.0, "share of values dropped", TRAINING, 0, 0.99)
    count: int = setting(0, "strings drawn from the task; 0: 10,000, or all lines of a text file", TRAINING, 0)
    patience: int = setting(0, "stop after this many evaluations without a better held-out loss; 0: never", TRAINING, 0)
    until: float = setting(0.0, "stop at the first evaluation with this success rate; 0: never", TRAINING, 0, 1)
    lora: int = setting(0, "train only matrices of this rank, added to those of `start`; 0: all weights", TRAINING, 0)
    every: int = setting(500, "steps between evaluations, at which the run is also saved", RUN, 1)
    samples: int = setting(200, "strings sampled per evaluation", RUN, 0)
    keep: int = setting(0, "keep the model every this many steps; 0: only the last and the best", RUN, 0)
    seed: int = setting(0, "one seed gives one run", RUN, 0)
    lanes: int = setting(0, "parts of a batch, summed in order; 0: native up to 8, torch one per core", RUN, 0)

    def __post_init__(self) -> None:
        check_fields(self)
        whole("count", self.count, 10 if self.count else 0)
        if self.schedule not in get_args(Schedule):
            raise HandloomError(f"schedule={shown(self.schedule)} must be one of {', '.join(get_args(Schedule))}")
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


def check_fields(settings: Any) -> None:
    """Refuse a number that is not within the limits of its field."""
    for one in fields(settings):
        value, least, most = getattr(settings, one.name), one.metadata["least"], one.metadata["most"]
        if least is None:
            continue
        if isinstance(one.default, int):
            whole(one.name, value, least)
        elif not is_number(value) or not least <= value <= most:
            allowed = f"of {least:g} or more" if most == math.inf else f"from {least:g} to {most:g}"
            raise HandloomError(f"{one.name}={shown(value)} must be a number {allowed}")


def checked(values: Any, kind: Any) -> dict[str, Any]:
    """Values for the fields of a dataclass, from JSON."""
    known = {f.name for f in fields(kind)}
    if not isinstance(values, dict):
        raise HandloomError(f"settings={shown(values)} must be an object of names and values")
    if unknown := sorted(set(values) - known):
        raise HandloomError(f"no option {shown(unknown[0])} (expected some of {', '.join(sorted(known))})")
    return values
