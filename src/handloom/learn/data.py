"""The dataset of a run: which strings are trained on, which are held out, and what they are.

    >>> from handloom.tasks import task
    >>> print(Data.of(task("strings:length=1-5"), 1000, seed=0))
    1,000 strings (62 distinct) of 1 to 5 tokens, alphabet 0 1; 6 distinct strings held out

A string is held out with all its copies, so that none of them is trained on. Of a Task questions are held out. Which
ones follows from the seed.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np

from handloom.core import HandloomError, Vocab
from handloom.core.errors import shown, told
from handloom.core.seeds import Use, generator
from handloom.learn.batches import Strings
from handloom.tasks import Language
from handloom.tasks.language import drawn
from handloom.tasks.task import Learnable

USUAL = 10_000  # strings drawn from a task by default
MOST = 1_000  # strings held out, up to a tenth of all
LEAST = 10  # distinct strings; of fewer none is held out
CHECKED = 200  # strings that a task's own rule is tried on before training


@dataclass(frozen=True)
class Data:
    """All strings, those that are trained on, those that are held out, and the vocabulary they are written in."""

    strings: Strings
    train: Strings
    held_out: Strings  # none, where there are too few distinct ones
    vocab: Vocab

    @classmethod
    def of(cls, task: Learnable, count: int, seed: int) -> "Data":
        strings = collect(task, count, seed)
        return cls(strings, *split(strings, seed), task.vocab)

    @property
    def measured(self) -> Strings:
        """What the loss is measured on at evaluations: what is held out, or if nothing is, what is trained on."""
        return self.held_out if len(self.held_out) else self.train.part(range(min(MOST, len(self.train))))

    @property
    def loss_of(self) -> str:
        """What that loss is, in words."""
        return "held out" if len(self.held_out) else "trained on"

    def to_json(self) -> dict[str, Any]:
        """What the dataset is, in numbers."""
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

    def alphabet(self) -> str:
        """The tokens that occur."""
        found = set(np.unique(self.strings.ids).tolist())
        special = {self.vocab.bos, self.vocab.eos, self.vocab.pad}
        tokens = tuple(token for i, token in enumerate(self.vocab.tokens) if i in found and token not in special)
        return Vocab(tokens).sample() if tokens else "empty"

    def __str__(self) -> str:
        about = self.to_json()
        what = "questions" if self.asks else "strings"
        few = "all distinct" if about["distinct"] == len(self.strings) else f"{about['distinct']:,} distinct"
        long = " to ".join(f"{n:,}" for n in sorted({about["shortest"], about["longest"]}))
        long += " tokens with their answers" if self.asks else " tokens"
        return (
            f"{len(self.strings):,} {what} ({few}) of {long}, alphabet {about['alphabet']}; "
            f"{self.told_of_held_out(about, what)}"
        )

    def told_of_held_out(self, about: dict[str, Any], what: str) -> str:
        if not len(self.held_out):
            return f"none held out: that takes {LEAST} distinct {what}"
        return f"{about['held_out']:,} distinct {what} held out"


def collect(task: Learnable, count: int, seed: int) -> Strings:
    """`count` examples of a task, or up to `count` lines of a text file; 0: 10,000, or all lines."""
    rng = generator(seed, Use.STRINGS)
    if isinstance(task, Language) and task.lines is not None:
        chosen = np.sort(rng.permutation(len(task.lines))[: count or None])
        return Strings.of([task.framed(task.lines[i]) for i in chosen])
    return Strings.of([drawn(task, rng) for _ in range(count or USUAL)])


def check_draws(task: Learnable, strings: Strings) -> None:
    """Refuse a task that does not call right what it draws itself."""
    for i in range(min(CHECKED, len(strings))):
        asked, said = strings.row(i)
        try:
            verdict = task.verdict(asked, said)
        except Exception as error:
            raise HandloomError(f"the task could not judge a string that it drew: {told(error)}") from error
        if verdict != "right":
            text = shown(task.vocab.decode([*asked, *said]))
            raise HandloomError(
                f"the task draws {text} and calls it {verdict} (expected right); correct its draw or its rule"
            )


def differ(strings: Strings) -> bool:
    """Whether questions differ; in a Language all rows ask the same."""
    return len({question(strings, i) for i in range(len(strings))}) > 1


def question(strings: Strings, row: int) -> bytes:
    start = strings.starts[row]
    return strings.ids[start : start + strings.asked[row]].tobytes()


def keys(strings: Strings, asks: bool) -> list[bytes]:
    """What makes each row what it is: its question, or where all ask the same, the whole of it."""
    if asks:
        return [question(strings, i) for i in range(len(strings))]
    return [strings.ids[start:end].tobytes() for start, end in zip(strings.starts, strings.starts[1:], strict=False)]


def split(strings: Strings, seed: int) -> tuple[Strings, Strings]:
    """To train on, and held out: a tenth of the distinct strings, up to a thousand, drawn at random, with all their
    copies, as far as these are no more than a tenth of all rows."""
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
