"""Programs that find tokens and say them again."""

from typing import Any

from handloom.core import HandloomError
from handloom.language import END, apply, at, back, count, find, first, latest, position, program, table, there, token
from handloom.write.compiler.source import TokenProgram
from handloom.write.compiler.values import Value

ALPHABET = "abcdefghijklmnopqrstuvwxyz"


def letters_up_to(letters: int) -> str:
    """The first letters of the alphabet, as a class of a regular expression."""
    if not 2 <= letters <= len(ALPHABET):
        raise HandloomError(f"letters: {letters} (expected 2 to {len(ALPHABET)})")
    return f"[a-{ALPHABET[letters - 1]}]"


def hello(message: str = "Hello World!") -> TokenProgram:
    @program(asks="")
    def hello() -> Any:
        return table(dict(enumerate(message)), position, otherwise=END)

    return hello


def lookup(keys: str = "abcdefghij", values: str = "7392516480") -> TokenProgram:
    if len(keys) != len(values) or len(set(keys)) != len(keys) or not keys.isalnum():
        raise HandloomError("lookup: keys must be different letters or digits, with one value each")

    @program(asks=f"[{keys}]", steps=1)
    def lookup() -> Any:
        return table(dict(zip(keys, values, strict=True)), token, otherwise=values[0])

    return lookup


def copy(n: int = 5, letters: int = 4) -> TokenProgram:
    @program(asks=f"{letters_up_to(letters)}{{0,{n}}}>")
    def copy() -> Any:
        said = position - find(">")
        return apply(lambda letter: END if letter == ">" else letter, at(said + 1))

    return copy


def shift(n: int = 5, letters: int = 4) -> TokenProgram:
    @program(asks=f"{letters_up_to(letters)}{{1,{n}}}>")
    def shift() -> Any:
        middle = find(">")
        said = position - middle
        place = said + (said >= middle - 1)  # at last that of >
        return apply(lambda letter: {END: "_", ">": END}.get(letter, letter), at(place))

    return shift


def reverse(n: int = 5, letters: int = 4) -> TokenProgram:
    @program(asks=f"{letters_up_to(letters)}{{0,{n}}}>")
    def reverse() -> Any:
        return at(2 * find(">") - position - 1)  # at last that of the first token, which ends the answer

    return reverse


def caesar(n: int = 5, by: int = 3) -> TokenProgram:
    @program(asks=f"[a-z]{{0,{n}}}>")
    def caesar() -> Any:
        letter = at(position - find(">") + 1)
        return apply(lambda x: END if x == ">" else ALPHABET[(ord(x) - 97 + by) % 26] if x in ALPHABET else x, letter)

    return caesar


def hops(n: int, letters: int, times: int) -> TokenProgram:
    """What followed the latest occurrence of a token, as often as given, each time of what was found."""

    @program(asks=f"{letters_up_to(letters)}{{1,{n}}}", steps=1)
    def hop() -> Any:
        before, found = back(1), token
        for left in range(times, 0, -1):
            found = latest(token, where=there(before) == found, otherwise=END if left == 1 else "-")
        return found

    return hop


def induction(n: int = 63, letters: int = 10) -> TokenProgram:
    return hops(n, letters, 1)


def two_hop(n: int = 63, letters: int = 10) -> TokenProgram:
    return hops(n, letters, 2)


def three_hop(n: int = 31, letters: int = 6) -> TokenProgram:
    return hops(n, letters, 3)


def k_hop(n: int = 31, letters: int = 4, k: int = 8) -> TokenProgram:
    """k hops, by pointers that double: a layer more for twice as many hops.

    A hop leads to the position behind the latest earlier occurrence of the token here, and to the first token if there
    is none: find¹(s) = max({0} ∪ {r ≤ s: x[r − 1] = x[s]}). The next hop begins where the last one ended, so it does
    not see what is behind that, other than in `2-hop` and `3-hop`. (Sanford, Hsu, Telgarsky, "Transformers, parallel
    computation, and logarithmic depth", 2024.)
    """
    if k < 1:
        raise HandloomError(f"k: {k} (expected at least 1)")

    @program(asks=f"{letters_up_to(letters)}{{1,{n}}}", steps=1)
    def k_hop() -> Any:
        before = back(1)
        pointer = latest(position, where=there(before) == token, otherwise=0)
        place: Value | None = None
        for bit in reversed(f"{k:b}"):  # pointer leads 1, 2, 4, … hops on
            if bit == "1":
                place = pointer if place is None else at(place, pointer)
            pointer = at(pointer, pointer)
        return at(place)

    return k_hop


def dedupe(n: int = 5, letters: int = 4) -> TokenProgram:
    """The letter that makes k different ones is the k-th answer. More than all letters are not different."""

    def limited(number: Any) -> Value:
        return apply(lambda number: min(max(number, 0), letters + 1), number)

    @program(asks=f"{letters_up_to(letters)}{{0,{n}}}>")
    def dedupe() -> Any:
        new = (count(there(token) == token) < 2) & (token != ">")
        different = count(there(new) == 1)
        said = position - find(">")
        return first(token, where=there(limited(different)) == limited(said + 1), otherwise=END)

    return dedupe


def first_occurrence(n: int = 8, letters: int = 4) -> TokenProgram:
    if n > 9:
        raise HandloomError(f"n: {n} (expected up to 9, for a place of one digit)")

    @program(asks=f"{letters_up_to(letters)}{{1,{n}}}", steps=1)
    def first_occurrence() -> Any:
        return first(position, where=there(token) == token)

    return first_occurrence
