"""Feedback by reward: after training on the pool, the model is trained on the scores of what it generates itself.

Its reward for a string is the score of the legal part of the construction, before any search. It is policy gradient
(learn/policy.py), held near the model that trained on the pool. What comes out proposes, and is then given up: the next
generation trains the model of the pool further.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from handloom.core import HandloomError, Model
from handloom.discover.model.codec import Codec
from handloom.discover.problem import Number
from handloom.discover.search.result import Stop
from handloom.discover.spaces import Construction

if TYPE_CHECKING:
    from handloom.learn.data import Strings

BATCH = 128  # strings per step

Score = Callable[[Sequence[Construction]], Sequence[Number]]  # of their legal parts


def rewarded(model: Model, codec: Codec, score: Score, steps: int, longest: int, seed: int, stop: Stop) -> Model:
    """The model after that many batches, or fewer if `stop` says so."""
    try:
        from handloom.learn.policy import PolicySettings, improve
    except ModuleNotFoundError as error:
        raise HandloomError(
            f"reward={steps} needs {error.name}, which is not installed: pip install 'handloom[learn]'"
        ) from error
    opening = len(codec.prompt)
    settings = PolicySettings(steps=steps, batch=BATCH, rate=3e-4, kl=0.1, longest=longest - opening, seed=seed)

    def reward(strings: "Strings") -> Any:
        rows = zip(strings.starts, strings.starts[1:], strict=False)
        found = [codec.decode(strings.ids[first:end].tolist()).construction for first, end in rows]
        scores = iter(score([some for some in found if some is not None]))
        known = [None if some is None else float(next(scores)) for some in found]
        worst = min((one for one in known if one is not None), default=0.0)
        return np.array([worst - 1.0 if one is None else one for one in known])

    for step in improve(model, reward, settings, prompts=lambda rng: [codec.prompt] * BATCH):
        model = step.model()
        if stop():
            break
    return model
