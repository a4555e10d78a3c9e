"""Evaluation: what a model says, measured by its task.

Of a Language strings are sampled; of a Task fresh questions are asked, and the likeliest answer counts. New is a string
(or a question) that was not in the training set. Every evaluation of a run draws its own: the seed is made of the run's
and of the step.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from handloom.core import HandloomError
from handloom.core.errors import told
from handloom.core.seeds import Use, derived, generator
from handloom.learn.batches import Strings
from handloom.tasks import Language
from handloom.tasks.language import drawn
from handloom.tasks.task import Ids, Learnable, Verdict

Say = Callable[[Sequence[Ids], float], list[Ids]]  # prompts, temperature → what is said after each


@dataclass(frozen=True)
class Evaluation:
    """Shares of the samples. Malformed ones are not right; of the others some are new, and some known: they were in the
    training set. `right_of_new` is a share of the new ones, None if there are none. Without a rule (a text file has
    none) whatever is not malformed counts as right, which says nothing and is not shown. None is what cannot be told:
    without a task nothing is judged, and without its run a model's training set is not known."""

    success: float | None
    new: float | None
    known: float | None
    malformed: float | None
    samples: tuple[str, ...]
    right_of_new: float | None = None
    has_rule: bool = True

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
    """Knows a task and what was learnt from."""

    def __init__(self, task: Learnable, learnt: Strings) -> None:
        self.task = task
        self.language = isinstance(task, Language)
        self.temperature = 1.0 if self.language else 0.0  # strings are drawn; to a question one answer is right
        rows = [learnt.row(i) for i in range(len(learnt))]
        self.known = {bytes_of(said if self.language else asked) for asked, said in rows}
        self.longest_question = max(len(asked) for asked, _ in rows)
        self.lengths = sorted(len(said) for _, said in rows)  # of answers
        self.differences = {len(said) - len(asked) for asked, said in rows}

    def questions(self, count: int, seed: int) -> list[tuple[Ids, Ids]]:
        """What to ask; for a Task with its answer."""
        rng = generator(seed, Use.QUESTIONS)
        if isinstance(self.task, Language):
            return [([self.task.vocab.id(self.task.vocab.bos or "")], [])] * count
        pairs = (drawn(self.task, rng) for _ in range(100 * count))
        return list(islice((pair for pair in pairs if len(pair[0]) <= self.longest_question), count))

    def decode_notes(self) -> dict[str, Any]:
        """How long an answer is, where no token ends it: always the same, or as much more than the question."""
        if self.task.vocab.eos is not None:
            return {}
        if self.lengths[0] == self.lengths[-1]:
            return {"decode_steps": self.lengths[0]}
        return {"decode_steps": [1, min(self.differences)]} if len(self.differences) == 1 else {}

    def examine(self, say: Say, count: int, seed: int) -> Evaluation:
        questions = self.questions(count, seed)
        return self.judge(questions, say([asked for asked, _ in questions], self.temperature))

    def judge(self, questions: Sequence[tuple[Ids, Ids]], answers: Sequence[Ids]) -> Evaluation:
        """What to think of answers to questions, each with an answer that is right, if there is one."""
        if not self.language and self.task.vocab.eos is None:  # nothing says where an answer ends but its length
            answers = [said[: len(right)] for said, (_, right) in zip(answers, questions, strict=True)]
        asked = [asked for asked, _ in questions]
        try:
            verdicts: list[Verdict] = [self.task.verdict(a, said) for a, said in zip(asked, answers, strict=True)]
        except HandloomError:
            raise
        except Exception as error:
            raise HandloomError(f"the task could not judge a sample: {told(error)}") from error
        vocab = self.task.vocab
        texts = tuple(vocab.decode([*([] if self.language else a), *s]) for a, s in zip(asked, answers, strict=True))
        known = [bytes_of(said if self.language else a) in self.known for a, said in zip(asked, answers, strict=True)]
        return counted(verdicts, known, texts, has_rule=not isinstance(self.task, Language) or self.task.has_rule)


def counted(verdicts: Sequence[Verdict], known: Sequence[bool], texts: tuple[str, ...], has_rule: bool) -> Evaluation:
    """Samples, what the task thinks of each, and whether it was trained on, as shares."""
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
    )


def seed_at(seed: int, step: int) -> int:
    """The seed of the evaluation at a step: other samples every time, and the same ones when a run is resumed."""
    return derived(seed, Use.EVALUATION, step)


def bytes_of(ids: Ids) -> bytes:
    return np.array(ids, np.int32).tobytes()
