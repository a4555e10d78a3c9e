"""The dataset of a run: its strings, all in memory; which are trained on, which are held out; the rows of a step.

    >>> from handloom.tasks import task
    >>> print(Data.of(task("strings:length=1-5"), Settings(count=1000)))
    1,000 strings (62 distinct) of 1 to 5 tokens, alphabet 0 1; 6 distinct strings held out

A string is held out with all its copies, so that none of them is trained on. Of a Task, questions are held out. With a
fraction, all inputs of a finite Task are in the dataset, and all that are not trained on are held out. The seed decides
which. The seed and the number of a step decide which rows are in its batch, or what is drawn anew for it, so a run can
resume at any step.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np

from handloom.core import HandloomError, Vocab
from handloom.core.arrays import Array
from handloom.core.errors import in_users_code, shown
from handloom.core.seeds import Use, generator
from handloom.learn.settings import Settings
from handloom.tasks import Language, Task
from handloom.tasks.language import example_of
from handloom.tasks.splits import split_inputs
from handloom.tasks.task import Ids, Learnable

DEFAULT_COUNT = 10_000  # strings drawn from a task by default
MOST = 1_000  # strings held out, up to a tenth of all
LEAST = 10  # distinct strings needed to hold any out
NOTHING = -1  # a target that is not predicted
TRIES = 100  # draws for each string of a fresh batch
CHECKED = 200  # strings on which a task's own rule is tried before training


@dataclass(frozen=True)
class Strings:
    """Rows of token ids, one after the other. The first `asked` tokens of each row are given, the others predicted.
    With `targets` all tokens are given, and after each its target is predicted, or nothing."""

    ids: Array  # (all tokens,)
    starts: Array  # (rows + 1,), where each row begins, and the end
    asked: Array  # (rows,)
    targets: Array | None = None  # (all tokens,), a token or NOTHING

    @classmethod
    def of(cls, pairs: Sequence[tuple[Ids, Ids]]) -> "Strings":
        lengths = [len(asked) + len(answer) for asked, answer in pairs]
        ids = np.fromiter((token for pair in pairs for part in pair for token in part), np.int64, sum(lengths))
        return cls(
            ids,
            np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]),
            np.array([len(a) for a, _ in pairs], np.int64),
        )

    @classmethod
    def labelled(cls, inputs: Any, targets: Any) -> "Strings":
        """Rows of one length, with a target at every place: both are (B, T), and a target may be NOTHING."""
        inputs, targets = (np.ascontiguousarray(array, np.int64) for array in (inputs, targets))
        if inputs.ndim != 2 or inputs.shape != targets.shape:
            text = f"inputs have shape {inputs.shape} and targets {targets.shape}"
            raise HandloomError(f"{text} (expected the same shape, rows × tokens); give every token a target or −1")
        rows, length = inputs.shape
        return cls(inputs.ravel(), np.arange(rows + 1) * length, np.zeros(rows, np.int64), targets.ravel())

    def __len__(self) -> int:
        return len(self.asked)

    @property
    def lengths(self) -> Array:
        return np.diff(self.starts)

    @property
    def read(self) -> Array:
        """How many tokens of each row a model reads: all with targets, otherwise all but the last."""
        return self.lengths - (self.targets is None)

    def predicted(self, rows: Array) -> int:
        """The number of tokens predicted in these rows."""
        if self.targets is None:
            return int((self.lengths[rows] - np.maximum(1, self.asked[rows])).sum())
        return sum(int((self.targets[self.starts[i] : self.starts[i + 1]] != NOTHING).sum()) for i in rows)

    def row(self, i: int) -> tuple[Ids, Ids]:
        """The question of a row, and the answer."""
        row = self.ids[self.starts[i] : self.starts[i + 1]].tolist()
        return row[: self.asked[i]], row[self.asked[i] :]

    def part(self, rows: Sequence[int] | Array) -> "Strings":
        places = np.concatenate([np.arange(0), *(np.arange(self.starts[i], self.starts[i + 1]) for i in rows)])
        chosen = np.asarray(rows, np.int64)
        starts = np.concatenate([[0], np.cumsum(self.lengths[chosen])])
        targets = None if self.targets is None else self.targets[places]
        return Strings(self.ids[places], starts, self.asked[chosen], targets)


@dataclass(frozen=True)
class Data:
    """All strings, the training set, the held-out set, and their vocabulary."""

    strings: Strings
    train: Strings
    held_out: Strings  # empty if there are too few distinct strings
    vocab: Vocab
    fresh: bool = False  # every batch is drawn anew; then `train` is not trained on, but tells what strings look like

    @classmethod
    def of(cls, task: Learnable, settings: Settings) -> "Data":
        """Strings drawn from a task, a tenth of them held out; or all inputs, of which a fraction is trained on."""
        count, seed, fraction = settings.count, settings.seed, settings.fraction
        if settings.fresh and isinstance(task, Language) and task.lines is not None:
            raise HandloomError("fresh: a text file has no other strings than its lines; leave it out")
        if fraction:
            train, held_out = (answered(task, inputs) for inputs in split_inputs(task, fraction, seed))
            return cls(Strings.of([*train, *held_out]), Strings.of(train), Strings.of(held_out), task.vocab)
        strings = collect(task, count, seed)
        return cls(strings, *split(strings, seed), task.vocab, settings.fresh)

    @cached_property
    def measured(self) -> Strings:
        """The strings on which evaluations measure the loss: held out, or if there are none, from the training set."""
        return self.held_out if len(self.held_out) else self.train.part(range(min(MOST, len(self.train))))

    @property
    def loss_of(self) -> str:
        """What that loss is of, in words."""
        return "held out" if len(self.held_out) else "trained on"

    def to_json(self) -> dict[str, Any]:
        """The dataset in numbers."""
        return dict(self.numbers)

    @cached_property
    def numbers(self) -> dict[str, Any]:
        length = self.strings.lengths - (0 if self.asks else 2)  # without the tokens that begin and end a string
        return {
            "strings": len(self.strings),
            "distinct": len(self.distinct(self.strings)),
            "shortest": int(length.min()),
            "longest": int(length.max()),
            "alphabet": self.alphabet(),
            "held_out": len(self.distinct(self.held_out)),
        }

    @cached_property
    def asks(self) -> bool:
        """Whether these are questions with answers."""
        return differ(self.strings)

    def distinct(self, some: Strings) -> set[bytes]:
        return set(keys(some, self.asks))

    @cached_property
    def unseen(self) -> set[bytes]:
        """What identifies the rows held out."""
        return self.distinct(self.held_out)

    def alphabet(self) -> str:
        """The tokens that occur."""
        found = set(np.unique(self.strings.ids).tolist())
        special = {self.vocab.bos, self.vocab.eos, self.vocab.pad}
        tokens = tuple(token for i, token in enumerate(self.vocab.tokens) if i in found and token not in special)
        return Vocab(tokens).sample() if tokens else "empty"

    def __str__(self) -> str:
        about = self.numbers
        what = "questions" if self.asks else "strings"
        few = "all distinct" if about["distinct"] == len(self.strings) else f"{about['distinct']:,} distinct"
        long = " to ".join(f"{n:,}" for n in sorted({about["shortest"], about["longest"]}))
        long += " tokens with their answers" if self.asks else " tokens"
        out = f"{about['held_out']:,} distinct {what} held out"
        if not len(self.held_out):
            out = f"none held out: that takes {LEAST} distinct {what}"
        drawn = "; every batch drawn anew" if self.fresh else ""
        return f"{len(self.strings):,} {what} ({few}) of {long}, alphabet {about['alphabet']}; {out}{drawn}"


def collect(task: Learnable, count: int, seed: int) -> Strings:
    """`count` examples of a task, or up to `count` lines of a text file; 0: 10,000, or all lines."""
    rng = generator(seed, Use.STRINGS)
    if isinstance(task, Language) and task.lines is not None:
        chosen = np.sort(rng.permutation(len(task.lines))[: count or None])
        return Strings.of([task.framed(task.lines[i]) for i in chosen])
    return Strings.of([example_of(task, rng) for _ in range(count or DEFAULT_COUNT)])


def answered(task: Learnable, inputs: Sequence[Ids]) -> list[tuple[Ids, Ids]]:
    """The inputs of a Task with their answers."""
    assert isinstance(task, Task)
    with in_users_code("the task could not answer its inputs"):
        return [(ids, task.oracle(ids) or []) for ids in inputs]


def rows_of_step(strings: Strings, batch: int, seed: int, step: int) -> tuple[Array, np.random.Generator]:
    """The rows of a step's batch, drawn with replacement, and the generator for whatever else the step draws."""
    rng = generator(seed, Use.BATCHES, step)
    return rng.integers(0, len(strings), batch), rng


