"""Sequences in which each number comes from the two before it, as in Wagner's talk Transformers and Makemore.

    >>> fibonacci().right("444,148,592,740,1332,2072,3404"), fibonacci().right("444,148,592,740,1332,2072,3405")
    (True, False)
    >>> fibonacci(symbols="abcdefghij ").right("eee bei fjc hea bddc cahc deae")
    True
    >>> mangle(248, 602)
    '248,602,750,32551,33301'

To a model a digit is only a symbol: with other symbols in their place (`renamed`) the strings mean nothing to people,
and are just as hard for the model.
"""

import re
from collections.abc import Callable
from dataclasses import replace

from handloom.core import HandloomError
from handloom.core.checks import whole
from handloom.core.errors import shown
from handloom.tasks.language import Language
from handloom.tasks.strings import check_alphabet

SYMBOLS = "0123456789,"
LONGEST, LARGEST = 1000, 10**18  # the most terms, and the largest bound on the first two


def fibonacci(terms: int = 7, most: int = 1000, symbols: str = "") -> Language:
    """The first terms of x, y, x + y, …, where x and y are below `most`; if given, `symbols` replace the ten digits and
    the comma."""
    if whole("fibonacci: terms", terms, 2) > LONGEST:
        raise HandloomError(f"fibonacci: terms={terms} must be at most {LONGEST}")

    def write(x: int, y: int) -> str:
        numbers = [x, y]
        while len(numbers) < terms:
            numbers.append(sum(numbers[-2:]))
        return ",".join(map(str, numbers))

    language = sequences(
        f"the first {terms} terms of x, y, x + y, … with x and y below {most}",
        write,
        below("fibonacci", most),
        form=rf"[0-9]+(,[0-9]+){{{terms - 1}}}",
        longest=len(write(most - 1, most - 1)),
    )
    return renamed(language, symbols) if symbols else language


def mangled(most: int = 1000) -> Language:
    """The talk's second kind of sequences: five terms, of which three have been tampered with (`mangle`)."""
    largest = below("mangled", most) - 1
    first, third = len(str(largest)), len(str(2 * largest))
    fourth = 2 * len(str(largest + 2 * largest * 8 // 7 + 171))  # all 5s, at worst; so the fifth is not longer
    return sequences(
        f"x, y, x + y and two more terms, tampered with, with x and y below {most}",
        mangle,
        most,
        form=r"[0-9]+(,[0-9]+){3},[0-9]*",
        longest=2 * first + third + 2 * fourth + 4,
    )


def mangle(x: int, y: int) -> str:
    """The third term is x + y, with 7 and 8 exchanged. The fourth is the sum of the two before it and 171, written
    backwards (zeros stay) with every 5 doubled. The fifth is the sum of the two before it, up to the first 4."""
    third = str(x + y).translate(str.maketrans("78", "87"))
    fourth = str(y + int(third) + 171)[::-1].replace("5", "55")
    fifth = str(int(third) + int(fourth)).partition("4")[0]
    return f"{x},{y},{third},{fourth},{fifth}"


def below(name: str, most: int) -> int:
    if whole(f"{name}: most", most, 1) > LARGEST:
        raise HandloomError(f"{name}: most={shown(most)} must be at most 10^18")
    return most


def sequences(about: str, write: Callable[[int, int], str], most: int, form: str, longest: int) -> Language:
    """The strings that `write` makes of two random numbers below `most`."""
    shape = re.compile(form)

    def right(text: str) -> bool:
        if not shape.fullmatch(text) or len(text) > longest:
            return False
        x, y = map(int, text.split(",")[:2])
        return max(x, y) < most and text == write(x, y)

    return Language(
        about=about,
        tokens=SYMBOLS,
        longest=longest,
        draw=lambda rng: write(*rng.integers(0, most, 2).tolist()),
        right=right,
        formed=lambda text: shape.fullmatch(text) is not None,
    )


def renamed(language: Language, symbols: str) -> Language:
    """The same language with other symbols, one for each that it has, in order."""
    old = "".join(language.tokens)
    if len(old) != len(language.tokens) or len(symbols) != len(old):
        raise HandloomError(
            f"symbols={shown(symbols)} must be {len(language.tokens)} characters, "
            f"one for each of {shown(' '.join(language.tokens))}"
        )
    check_alphabet(symbols)
    there, back = str.maketrans(old, symbols), str.maketrans(symbols, old)

    def is_ours(text: str) -> bool:
        return set(text) <= set(symbols)

    return replace(
        language,
        about=f"{language.about}, written with {symbols} instead of {old}",
        tokens=symbols,
        draw=lambda rng: language.draw(rng).translate(there),
        right=lambda text: is_ours(text) and language.right(text.translate(back)),
        formed=lambda text: is_ours(text) and language.formed(text.translate(back)),
        lines=None if language.lines is None else [line.translate(there) for line in language.lines],
    )
