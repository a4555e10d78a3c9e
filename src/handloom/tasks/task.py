"""A Task: a vocabulary, inputs, and an oracle that says what is right.

    >>> from handloom.tasks.extremes import minimum
    >>> task = minimum(20)
    >>> task.answer("6 2 0 12")
    '0'
    >>> task.answer("")
    Traceback (most recent call last):
    handloom.core.errors.HandloomError: this takes 1 to 20 numbers from 0 to 19, such as 6 2 12; it was given ''

Inside, inputs and answers are lists of token ids. Nothing here knows of models: a program is held against its task,
a training run is fed by one.
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

LONGEST = 10_000  # tokens of an input: attention over more, position by position, would fill the memory
SHORT = 9  # tokens of an example
COUNTED = 1_000  # tokens of an input up to which all inputs are counted: nobody goes through more


class Learnable(Protocol):
    """What a model can be trained on: a Task, or a Language."""

    @property
    def vocab(self) -> Vocab: ...

    def pair(self, rng: np.random.Generator) -> tuple[Ids, Ids]:
        """Something asked and an answer that is right."""

    def verdict(self, asked: Ids, said: Ids) -> Verdict:
        """What to think of an answer."""


@dataclass(frozen=True)
class Task:
    """`oracle` gives the answer to an input, or None to what is not an input. `draw` makes a random input. `every`
    goes through all inputs, where there are few enough, and `count` says how many there are. `hard` are inputs that
    programs get wrong first. `near` says which answers count as right besides the oracle's, where numbers are rounded,
    and `formed` which are answers at all."""

    takes: str  # for people: "this takes …", with an example
    vocab: Vocab
    oracle: Callable[[Ids], Ids | None]
    draw: Callable[[np.random.Generator], Ids]
    count: int | None = None
    every: Callable[[], Iterable[Ids]] | None = None
    hard: Callable[[], Iterable[Ids]] = tuple
    near: Callable[[Ids, Ids], bool] | None = None
    formed: Callable[[Ids], bool] | None = None

    def answer(self, text: str) -> str:
        """What is right to say after this text, special tokens left out."""
        said = self.oracle(self.vocab.encode(text))
        if said is None:
            raise HandloomError(f"this takes {self.takes}; it was given {shown(text)}")
        return self.vocab.decode(said)

    def check(self, text: str) -> None:
        """Refuse what is not an input."""
        try:
            self.answer(text)
        except HandloomError:
            raise HandloomError(f"this takes {self.takes}; it was given {shown(text)}") from None

    def example(self) -> str:
        """A short input that shows something, as text: of the hundred random ones one of SHORT tokens, or the shortest,
        and of these the one with most different tokens, its answer's among them."""
        rng = np.random.default_rng(0)
        drawn = [self.draw(rng) for _ in range(100)]
        different = {tuple(ids): len({*ids, *(self.oracle(ids) or ())}) for ids in drawn}
        short = sorted(different, key=lambda ids: (max(len(ids), SHORT), -different[ids], len(ids)))
        return self.vocab.decode(short[0])

    def pair(self, rng: np.random.Generator) -> tuple[Ids, Ids]:
        """A random input and its answer."""
        asked = self.draw(rng)
        answer = self.oracle(asked)
        assert answer is not None, f"{self.vocab.decode(asked)} was drawn and is not an input"
        return asked, answer

    def verdict(self, asked: Ids, said: Ids) -> Verdict:
        """What to think of an answer to an input."""
        if said == self.oracle(asked):
            return "right"
        if self.formed is not None and not self.formed(said):
            return "malformed"
        return "right" if self.near is not None and self.near(asked, said) else "wrong"


def whole_within(name: str, value: int, least: int, most: int) -> int:
    """A parameter that is a whole number, neither too small nor so large that a task could not be held in memory."""
    if whole(name, value, least) > most:
        raise HandloomError(f"{name}={shown(value)} must be at most {most}")
    return int(value)


def check_longest(what: str, tokens: int) -> None:
    """Refuse parameters of a task, named in `what`, by which an input would be longer than can be run."""
    if tokens > LONGEST:
        raise HandloomError(f"{what}: inputs of {counted(tokens)} tokens (expected up to {LONGEST:,}); choose smaller")


def count_of_sequences(values: int, longest: int) -> int | None:
    """How many sequences of 1 to `longest` tokens out of a vocabulary there are; None where they are very long."""
    return sum(values**length for length in range(1, longest + 1)) if longest <= COUNTED else None
