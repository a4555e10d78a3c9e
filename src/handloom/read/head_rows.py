"""The rows on which heads are named: random tokens with a repeat, and inputs of the model's task.

    random_rows(model, 64, seed=0)              # HeadRows
    task_rows(model, task, 64, seed=0)

Where a head looks should be measured on rows that no habit explains. In random rows the period of the repeat and the
place where it starts are random too: on rows of one fixed period, a head that always looks that many tokens back could
not be told from one that looks for what came before.

But if the inputs of a task have a format, such as 12+34=, random rows make no sense to its model. Such a format shows
in delimiters: tokens that stand in nearly every input exactly once.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from handloom.core import HandloomError, Model
from handloom.core.arrays import Array
from handloom.core.checks import check_tokens, whole
from handloom.core.seeds import Elsewhere, generator
from handloom.tasks import Learnable
from handloom.tasks.language import example_of

LONGEST = 48  # tokens of a random row, if the model reads as many
NEARLY_ALL = 0.9  # rows that have a delimiter


@dataclass(frozen=True)
class HeadRows:
    """Rows of token ids. Positions of a row before its start do not count: there no answer is asked for."""

    kind: str  # random, task or given
    ids: tuple[Array, ...]
    starts: tuple[int, ...]
    delimiters: dict[int, str] = field(default_factory=dict)  # id → token


def random_rows(model: Model, count: int, seed: int, longest: int = LONGEST) -> HeadRows:
    """Random rows that a model can read, each with a repeat. `bos` stands in front, if there is one; other special
    tokens do not occur."""
    rng = generator(whole("seed", seed, 0), Elsewhere.REPEATS)
    vocab, length = model.vocab, min(model.config.block, longest)
    plain = [i for i, token in enumerate(vocab.tokens) if token not in (*vocab.specials, "<mask>")] or [0]
    front = [] if vocab.bos is None else [vocab.id(vocab.bos)]
    rows = [repeated(rng.choice(plain, length), rng, len(front)) for _ in range(whole("rows", count, 1))]
    return given_rows(model, [[*front, *row[len(front) :]] for row in rows], "random")


def repeated(row: Array, rng: np.random.Generator, first: int) -> Array:
    """The row with a part of it repeated once, right behind it. The part's length, which is the period, is random from
    an eighth to a half of the row, and so is its start; the first tokens are in no part."""
    room = len(row) - first
    if room < 2:
        return row
    period = int(rng.integers(max(1, room // 8), room // 2 + 1))
    start = first + int(rng.integers(room - 2 * period + 1))
    middle = start + period
    return np.concatenate([row[:middle], row[start:middle], row[middle + period :]])


def task_rows(model: Model, task: Learnable, count: int, seed: int) -> HeadRows:
    """Inputs of a task with their answers, as far as a model reads them. In a causal model the positions that write the
    answer count, in one that sees both ways all."""
    rng, block = generator(whole("seed", seed, 0), Elsewhere.TASK_ROWS), model.config.block
    pairs = [example_of(task, rng) for _ in range(whole("rows", count, 1))]
    rows = [[*asked, *(answer[:-1] if model.config.causal else answer)][:block] for asked, answer in pairs]
    starts = [min(len(asked), block) - 1 if model.config.causal else 0 for asked, _ in pairs]
    tokens = {i: model.vocab.tokens[i] for i in once_in_each(rows)}
    delimiters = {i: token for i, token in tokens.items() if token not in model.vocab.specials}
    checked = given_rows(model, rows, "task")
    return HeadRows("task", checked.ids, tuple(starts), delimiters)


def given_rows(model: Model, rows: Sequence[Sequence[int]], kind: str = "given") -> HeadRows:
    """Rows of ids as they are; all positions count."""
    if not rows:
        raise HandloomError("there are no rows to look at; give at least one")
    return HeadRows(kind, tuple(check_tokens(model.config, row) for row in rows), (0,) * len(rows))


def once_in_each(rows: Sequence[Sequence[int]]) -> list[int]:
    """Tokens that stand exactly once in nearly every row and in none twice."""
    counts = [Counter(row) for row in rows]
    return [
        token
        for token in sorted(set().union(*counts))
        if max(one[token] for one in counts) == 1 and sum(one[token] for one in counts) >= NEARLY_ALL * len(counts)
    ]
