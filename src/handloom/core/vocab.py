"""Vocab: the tokens, and how text becomes tokens and tokens become text.

    >>> letters = Vocab.of("abc", eos="<eos>")              # characters, written without a separator
    >>> letters.encode("cab"), letters.decode([0, 1, 3])
    ([2, 0, 1], 'ab')
    >>> numbers = Vocab.numbers(13)                         # words, separated by spaces
    >>> numbers.encode("6 2 12 0")
    [6, 2, 12, 0]

A special token plays a part (beginning, end, padding): `encode` puts `bos` in front, `decode` leaves specials out.

A Vocab that came with a tokenizer.json (`tokenizer`) has the library `tokenizers` split and join text. Then the file
decides what `encode` puts in front (for GPT-2 nothing) and which tokens are special; `bos` is what an empty prompt
stands for. The tokens are the pieces as the file writes them, such as Ġthe for " the".
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from handloom.core.errors import HandloomError, counted, one_line, shown

MOST_NUMBERS = 2_000_000  # tokens of Vocab.numbers


@dataclass(frozen=True)
class Vocab:
    """Token strings; the id of a token is its place in the tuple."""

    tokens: tuple[str, ...]
    separator: str = " "  # between tokens in text: a space, or nothing (then the longest token that fits is read)
    bos: str | None = None
    eos: str | None = None
    pad: str | None = None
    tokenizer: str | None = None  # the text of a tokenizer.json, which splits and joins text instead of the separator

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
        if self.tokenizer is not None and (not isinstance(self.tokenizer, str) or self.separator):
            raise HandloomError("Vocab: tokenizer must be the text of a tokenizer.json, with separator=''")
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

    def encode(self, text: str, begin: bool = True) -> list[int]:
        """Text to ids, with `bos` in front if there is one; or with begin=False, the same without what was added."""
        if not isinstance(text, str):
            raise HandloomError(f"expected text, not {shown(text)}; generate and trace take token ids")
        if self.tokenizer is not None:
            return self._encode_with_tokenizer(text, begin)
        pieces = text.split() if self.separator else self._pieces.findall(text)
        ids = [self.id(piece) for piece in pieces]
        if self.bos is None:
            return ids
        rest = ids[1:] if ids[:1] == [self.ids[self.bos]] else ids
        return [self.ids[self.bos], *rest] if begin else rest

    def encode_prompt(self, text: str) -> list[int]:
        """The ids of a text to continue: `encode`, and for an empty text `bos` if there is one."""
        return self.encode(text) or ([self.ids[self.bos]] if self.bos is not None else [])

    def decode(self, ids: Sequence[int], specials: bool = False) -> str:
        """Ids to text, by default without special tokens."""
        if wrong := [i for i in ids if not 0 <= i < len(self)]:
            raise HandloomError(f"token {shown(wrong[0])} is not in the vocabulary; tokens are 0 to {len(self) - 1}")
        if self.tokenizer is not None:
            return str(self._tokenizer.decode([int(i) for i in ids], skip_special_tokens=not specials))
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

    def _encode_with_tokenizer(self, text: str, begin: bool) -> list[int]:
        try:
            ids: list[int] = self._tokenizer.encode(text, add_special_tokens=begin).ids
        except HandloomError:
            raise
        except Exception as error:
            raise HandloomError(f"the tokenizer cannot encode {shown(text)}: {one_line(error)}") from error
        if wrong := [i for i in ids if i >= len(self)]:
            raise HandloomError(
                f"the tokenizer gives token {wrong[0]}, and the model's tokens are 0 to {len(self) - 1}"
            )
        return ids

    @cached_property
    def _tokenizer(self) -> Any:
        """The tokenizer, which neither cuts nor fills texts, whatever its file says about batches for training."""
        try:
            from tokenizers import Tokenizer
        except ImportError as error:
            raise HandloomError(
                "this model's vocabulary needs tokenizers, which is not installed: pip install 'handloom[share]'"
            ) from error
        try:
            tokenizer = Tokenizer.from_str(self.tokenizer or "")
        except Exception as error:
            raise HandloomError(f"the model's tokenizer cannot be used: {one_line(error)}") from error
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer

    def to_json(self) -> dict[str, Any]:
        """All fields as JSON values; `tokenizer` only if there is one, so that files without one stay as they were."""
        values = {f.name: getattr(self, f.name) for f in fields(self)} | {"tokens": list(self.tokens)}
        return values if self.tokenizer is not None else {k: v for k, v in values.items() if k != "tokenizer"}

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
