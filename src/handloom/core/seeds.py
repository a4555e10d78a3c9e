"""Random numbers: one seed per run, and a number for each use of it, so that no two uses draw the same numbers.

    >>> generator(0, Use.SPLIT).random() == generator(0, Use.SPLIT).random()
    True

The numbers are part of the meaning of a seed: with other numbers an existing run would not resume exactly.
"""

from enum import IntEnum

import numpy as np


class Use(IntEnum):
    """What random numbers are for."""

    STRINGS = 0  # drawn from a task, to train on
    SPLIT = 1  # into what is trained on and what is held out
    BATCHES = 2  # and what a step draws besides; with the step's number
    WEIGHTS = 3  # a network starts with
    QUESTIONS = 4  # an evaluation asks
    LORA = 5  # weights that LoRA starts with
    HIDDEN = 6  # tokens hidden in the held-out loss of a masked model
    MASKED = 7  # sampling from a masked model; with the row's number
    DROPOUT = 8  # with the step's number and the lane's
    EVALUATION = 9  # its own seed; with the step's number


class Elsewhere(IntEnum):
    """Outside a training run, whose seeds are others."""

    ABLATION = 1  # strings that an effect is measured on
    PROPOSALS = 5  # constructions drawn from the model of a discovery run; with the number of the first
    ATTEMPTS = 6  # that the model of Wagner's experiment trains on
    CHANCE = 7  # constructions by chance, to compare with
    REPEATS = 8  # rows of random tokens that heads are named on
    TASK_ROWS = 9  # inputs of a task that heads are named on
    ROTATIONS = 10  # that composition is compared with
    IMAGES = 11  # of constructions, that the model of a discovery run trains on; with the generation
    NULLS = 12  # proposals that a model is compared with; with the generation
    REWARDS = 13  # training on rewards; with the generation


def generator(seed: int, use: IntEnum, *more: int) -> np.random.Generator:
    """The generator for one use of a seed."""
    return np.random.default_rng((seed, use, *more))


def derived(seed: int, use: IntEnum, *more: int) -> int:
    """A seed of 64 bits for one use of a seed of any size."""
    return int(np.random.SeedSequence((seed, use, *more)).generate_state(1, np.uint64)[0])
