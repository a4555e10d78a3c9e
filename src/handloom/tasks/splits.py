"""All inputs of a task, split at random into those that are trained on and those that are held out.

    >>> from handloom.tasks.numbers import addition_modulo
    >>> known, new = split_inputs(addition_modulo(7), fraction=0.5, seed=0)
    >>> len(known), len(new)
    (24, 25)

Grokking needs such a split: a model is trained for long on a fixed part of all inputs, and learns the others suddenly.
The split is here because both sides need it: `learn` to train, `read` to measure a run's checkpoints on both parts.
"""

import numpy as np

from handloom.core import HandloomError
from handloom.core.errors import in_users_code
from handloom.core.seeds import Use, generator
from handloom.tasks.task import Ids, Learnable, Task

MOST_INPUTS = 1_000_000  # that are listed in memory


def split_inputs(task: Learnable, fraction: float, seed: int) -> tuple[list[Ids], list[Ids]]:
    """A fraction of all inputs of a task, and the others, each in the task's own order."""
    if not isinstance(task, Task) or task.every is None or task.count is None or task.count > MOST_INPUTS:
        raise HandloomError(
            f"fraction={fraction:g}: not all inputs of this task can be listed (expected a task with up to "
            f"{MOST_INPUTS:,} inputs, such as modular-addition); leave fraction out"
        )
    with in_users_code("the task could not list its inputs"):
        inputs = list(task.every())
    chosen = np.zeros(len(inputs), bool)
    chosen[generator(seed, Use.SPLIT).permutation(len(inputs))[: int(fraction * len(inputs))]] = True
    parts: tuple[list[Ids], list[Ids]] = ([], [])
    for ids, known in zip(inputs, chosen, strict=True):
        parts[not known].append(ids)
    if not parts[0]:
        raise HandloomError(f"fraction={fraction:g} of {len(inputs):,} inputs is none; choose a larger fraction")
    return parts
