"""Constructions as tokens, for a model to learn from, and back from whatever it says.

    >>> from handloom.discover.spaces import grid
    >>> tokens = Tokens.of("cells", grid(2, 3))
    >>> tokens.encode((0, 4)), tokens.vocab.decode(tokens.encode((0, 4)))
    ([3, 1, 0, 0, 2, 0, 1, 0, 3], '100/010')
    >>> tokens.decode([1, 0, 0, 0, 2, 0, 1])             # a cell too many in one row, one too few in the other
    Decoded(construction=(0, 4), repaired=True)

There are three ways to write:

    cells    a token a cell, 0 or 1, row after row in a grid of two sides; of a word its letters, of a permutation its
             values
    sparse   a token for each element that is chosen, in ascending order; for subsets only
    bpe      the cells, with what often stands side by side as one token (bpe.py)

Smaller sizes of a problem can be mixed in: give their spaces after the main one. Cells show the size by the length of
their rows; the sparse way begins with a token for it. What is decoded is of the main size; another size is refused.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

from handloom.core import HandloomError, Vocab
from handloom.core.errors import shown
from handloom.discover.model.bpe import Merges
from handloom.discover.spaces import Construction, Space
from handloom.learn.data import Strings
from handloom.tasks.language import END

KINDS = ("cells", "sparse", "bpe")
Sized = tuple[Space, Construction]  # a construction of another size, and its space

ROW = "/"  # between rows of a grid
PIECES = 100  # of bpe, besides the symbols: as many as PatternBoost has


class Decoded(NamedTuple):
    """What was said, if it can be read; `repaired` if it is not written as it would be."""

    construction: Construction | None
    repaired: bool


@dataclass(frozen=True)
class Tokens:
    """How the constructions of a space, and of smaller ones of its kind, are written."""

    kind: str
    spaces: tuple[Space, ...]  # the main one first
    merges: Merges | None = None

    @classmethod
    def of(
        cls,
        kind: str,
        spaces: Space | Sequence[Space],
        constructions: Iterable[Construction] = (),
        pieces: int = PIECES,
    ) -> "Tokens":
        """`constructions`, of the main space, are what bpe learns its pieces from."""
        plain = cls(kind, checked(kind, spaces))
        if kind != "bpe":
            return plain
        strings = [plain.writing.write(construction) for construction in constructions]
        if not strings:
            raise HandloomError("bpe learns its tokens from constructions; give some, or write cells")
        return replace(plain, merges=Merges.learn(len(plain.writing.names), strings, pieces))

    def to_json(self) -> dict[str, Any]:
        """All but the spaces."""
        return {"kind": self.kind, "merges": self.merges and [list(pair) for pair in self.merges.pairs]}

    @classmethod
    def from_json(cls, values: Any, spaces: Space | Sequence[Space]) -> "Tokens":
        if not isinstance(values, dict) or set(values) != {"kind", "merges"}:
            raise HandloomError(
                f"{shown(values)} does not say how constructions are written: it must have kind and merges"
            )
        plain = cls(values["kind"], checked(values["kind"], spaces))
        if plain.kind != "bpe":
            return plain
        return replace(plain, merges=Merges.from_json(len(plain.writing.names), values["merges"]))

    @cached_property
    def writing(self) -> "Cells | Sparse":
        return Sparse(self.spaces) if self.kind == "sparse" else Cells(self.spaces)

    @cached_property
    def vocab(self) -> Vocab:
        """The symbols, the pieces made of them, and <end>, which stands before a string and after it."""
        names, between = self.writing.names, self.writing.between
        if self.merges:
            names = [between.join(names[i] for i in piece) for piece in self.merges.pieces]
        separator = "" if self.writing.letters else " "
        return Vocab((*names, END), separator, bos=END, eos=END)

    @property
    def end(self) -> int:
        return len(self.vocab) - 1

    @property
    def most(self) -> int:
        """The most tokens that a construction can take, with <end> before and after it."""
        return self.writing.most + 2

    @property
    def prompt(self) -> list[int]:
        """What all constructions of the main size begin with."""
        return [self.end, *self.writing.opening]

    def encode(self, construction: Construction, space: Space | None = None) -> list[int]:
        """A construction, of the main space unless told, from <end> to <end>."""
        if space is not None and space not in self.spaces:
            raise HandloomError(
                f"a {space.kind} of {space.length} that these tokens are not of; give its space to Tokens.of"
            )
        symbols = self.writing.write(construction, space)
        return [self.end, *(self.merges.join(symbols) if self.merges else symbols), self.end]

    def decode(self, ids: Sequence[int]) -> Decoded:
        """What a model has said, after <end> and up to the next one. Cells that are missing are empty (of a word: its
        first letter) and those too many are left out, as is whatever is there twice or does not belong there; to a
        permutation the values it lacks are added. Nothing can be made of another size, of nothing at all where cells
        are written, or of a token that does not exist."""
        said = [int(token) for token in ids]
        said = said[said[:1] == [self.end] :]
        if not all(0 <= token <= self.end for token in said):
            return Decoded(None, False)
        said = said[: said.index(self.end)] if self.end in said else said
        symbols = self.merges.split(said) if self.merges else said
        construction = self.writing.read(symbols)
        return Decoded(construction, construction is not None and self.writing.write(construction) != symbols)

    def strings(self, constructions: Iterable[Construction], others: Iterable[Sized] = ()) -> Strings:
        """To learn from: these constructions of the main space, and after them those of other sizes."""
        rows = [self.encode(construction) for construction in constructions]
        rows += [self.encode(construction, space) for space, construction in others]
        return Strings.of([(row[:1], row[1:]) for row in rows])


def choose_kind(space: Space, constructions: Sequence[Construction]) -> str:
    """How to write if nobody says. The time that a model takes grows with the number of tokens, so a subset of few of
    many elements is written by what is chosen: where at most a quarter is, on average. Else a token a cell, which takes
    no learning of pieces and keeps every place at the same position."""
    chosen = sum(map(len, constructions))
    if space.is_subset and 0 < 4 * chosen <= len(constructions) * len(space.elements):
        return "sparse"
    return "cells"


def checked(kind: object, spaces: Space | Sequence[Space]) -> tuple[Space, ...]:
    """Spaces that can be written together, and so."""
    if kind not in KINDS:
        raise HandloomError(f"no way {shown(kind)} to write constructions; there are {', '.join(KINDS)}")
    listed = (spaces,) if isinstance(spaces, Space) else tuple(spaces)
    main, *others = listed
    if kind == "sparse" and not main.is_subset:
        raise HandloomError(f"sparse is for subsets; a {main.kind} is written with cells or bpe")
    for space in others:
        alike = space.kind == main.kind and (len(space.sides) == 2 or len(main.sides) != 2)
        if not alike or (main.kind == "word" and space.elements != main.elements):
            raise HandloomError(f"a {space.kind} that is not another size of the {main.kind}; mix sizes of one problem")
    return listed


@dataclass(frozen=True)
class Cells:
    """A symbol a cell, with one between the rows of a grid that has two sides."""

    spaces: tuple[Space, ...]

    opening: ClassVar[tuple[int, ...]] = ()  # how all constructions of the main size begin

    @cached_property
    def names(self) -> list[str]:
        main = self.spaces[0]
        if main.kind == "word":
            return list(main.elements)
        if main.kind == "permutation":
            return [str(value) for value in range(max(space.length for space in self.spaces))]
        return ["0", "1", ROW] if self.in_rows else ["0", "1"]

    @property
    def letters(self) -> bool:
        """Whether the names are read without anything between them."""
        return self.spaces[0].kind != "permutation" or len(self.names) <= 10

    @property
    def between(self) -> str:
        """What keeps the names of symbols apart in that of a piece."""
        return "" if self.letters else "-"

    @property
    def in_rows(self) -> bool:
        return self.spaces[0].kind == "grid" and len(self.spaces[0].sides) == 2

    @property
    def most(self) -> int:
        return max(rows * (columns + 1) - 1 for rows, columns in map(self.shape, self.spaces))

    def shape(self, space: Space) -> tuple[int, int]:
        """How many rows, and how long they are; what is not written in rows is one row."""
        if self.in_rows:
            return space.sides[0], space.sides[1]
        return 1, len(space.elements) if space.is_subset else space.length

    def write(self, construction: Construction, space: Space | None = None) -> list[int]:
        space = space or self.spaces[0]
        if not space.is_subset:
            return list(construction)
        rows, columns = self.shape(space)
        symbols = [0] * (rows * (columns + 1) - 1)
        for i in range(columns, len(symbols), columns + 1):
            symbols[i] = 2
        for i in construction:
            symbols[i + i // columns] = 1
        return symbols

    def read(self, symbols: Sequence[int]) -> Construction | None:
        lines = self.lines(symbols)
        if not symbols or any(self.is_of(space, lines) for space in self.spaces[1:]):
            return None
        main = self.spaces[0]
        if main.kind == "permutation":
            there = dict.fromkeys(value for value in symbols if value < main.length)
            return tuple(there | dict.fromkeys(range(main.length)))
        rows, columns = self.shape(main)
        cells = [cell for line in (lines + [[]] * rows)[:rows] for cell in (line + [0] * columns)[:columns]]
        return tuple(i for i, cell in enumerate(cells) if cell) if main.is_subset else tuple(cells)

    def lines(self, symbols: Sequence[int]) -> list[list[int]]:
        if not self.in_rows:
            return [list(symbols)]
        found: list[list[int]] = [[]]
        for symbol in symbols:
            if symbol == 2:
                found.append([])
            else:
                found[-1].append(symbol)
        return found

    def is_of(self, space: Space, lines: list[list[int]]) -> bool:
        """Whether this was meant for a space of another size: most rows are as long as there."""
        (rows, columns), here = self.shape(space), self.shape(self.spaces[0])
        if (rows, columns) == here:
            return False
        usual = Counter(map(len, lines)).most_common(1)[0][0]
        if space.kind == "permutation":
            return sorted(lines[0]) == list(range(columns))
        return usual == columns and (columns != here[1] or len(lines) == rows)


@dataclass(frozen=True)
class Sparse:
    """A symbol for each element that is chosen; with several sizes one before them that says which it is."""

    spaces: tuple[Space, ...]

    letters: ClassVar[bool] = False
    between: ClassVar[str] = ""

    @cached_property
    def elements(self) -> dict[Any, int]:
        """Those of all spaces, the main one's first: an element of two spaces is the same symbol."""
        listed = dict.fromkeys(element for space in self.spaces for element in space.elements)
        return {element: i for i, element in enumerate(listed)}

    @cached_property
    def sizes(self) -> dict[str, int]:
        """The symbols of sizes; none where there is one size."""
        names = dict.fromkeys(map(size_name, self.spaces))
        return {name: len(self.elements) + i for i, name in enumerate(names)} if len(names) > 1 else {}

    @cached_property
    def names(self) -> list[str]:
        return ["".join(str(element).split()) for element in self.elements] + list(self.sizes)

    @property
    def opening(self) -> tuple[int, ...]:
        return (self.sizes[size_name(self.spaces[0])],) if self.sizes else ()

    @property
    def most(self) -> int:
        return max(len(space.elements) for space in self.spaces) + bool(self.sizes)

    def write(self, construction: Construction, space: Space | None = None) -> list[int]:
        space = space or self.spaces[0]
        size = [self.sizes[size_name(space)]] if self.sizes else []
        return size + [self.elements[space.elements[i]] for i in construction]

    def read(self, symbols: Sequence[int]) -> Construction | None:
        size = len(self.opening)
        if tuple(symbols[:size]) != self.opening:
            return None
        return tuple(sorted({i for i in symbols[size:] if i < len(self.spaces[0].elements)}))


def size_name(space: Space) -> str:
    return f"<{'×'.join(map(str, space.sides)) or space.length}>"