def fresh_strings(task: Learnable, data: Data, batch: int, rng: np.random.Generator) -> Strings:
    """A batch drawn from a task: strings that are not held out, and no longer than the dataset's longest, for which the
    model is made."""
    longest, pairs = int(data.strings.lengths.max()), list[tuple[Ids, Ids]]()
    for _ in range(TRIES * batch):
        asked, answer = example_of(task, rng)
        row = asked if data.asks else [*asked, *answer]
        if len(asked) + len(answer) <= longest and np.array(row, np.int64).tobytes() not in data.unseen:
            pairs.append((asked, answer))
        if len(pairs) == batch:
            return Strings.of(pairs)
    raise HandloomError(f"fresh: of {TRIES * batch} strings drawn, too few are not held out; train on a stored set")


def check_draws(task: Learnable, strings: Strings) -> None:
    """Raise an error if a task does not call right what it draws itself."""
    for i in range(min(CHECKED, len(strings))):
        asked, answer = strings.row(i)
        with in_users_code("the task could not judge a string that it drew"):
            verdict = task.verdict(asked, answer)
        if verdict != "right":
            text = shown(task.vocab.decode([*asked, *answer]))
            raise HandloomError(
                f"the task draws {text} and calls it {verdict} (expected right); correct its draw or its rule"
            )


