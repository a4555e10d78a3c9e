"""The codec: constructions as tokens for a model to train on, and back from whatever it generates.

    >>> from handloom.discover.spaces import grid
    >>> codec = Codec.of("cells", grid(2, 3))
    >>> codec.encode((0, 4)), codec.vocab.decode(codec.encode((0, 4)))
    ([3, 1, 0, 0, 2, 0, 1, 0, 3], '100/010')
    >>> codec.decode([1, 0, 0, 0, 2, 0, 1])             # one cell too many in one row, one too few in the other
    Decoded(construction=(0, 4), repaired=True)

There are four ways to write:

    cells    one token per cell, 0 or 1, row after row in a grid of two sides; for a word its letters, for a permutation
             its values
    sparse   one token per chosen element, in ascending order; for subsets only
    orbits   one token per orbit of a symmetry, for constructions that have it (orbit_writing.py)
    bpe      the cells, with frequent neighbours joined into one token (bpe.py)

Smaller sizes of a problem can be mixed in: give their spaces after the main one. With cells, the length of the rows
shows the size; sparse starts with a token for it. Only the main size is decoded; another size gives no construction.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

from handloom.core import HandloomError, Vocab
from handloom.core.errors import shown
from handloom.discover.model.bpe import Merges
from handloom.discover.model.orbit_writing import Orbitwise
from handloom.discover.spaces import Construction, Space
from handloom.learn.data import Strings
from handloom.tasks.language import END

KINDS = ("cells", "sparse", "orbits", "bpe")
Sized = tuple[Space, Construction]  # a construction of another size, and its space

EMPTY, CHOSEN, ROW_BREAK = 0, 1, 2  # the symbols of cells
ROW = "/"  # the name of a row break
PIECES = 100  # of bpe, besides the symbols: as many as PatternBoost has
FEW = 0.25  # share of chosen elements up to which sparse is shorter and preferred


class Decoded(NamedTuple):
    """The construction of some tokens, None if there is none; `repaired` if the codec would write it differently."""

    construction: Construction | None
    repaired: bool


@dataclass(frozen=True)
class Codec:
    """How the constructions of a space, and of smaller spaces of its kind, are written."""

    kind: str
    spaces: tuple[Space, ...]  # the main one first
    merges: Merges | None = None
    orbits: tuple[int, ...] | None = None  # the orbit of each element, where constructions are written by orbits

    @classmethod
    def of(
        cls,
        kind: str,
        spaces: Space | Sequence[Space],
        constructions: Iterable[Construction] = (),
        pieces: int = PIECES,
        orbits: Iterable[int] | None = None,
    ) -> "Codec":
        """`constructions`, of the main space, are what bpe derives its pieces from; `orbits` tells of each element in
        which orbit it is."""
        plain = cls(kind, check_spaces(kind, spaces), orbits=None if orbits is None else tuple(map(int, orbits)))
        check_orbits(plain)
        if kind != "bpe":
            return plain
        strings = [plain.writing.write(construction) for construction in constructions]
        if not strings:
            raise HandloomError("bpe derives its tokens from constructions; give some, or use cells")
        return replace(plain, merges=Merges.learn(len(plain.writing.names), strings, pieces))

    def to_json(self) -> dict[str, Any]:
        """Everything but the spaces."""
        values = {"kind": self.kind, "merges": self.merges and [list(pair) for pair in self.merges.pairs]}
        return values | ({"orbits": list(self.orbits)} if self.orbits else {})

    @classmethod
    def from_json(cls, values: Any, spaces: Space | Sequence[Space]) -> "Codec":
        if not isinstance(values, dict) or set(values) - {"orbits"} != {"kind", "merges"}:
            raise HandloomError(f"{shown(values)} is not a codec of constructions (expected kind and merges)")
        if values["kind"] != "bpe":
            return cls.of(values["kind"], spaces, orbits=values.get("orbits"))
        plain = cls(values["kind"], check_spaces(values["kind"], spaces))
        return replace(plain, merges=Merges.from_json(len(plain.writing.names), values["merges"]))

    @cached_property
    def writing(self) -> "Cells | Sparse | Orbitwise":
        if self.orbits is not None:
            return Orbitwise(self.spaces, self.orbits)
        return Sparse(self.spaces) if self.kind == "sparse" else Cells(self.spaces)

    @cached_property
    def vocab(self) -> Vocab:
        """The symbols, the pieces made of them, and <end>, which comes before and after every string."""
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
        """The tokens with which all constructions of the main size begin."""
        return [self.end, *self.writing.opening]

    def encode(self, construction: Construction, space: Space | None = None) -> list[int]:
        """A construction, by default of the main space, from <end> to <end>."""
        if space is not None and space not in self.spaces:
            raise HandloomError(
                f"a {space.kind} of {space.length}, which this codec does not have; give its space to Codec.of"
            )
        symbols = self.writing.write(construction, space)
        return [self.end, *(self.merges.join(symbols) if self.merges else symbols), self.end]

    def decode(self, ids: Sequence[int]) -> Decoded:
        """What a model has generated, up to <end>; an <end> in front is skipped. Missing cells become empty (in a word:
        its first letter); surplus cells, repetitions and misplaced symbols are left out; a permutation gets the values
        it lacks. There is no construction in another size, in no cells at all, or in a token that does not exist."""
        tokens = [int(token) for token in ids]
        if tokens and tokens[0] == self.end:
            tokens = tokens[1:]
        if not all(0 <= token <= self.end for token in tokens):
            return Decoded(None, False)
        if self.end in tokens:
            tokens = tokens[: tokens.index(self.end)]
        symbols = self.merges.split(tokens) if self.merges else tokens
        construction = self.writing.read(symbols)
        return Decoded(construction, construction is not None and self.writing.write(construction) != list(symbols))

    def strings(self, constructions: Iterable[Construction], others: Iterable[Sized] = ()) -> Strings:
        """To train on: these constructions of the main space, then those of other sizes."""
        rows = [self.encode(construction) for construction in constructions]
        rows += [self.encode(construction, space) for space, construction in others]
        return Strings.of([(row[:1], row[1:]) for row in rows])


def choose_kind(space: Space, constructions: Sequence[Construction]) -> str:
    """How to write by default. A model's time grows with the number of tokens, so a subset of few of many elements is
    written by its elements. Otherwise one token per cell, which keeps every cell at one position."""
    chosen = sum(map(len, constructions))
    if space.is_subset and 0 < chosen <= FEW * len(constructions) * len(space.elements):
        return "sparse"
    return "cells"


def check_orbits(codec: Codec) -> None:
    """Raise an error unless the orbits are those of the one space that is written by orbits."""
    if codec.kind != "orbits" and codec.orbits is None:
        return
    of, (main, *others) = codec.orbits or (), codec.spaces
    counted = len(of) == len(main.elements) and set(of) == set(range(max(of, default=0) + 1))
    if codec.kind != "orbits" or others or not counted:
        raise HandloomError(
            f"tokens={codec.kind} of {len(codec.spaces)} sizes, with orbits of {len(of)} elements (expected orbits of"
            f" all {len(main.elements)} elements, counted from 0, and one size); write with sparse or cells"
        )


def check_spaces(kind: object, spaces: Space | Sequence[Space]) -> tuple[Space, ...]:
    """The spaces as a tuple, if they can be written together in this way."""
    if kind not in KINDS:
        raise HandloomError(f"tokens={shown(kind)}: no such way to write constructions; there are {', '.join(KINDS)}")
    listed = (spaces,) if isinstance(spaces, Space) else tuple(spaces)
    main, *others = listed
    if kind in ("sparse", "orbits") and not main.is_subset:
        raise HandloomError(f"{kind} is for subsets; write a {main.kind} with cells or bpe")
    for space in others:
        alike = space.kind == main.kind and (len(space.sides) == 2 or len(main.sides) != 2)
        if not alike or (main.kind in ("word", "matrix") and space.elements != main.elements):
            raise HandloomError(f"a {space.kind} that is not another size of the {main.kind}; mix sizes of one problem")
    return listed


@dataclass(frozen=True)
class Cells:
    """One symbol per cell, and a row break between the rows of a grid with two sides."""

    spaces: tuple[Space, ...]

    opening: ClassVar[tuple[int, ...]] = ()  # how all constructions of the main size begin

    @cached_property
    def names(self) -> list[str]:
        main = self.spaces[0]
        if main.kind in ("word", "matrix"):
            return list(map(str, main.elements))
        if main.kind == "permutation":
            return [str(value) for value in range(max(space.length for space in self.spaces))]
        return ["0", "1", ROW] if self.in_rows else ["0", "1"]

    @property
    def letters(self) -> bool:
        """Whether the names can stand side by side, without spaces."""
        return self.spaces[0].kind not in ("permutation", "matrix") or len(self.names) <= 10

    @property
    def between(self) -> str:
        """What separates the names of symbols in the name of a piece."""
        return "" if self.letters else "-"

    @property
    def in_rows(self) -> bool:
        return self.spaces[0].kind in ("grid", "group") and len(self.spaces[0].sides) == 2

    @property
    def most(self) -> int:
        return max(rows * (columns + 1) - 1 for rows, columns in map(self.shape, self.spaces))

    def shape(self, space: Space) -> tuple[int, int]:
        """The number of rows and their length; what is not written in rows is one row."""
        if self.in_rows:
            return space.sides[0], space.sides[1]
        return 1, len(space.elements) if space.is_subset else space.length

    def write(self, construction: Construction, space: Space | None = None) -> list[int]:
        space = space or self.spaces[0]
        if not space.is_subset:
            return list(construction)
        rows, columns = self.shape(space)
        symbols = [EMPTY] * (rows * (columns + 1) - 1)
        for i in range(columns, len(symbols), columns + 1):
            symbols[i] = ROW_BREAK
        for i in construction:
            symbols[i + i // columns] = CHOSEN
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
        cells = [cell for line in (lines + [[]] * rows)[:rows] for cell in (line + [EMPTY] * columns)[:columns]]
        return tuple(i for i, cell in enumerate(cells) if cell) if main.is_subset else tuple(cells)

    def lines(self, symbols: Sequence[int]) -> list[list[int]]:
        if not self.in_rows:
            return [list(symbols)]
        found: list[list[int]] = [[]]
        for symbol in symbols:
            if symbol == ROW_BREAK:
                found.append([])
            else:
                found[-1].append(symbol)
        return found

    def is_of(self, space: Space, lines: list[list[int]]) -> bool:
        """Whether the lines are of another size: most have the length of its rows."""
        (rows, columns), here = self.shape(space), self.shape(self.spaces[0])
        if (rows, columns) == here:
            return False
        usual = Counter(map(len, lines)).most_common(1)[0][0]
        if space.kind == "permutation":
            return sorted(lines[0]) == list(range(columns))
        return usual == columns and (columns != here[1] or len(lines) == rows)


@dataclass(frozen=True)
class Sparse:
    """One symbol per chosen element; with several sizes, first a symbol for the size."""

    spaces: tuple[Space, ...]

    letters: ClassVar[bool] = False
    between: ClassVar[str] = ""

    @cached_property
    def elements(self) -> dict[Any, int]:
        """The elements of all spaces, the main one's first: an element of two spaces is one symbol."""
        listed = dict.fromkeys(element for space in self.spaces for element in space.elements)
        return {element: i for i, element in enumerate(listed)}

    @cached_property
    def sizes(self) -> dict[str, int]:
        """The symbols of sizes; none if there is one size."""
        names = dict.fromkeys(map(size_name, self.spaces))
        return {name: len(self.elements) + i for i, name in enumerate(names)} if len(names) > 1 else {}

    @cached_property
    def names(self) -> list[str]:
        name = self.spaces[0].name
        return ["".join(name(element).split()) for element in self.elements] + list(self.sizes)

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
