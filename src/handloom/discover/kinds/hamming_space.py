"""Codes: sets of words of one length over the symbols 0, 1, …, q − 1, with the Hamming distance.

    >>> from handloom.discover.problem import Problem, verdict
    >>> space = code(5)
    >>> near = Problem(space, forbidden=lambda a, b: distance(a, b) < 3)
    >>> verdict(near, space.read(["00000", "11100", "00111", "11011"])).score
    4
    >>> verdict(near, space.read(["00000", "11000"])).reason
    '00000, 11000 is forbidden'

Rules and checks receive words as tuples of numbers; records have them as text. Codes are the same if their places, or
the symbols at one place, are permuted. Named symmetries: `cyclic`, the places turned by one; `turn-k`, in circles of k;
`reverse`; `add-one`, which adds 1 to every symbol.
"""

from itertools import product
from typing import Any

from handloom.core import HandloomError
from handloom.core.checks import whole
from handloom.discover.spaces import DIGITS, MOST_ELEMENTS, Map, Space, check_elements, in_circles

LONGEST_TURN = 12


def code(length: int, symbols: int = 2) -> Space:
    """Sets of words of that length over 0, …, symbols − 1."""
    whole("the length of words", length, 1)
    whole("the number of symbols", symbols, 2)
    if symbols > len(DIGITS):
        raise HandloomError(f"{symbols} symbols are too many (expected up to {len(DIGITS)})")
    if length * (symbols - 1).bit_length() > 40 or symbols**length > MOST_ELEMENTS:
        raise HandloomError(f"more than {MOST_ELEMENTS:,} words; choose a smaller length, or fewer symbols")
    words = tuple(product(range(symbols), repeat=length))
    named: dict[str, tuple[Map, ...]] = {"add-one": (add_one(symbols, *range(length)),)}
    if length > 1:
        turns = {f"turn-{k}": (turned(length, k),) for k in range(2, min(length - 1, LONGEST_TURN) + 1)}
        named |= {"cyclic": (turned(length, length),), "reverse": (lambda word: word[::-1],), **turns}
    every: tuple[Map, ...] = (add_one(symbols, 0), exchange_symbols)
    every += (exchange_places, turned(length, length)) if length > 1 else ()
    return Space("code", check_elements(words), len(words), (length, symbols), named, every)


def add_one(symbols: int, *places: int) -> Map:
    """1 added to the symbols at these places."""
    return lambda word: tuple((x + 1) % symbols if i in places else x for i, x in enumerate(word))


def turned(length: int, k: int) -> Map:
    """The places in circles of k, each turned by one."""
    moved = [*map(in_circles(length, k), range(length))]
    return lambda word: tuple(word[i] for i in moved)


def exchange_symbols(word: Any) -> Any:
    """0 and 1 at the first place."""
    return (1 - word[0] if word[0] < 2 else word[0], *word[1:])


def exchange_places(word: Any) -> Any:
    return (word[1], word[0], *word[2:])


def distance(a: Any, b: Any) -> Any:
    """The Hamming distance of two words, the number of places at which they differ: for rules.

    >>> distance((0, 1, 2), (0, 2, 1))
    2
    """
    different = 0
    for i in range(len(a)):
        different += a[i] != b[i]
    return different
