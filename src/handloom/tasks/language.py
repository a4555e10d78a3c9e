"""A Language: a set of strings, a way to draw from it, and a check of any string.

    >>> even = Language("an even number of ones", "01", 4, lambda rng: "0110", lambda text: text.count("1") % 2 == 0)
    >>> even.verdict([2], [0, 1, 1, 2]), even.verdict([2], [1, 2]), even.verdict([2], [0, 0, 0])
    ('right', 'wrong', 'malformed')

A Task asks, and one answer is right; in a Language the question is always the same, the token that begins a string, and
every string of it is an answer. A model can be trained on both (`Learnable`). One special token, <end>, stands before a
string and after it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from handloom.core import HandloomError, Vocab
from handloom.core.errors import told
from handloom.tasks.task import Ids, Learnable, Verdict

END = "<end>"


@dataclass(frozen=True)
class Language:
    """`draw` makes a random string of the language, `right` says whether a string is one, and `formed` whether it is
    at least of the right form (of a length there is, say); what is not is malformed, not wrong."""

    about: str  # for people: "strings of 0 and 1 of length 30 to 40 with s[13]==s[22]"
    tokens: Sequence[str]  # characters; or longer tokens, which are then written with spaces between them, unless told
    longest: int  # how many tokens a string has at most, <end> not counted
    draw: Callable[[np.random.Generator], str]
    right: Callable[[str], bool]
    formed: Callable[[str], bool] = lambda text: True
    lines: Sequence[str] | None = None  # all strings there are, where they are given rather than drawn
    marks: Callable[[int], Sequence[int]] = lambda length: ()  # digits (from 1) that a rule names, at this length
    separator: str | None = None  # between tokens in text: a space, or nothing
    has_rule: bool = True  # False: there are only examples, and `right` says no more than `formed`

    @cached_property
    def vocab(self) -> Vocab:
        usual = "" if all(len(token) == 1 for token in self.tokens) else " "
        separator = usual if self.separator is None else self.separator
        return Vocab((*self.tokens, END), separator, bos=END, eos=END)

    def pair(self, rng: np.random.Generator) -> tuple[Ids, Ids]:
        """What is asked, the beginning of a string, and an answer to it, the string to its end."""
        return self.framed(self.draw(rng))

    def framed(self, text: str) -> tuple[Ids, Ids]:
        """A string as such a pair."""
        first, *rest = self.vocab.encode(text)
        return [first], [*rest, first]

    def verdict(self, asked: Ids, said: Ids) -> Verdict:
        """What to think of what a model has said."""
        end = self.vocab.id(END)
        if said[-1:] != [end] or end in said[:-1] or len(said) > self.longest + 1:
            return "malformed"
        text = self.vocab.decode(said)
        return "malformed" if not self.formed(text) else "right" if self.right(text) else "wrong"


def drawn(task: Learnable, rng: np.random.Generator) -> tuple[Ids, Ids]:
    """An example of a task, whose functions may be a user's own."""
    try:
        pair = task.pair(rng)
        if isinstance(task, Language) and len(pair[1]) > task.longest + 1:
            raise HandloomError(f"a string of {len(pair[1]) - 1} tokens, where the longest is to have {task.longest}")
        return pair
    except HandloomError as error:
        raise HandloomError(f"the task drew what it may not: {error}") from error
    except Exception as error:
        raise HandloomError(f"the task could not draw an example: {told(error)}") from error
