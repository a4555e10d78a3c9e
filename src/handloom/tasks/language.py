"""A Language: a set of strings, a way to draw from it, and a check of any string.

    >>> even = Language("an even number of ones", "01", 4, lambda rng: "0110", lambda text: text.count("1") % 2 == 0)
    >>> even.verdict([2], [0, 1, 1, 2]), even.verdict([2], [1, 2]), even.verdict([2], [0, 0, 0])
    ('right', 'wrong', 'malformed')

A Task has questions, each with one right answer. In a Language the question is always the same, the token that begins a
string, and every string of it is a right answer. A model can be trained on both (`Learnable`). One special token,
<end>, stands before a string and after it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from handloom.core import HandloomError, Vocab
from handloom.core.errors import in_users_code
from handloom.tasks.task import Ids, Learnable, Verdict

END = "<end>"


@dataclass(frozen=True)
class Language:
    """`draw` makes a random string of the language, `right` tells whether a string belongs to it, and `formed` whether
    it is at least well-formed (of a possible length, say); a string that is not counts as malformed, not as wrong."""

    about: str  # for people: "strings of 0 and 1 of length 30 to 40 with s[13]==s[22]"
    tokens: Sequence[str]  # characters; or longer tokens, by default written with spaces between them
    longest: int  # the most tokens of a string, <end> not counted
    draw: Callable[[np.random.Generator], str]
    right: Callable[[str], bool]
    formed: Callable[[str], bool] = lambda text: True
    lines: Sequence[str] | None = None  # all strings, if they are given rather than drawn
    # the digits (from 1) that a rule names, in strings of a length
    marks: Callable[[int], Sequence[int]] = lambda length: ()
    separator: str | None = None  # between tokens in text: a space, or nothing
    has_rule: bool = True  # False: there are only examples, and `right` tells no more than `formed`

    @cached_property
    def vocab(self) -> Vocab:
        usual = "" if all(len(token) == 1 for token in self.tokens) else " "
        separator = usual if self.separator is None else self.separator
        return Vocab((*self.tokens, END), separator, bos=END, eos=END)

    def pair(self, rng: np.random.Generator) -> tuple[Ids, Ids]:
        """A question, the beginning of a string, and an answer to it, the string to its end."""
        return self.framed(self.draw(rng))

    def framed(self, text: str) -> tuple[Ids, Ids]:
        """A string as such a pair."""
        first, *rest = self.vocab.encode(text)
        return [first], [*rest, first]

    def verdict(self, question: Ids, output: Ids) -> Verdict:
        """Whether a model's output is right."""
        end = self.vocab.id(END)
        if output[-1:] != [end] or end in output[:-1] or len(output) > self.longest + 1:
            return "malformed"
        text = self.vocab.decode(output)
        return "malformed" if not self.formed(text) else "right" if self.right(text) else "wrong"


def example_of(task: Learnable, rng: np.random.Generator) -> tuple[Ids, Ids]:
    """An example of a task, whose functions may be a user's own."""
    with in_users_code("the task could not draw an example"):
        try:
            pair = task.pair(rng)
        except HandloomError as error:
            raise HandloomError(f"the task drew an invalid example: {error}") from error
    if isinstance(task, Language) and (length := len(pair[1]) - 1) > task.longest:
        raise HandloomError(
            f"the task drew a string of {length} tokens (expected up to {task.longest}); raise `longest`"
        )
    return pair
