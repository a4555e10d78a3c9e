"""Cases: which values some variables can have together at one position, and a table of all of them.

A proof goes through all cases of what a head or a neuron reads, and these are few. The variables that others are
computed from are taken to be independent, so a grid has every case that can occur, and possibly more.
"""

from collections.abc import Callable, Iterable, Sequence
from math import prod
from typing import Any

import numpy as np

from handloom.core import HandloomError
from handloom.core.arrays import Array
from handloom.write.compiler.interpreter import linear, mapped
from handloom.write.compiler.ranges import Ranges, bases
from handloom.write.compiler.totals import by_sign, sign
from handloom.write.compiler.values import END, Constant, Count, Linear, Map, Plain, Position, Token, Value

MOST_CASES = 3_000_000  # of one grid
Domain = dict[Value, tuple[Plain, ...]]


def unproven(why: str) -> HandloomError:
    return HandloomError(f"no proof: {why}")


class Domains:
    """The values of each variable behind the first token. They shrink while a proof learns what heads can fetch."""

    def __init__(self, ranges: Ranges, totals: frozenset[Value]) -> None:
        self.ranges, self.totals = ranges, totals
        self.of: Domain = dict(ranges.values)
        self.atoms: dict[type[Value], list[Value]] = {Token: [], Position: []}
        for value in (*ranges.values, Token(), Position()):
            if isinstance(value, Token | Position):
                self.atoms[type(value)].append(value)
                tokens = tuple(token for token in ranges.tokens if token != END)
                self.of[value] = tokens if isinstance(value, Token) else tuple(range(1, ranges.block))

    def atom(self, kind: type[Value]) -> Value:
        """The program's token, or position; one of our own if it has none."""
        return self.atoms[kind][0]

    def size(self, keys: Iterable[Value], wanted: Iterable[Value], promised: Domain | None = None) -> int:
        """How many cases the variables have together that keys, and what is wanted, are computed from."""
        domain = self.of | (promised or {})
        return prod(len(domain[one]) for one in {base for value in (*keys, *wanted) for base in bases(value)})

    def grid(
        self, keys: Iterable[Value], wanted: Iterable[Value], promised: Domain | None = None, most: int = MOST_CASES
    ) -> "Grid":
        """All cases of keys and of what is wanted: from the variables that they are computed from, or, where these have
        more cases than given, from the keys themselves as if they were independent."""
        keys, wanted = list(dict.fromkeys(keys)), list(wanted)
        domain = self.of | (promised or {})
        fine = dict.fromkeys(one for value in (*keys, *wanted) for one in bases(value))
        coarse = dict.fromkeys((*keys, *(one for value in wanted for one in bases_until(value, set(keys)))))
        for every, limit in ((fine, most), (coarse, most), (fine, MOST_CASES), (coarse, MOST_CASES)):
            atoms = [one for one in every if not isinstance(one, Constant)]
            if prod(len(domain[one]) for one in atoms) <= limit:
                return Grid(self, atoms, domain)
        raise unproven(f"what is read has more than {MOST_CASES:,} cases")


def bases_until(value: Value, known: set[Value]) -> tuple[Value, ...]:
    """The variables that a value is computed from, where some are known."""
    if value in known or isinstance(value, Constant):
        return (value,)
    if isinstance(value, Linear | Map):
        return tuple(dict.fromkeys(base for one in value.inputs for base in bases_until(one, known)))
    return (value,)


class Grid:
    """A row for every case of some variables. A column has, for each row, the number of its value in a list, or −1
    where the case cannot occur."""

    def __init__(self, domains: Domains, atoms: Sequence[Value], domain: Domain) -> None:
        self.domains = domains
        sizes = [len(domain[one]) for one in atoms]
        self.size = prod(sizes)
        self.codes: dict[Value, Array] = {}
        self.lists: dict[Value, list[Plain]] = {}
        for i, one in enumerate(atoms):
            shape = [1] * len(sizes)
            shape[i] = sizes[i]
            codes = np.broadcast_to(np.arange(sizes[i]).reshape(shape), sizes).reshape(-1)
            self.codes[one], self.lists[one] = codes, list(domain[one])
        self.there = self.possible()

    def possible(self) -> Array:
        """Whether each case can occur, (n,): a count is at most the position, as the first token never counts."""
        there = np.ones(self.size, bool)
        numbers = {one: np.array(self.lists[one])[code] for one, code in self.codes.items() if self.is_number(one)}
        for place in (one for one in numbers if isinstance(one, Position)):
            for one in (one for one in numbers if isinstance(one, Count)):
                there &= numbers[one] <= numbers[place]
        return there

    def is_number(self, one: Value) -> bool:
        return isinstance(one, Position | Count)

    def column(self, value: Value) -> Array:
        if value not in self.codes:
            if isinstance(value, Constant):
                self.codes[value], self.lists[value] = np.zeros(self.size, int), [value.value]
            else:
                found = self.tabled(value.inputs, self.function(value))
                self.lists[value] = list(dict.fromkeys(one for one in found[1] if one is not None))
                number = {one: i for i, one in enumerate(self.lists[value])}
                self.codes[value] = np.array([number.get(one, -1) for one in found[1]] + [-1], int)[found[0]]
        return self.codes[value]

    def function(self, value: Value) -> Callable[..., Any]:
        """What computes a value from its inputs; of some means the sign is enough."""
        if isinstance(value, Linear):
            return lambda *given: linear(value, given)
        if not isinstance(value, Map):
            raise unproven("a variable is read that nothing was shown to write")
        if len(value.arguments) == 1 and value.arguments[0] in self.domains.ranges.signs:
            signs = by_sign(value, value.arguments[0], self.domains.ranges)
            assert signs is not None, "such a mean is used by its sign"
            return lambda total: signs.get(sign(total))
        return lambda *given: mapped(value, given)

    def tabled(self, values: Sequence[Value], function: Callable[..., Any]) -> tuple[Array, list[Any]]:
        """A function of values: for each row a place in a list, −1 where a value cannot occur; and the list."""
        code, rows = np.zeros(self.size, np.int64), np.ones(self.size, bool)
        sizes = []
        for value in values:
            column = self.column(value)
            sizes.append(max(len(self.lists[value]), 1))
            code, rows = code * sizes[-1] + np.maximum(column, 0), rows & (column >= 0)
        distinct, place = np.unique(code, return_inverse=True)
        results = [function(*self.decoded(int(one), values, sizes)) for one in distinct]
        return np.where(rows, place, -1), results

    def decoded(self, code: int, values: Sequence[Value], sizes: Sequence[int]) -> list[Plain]:
        given = []
        for value, size in zip(reversed(values), reversed(sizes), strict=True):
            code, i = divmod(code, size)
            given.append(self.lists[value][i] if self.lists[value] else 0)
        return given[::-1]
