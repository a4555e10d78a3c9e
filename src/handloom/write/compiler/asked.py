"""What a program is asked: a finite regular language, which lists its words, counts them, draws them, and tells what
can be relied upon.

    >>> asked = Asked("[ab]{0,2}>")
    >>> list(asked.words()), asked.count, asked.longest
    (['>', 'a>', 'b>', 'aa>', 'ab>', 'ba>', 'bb>'], 7, 3)
    >>> asked.most(">"), asked.most("a")
    (1, 2)
"""

from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import NoReturn

import numpy as np

from handloom.core import HandloomError
from handloom.core.arrays import Array
from handloom.core.errors import shown
from handloom.core.regex import START, parse_regex

MOST_CHARACTERS = 1_000  # of an alphabet
MOST_STATES = 2_000  # of the automaton that reads a word
LONGEST_WORD = 511  # with the first token, positions that a head can compute: 512


class Asked:
    """The words that a regular expression describes."""

    def __init__(self, expression: str) -> None:
        self.expression = expression
        self.format = parse_regex(expression)
        self.alphabet = self.characters()
        self.steps: dict[int, dict[str, int]] = {}  # state → the characters that may come next, and the state behind
        self.longest = self.longest_word()
        self.lengths_of = self.count_words()  # state → how many words of each length end a match that has come to it
        if not self.count:
            self.fail("it has no word", "write what inputs look like, as in [a-d]{0,5}>")
        self.chances = cache(self._chances)

    def fail(self, why: str, remedy: str) -> NoReturn:
        raise HandloomError(f"asks={shown(self.expression)}: {why}; {remedy}")

    def characters(self) -> str:
        """All characters that may occur, in the order of their codes."""
        if any(symbols.others for symbols in self.format.places):
            self.fail("it leaves open which characters there are", "list them, as in [a-z]")
        codes: set[int] = set()
        for symbols in self.format.places:
            for low, high in symbols.spans:
                codes.update(range(ord(low), min(ord(high), ord(low) + MOST_CHARACTERS) + 1))
                if len(codes) > MOST_CHARACTERS:
                    self.fail(f"it has more than {MOST_CHARACTERS:,} different characters", "list fewer")
        return "".join(map(chr, sorted(codes)))

    def longest_word(self) -> int:
        """The length of the longest word; every state that reading comes to is found on the way."""
        states, length = {START}, 0
        while True:
            for state in states - self.steps.keys():
                self.steps[state] = self.steps_from(state)
                if len(self.steps) > MOST_STATES:
                    self.fail("it is too hard to count its words", "write it with fewer choices that overlap")
            states = {next for state in states for next in self.steps[state].values()}
            if not states:
                return length
            length += 1
            if length > LONGEST_WORD:
                why = f"it has words of more than {LONGEST_WORD} characters"
                self.fail(why, "limit what repeats, as in [a-z]{1,20}")

    def steps_from(self, state: int) -> dict[str, int]:
        found = ((character, self.format.read(character, state)) for character in self.alphabet)
        return {character: next for character, next in found if next}

    def count_words(self) -> dict[int, dict[int, int]]:
        """The words of a state are those of the states behind it, with one character in front."""
        known: dict[int, dict[int, int]] = {}
        waiting = [START]
        while waiting:
            state = waiting[-1]
            behind = Counter(self.steps[state].values())
            if missing := [next for next in behind if next not in known]:
                waiting += missing
                continue
            waiting.pop()
            lengths: dict[int, int] = {0: 1} if state & self.format.last else {}
            for next, ways in behind.items():
                for length, count in known[next].items():
                    lengths[length + 1] = lengths.get(length + 1, 0) + ways * count
            known[state] = lengths
        return known

    def has(self, word: str) -> bool:
        return self.format.matches(word)

    def has_inside(self, text: str) -> bool:
        """Whether a text occurs in any word."""
        states = set(self.steps)
        for character in text:
            states = {next for state in states if (next := self.steps[state].get(character)) is not None}
        return bool(states)

    @property
    def count(self) -> int:
        return sum(self.lengths_of[START].values())

    @property
    def lengths(self) -> list[int]:
        return sorted(self.lengths_of[START])

    def words_of(self, state: int, length: int) -> int:
        """How many words of that length end a match that has come to a state."""
        return self.lengths_of[state].get(length, 0)

    def words(self) -> Iterator[str]:
        """All words, the shortest first."""
        for length in self.lengths:
            yield from self.words_of_length(length)

    def words_of_length(self, length: int) -> Iterator[str]:
        """The words of one length, in the order of the alphabet."""
        word: list[str] = []
        choices = [self.choices(START, length)]
        while choices:
            found = next(choices[-1], None)
            if found is None:
                choices.pop()
                del word[-1:]
                continue
            character, state = found
            if len(choices) > length:
                yield "".join(word)
                continue
            word.append(character)
            choices.append(self.choices(state, length - len(word)))

    def choices(self, state: int, left: int) -> Iterator[tuple[str, int]]:
        """The next characters of a word of which so many are left, and the state behind each; at its end, nothing."""
        if left == 0:
            return iter([("", state)])
        steps = self.steps[state].items()
        return iter([(character, next) for character, next in steps if self.words_of(next, left - 1)])

    def draw(self, rng: np.random.Generator, length: int | None = None) -> str:
        """A random word: first its length, if none is given, then one of its length, each as likely as the others."""
        if length is None:
            length = self.lengths[int(rng.integers(len(self.lengths)))]
        state, word = START, []
        for left, chance in zip(range(length - 1, -1, -1), rng.random(length), strict=True):
            characters, sums = self.chances(state, left)
            character = characters[int(np.searchsorted(sums, chance, "right"))]
            word.append(character)
            state = self.steps[state][character]
        return "".join(word)

    def _chances(self, state: int, left: int) -> tuple[list[str], Array]:
        """The next characters where `left` come after them, and the running sum of their chances."""
        steps = [(character, self.words_of(next, left)) for character, next in self.choices(state, left + 1)]
        total = sum(count for _, count in steps)
        return [character for character, _ in steps], np.cumsum([count / total for _, count in steps])[:-1]

    def always(self, character: str) -> bool:
        """Whether every word has a character: no word ends before it."""
        states, known = [START], {START}
        while states:
            state = states.pop()
            if state & self.format.last:
                return False
            new = {next for other, next in self.steps[state].items() if other != character} - known
            known |= new
            states += new
        return True

    def most(self, character: str) -> int:
        """How often a character may occur in a word, at most."""
        best, states = 0, {START: 0}
        for _ in range(self.longest):
            following: dict[int, int] = {}
            for state, seen in states.items():
                for next_character, next in self.steps[state].items():
                    following[next] = max(following.get(next, 0), seen + (next_character == character))
            states = following
            best = max([best, *states.values()])
        return best
