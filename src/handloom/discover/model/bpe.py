"""Byte-pair encoding: symbols that are often neighbours become one token, found by the `tokenizers` library.

    >>> merges = Merges.learn(2, [[0, 0, 0, 0, 1], [0, 0, 1, 0, 0]], 2)
    >>> merges.pairs, merges.pieces
    (((0, 0), (2, 1)), ((0,), (1,), (0, 0), (0, 0, 1)))
    >>> merges.join([0, 0, 0, 0, 1]), merges.split([2, 3])
    ([2, 3], [0, 0, 0, 0, 1])

Symbols are the numbers 0, 1, …; the pieces made of them are numbered after them. The same strings always give the same
merges. The pairs, which are plain JSON, describe all of it.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

from handloom.core import HandloomError
from handloom.core.errors import shown

Pair = tuple[int, int]

FIRST = 0x10000  # the character for symbol 0 in the library: above all characters that it treats specially


@dataclass(frozen=True)
class Merges:
    """Pairs of symbols or pieces, in the order in which they are merged."""

    symbols: int  # their number
    pairs: tuple[Pair, ...]

    @classmethod
    def learn(cls, symbols: int, strings: Iterable[Sequence[int]], most: int) -> "Merges":
        """Up to `most` new pieces from strings of symbols: again and again the most frequent pair is merged."""
        tokenizers = library()
        learner = tokenizers.Tokenizer(tokenizers.models.BPE())
        trainer = tokenizers.trainers.BpeTrainer(
            vocab_size=symbols + most,
            initial_alphabet=[text_of([symbol]) for symbol in range(symbols)],
            show_progress=False,
        )
        learner.train_from_iterator(map(text_of, strings), trainer)
        return cls(symbols, tuple(pairs_of(learner)))

    @classmethod
    def from_json(cls, symbols: int, pairs: Any) -> "Merges":
        if not isinstance(pairs, list) or not all(is_pair(pair) for pair in pairs):
            raise HandloomError(f"merges={shown(pairs)} must be a list of pairs of tokens")
        return cls(symbols, tuple((a, b) for a, b in pairs))

    @cached_property
    def pieces(self) -> tuple[tuple[int, ...], ...]:
        """The symbols of each token. Two merges may make the same piece, which then has one number."""
        listed: list[tuple[int, ...]] = [(symbol,) for symbol in range(self.symbols)]
        known = set(listed)
        for pair in self.pairs:
            if not all(0 <= token < len(listed) for token in pair):
                raise HandloomError(f"the merge {shown(pair)} is of unknown tokens (expected below {len(listed)})")
            piece = listed[pair[0]] + listed[pair[1]]
            if piece not in known:
                known.add(piece)
                listed.append(piece)
        return tuple(listed)

    @cached_property
    def merger(self) -> Any:
        """The library's model of these merges."""
        tokenizers, names = library(), [text_of(piece) for piece in self.pieces]
        vocab = {name: token for token, name in enumerate(names)}
        pairs = [(names[a], names[b]) for a, b in self.pairs]
        return tokenizers.Tokenizer(tokenizers.models.BPE(vocab, pairs))

    def join(self, symbols: Sequence[int]) -> list[int]:
        """A string of symbols, merged into tokens."""
        return list(self.merger.encode(text_of(symbols)).ids)

    def split(self, tokens: Sequence[int]) -> list[int]:
        """The symbols of these tokens."""
        return list(chain.from_iterable(self.pieces[token] for token in tokens))


def is_pair(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(type(token) is int for token in value)


def library() -> Any:
    try:
        import tokenizers
    except ModuleNotFoundError as error:
        raise HandloomError("bpe needs tokenizers, which is not installed: pip install 'handloom[discover]'") from error
    return tokenizers


def text_of(symbols: Sequence[int]) -> str:
    """A string of symbols as text, one character each."""
    return "".join(chr(FIRST + symbol) for symbol in symbols)


def pairs_of(learner: Any) -> Iterable[Pair]:
    """The merges of a trained tokenizer, in its order, by the numbers of its tokens."""
    number = learner.get_vocab()
    for a, b in json.loads(learner.to_str())["model"]["merges"]:
        yield number[a], number[b]
