"""What an analysis explains: the logit of an answer at one position, compared with the mean logit or another token's.

A constant that is added to all logits changes no prediction, so a logit means something only beside others.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from handloom.core import HandloomError, Model, Trace
from handloom.core.arrays import Array
from handloom.core.errors import shown
from handloom.read.part_names import token_names

ROUNDING = 1e-9  # of the largest contribution: what is smaller is not shown


@dataclass(frozen=True, eq=False)
class Target:
    """⟨logits, weights⟩, in words and as numbers."""

    answer: str
    against: str | None  # None: the mean of all logits
    position: int
    total: float
    weights: Array  # (T, V): 0 at other positions

    def __str__(self) -> str:
        other = "mean logit" if self.against is None else f"logit of {self.against}"
        return f"logit of {self.answer} − {other} at position {self.position} = {self.total:.4g}"

    def to_json(self) -> dict[str, Any]:
        return {"answer": self.answer, "against": self.against, "position": self.position, "total": self.total}


def target_of(
    model: Model, run: Trace, answer: str | int | None = None, against: str | int | None = None, position: int = -1
) -> Target:
    """The target in a run on one text; the answer is by default the token with the largest logit."""
    logits = run["logits"]  # (T, V)
    if logits.ndim != 2:
        raise HandloomError("the target: several texts (expected one); give one text, or its token ids")
    T, V = logits.shape
    if not -T <= position < T:
        raise HandloomError(f"position {position}: the text has {T} tokens (expected {-T} to {T - 1})")
    right = int(logits[position].argmax()) if answer is None else id_of_token(model, answer)
    other = None if against is None else id_of_token(model, against)
    weights = np.zeros((T, V))
    weights[position, right] += 1.0
    weights[position, slice(None) if other is None else other] -= 1 / V if other is None else 1.0
    names = token_names(model)
    total = float((logits * weights).sum())
    return Target(names[right], None if other is None else names[other], position % T, total, weights)


def id_of_token(model: Model, token: str | int) -> int:
    """The id of a token given by its text or by its id."""
    if isinstance(token, str):
        return model.vocab.id(token)
    if not isinstance(token, int | np.integer) or not 0 <= token < len(model.vocab):
        raise HandloomError(f"token {shown(token)}: not in the vocabulary (expected 0 to {len(model.vocab) - 1})")
    return int(token)


def spell_amount(value: float, largest: float) -> str:
    """A contribution for people; next to the largest, rounding is 0."""
    return f"{value:+.4g}" if abs(value) > ROUNDING * largest else "0"
