"""What a program is asked: a finite regular language, which lists its words, counts them, draws them, and tells what
can be relied upon.

    >>> asked = Asked("[ab]{0,2}>")
    >>> list(asked.words()), asked.count, asked.longest
    (['>', 'a>', 'b>', 'aa>', 'ab>', 'ba>', 'bb>'], 7, 3)
    >>> asked.most(">"), asked.most("a")
    (1, 2)
"""

from collections.abc import Iterator
from functools import cache, cached_property

import numpy as np

from handloom.core import HandloomError
from handloom.core.arrays import Array
from handloom.core.errors import shown
from handloom.core.regex import START, parse_regex

MOST_CHARACTERS = 1_000  # of an alphabet
LONGEST_WORD = 4_096


class Asked:
    """The words that a regular expression describes."""

    def __init__(self, expression: str) -> None:
        self.expression = expression
        self.format = parse_regex(expression)
        self.alphabet = self.characters()
        self.steps = cache(self._steps)
        self.words_of = cache(self._words_of)
        self.chances = cache(self._chances)
        self.longest = self.longest_word()

    def characters(self) -> str:
        """All characters that may occur, in the order of their codes."""
        spans = [symbols for symbols in self.format.places if symbols.others]
        if spans:
            raise HandloomError(
                f"asks={shown(self.expression)}: it leaves open which characters there are; list them, as in [a-z]"
            )
        codes = {
            code
            for symbols in self.format.places
            for low, high in symbols.spans
            for code in range(ord(low), min(ord(high), ord(low) + MOST_CHARACTERS) + 1)
        }
        return "".join(map(chr, sorted(codes)))

    def longest_word(self) -> int:
        """The length of the longest word."""
        states, length = {START}, 0
        while True:
            states = {next for state in states for _, next in self.steps(state)}
            if not states:
                return length
            length += 1
            if length > LONGEST_WORD:
                raise HandloomError(
                    f"asks={shown(self.expression)}: words of more than {LONGEST_WORD:,} characters; "
                    "limit what repeats, as in [a-z]{1,20}"
                )

    def _steps(self, state: int) -> list[tuple[str, int]]:
        """The characters that may come next, and the state behind each."""
        found = ((character, self.format.read(character, state)) for character in self.alphabet)
        return [(character, next) for character, next in found if next]

    def has(self, word: str) -> bool:
        return self.format.matches(word)

    def _words_of(self, state: int, length: int) -> int:
        """How many words of that length end a match that has come to a state."""
        if length == 0:
            return int(bool(state & self.format.last))
        return sum(self.words_of(next, length - 1) for _, next in self.steps(state))

    @cached_property
    def count(self) -> int:
        return sum(self.words_of(START, length) for length in range(self.longest + 1))

    def words(self) -> Iterator[str]:
        """All words, the shortest first."""
        for length in range(self.longest + 1):
            yield from self.words_from(START, length)

    def words_from(self, state: int, length: int) -> Iterator[str]:
        if length == 0:
            if state & self.format.last:
                yield ""
            return
        for character, next in self.steps(state):
            if self.words_of(next, length - 1):
                for rest in self.words_from(next, length - 1):
                    yield character + rest

    @cached_property
    def lengths(self) -> list[int]:
        return [length for length in range(self.longest + 1) if self.words_of(START, length)]

    def draw(self, rng: np.random.Generator, length: int | None = None) -> str:
        """A random word: first its length, if none is given, then one of its length, each as likely as the others."""
        if length is None:
            length = self.lengths[int(rng.integers(len(self.lengths)))]
        state, word = START, []
        for left, chance in zip(range(length - 1, -1, -1), rng.random(length), strict=True):
            character, state = self.steps(state)[int(np.searchsorted(self.chances(state, left), chance, "right"))]
            word.append(character)
        return "".join(word)

    def _chances(self, state: int, left: int) -> Array:
        """The running sum of the chances of the next characters, where `left` come after them."""
        counts = [self.words_of(next, left) for _, next in self.steps(state)]
        return np.cumsum([count / sum(counts) for count in counts])[:-1]

    def most(self, character: str) -> int:
        """How often a character may occur in a word, at most."""
        best, states = 0, {START: 0}
        for _ in range(self.longest):
            following: dict[int, int] = {}
            for state, seen in states.items():
                for next_character, next in self.steps(state):
                    following[next] = max(following.get(next, 0), seen + (next_character == character))
            states = following
            best = max([best, *states.values()])
        return best
