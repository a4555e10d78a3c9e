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
import traceback
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from html import escape
from itertools import islice
from types import FrameType
from typing import Any, NoReturn

import numpy as np

from handloom.core import HandloomError, Model, Vocab
from handloom.core.checks import whole
from handloom.core.errors import shown
from handloom.tasks.task import Task
from handloom.write.compiler.asked import LONGEST_WORD, Asked
from handloom.write.compiler.interpreter import ProgramRun, failed, in_order
from handloom.write.compiler.ranges import Ranges, ranges_in_use
from handloom.write.compiler.shown import CostTable, ValueTable
from handloom.write.compiler.values import (
    END,
    Count,
    Line,
    Map,
    Select,
    Token,
    Value,
    as_value,
    refuse,
    token_of,
    users_line,
)

ALL, SOME = 2_000, 60  # inputs that are run first: all of them, or of the longest and of random ones
EFFORT = 5_000  # of a value at a position, for the interpreter: a transformer of so many parameters takes as long
MOST_EVENTS = 2_000_000  # calls and returns while a function is run for its graph
MOST_POSITIONS = LONGEST_WORD + 1  # a head finds a computed position exactly among this many


class TokenProgram:
    """The next token as a value of the tokens so far, and the inputs that are asked. `names` are those of the user's
    variables; `tokens` and `block` are found by running it if they are not given."""

    def __init__(
        self,
        name: str,
        about: str,
        asks: str,
        answer: Value,
        names: dict[Value, str] | None = None,
        steps: int | None = None,
        tokens: Sequence[str] | None = None,
    ) -> None:
        self.name, self.about, self.answer, self.names = name, about, answer, names or {}
        self.asked, self.steps = Asked(asks), steps
        self.order = in_order(answer)
        if tokens is not None:
            self.vocab = vocab_of(tokens)

    def __repr__(self) -> str:
        return f"program {self.name}, asked {self.asked.expression}"

    def _repr_html_(self) -> str:
        """What a notebook shows: an example, value by value."""
        return f"<p>{escape(repr(self))}{escape(': ' + self.about if self.about else '')}</p>" + (
            self.show(self.example())._repr_html_()
        )

    def __call__(self, text: str = "") -> str:
        """The answer to an input, by the interpreter."""
        self.check(text)
        return "".join(token for token in self.answers(text) if token != END)

    def example(self) -> str:
        """An input of middle length."""
        lengths = self.asked.lengths
        return self.asked.draw(np.random.default_rng(0), min(lengths[len(lengths) // 2], max(lengths[0], 6)))

    def check(self, text: str) -> None:
        if not isinstance(text, str) or not self.asked.has(text):
            raise HandloomError(
                f"{self.name} takes {self.asked.expression}, such as {self.example()}; it was given {shown(text)}"
            )

    def answers(self, text: str, run: ProgramRun | None = None) -> list[str]:
        """The tokens of the answer, with the last, END, if it ends before `steps`. An earlier run keeps what it knows
        of the tokens that it has in common with this one."""
        run, answer = run or ProgramRun(self.answer, self.order), list[str]()
        tokens = (END, *text)
        run.back_to(in_common(run.tokens, tokens))
        try:
            for token in tokens[len(run.tokens) :]:
                run.append(token)
            next = token_of(run.answers[-1])
            while True:
                answer.append(next)
                if next == END or len(answer) == self.steps:
                    return answer
                if len(run.tokens) == MOST_POSITIONS:
                    raise HandloomError(
                        f"{self.answer.line}: the answer to {shown(text)} does not end within {MOST_POSITIONS} tokens; "
                        "return END at last, or give the program steps=1 for one token"
                    )
                next = token_of(run.append(next))
        except ArithmeticError as error:
            raise failed(error, self.name) from error

    def run(self, text: str) -> ProgramRun:
        """Every value on an input and its answer."""
        self.check(text)
        run = ProgramRun(self.answer, self.order)
        for token in (END, *text, *self.answers(text)[:-1]):
            run.append(token)
        return run

    def show(self, text: str) -> ValueTable:
        """What every variable of the program is on an input and its answer, one row each."""
        run = self.run(text)
        named = {name: run.columns[value] for value, name in self.names.items() if value in run.columns}
        answer = [token_of(one) for one in run.answers]
        return ValueTable({"token": run.tokens, **named, "next": answer})

    def compile(self) -> Model:
        """The transformer that computes this program."""
        from handloom.write.compiler.compile import compile

        return compile(self)

    def cost(self) -> CostTable:
        """What every line takes of the transformer: heads, neurons, dimensions."""
        from handloom.write.compiler.costs import cost_of

        return cost_of(self.compile())

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
        if self.steps is not None and self.asked.longest + self.steps > MOST_POSITIONS:
            self.too_long(self.asked.longest + self.steps)
        run = ProgramRun(self.answer, self.order)
        longest = max(len(word) + len(self.answers(word, run)) for word in self.samples())
        return longest if self.steps is None else self.asked.longest + self.steps

    def too_long(self, tokens: int) -> NoReturn:
        why = f"inputs with their answers have {tokens} tokens (expected up to {MOST_POSITIONS}, among which a head "
        refuse(self.answer.line, why + "finds every position exactly)", "ask for less, as in [a-z]{1,20}")

    @cached_property
    def ranges(self) -> Ranges:
        """The values of all variables, with all tokens that occur: those asked, and those answered."""
        often = {token: self.asked.most(token) for token in self.asked.alphabet}
        ranges = ranges_in_use(self.answer, often, self.block, self.steps == 1)
        self.check_sought(ranges.tokens)
        return ranges

    def check_sought(self, tokens: Sequence[str]) -> None:
        """Raise an error if a token that is looked for by name never occurs."""
        for value in self.order:
            sought = value.where.sought if isinstance(value, Select | Count) else None
            if sought is not None and sought not in tokens:
                some = " ".join(token for token in tokens if token != END)
                refuse(value.line, f"{sought!r} never occurs", f"look for a token of inputs or answers: {shown(some)}")

    @cached_property
    def vocab(self) -> Vocab:
        tokens = self.ranges.tokens
        for token in tokens:
            if len(token) != 1 and (token == "" or self.asked.has_inside(token)):
                raise HandloomError(
                    f"{self.answer.line}: the answer may be {token!r}, which an input may have as several tokens; "
                    "answer one character at a time, or with another token"
                    if token
                    else f"{self.answer.line}: the answer may be an empty token; answer END, or a character"
                )
        return vocab_of(tokens)

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
            takes=f"{self.asked.expression}, such as {self.example()}",
            vocab=self.vocab,
            oracle=oracle,
            draw=lambda rng: encode(self.asked.draw(rng)),
            count=self.asked.count,
            every=lambda: map(encode, self.asked.words()),
            hard=lambda: map(encode, dict.fromkeys(self.samples())),
            effort=EFFORT * len(self.order) * (self.asked.longest + 2),
        )


def in_common(some: Sequence[str], others: Sequence[str]) -> int:
    """How many tokens two texts begin with together."""
    pairs = enumerate(zip(some, others, strict=False))
    return next((i for i, (one, other) in pairs if one != other), min(len(some), len(others)))


def vocab_of(tokens: Sequence[str]) -> Vocab:
    return Vocab(tuple(tokens), separator="", bos=END, eos=END)


def as_program(asks: str, steps: int | None = None) -> Callable[[Callable[[], Any]], TokenProgram]:
    """Make a program of a function. `asks` is a regular expression for its inputs, of which there must be finitely
    many: [0-9]{1,10}[+][0-9]{1,10}= for example. An answer ends with END, or after `steps` tokens."""
    line = users_line()

    def decorate(function: Callable[[], Any]) -> TokenProgram:
        name = function.__name__.replace("_", "-")
        about = (function.__doc__ or "").strip().split("\n")[0]
        limit = None if steps is None else whole("steps", steps, 1)
        answer, names = traced(function, line)
        try:
            return TokenProgram(name, about, asks, answer, names, limit)
        except HandloomError as error:
            raise HandloomError(f"{line}: {error}") from error

    return decorate


def traced(function: Callable[[], Any], line: Line) -> tuple[Value, dict[Value, str]]:
    """What a function returns, as a token, and the names of its variables."""
    names: dict[Value, str] = {}
    events = iter(range(MOST_EVENTS))

    def look(frame: FrameType, event: str, _: Any) -> None:
        if next(events, None) is None:
            why = "the function does not end, or computes very much"
            refuse(users_line(), why, "give its loops an end: they run once, before any input")
        if event == "return" and frame.f_code is function.__code__:
            names.update({value: name for name, value in frame.f_locals.items() if isinstance(value, Value)})

    before = sys.getprofile()
    if before is None:  # a user's profiler stays in its place, and the variables have no names
        sys.setprofile(look)
    try:
        answer = function()
    except HandloomError:
        raise
    except Exception as error:
        remedy = "use the words of the language, as in apply(lambda t: t in 'abc', token)"
        raise HandloomError(f"{line_of(error, function, line)}: {type(error).__name__}: {error}; {remedy}") from error
    finally:
        if before is None:
            sys.setprofile(None)
    if answer is None:
        raise HandloomError(f"{line}: the function returns nothing; return the next token, or END")
    value = as_value(answer)
    return value if isinstance(value, Token) else Map(token_of, (value,), line=value.line), names


def line_of(error: Exception, function: Callable[[], Any], otherwise: Line) -> Line:
    """The last line of a function's file that an error passed."""
    file = function.__code__.co_filename
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return Line(file, frames[-1].lineno or 0, frames[-1].line or "") if frames else otherwise
