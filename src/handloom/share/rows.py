"""Rows of tokens to check an export on: inputs of the model's task with their right answers, or else random tokens.

Hard inputs come first, then random ones, as many as take a moment. One model always has the same rows.
"""

from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

import numpy as np

from handloom.core import HandloomError, Model, params
from handloom.tasks import Language, Task, task_of
from handloom.tasks.certify import answered, some_inputs
from handloom.tasks.language import example_of
from handloom.tasks.task import Ids

INPUTS, FEWER = 500, 50  # to run: as many as WORK allows, but not less than FEWER if MORE_WORK allows these
WORK, MORE_WORK = 10**7, 2 * 10**8  # inputs times positions times parameters; a second runs 5 · 10⁷
TRIES = 4  # draws per row, since some give a row again
LONGEST_WORK = 2 * 10**9  # tokens of the longest row times parameters


@dataclass(frozen=True)
class Row:
    """Tokens, how many predictions at the end of them count, and the right ones, if they are known."""

    tokens: Ids
    last: int
    answer: Ids | None = None


def known_task_of(model: Model, beside: Path | None) -> Task | Language | None:
    """The model's task; None if its notes name none, or one that is not here. `beside` is where a user's own may be."""
    with suppress(HandloomError):
        return task_of(model, beside)
    return None


def inputs_of(model: Model) -> int:
    """How many inputs take a moment."""
    one = model.config.block * params.size(model.config)
    return min(INPUTS, max(WORK // one, min(FEWER, MORE_WORK // one), 1))


def rows_for(model: Model, task: Task | Language | None, most: int = INPUTS) -> list[Row]:
    """Up to `most` different rows of the task, or as many random ones if no input of it fits the block."""
    config, rng, count = model.config, np.random.default_rng(0), min(most, inputs_of(model))
    longest = min(config.block, max(1, LONGEST_WORK // params.size(config)))
    rows = []
    if task is not None and model.vocab.tokens[: len(task.vocab)] == task.vocab.tokens:
        rows = task_rows(task, count, rng)
    if fitting := [row for row in rows if len(row.tokens) <= longest]:
        return fitting
    lengths = rng.integers(1, longest + 1, count).tolist()
    return [Row(rng.integers(0, config.vocab, length).tolist(), length) for length in lengths]


def task_rows(task: Task | Language, count: int, rng: np.random.Generator) -> list[Row]:
    """Hard inputs, up to half of the count, then random ones; fewer if the task has few."""
    known, rows, hard = isinstance(task, Task), {}, []
    if isinstance(task, Task):
        hard = [(prompt, answered(task, prompt)) for prompt in islice(some_inputs(task), count // 2)]
    drawn = (example_of(task, rng) for _ in range(TRIES * count))
    for prompt, answer in chain(hard, drawn):
        tokens = (*prompt, *answer[:-1])
        rows[tokens] = Row([*tokens], len(answer), answer if known else None)
        if len(rows) == count:
            break
    return [*rows.values()]
