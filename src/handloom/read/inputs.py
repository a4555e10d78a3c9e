"""Pairs of inputs: a clean row and another row of the same length, from which something is taken for an experiment.

    pairs = pairs_of(model, task, 256, seed=0)
    for batch in pairs:
        batch.clean, batch.other, batch.answers      # (B, T) each; rows of a batch have one length

A row is a question with as much of its right answer as a run reads. `answers` has the token that is right next, and −1
where the model is not asked. Rows of different lengths cannot be compared position by position, so that a pair always
has one length; of a task with inputs of several lengths there is one batch per length. The other row may be the
beginning of a longer one: if all rows of one length had their `=` in one place, a part that looks for it would seem to
do nothing.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from handloom.core import HandloomError, Model
from handloom.core.arrays import Array
from handloom.core.checks import whole
from handloom.core.errors import shown
from handloom.tasks import Learnable, Task, task_of
from handloom.tasks import task as task_named

FEW_INPUTS = 100  # inputs of a task up to which all pairs of them are gone through
MOST_DRAWS = 4  # for each pair that is wanted: of a small task the same row is drawn again
TRIES = 8  # to find another row for one
NOT_ASKED = -1


@dataclass(frozen=True)
class PairBatch:
    """Rows of one length, (B, T) each."""

    clean: Array
    other: Array
    answers: Array

    def __post_init__(self) -> None:
        if not self.clean.shape == self.other.shape == self.answers.shape:
            raise HandloomError(
                f"a pair: {self.clean.shape[-1]} tokens against {self.other.shape[-1]} (expected one length); "
                "choose inputs with equal numbers of tokens"
            )

    @property
    def asked(self) -> Array:
        """Where an answer is asked for, (B, T)."""
        where: Array = self.answers != NOT_ASKED
        return where


@dataclass(frozen=True)
class Pairs:
    """Batches of pairs; `exhaustive` if they are all pairs of inputs of the task."""

    batches: tuple[PairBatch, ...]
    exhaustive: bool = False

    def __iter__(self) -> Iterator[PairBatch]:
        return iter(self.batches)

    def __len__(self) -> int:
        return sum(len(batch.clean) for batch in self.batches)

    def first(self, count: int) -> "Pairs":
        """Up to this many of them, of every length as many as its share."""
        order = np.concatenate([np.arange(len(batch.clean)) / len(batch.clean) for batch in self.batches])
        chosen = np.zeros(len(self), bool)
        chosen[np.argsort(order, kind="stable")[:count]] = True
        parts = np.split(chosen, np.cumsum([len(batch.clean) for batch in self.batches])[:-1])
        kept = zip(self.batches, parts, strict=True)
        return Pairs(tuple(PairBatch(b.clean[own], b.other[own], b.answers[own]) for b, own in kept if own.any()))


Row = tuple[list[int], list[int]]  # tokens, and the right next ones


def every_pair(model: Model, task: Learnable | None) -> Pairs | None:
    """All pairs of inputs of a task, if it has few inputs."""
    if not isinstance(task, Task) or task.every is None or (task.count or FEW_INPUTS + 1) > FEW_INPUTS:
        return None
    check_vocab(model, task)
    return Pairs(tuple(all_pairs([row_of(model, task, asked) for asked in task.every()])), True)


def pairs_of(model: Model, task: Learnable | str | None = None, count: int = 256, seed: int = 0) -> Pairs:
    """Up to `count` random pairs of inputs of a task, by default the model's."""
    whole("pairs", count, 2)
    task = task_named(task) if isinstance(task, str) else task or task_of(model)
    if task is None:
        raise HandloomError("pairs of inputs: the model's task is not known; name one", ("name task", ""))
    check_vocab(model, task)
    rng = np.random.default_rng(seed)
    batches = list(drawn_pairs(model, task, count, rng))
    if not batches:
        raise HandloomError("pairs of inputs: the task has only one input; choose another task")
    return Pairs(tuple(batches))


def check_vocab(model: Model, task: Learnable) -> None:
    if model.vocab.tokens[: len(task.vocab)] != task.vocab.tokens:
        some = shown(" ".join(task.vocab.tokens[:5]))
        raise HandloomError(f"the task's tokens {some} … are not those of the model; give its own task")


def row_of(model: Model, task: Task, question: list[int]) -> Row:
    answer = task.oracle(question)
    assert answer is not None, "every input has an answer"
    return as_row(model, question, answer)


def as_row(model: Model, question: Sequence[int], answer: Sequence[int]) -> Row:
    """What a run reads of a question and its answer, and the tokens that come next."""
    block = model.config.block
    if not model.config.causal:
        raise HandloomError(
            "pairs of inputs: this model sees both ways and predicts no next token; choose a causal one"
        )
    tokens = [*question, *answer][: block + 1]
    asked = [NOT_ASKED] * (len(question) - 1)
    return tokens[:-1], [*asked, *tokens[len(question) :]]


def by_length(rows: Sequence[Row]) -> Iterator[tuple[list[Row], list[Row]]]:
    """The rows of each length, and all rows that are at least as long."""
    for length in sorted({len(tokens) for tokens, _ in rows}):
        longer = [row for row in rows if len(row[0]) >= length]
        yield [row for row in longer if len(row[0]) == length], longer


def all_pairs(rows: Sequence[Row]) -> Iterator[PairBatch]:
    """Each row with each other one that begins differently."""
    for group, longer in by_length(rows):
        if chosen := [(one, other) for one in group for other in longer if differ(one, other)]:
            yield batch_of(*zip(*chosen, strict=True))


def drawn_pairs(model: Model, task: Learnable, count: int, rng: np.random.Generator) -> Iterator[PairBatch]:
    """Random rows, each with a random other one that begins differently."""
    drawn: dict[tuple[int, ...], Row] = {}
    for question, answer in islice(iter(lambda: task.pair(rng), None), MOST_DRAWS * count):
        row = as_row(model, question, answer)
        drawn.setdefault(tuple(row[0]), row)
        if len(drawn) >= count:
            break
    for group, longer in by_length(list(drawn.values())):
        tried = [(one, longer[i]) for one in group for i in rng.integers(len(longer), size=TRIES)]
        first = {id(one): (one, other) for one, other in reversed(tried) if differ(one, other)}
        if first:
            yield batch_of(*zip(*first.values(), strict=True))


def differ(one: Row, other: Row) -> bool:
    return one[0] != other[0][: len(one[0])]


def batch_of(clean: Sequence[Row], other: Sequence[Row]) -> PairBatch:
    length = len(clean[0][0])
    return PairBatch(
        np.array([tokens for tokens, _ in clean]),
        np.array([tokens[:length] for tokens, _ in other]),
        np.array([answers for _, answers in clean]),
    )
