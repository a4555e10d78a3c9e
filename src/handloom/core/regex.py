r"""Formats: a small regular expression that a text must match.

    >>> format = parse_regex("[01]{2,4}|none")
    >>> format.matches("0110"), format.matches("0"), format.matches("none")
    (True, False, True)

    choice      chain {"|" chain}                         a format is always about the whole text
    chain       {atom ["*" | "+" | "?" | "{m}" | "{m,}" | "{m,n}"]}
    atom        character | "." | "\" escape | "[" ["^"] {character ["-" character]} "]" | "(" choice ")"
    escape      any punctuation, for itself | n | r | t | d (digit) | w (letter, digit or _) | s (space)

How: a format is expanded into its characters (`[01]{2,4}` has four), and a state is the set of those that may just have
been read (Glushkov's automaton, 1961), as the bits of a whole number. There is no backtracking, so no format and no
text take long. `guides.py` chooses tokens by a format.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NoReturn

from handloom.core.errors import HandloomError, shown

LONGEST, DEEPEST, MOST = 1_000, 30, 2_000  # of a format: characters, nested brackets, characters when expanded
START = 1  # the state before any text: bit 0 is the place in front of the first character
DIGITS = "0123456789"
LETTERS = {"n": ("\n", "\n"), "r": ("\r", "\r"), "t": ("\t", "\t")}
CLASSES = {
    "d": (("0", "9"),),
    "w": (("0", "9"), ("A", "Z"), ("_", "_"), ("a", "z")),
    "s": (("\t", "\r"), (" ", " ")),
}

Span = tuple[str, str]


@dataclass(frozen=True)
class Symbols:
    """A set of characters: spans of them, or all others."""

    spans: tuple[Span, ...]
    others: bool = False

    def has(self, character: str) -> bool:
        return any(low <= character <= high for low, high in self.spans) != self.others


@dataclass(frozen=True)
class Chain:
    """Parts one after the other."""

    parts: tuple["Part", ...]


@dataclass(frozen=True)
class Choice:
    """One of several parts."""

    parts: tuple["Part", ...]


@dataclass(frozen=True)
class Repeat:
    """A part, at least `least` and at most `most` times."""

    part: "Part"
    least: int
    most: int | None


Part = Symbols | Chain | Choice | Repeat
NOTHING = Chain(())


def size(part: Part) -> int:
    """How many characters a part has when expanded."""
    if isinstance(part, Symbols):
        return 1
    if isinstance(part, Repeat):
        return size(part.part) * (max(1, part.least) if part.most is None else part.most)
    return sum(map(size, part.parts))


def parse_regex(text: str) -> "Format":
    """The format that a text describes."""
    if not isinstance(text, str) or len(text) > LONGEST:
        raise HandloomError(f"a format is text of up to {LONGEST:,} characters, such as [01]{{30,40}}")
    return Format(text, Parser(text).whole())


class Parser:
    """Reads a format from left to right, with one method per line of the grammar."""

    def __init__(self, text: str) -> None:
        self.text, self.at, self.depth = text, 0, 0

    @property
    def next(self) -> str:
        """The next character; nothing at the end."""
        return self.text[self.at : self.at + 1]

    def takes(self, character: str) -> bool:
        found = self.next == character
        self.at += found
        return found

    def fail(self, what: str, at: int, remedy: str) -> NoReturn:
        raise HandloomError(f"format {shown(self.text)}: {what} at character {at + 1}; {remedy}")

    def whole(self) -> Part:
        part = self.choice()
        if self.next:
            self.fail("a closing bracket without an opening one", self.at, r"write \) for the character")
        return part

    def choice(self) -> Part:
        parts = [self.chain()]
        while self.takes("|"):
            at = self.at
            parts.append(self.chain())
            self.check_size(parts, at)
        return parts[0] if len(parts) == 1 else Choice(tuple(dict.fromkeys(parts)))

    def chain(self) -> Part:
        parts: list[Part] = []
        while self.next not in ("", "|", ")"):
            at = self.at
            part = self.repeated()
            if part != NOTHING:
                parts.append(part)
            self.check_size(parts, at)
        return parts[0] if len(parts) == 1 else Chain(tuple(parts))

    def check_size(self, parts: list[Part], at: int) -> None:
        if sum(map(size, parts)) > MOST:
            self.fail(f"it has more than {MOST:,} characters, expanded, counting the part", at, "repeat less")

    def repeated(self) -> Part:
        part = self.atom()
        at = self.at
        if self.next not in ("*", "+", "?", "{") or not self.next:
            return part
        least, most = self.times()
        if self.next in ("*", "+", "?", "{") and self.next:
            self.fail("a repetition of a repetition", self.at, "put the first into brackets: (a*)*")
        if most is not None and most < least:
            self.fail("a repetition whose most is below its least", at, "write {2,5}: the least, then the most")
        return NOTHING if size(part) == 0 or most == 0 else Repeat(part, least, most)

    def times(self) -> tuple[int, int | None]:
        if (sign := self.next) != "{":
            self.at += 1
            return (1 if sign == "+" else 0), (1 if sign == "?" else None)
        at = self.at
        inside, closed, _ = self.text[at + 1 :].partition("}")
        least, comma, most = inside.partition(",")
        if not closed or not is_count(least) or (most and not is_count(most)):
            self.fail(
                "{ without a count", at, r"write {3}, {3,} or {3,5}, with up to 4 digits, or \{ for the character"
            )
        self.at += len(inside) + 2
        return int(least), int(most) if most else None if comma else int(least)

    def atom(self) -> Part:
        at, character = self.at, self.next
        self.at += 1
        if character in "*+?{":
            self.fail("nothing to repeat", at, f"write \\{character} for the character")
        if character in "^$":
            self.fail(
                f"{character} is not needed",
                at,
                f"a format is of the whole text; write \\{character} for the character",
            )
        if character in "]}":
            self.fail(f"{character} closes nothing", at, f"write \\{character} for the character")
        if character == "(":
            return self.group(at)
        if character == "[":
            return self.symbols(at)
        if character == ".":
            return Symbols((), others=True)
        return Symbols(self.escape(at) if character == "\\" else ((character, character),))

    def group(self, at: int) -> Part:
        self.depth += 1
        if self.depth > DEEPEST:
            self.fail(f"more than {DEEPEST} nested brackets", at, "nest less")
        part = self.choice()
        if not self.takes(")"):
            self.fail("a bracket without an end", at, "close it with )")
        self.depth -= 1
        return part

    def symbols(self, at: int) -> Symbols:
        """The inside of [ ]."""
        others = self.takes("^")
        spans: list[Span] = []
        while self.next not in ("", "]"):
            first_at = self.at
            first = self.symbol()
            dash = self.text[self.at : self.at + 1] == "-" and self.text[self.at + 1 : self.at + 2] not in ("", "]")
            if not dash:
                spans += first
                continue
            self.at += 1
            last = self.symbol()
            if not is_single(first) or not is_single(last) or first[0][0] > last[0][0]:
                self.fail(
                    "a range without a first and a last character", first_at, r"write a-z, or \- for the character"
                )
            spans.append((first[0][0], last[0][0]))
        if not self.takes("]"):
            self.fail("a class without an end", at, "close it with ]")
        if not spans:
            self.fail("a class of nothing", at, r"write what is in it, such as [01]; \] stands for the character")
        return Symbols(tuple(dict.fromkeys(spans)), others)

    def symbol(self) -> tuple[Span, ...]:
        at, character = self.at, self.next
        self.at += 1
        return self.escape(at) if character == "\\" else ((character, character),)

    def escape(self, at: int) -> tuple[Span, ...]:
        """What comes after a backslash."""
        character = self.next
        self.at += 1
        if character in CLASSES:
            return CLASSES[character]
        if not character or character.isalnum():
            known = " ".join(f"\\{letter}" for letter in (*LETTERS, *CLASSES))
            if character not in LETTERS:
                self.fail(f"no escape \\{character}", at, f"there are {known}, and \\ in front of any punctuation")
        return (LETTERS.get(character, (character, character)),)


def is_count(text: str) -> bool:
    return 0 < len(text) <= 4 and set(text) <= set(DIGITS)


def is_single(spans: tuple[Span, ...]) -> bool:
    return len(spans) == 1 and spans[0][0] == spans[0][1]


def bits(state: int) -> Iterator[int]:
    """The members of a set, the lowest first."""
    while state:
        lowest = state & -state
        yield lowest.bit_length() - 1
        state ^= lowest


@dataclass(frozen=True)
class Piece:
    """A part of the automaton: what it may begin with, what it may end with, whether it may be nothing."""

    first: int = 0
    last: int = 0
    empty: bool = True


class Format:
    """The automaton of a format. A state is a set of its characters, numbered from 1; 0 is before all of them."""

    def __init__(self, text: str, part: Part) -> None:
        self.text = text
        self.follow = [0]  # for every character the set of those that may come next
        self.places: dict[Symbols, int] = {}  # where each set of symbols is written
        self.found: dict[str, int] = {}
        whole = self.build(part)
        self.follow[0] = whole.first
        self.last = whole.last | (START if whole.empty else 0)  # where a match may end

    def build(self, part: Part) -> Piece:
        """Expand a part, from its end to its beginning, so that each joint has few characters on its left."""
        if isinstance(part, Symbols):
            place = 1 << len(self.follow)
            self.follow.append(0)
            self.places[part] = self.places.get(part, 0) | place
            return Piece(place, place, False)
        if isinstance(part, Repeat):
            return self.repeat(part)
        pieces = [self.build(inner) for inner in part.parts]
        if isinstance(part, Choice):
            return Piece(union(p.first for p in pieces), union(p.last for p in pieces), any(p.empty for p in pieces))
        whole = Piece()
        for piece in reversed(pieces):
            whole = self.join(piece, whole)
        return whole

    def repeat(self, part: Repeat) -> Piece:
        whole, copies = Piece(), part.least
        if part.most is None:
            piece = self.build(part.part)
            self.join(piece, piece)  # its end may be followed by its beginning
            whole, copies = Piece(piece.first, piece.last, piece.empty or not part.least), max(0, part.least - 1)
        for _ in range(part.least, part.most or 0):
            whole = self.join(self.build(part.part), whole)
            whole = Piece(whole.first, whole.last)
        for _ in range(copies):
            whole = self.join(self.build(part.part), whole)
        return whole

    def join(self, left: Piece, right: Piece) -> Piece:
        for place in bits(left.last):
            self.follow[place] |= right.first
        first = left.first | (right.first if left.empty else 0)
        last = right.last | (left.last if right.empty else 0)
        return Piece(first, last, left.empty and right.empty)

    def where(self, character: str) -> int:
        """All places where a character fits."""
        if character not in self.found:
            self.found[character] = union(place for symbols, place in self.places.items() if symbols.has(character))
        return self.found[character]

    def reach(self, state: int) -> int:
        """All places that may come next."""
        return union(self.follow[place] for place in bits(state))

    def read(self, text: str, state: int = START) -> int:
        """The state after a text; 0, the empty set, if no match begins like this."""
        for character in text:
            state = self.reach(state) & self.where(character)
        return state

    def matches(self, text: str) -> bool:
        return self.read(text) & self.last != 0


def union(sets: Iterable[int]) -> int:
    whole = 0
    for one in sets:
        whole |= one
    return whole
