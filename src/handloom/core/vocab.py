"""Vocab: the tokens, and how text becomes tokens and tokens become text.

    >>> letters = Vocab.of("abc", eos="<eos>")              # characters, written without a separator
    >>> letters.encode("cab"), letters.decode([0, 1, 3])
    ([2, 0, 1], 'ab')
    >>> numbers = Vocab.numbers(13)                         # words, separated by spaces
    >>> numbers.encode("6 2 12 0")
    [6, 2, 12, 0]

A special token plays a part (beginning, end, padding): `encode` puts `bos` in front, `decode` leaves specials out.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from handloom.core.errors import HandloomError, counted, shown

MOST_NUMBERS = 2_000_000  # tokens of Vocab.numbers


@dataclass(frozen=True)
class Vocab:
    """Token strings; the id of a token is its place in the tuple."""

    tokens: tuple[str, ...]
    separator: str = " "  # between tokens in text: a space, or nothing (then the longest token that fits is read)
    bos: str | None = None
    eos: str | None = None
    pad: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.tokens, tuple) or not self.tokens:
            raise HandloomError("Vocab: tokens must be a tuple of at least one string")
        if bad := [token for token in self.tokens if not is_token(token, self.separator)]:
            raise HandloomError(
                f"Vocab: {shown(bad[0])} cannot be a token: a token is a string of one or more characters, "
                "and has no space in it where a space separates tokens"
            )
        if len(self.ids) < len(self.tokens):
            twice = next(token for i, token in enumerate(self.tokens) if self.ids[token] != i)
            raise HandloomError(f"Vocab: the token {shown(twice)} occurs twice; give every token a name of its own")
        if self.separator not in ("", " "):
            raise HandloomError(f"Vocab: separator={shown(self.separator)} must be '' or ' '")
        for part in ("bos", "eos", "pad"):
            token = getattr(self, part)
            if token is not None and (not isinstance(token, str) or token not in self.ids):
                raise HandloomError(f"Vocab: {part}={shown(token)} is not one of the tokens; add it to them")

    @classmethod
    def of(cls, characters: Iterable[str], **specials: str) -> "Vocab":
        """Characters in the order given, then the special tokens."""
        return cls((*dict.fromkeys(characters), *dict.fromkeys(specials.values())), separator="", **specials)

    @classmethod
    def numbers(cls, count: int, **specials: str) -> "Vocab":
        """0, 1, …, count − 1, separated by spaces, then the special tokens."""
        if count > MOST_NUMBERS:
            raise HandloomError(f"Vocab: {counted(count)} tokens (expected up to {counted(MOST_NUMBERS)}); give fewer")
        return cls((*map(str, range(count)), *dict.fromkeys(specials.values())), **specials)

    def __len__(self) -> int:
        return len(self.tokens)

    @cached_property
    def ids(self) -> dict[str, int]:
        return {token: i for i, token in enumerate(self.tokens)}

    @property
    def specials(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(t for t in (self.bos, self.eos, self.pad) if t is not None))

    def id(self, token: str) -> int:
        """The id of one token."""
        if token not in self.ids:
            raise HandloomError(f"token {shown(token)} is not in the vocabulary; it has {self.sample()}")
        return self.ids[token]

    def encode(self, text: str) -> list[int]:
        """Text to ids, with `bos` in front if there is one."""
        if not isinstance(text, str):
            raise HandloomError(f"expected text, not {shown(text)}; generate and trace take token ids")
        pieces = text.split() if self.separator else self._pieces.findall(text)
        ids = [self.id(piece) for piece in pieces]
        return [self.ids[self.bos], *ids] if self.bos is not None and ids[:1] != [self.ids[self.bos]] else ids

    def decode(self, ids: Sequence[int], specials: bool = False) -> str:
        """Ids to text, by default without special tokens."""
        if wrong := [i for i in ids if not 0 <= i < len(self)]:
            raise HandloomError(f"token {shown(wrong[0])} is not in the vocabulary; tokens are 0 to {len(self) - 1}")
        hidden = () if specials else self.specials
        return self.separator.join(t for t in (self.tokens[i] for i in ids) if t not in hidden)

    def sample(self, most: int = 20) -> str:
        """Some of the tokens, for messages."""
        some = " ".join(token if token.isprintable() and token.strip() else repr(token) for token in self.tokens[:most])
        return some if len(self) <= most else f"{len(self)} tokens: {some} …"

    @cached_property
    def _pieces(self) -> re.Pattern[str]:
        """Matches the longest token that fits, or any one character (for which `id` raises an error)."""
        longest_first = sorted(self.tokens, key=len, reverse=True)
        return re.compile("|".join([*map(re.escape, longest_first), "."]), re.DOTALL)

    def to_json(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)} | {"tokens": list(self.tokens)}

    @classmethod
    def from_json(cls, values: Any) -> "Vocab":
        known = {f.name for f in fields(cls)}
        if not isinstance(values, dict) or not isinstance(values.get("tokens"), list) or not set(values) <= known:
            raise HandloomError(f"Vocab: expected an object with tokens and optionally {', '.join(sorted(known))}")
        return cls(**values | {"tokens": tuple(values["tokens"])})


def is_token(token: object, separator: str) -> bool:
    if not isinstance(token, str) or not token or (separator and token.split() != [token]):
        return False
    return not any("\ud800" <= character <= "\udfff" for character in token)  # half a character: no file can hold it
