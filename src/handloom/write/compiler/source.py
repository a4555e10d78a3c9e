"""A program of the language: the function that a user wrote, run once for the graph of its values.

>>> from handloom.language import *
>>> @program(asks="[a-d]{0,5}>")
... def reverse():
...     middle = find(">")
...     return at(2 * middle - position - 1)
>>> reverse("abc>")
'cba'
"""

import sys
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import islice
from types import FrameType
from typing import Any

import numpy as np

from handloom.core import HandloomError, Vocab
from handloom.core.errors import shown
from handloom.tasks.task import Task
from handloom.write.compiler.asked import Asked
from handloom.write.compiler.interpreter import Run
from handloom.write.compiler.ranges import Ranges, ranges_of
from handloom.write.compiler.values import END, Plain, Token, Value, apply, as_value

ALL, SOME = 2_000, 60  # inputs that are run first: all of them, or of the longest and of random ones
LONGEST_ANSWER = 4_096


class TokenProgram:
    """A function of the tokens so far that gives the next one, and what it is asked."""

    def __init__(self, function: Callable[[], Any], asks: str, steps: int | None = None) -> None:
        self.function, self.asked, self.steps = function, Asked(asks), steps
        self.name = function.__name__.replace("_", "-")
        self.about = (function.__doc__ or "").strip().split("\n")[0]
        self.answer, self.names = traced(function)

    def __repr__(self) -> str:
        return f"program {self.name}, asked {self.asked.expression}"

    def __call__(self, text: str = "") -> str:
        """The answer to an input, by the interpreter."""
        self.check(text)
        return "".join(token for token in self.answers(text) if token != END)

    def check(self, text: str) -> None:
        if not isinstance(text, str) or not self.asked.has(text):
            example = self.asked.draw(np.random.default_rng(0))
            raise HandloomError(f"{self.name} takes {self.asked.expression}, such as {example}, and not {shown(text)}")

    def answers(self, text: str) -> list[str]:
        """The tokens of the answer, with the last, END, if it ends before `steps`."""
        run, answer = Run(self.answer), list[str]()
        for token in (END, *text):
            next = token_of(run.append(token))
        while True:
            answer.append(next)
            if next == END or len(answer) == self.steps:
                return answer
            if len(answer) > LONGEST_ANSWER:
                raise HandloomError(
                    f"{self.name}: the answer to {shown(text)} does not end; return END, or give steps=1 for one token"
                )
            next = token_of(run.append(next))

    def run(self, text: str) -> Run:
        """Every value on an input and its answer."""
        self.check(text)
        run = Run(self.answer)
        for token in (END, *text, *self.answers(text)[:-1]):
            run.append(token)
        return run

    def show(self, text: str) -> str:
        """What every variable of the program is on an input, one row each."""
        run = self.run(text)
        answer = {"answer": [token_of(one) for one in run.columns[self.answer]]}
        named = {name: run.columns[value] for value, name in self.names.items() if value in run.columns}
        rows: dict[str, list[Any]] = {"token": run.tokens, **named, **answer}
        cells = {name: [str(one) for one in row] for name, row in rows.items()}
        width = max(len(cell) for row in cells.values() for cell in row)
        left = max(map(len, cells))
        return "\n".join(f"{name:>{left}}  " + " ".join(f"{c:>{width}}" for c in row) for name, row in cells.items())

    def samples(self) -> Iterator[str]:
        """All inputs if they are few; otherwise some of the shortest, of the longest, and random ones."""
        if self.asked.count <= ALL:
            yield from self.asked.words()
            return
        rng = np.random.default_rng(0)
        yield from islice(self.asked.words(), SOME)
        for _ in range(SOME // 2):
            word = self.asked.draw(rng, self.asked.longest)
            yield word
            yield from self.uniform(word)
        yield from (self.asked.draw(rng) for _ in range(SOME))

    def uniform(self, word: str) -> Iterator[str]:
        """The word with all letters and digits replaced by its first one, and by its last, where that is an input."""
        letters = [character for character in word if character.isalnum()]
        for letter in letters[:1] + letters[-1:]:
            same = "".join(letter if character.isalnum() else character for character in word)
            if self.asked.has(same):
                yield same

    @cached_property
    def block(self) -> int:
        """The most tokens that a run has: first token, input and answer."""
        if self.steps is not None:
            return self.asked.longest + self.steps
        return max(len(word) + len(self.answers(word)) for word in self.samples())

    @cached_property
    def ranges(self) -> Ranges:
        """The values of all variables, with all tokens that occur: those asked, and those answered."""
        tokens = [*self.asked.alphabet, END]
        while True:
            ranges = ranges_of(self.answer, tokens, self.block)
            new = [token for token in map(token_of, ranges.values[self.answer]) if token not in tokens]
            if not new:
                return ranges
            tokens[-1:-1] = new

    @cached_property
    def vocab(self) -> Vocab:
        return Vocab(self.ranges.tokens, separator="", bos=END, eos=END)

    @cached_property
    def task(self) -> Task:
        """The program as a task, with the interpreter as its oracle."""
        ids = self.vocab.ids

        def encode(text: str) -> list[int]:
            return [ids[END], *(ids[character] for character in text)]

        def oracle(prompt: list[int]) -> list[int] | None:
            text = "".join(self.vocab.tokens[i] for i in prompt[1:])
            if prompt[:1] != [ids[END]] or not self.asked.has(text):
                return None
            return [ids[token] for token in self.answers(text)]

        return Task(
            takes=f"{self.asked.expression}, such as {self.asked.draw(np.random.default_rng(0))}",
            vocab=self.vocab,
            oracle=oracle,
            draw=lambda rng: encode(self.asked.draw(rng)),
            count=self.asked.count,
            every=lambda: map(encode, self.asked.words()),
            hard=lambda: map(encode, dict.fromkeys(self.samples())),
        )


def program(asks: str, steps: int | None = None) -> Callable[[Callable[[], Any]], TokenProgram]:
    """Make a program of a function. `asks` is a regular expression for its inputs, of which there must be finitely
    many: [0-9]{1,10}[+][0-9]{1,10}= for example. An answer ends with END, or after `steps` tokens."""
    return lambda function: TokenProgram(function, asks, steps)


def token_of(answer: Plain) -> str:
    """The token that an answer names: itself, or a number's digits."""
    return answer if isinstance(answer, str) else str(int(answer)) if answer == int(answer) else str(answer)


def traced(function: Callable[[], Any]) -> tuple[Value, dict[Value, str]]:
    """What a function returns, and the names of its variables."""
    names: dict[Value, str] = {}

    def look(frame: FrameType, event: str, _: Any) -> None:
        if event == "return" and frame.f_code is function.__code__:
            names.update({value: name for name, value in frame.f_locals.items() if isinstance(value, Value)})

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        answer = function()
    finally:
        sys.setprofile(before)
    value = as_value(answer)
    return (value if isinstance(value, Token) else apply(token_of, value)), names
