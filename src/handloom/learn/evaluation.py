"""Evaluation: the outputs of a model, measured by its task.

For a Language, strings are sampled. For a Task, fresh questions are drawn, and the likeliest answer counts. A string
(or a question) is new if it was not in the training set. Every evaluation of a run draws its own: its seed is made of
the run's seed and the step.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np

from handloom.core.errors import in_users_code
from handloom.core.seeds import Use, derived, generator
from handloom.learn.data import Strings
from handloom.tasks import Language
from handloom.tasks.language import example_of
from handloom.tasks.task import Ids, Learnable, Verdict

Sampler = Callable[[Sequence[Ids], float], list[Ids]]  # prompts, temperature → the output for each


@dataclass(frozen=True)
class Evaluation:
    """Shares of the samples. Malformed ones are not right; the others are new, or known from the training set.
    `right_of_new` is a share of the new ones, None if there are none. Without a rule, as for a text file, whatever is
    not malformed counts as right; that is not shown. None stands for unknown: without a task nothing is judged, and
    without its run a model's training set is unknown."""

    success: float | None
    new: float | None
    known: float | None
    malformed: float | None
    samples: tuple[str, ...]
    right_of_new: float | None = None
    has_rule: bool = True
    marks: tuple[str, ...] = ()  # of each sample: right, wrong or malformed; of one that was trained on, known

    def __str__(self) -> str:
        right = None if self.success is None or not self.has_rule else f"{self.success:.1%} right"
        if right and self.right_of_new is not None:
            right += f" ({self.right_of_new:.1%} of the new)"
        shares = {"new": self.new, "known": self.known, "malformed": self.malformed}
        told = [right, *(None if share is None else f"{share:.1%} {name}" for name, share in shares.items())]
        return ", ".join(filter(None, told)) or "not judged: the model's task is not known"

    def to_json(self) -> dict[str, Any]:
        names = ("success", "right_of_new", "new", "known", "malformed")
        return {name: getattr(self, name) for name in names}


class Examiner:
    """Judges the outputs of a model by its task and its training set. If that is not `known`, some strings of the task
    stand in for it, and which outputs are new is not told."""

    def __init__(self, task: Learnable, trained_on: Strings, known: bool = True) -> None:
        self.task = task
        self.language = isinstance(task, Language)
        self.temperature = 1.0 if self.language else 0.0  # strings are sampled; a question has one right answer
        rows = [trained_on.row(i) for i in range(len(trained_on))]
        self.tells_new = known
        self.known = {bytes_of(answer if self.language else asked) for asked, answer in rows}
        self.longest_question = max(len(asked) for asked, _ in rows)
        self.lengths = sorted(len(answer) for _, answer in rows)  # of answers
        self.ended = all(self.ends(answer) for _, answer in rows)
        self.differences = {len(answer) - len(asked) for asked, answer in rows}

    def ends(self, answer: Ids) -> bool:
        """Whether a right answer ends with the token for it; otherwise only its length tells where it ends. The oracle
        may leave out such a token of the vocabulary: what the oracle gives is the answer, for `certify` too."""
        eos = self.task.vocab.eos
        return eos is not None and answer[-1:] == [self.task.vocab.id(eos)]

    def questions(self, count: int, seed: int) -> list[tuple[Ids, Ids]]:
        """Questions, of a Task with their answers."""
        rng = generator(seed, Use.QUESTIONS)
        if isinstance(self.task, Language):
            return [([self.task.vocab.id(self.task.vocab.bos or "")], [])] * count
        pairs = (example_of(self.task, rng) for _ in range(100 * count))
        return list(islice((pair for pair in pairs if len(pair[0]) <= self.longest_question), count))

    def decode_notes(self) -> dict[str, Any]:
        """How long an answer is, if no token ends it: a fixed length, or a fixed length more than its question."""
        if self.ended:
            return {}
        if self.lengths[0] == self.lengths[-1]:
            return {"decode_steps": self.lengths[0]}
        return {"decode_steps": [1, min(self.differences)]} if len(self.differences) == 1 else {}

    def examine(self, sampler: Sampler, count: int, seed: int) -> Evaluation:
        questions = self.questions(count, seed)
        return self.judge(questions, sampler([asked for asked, _ in questions], self.temperature))

    def judge(self, questions: Sequence[tuple[Ids, Ids]], answers: Sequence[Ids]) -> Evaluation:
        """Judge answers to questions, each given with its right answer, if there is one."""
        if not self.language:
            pairs = zip(answers, questions, strict=True)
            answers = [new if self.ends(right) else new[: len(right)] for new, (_, right) in pairs]
        asked = [asked for asked, _ in questions]
        with in_users_code("the task could not judge a sample"):
            verdicts: list[Verdict] = [self.task.verdict(a, new) for a, new in zip(asked, answers, strict=True)]
        vocab = self.task.vocab
        texts = tuple(vocab.decode([*([] if self.language else a), *s]) for a, s in zip(asked, answers, strict=True))
        known = [bytes_of(new if self.language else a) in self.known for a, new in zip(asked, answers, strict=True)]
        found = counted(verdicts, known, texts, has_rule=not isinstance(self.task, Language) or self.task.has_rule)
        if self.tells_new:
            return found
        marks = tuple("right" if mark in ("known", "new") else mark for mark in found.marks)
        return replace(found, new=None, known=None, right_of_new=None, marks=marks)


def counted(verdicts: Sequence[Verdict], known: Sequence[bool], texts: tuple[str, ...], has_rule: bool) -> Evaluation:
    """Samples, the task's verdict on each, and whether it was trained on, as shares."""
    formed = [(verdict, old) for verdict, old in zip(verdicts, known, strict=True) if verdict != "malformed"]
    new = [verdict for verdict, old in formed if not old]
    count = max(1, len(verdicts))
    return Evaluation(
        success=verdicts.count("right") / count,
        new=len(new) / count,
        known=(len(formed) - len(new)) / count,
        malformed=(len(verdicts) - len(formed)) / count,
        samples=texts,
        right_of_new=new.count("right") / len(new) if new else None,
        has_rule=has_rule,
        marks=tuple(mark_of(verdict, old, has_rule) for verdict, old in zip(verdicts, known, strict=True)),
    )


def mark_of(verdict: Verdict, known: bool, has_rule: bool) -> str:
    """One word for a sample. Of a text file, which has no rule, nothing is right or wrong, but known or new."""
    if verdict != "right":
        return verdict
    return "known" if known else "right" if has_rule else "new"


def seed_at(seed: int, step: int) -> int:
    """The seed of the evaluation at a step: other samples at every step, the same ones in a resumed run."""
    return derived(seed, Use.EVALUATION, step)


def bytes_of(ids: Ids) -> bytes:
    return np.array(ids, np.int32).tobytes()
