"""Evaluation: what a model says, measured by its task.

Of a Language strings are sampled; of a Task fresh questions are asked, and the likeliest answer counts. New is a string
(or a question) that was not in the training set.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from handloom.core import HandloomError
from handloom.core.errors import told
from handloom.learn.strings import Strings, drawn
from handloom.tasks import Language
from handloom.tasks.task import Ids, Learnable, Verdict

Say = Callable[[Sequence[Ids], float], list[Ids]]  # prompts, temperature → what is said after each


@dataclass(frozen=True)
class Evaluation:
    """Shares of the samples. Malformed ones are not right; of the others some are new, and some known: they were in the
    training set. None is what cannot be told: without a task nothing is judged, and without its run a model's training
    set is not known."""

    success: float | None
    new: float | None
    known: float | None
    malformed: float | None
    samples: tuple[str, ...]

    def __str__(self) -> str:
        shares = {"right": self.success, "new": self.new, "known": self.known, "malformed": self.malformed}
        told = ", ".join(f"{share:.1%} {name}" for name, share in shares.items() if share is not None)
        return told or "not judged: the model's task is not known"

    def to_json(self) -> dict[str, Any]:
        return {"success": self.success, "new": self.new, "known": self.known, "malformed": self.malformed}


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
        rng = np.random.default_rng((seed, 4))
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
        known = sum(
            bytes_of(said if self.language else a) in self.known and verdict != "malformed"
            for a, said, verdict in zip(asked, answers, verdicts, strict=True)
        )
        count, right, malformed = max(1, len(verdicts)), verdicts.count("right"), verdicts.count("malformed")
        new = len(verdicts) - known - malformed
        vocab = self.task.vocab
        texts = tuple(vocab.decode([*([] if self.language else a), *s]) for a, s in zip(asked, answers, strict=True))
        return Evaluation(right / count, new / count, known / count, malformed / count, texts)


def bytes_of(ids: Ids) -> bytes:
    return np.array(ids, np.int32).tobytes()
