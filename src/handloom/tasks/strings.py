"""Random strings under a rule: the languages of the first half of Wagner's talk Transformers and Makemore.

    >>> language = strings("s[13]==s[22]", length="30-40")
    >>> text = language.draw(np.random.default_rng(0))
    >>> len(text), text[12] == text[21], language.right(text)
    (39, True, True)

A length is drawn, all that the rule allows being equally likely; then a string of this length that satisfies the rule,
again all equally likely (`rule_draws.py`).
"""

import dataclasses
import re

import numpy as np

from handloom.core import HandloomError
from handloom.core.errors import shown
from handloom.tasks.language import END, Language
from handloom.tasks.rule_draws import random_strings
from handloom.tasks.rule_parts import LONGEST_STRING
from handloom.tasks.rules import parse_rule


def strings(rule: str = "", alphabet: str = "01", length: str = "30-40") -> Language:
    """Strings of the alphabet's symbols under a rule, such as s[13]==s[22] (`rules.py` has the grammar)."""
    shortest, longest = lengths(length)
    check_alphabet(alphabet)
    condition = parse_rule(rule, alphabet)
    condition.check(shortest, longest)
    symbols = set(alphabet)

    def formed(text: str) -> bool:
        return shortest <= len(text) <= longest and set(text) <= symbols

    return Language(
        about=f"strings of {' '.join(alphabet)} of length {in_words(shortest, longest)}"
        + f" with {rule}" * bool(rule.strip()),
        tokens=alphabet,
        longest=longest,
        draw=random_strings(condition, shortest, longest),
        right=lambda text: formed(text) and condition.holds(text),
        formed=formed,
        marks=condition.positions,
    )


def one_two(length: str = "10-15") -> Language:
    """Strings of 0 and 1 with exactly one 2, anywhere."""
    language = strings("count(2)==1", "012", length)
    return dataclasses.replace(language, about=f"strings of 0 and 1 of length {in_words(*lengths(length))} with one 2")


def two_twos(length: str = "30-40") -> Language:
    """Strings of 0 and 1; in half of them, two digits are changed to 2."""
    shortest, longest = lengths(length)
    if shortest < 2:
        raise HandloomError(f"two-twos: length={length} must start at 2: there are two 2s")
    free = strings("", "01", length)
    formed = strings("", "012", length).formed

    def draw(rng: np.random.Generator) -> str:
        text = free.draw(rng)
        if rng.random() < 0.5:
            return text
        first, second = sorted(rng.choice(len(text), 2, replace=False).tolist())
        return f"{text[:first]}2{text[first + 1 : second]}2{text[second + 1 :]}"

    return Language(
        about=f"strings of 0 and 1 of length {in_words(shortest, longest)}, half of them with two 2s",
        tokens="012",
        longest=longest,
        draw=draw,
        right=lambda text: formed(text) and text.count("2") in (0, 2),
        formed=formed,
    )


def lengths(text: str) -> tuple[int, int]:
    """30-40, or one number, as the shortest and the longest."""
    match = re.fullmatch(r"\s*([0-9]{1,9})\s*(?:[-–]\s*([0-9]{1,9})\s*)?", text)
    shortest, longest = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
    if not 1 <= shortest <= longest <= LONGEST_STRING:
        raise HandloomError(
            f"length={shown(text)} is not a range of lengths from 1 to {LONGEST_STRING}; write length=30-40, or 35"
        )
    return shortest, longest


def in_words(shortest: int, longest: int) -> str:
    return f"{shortest} to {longest}" if shortest < longest else f"{shortest}"


def check_alphabet(alphabet: str) -> None:
    if not alphabet or len(set(alphabet)) < len(alphabet):
        raise HandloomError(f"alphabet={shown(alphabet)} must be different symbols, such as 01 or abc")
    if set(END) <= set(alphabet):
        raise HandloomError(
            f"alphabet={shown(alphabet)} can spell {END}, which marks the end of a string; leave out one symbol of it"
        )
    if any("\ud800" <= symbol <= "\udfff" for symbol in alphabet):
        raise HandloomError(
            f"alphabet={shown(alphabet)} contains half a character, which no file can hold; leave it out"
        )
