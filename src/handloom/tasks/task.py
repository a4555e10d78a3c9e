"""A Task: a vocabulary, inputs, and an oracle that knows the right answers.

    >>> from handloom.tasks.extremes import minimum
    >>> task = minimum(20)
    >>> task.answer("6 2 0 12")
    '0'
    >>> task.answer("")
    Traceback (most recent call last):
    handloom.core.errors.HandloomError: this takes 1 to 20 numbers from 0 to 19, such as 6 2 12; it was given ''

Inputs and answers are lists of token ids. Nothing here knows of models: a program is checked against its task, a
training run draws its strings from one.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from handloom.core import HandloomError, Vocab
from handloom.core.checks import whole
from handloom.core.errors import counted, shown

Ids = list[int]
Verdict = Literal["right", "wrong", "malformed"]

LONGEST = 10_000  # tokens of an input: attention over more positions would fill the memory
SHORT = 9  # tokens of an example
COUNTED = 1_000  # tokens of an input up to which all inputs are counted: of longer ones nobody runs all


class Learnable(Protocol):
    """What a model can be trained on: a Task, or a Language."""

    @property
    def vocab(self) -> Vocab: ...

    def pair(self, rng: np.random.Generator) -> tuple[Ids, Ids]:
        """A question and a right answer to it."""

    def verdict(self, question: Ids, output: Ids) -> Verdict:
        """Whether an output is right."""


@dataclass(frozen=True)
class Task:
    """`oracle` gives the answer to an input, or None if it is not an input. `draw` makes a random input. `every`
    iterates over all inputs, if they are few enough, and `count` is their number. `hard` are inputs that programs get
    wrong first. `near(question, output)` tells which outputs count as right besides the oracle's answer, where numbers
    are rounded, and `formed(output)` which are well-formed."""

    takes: str  # for people: "this takes …", with an example
    vocab: Vocab
    oracle: Callable[[Ids], Ids | None]
    draw: Callable[[np.random.Generator], Ids]
    count: int | None = None
    every: Callable[[], Iterable[Ids]] | None = None
    hard: Callable[[], Iterable[Ids]] = tuple
    near: Callable[[Ids, Ids], bool] | None = None
    formed: Callable[[Ids], bool] | None = None
    effort: int = 0  # of the oracle, for one answer: the parameters of a model that takes as long

    def answer(self, text: str) -> str:
        """The right answer to this text, without special tokens."""
        answer = self.oracle(self.vocab.encode(text))
        if answer is None:
            raise HandloomError(f"this takes {self.takes}; it was given {shown(text)}")
        return self.vocab.decode(answer)

    def check(self, text: str) -> None:
        """Raise an error if the text is not an input."""
        try:
            self.answer(text)
        except HandloomError:
            raise HandloomError(f"this takes {self.takes}; it was given {shown(text)}") from None

    def example(self) -> str:
        """A short, telling input, as text. Of a hundred random ones: those with something to answer, of these those of
        up to SHORT tokens, or the shortest, and of these the one with the most different tokens, counting its
        answer's."""
        rng = np.random.default_rng(0)
        drawn = [self.draw(rng) for _ in range(100)]

        def rank(pair: tuple[Ids, Ids]) -> tuple[bool, int, int, int]:
            asked, answer = pair
            return not self.vocab.decode(answer), max(len(asked), SHORT), -len({*asked, *answer}), len(asked)

        asked, _ = min(((ids, self.oracle(ids) or []) for ids in drawn), key=rank)
        return self.vocab.decode(asked)

    def pair(self, rng: np.random.Generator) -> tuple[Ids, Ids]:
        """A random input and its answer."""
        question = self.draw(rng)
        answer = self.oracle(question)
        assert answer is not None, f"{self.vocab.decode(question)} was drawn and is not an input"
        return question, answer

    def verdict(self, question: Ids, output: Ids) -> Verdict:
        """Whether an output is right, given the input."""
        if output == self.oracle(question):
            return "right"
        if self.formed is not None and not self.formed(output):
            return "malformed"
        return "right" if self.near is not None and self.near(question, output) else "wrong"


def whole_within(name: str, value: int, least: int, most: int) -> int:
    """A parameter that is a whole number, neither too small nor too large for the memory."""
    if whole(name, value, least) > most:
        raise HandloomError(f"{name}={shown(value)} must be at most {most}")
    return int(value)


def check_longest(what: str, tokens: int) -> None:
    """Raise an error about parameters, named in `what`, that make inputs and answers longer than can be run."""
    if tokens > LONGEST:
        raise HandloomError(f"{what}: texts of {counted(tokens)} tokens (expected up to {LONGEST:,}); choose smaller")


def count_of_sequences(values: int, longest: int) -> int | None:
    """The number of sequences of 1 to `longest` tokens over a vocabulary; None if these are very long."""
    return sum(values**length for length in range(1, longest + 1)) if longest <= COUNTED else None
