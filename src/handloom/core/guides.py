"""Guides: which tokens may come next so that a text can still match a format.

    >>> from handloom.core.regex import parse_regex
    >>> vocab = Vocab(("0", "1", "no", "ne", "<end>"), separator="", eos="<end>")
    >>> guide = Guide(parse_regex("[01]{2,4}|none"), vocab)
    >>> guide.allowed(guide.begin([], room=9), room=9)      # what the text may begin with
    ['0', '1', 'no']
    >>> guide.allowed(guide.begin([0, 1], room=9), room=9)  # "01" may continue, or end
    ['0', '1', '<end>']
    >>> guide.allowed(guide.begin([0, 1], room=1), room=1)  # with room for one token it must end
    ['<end>']

The fewest tokens from a state, which is a set, to the end of a match are the fewest from any of its members. So they
are computed once per character of the format, not for each of exponentially many sets.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from handloom.core.arrays import Array
from handloom.core.errors import HandloomError, shown
from handloom.core.regex import START, Format, bits, union
from handloom.core.vocab import Vocab

NEVER = 2**31 - 1  # more tokens than any format needs
KEPT = 4_000_000  # numbers that a guide keeps in memory


@dataclass
class Node:
    """Tokens by their characters, with one branch for all characters that the format does not tell apart."""

    kind: int | None = None
    branches: dict[int, "Node"] = field(default_factory=dict)  # by the places where the character fits


@dataclass(frozen=True)
class Moves:
    """What may follow a state: where each kind of token leads, and how many tokens must follow it."""

    states: dict[int, int]
    needs: np.ndarray[Any, np.dtype[np.int32]]  # (kinds,)
    least: int


class Guide:
    """A format over a vocabulary. Tokens that the format does not tell apart are of one kind.

    Special tokens are not part of the text: eos may follow when the text matches, the others never. Up to `kept`
    numbers about states are kept in memory."""

    def __init__(self, format: Format, vocab: Vocab, kept: int = KEPT) -> None:
        if vocab.tokenizer is not None:
            raise HandloomError(
                f"format {shown(format.text)}: this model's tokens are pieces of a tokenizer (expected a vocabulary "
                "whose tokens are text); leave the format out"
            )
        self.format, self.vocab, self.kept = format, vocab, kept
        self.tree, self.known = Node(), dict[int, Moves]()
        spelled: dict[tuple[int, ...], int] = {}
        kinds = [-1 if token in vocab.specials else self.kind(token, spelled) for token in vocab.tokens]
        self.end, self.count = len(spelled), len(spelled) + 2  # the last kind, -1, is that of specials
        if vocab.eos is not None:
            kinds[vocab.ids[vocab.eos]] = self.end
        self.kinds = np.array(kinds)  # (V,)
        self.after_last = int(vocab.eos is not None)  # tokens that come after the text
        self.distances = self.find_distances()
        self.alive = union(1 << place for place, d in enumerate(self.distances) if d < NEVER)

    def kind(self, token: str, spelled: dict[tuple[int, ...], int]) -> int:
        """The kind of a token; a new kind is added to the tree."""
        places = tuple(self.format.where(character) for character in token)
        if places not in spelled:
            node = self.tree
            for place in places:
                node = node.branches.setdefault(place, Node())
            spelled[places] = node.kind = len(spelled)
        return spelled[places]

    def steps(self, state: int) -> Iterator[tuple[int, int]]:
        """Every kind of token that fits, and the state after it. Separated tokens have a space before all but the
        first."""
        if self.vocab.separator and state != START:
            state = self.format.read(self.vocab.separator, state)
        branches = [(self.tree, state)]
        while branches:
            node, state = branches.pop()
            reach = self.format.reach(state)
            for places, branch in node.branches.items():
                if after := reach & places:
                    if branch.kind is not None:
                        yield branch.kind, after
                    if branch.branches:
                        branches.append((branch, after))

    def find_distances(self) -> list[int]:
        """For every place the fewest tokens to the end of a match."""
        count = len(self.format.follow)
        reached = [union(after for _, after in self.steps(1 << place)) for place in range(count)]
        distances, edge, far = [NEVER] * count, self.format.last, 0
        while edge:
            for place in bits(edge):
                distances[place] = far
            far += 1
            edge = union(1 << p for p in range(count) if distances[p] == NEVER and reached[p] & edge)
        return distances

    def distance(self, state: int) -> int:
        """The fewest tokens from a state to the end of a row."""
        text = min((self.distances[place] for place in bits(state)), default=NEVER)
        return text if text == NEVER else text + self.after_last

    def moves(self, state: int) -> Moves:
        """What may come next. (Two threads may ask at once, so a found value is never looked up twice.)"""
        if (known := self.known.get(state)) is not None:
            return known
        if len(self.known) * self.count > self.kept:
            self.known.clear()
        states, needs = {}, np.full(self.count, NEVER, np.int32)
        for kind, after in self.steps(state):
            if after := after & self.alive:
                states[kind], needs[kind] = after, self.distance(after)
        if self.vocab.eos is not None and state & self.format.last:
            needs[self.end] = 0
        self.known[state] = found = Moves(states, needs, int(needs.min()))
        return found

    def begin(self, prompt: Sequence[int], room: int) -> int:
        """The state after a prompt, with which the text begins; an error if it cannot be completed."""
        text = self.vocab.decode(prompt)
        state = self.format.read(text) & self.alive
        about, fewest = f"format {shown(self.format.text)}", self.distance(state)
        if fewest == NEVER:
            after = f" begins with {shown(text)} and" if text else ""
            raise HandloomError(f"{about}: no text{after} fits it in this vocabulary, which has {self.vocab.sample()}")
        if fewest > room:
            after = f" after {shown(text)}" if text else ""
            raise HandloomError(
                f"{about}: it takes at least {fewest} tokens{after}, and there is room for {room}; "
                "allow more steps, or a shorter text"
            )
        return state

    def allowed(self, state: int, room: int) -> list[str]:
        """The tokens that may come next, with room for that many."""
        fits = (self.moves(state).needs < room)[self.kinds]
        return [token for token, fit in zip(self.vocab.tokens, fits, strict=True) if fit]


class Guided:
    """Rows that grow together, each held to the format: the state of each, and how many tokens may be added to it."""

    def __init__(self, guide: Guide, states: list[int], limits: list[int]) -> None:
        self.guide, self.states, self.limits = guide, states, limits
        self.most = len(guide.format.follow) + 1  # more room than this makes no difference

    def room(self, row: int, step: int) -> int:
        return min(self.limits[row] - step, self.most)

    def some(self, rows: Sequence[int]) -> "Guided":
        """Only these rows."""
        return Guided(self.guide, [self.states[row] for row in rows], [self.limits[row] for row in rows])

    def continues(self, row: int, step: int) -> bool:
        """Whether a token may be added to a row; if not, its text matches."""
        return self.guide.moves(self.states[row]).least < self.room(row, step)

    def hold(self, rows: Sequence[int], logits: Array, step: int) -> Array:
        """The logits (B, V), −∞ where a token is not allowed."""
        needs = np.stack([self.guide.moves(self.states[row]).needs for row in rows])  # (B, kinds)
        room = np.array([self.room(row, step) for row in rows])
        return np.where((needs < room[:, None])[:, self.guide.kinds], logits, -np.inf)

    def advance(self, rows: Sequence[int], tokens: Sequence[int]) -> None:
        for row, token in zip(rows, tokens, strict=True):
            states = self.guide.moves(self.states[row]).states
            self.states[row] = states.get(self.guide.kinds[token], 0)