def differ(strings: Strings) -> bool:
    """Whether questions differ; in a Language all rows have the same."""
    return len({question(strings, i) for i in range(len(strings))}) > 1


def question(strings: Strings, row: int) -> bytes:
    start = strings.starts[row]
    return strings.ids[start : start + strings.asked[row]].tobytes()


def keys(strings: Strings, asks: bool) -> list[bytes]:
    """What identifies each row: its question, or if all have the same, the whole row."""
    if asks:
        return [question(strings, i) for i in range(len(strings))]
    return [strings.ids[start:end].tobytes() for start, end in zip(strings.starts, strings.starts[1:], strict=False)]


def split(strings: Strings, seed: int) -> tuple[Strings, Strings]:
    """The training set and the held-out set: a tenth of the distinct strings, up to a thousand, drawn at random, with
    all their copies, as long as these are no more than a tenth of all rows."""
    rows: dict[bytes, list[int]] = {}
    for i, key in enumerate(keys(strings, differ(strings))):
        rows.setdefault(key, []).append(i)
    copies, rng = list(rows.values()), generator(seed, Use.SPLIT)
    held_out: list[int] = []
    if len(copies) >= LEAST:
        fitting = (copies[i] for i in rng.permutation(len(copies)) if len(copies[i]) <= len(strings) // 10)
        for some in islice(fitting, min(MOST, len(copies) // 10)):
            if len(held_out) + len(some) <= len(strings) // 10:
                held_out += some
    others = np.setdiff1d(np.arange(len(strings)), held_out)
    return strings.part(others), strings.part(np.sort(rng.permutation(held_out)[:MOST].astype(int)))
