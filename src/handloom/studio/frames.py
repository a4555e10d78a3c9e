"""A film of a transformer's heads while it is trained: what each attends to on one fixed input, frame by frame.

A frame is computed by the reference between two steps of training, in float32, and takes some milliseconds. How many,
is measured, and the next frame waits until the film has taken no more than its share of the time.
"""

import math
import time
from base64 import b64encode
from typing import Any

import numpy as np

from handloom.core import HandloomError, reference
from handloom.core.arrays import Array
from handloom.learn.learner import Learner
from handloom.learn.training import Training
from handloom.studio.worker import Tell

PAUSE, SHARE = 0.5, 0.015  # seconds between two frames at least; the share of the time that they take at most
MOST_BYTES = 400_000  # of a frame


class Film:
    """The frames of one run."""

    def __init__(self, training: Training, tell: Tell) -> None:
        self.training, self.tell = training, tell
        self.ids = input_of(training)
        self.next = 0.0 if self.ids else math.inf
        self.shown = -1  # the last step that was

    def __call__(self, step: int) -> None:
        """Show this step, if it is time for it."""
        if (began := time.monotonic()) >= self.next:
            self.show(step)
            took = time.monotonic() - began
            self.next = time.monotonic() + max(PAUSE, took / SHARE)

    def show(self, step: int) -> None:
        """Show this step, once. Weights that are too large to compute with have no picture."""
        if not self.ids or step == self.shown:
            return
        self.shown = step
        try:
            found = self.patterns()
        except HandloomError:
            return
        vocab = self.training.learner.vocab
        tokens = [vocab.tokens[i] for i in self.ids]
        layers, heads, size = found.shape[:3]
        data = b64encode(as_bytes(found)).decode()
        self.tell("frame", step=step, tokens=tokens, layers=layers, heads=heads, size=size, data=data)

    def patterns(self) -> Array:
        """What every head attends to: (layers, H, T, T)."""
        training, learner = self.training, self.training.learner
        assert isinstance(learner, Learner)
        model = learner.model(training.trainer.arrays(), {})
        with np.errstate(all="ignore"):
            trace: Any = reference.forward(model, self.ids, want=["*.pattern"], dtype=np.float32)[1]
        return np.stack([trace[f"{i}.pattern"] for i in range(model.config.layers)])


def as_bytes(patterns: Array) -> bytes:
    """Shares from 0 to 1 as whole numbers from 0 to 255."""
    return (255.0 * np.nan_to_num(patterns).clip(0.0, 1.0)).round().astype(np.uint8).tobytes()


def input_of(training: Training) -> list[int]:
    """The input that all frames are about: a string that is held out, if there is one, up to what fits into a frame.
    Nothing, if the model has no heads."""
    learner = training.learner
    if not isinstance(learner, Learner) or not learner.config.layers * learner.config.heads:
        return []
    strings = training.held_out if len(training.held_out) else training.strings
    asked, answer = strings.row(0)
    config = learner.config
    fits = math.isqrt(MOST_BYTES // (config.layers * config.heads))
    return [int(i) for i in (*asked, *answer)][:-1][: max(1, min(config.block, fits))]
