"""What a rule computes, found by calling it on symbols: whether 64 bits are enough, and which moves it cannot notice.

    >>> from handloom.discover.spaces import grid
    >>> def in_line(a, b, c):
    ...     return (b[0] - a[0]) * (c[1] - a[1]) == (c[0] - a[0]) * (b[1] - a[1])
    >>> traits_of(in_line, 3, grid(9, 9))
    Traits(whole=True, free=frozenset({0, 1}), by_order=False)
    >>> traits_of(lambda a, b: a[0] == 3 and a[1] < b[1], 2, grid(9, 9))
    Traits(whole=True, free=frozenset({1}), by_order=False)

Each coordinate of each element is a symbol: a polynomial, with the least and the greatest value that it can have. Sums
and products of symbols are such values again. Where the rule asks for a truth value that both are possible, it is
called once for each; so every path through the rule is followed. Then, whatever the elements,

    whole       no number leaves 64 bits, and none is a fraction, so that compiled code computes what Python computes
    free        along these axes all elements may be moved by the same amount: what is compared are polynomials that do
                not change (the sum of their derivatives by the coordinates of that axis is 0), or made of such
    by_order    nothing but one coordinate and another is ever compared: only their order matters

A rule that cannot be traced (it looks something up, computes with fractions or has too many paths) has none of these.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

from handloom.discover.spaces import Space

MOST_PATHS = 4_000
MOST_TERMS = 60  # of a polynomial
Polynomial = dict[tuple[int, ...], int]  # from the symbols of a term, in order, to its factor


class Traits(NamedTuple):
    """What is proven of a rule."""

    whole: bool = False
    free: frozenset[int] = frozenset()
    by_order: bool = False


class Untraceable(Exception):
    """The rule does what symbols cannot."""


@dataclass(frozen=True, eq=False)
class Trace:
    """One call of the rule: the truth values that it is given, and what it compares. `axes` has those of the space."""

    axes: int
    given: list[bool]
    asked: list[bool]  # the truth values of this call; beyond the given ones True
    bound: list[float]  # (1,) the greatest absolute value so far
    free: list[frozenset[int]]  # of each comparison
    by_order: list[bool]

    def decide(self) -> bool:
        at = len(self.asked)
        self.asked.append(self.given[at] if at < len(self.given) else True)
        return self.asked[-1]


class Symbol:
    """A number that a rule computes: a polynomial of the coordinates, if it is known, and its range."""

    __hash__ = None  # type: ignore[assignment]  # what looks it up cannot be traced

    def __init__(
        self, trace: Trace, terms: Polynomial | None, low: float, high: float, free: frozenset[int] | None = None
    ) -> None:
        self.trace, self.low, self.high = trace, low, high
        self.terms = terms if terms is None or len(terms) <= MOST_TERMS else None
        self.free = free if free is not None else unmoved(terms or {}, trace.axes)
        trace.bound[0] = max(trace.bound[0], abs(low), abs(high))

    def __add__(self, other: Any) -> "Symbol":
        return self.combined(other, plus, self.low + least(other), self.high + greatest(other))

    def __mul__(self, other: Any) -> "Symbol":
        ends = [a * b for a in (self.low, self.high) for b in (least(other), greatest(other))]
        return self.combined(other, times, min(ends), max(ends))

    def __pow__(self, power: Any) -> "Symbol":
        if type(power) is not int or not 1 <= power <= 8:
            raise Untraceable
        result = self
        for _ in range(power - 1):
            result = result * self
        return result

    def __mod__(self, other: Any) -> "Symbol":
        most = max(abs(least(other)), abs(greatest(other)))
        return self.combined(other, None, -most, most)

    def __floordiv__(self, other: Any) -> "Symbol":
        most = max(abs(self.low), abs(self.high))
        return self.combined(other, None, -most, most)

    def __neg__(self) -> "Symbol":
        return self * -1

    def __sub__(self, other: Any) -> "Symbol":
        return self + -1 * other

    def __rsub__(self, other: Any) -> "Symbol":
        return self * -1 + other

    __radd__, __rmul__ = __add__, __mul__

    def __abs__(self) -> "Symbol":
        return self if bool(self >= 0) else -self

    def __pos__(self) -> "Symbol":
        return self

    def __eq__(self, other: Any) -> Any:
        return self.compared(other, lambda low, high: False if low > 0 or high < 0 else None)

    def __ne__(self, other: Any) -> Any:
        return self.compared(other, lambda low, high: True if low > 0 or high < 0 else None)

    def __lt__(self, other: Any) -> Any:
        return self.compared(other, lambda low, high: True if high < 0 else False if low >= 0 else None)

    def __le__(self, other: Any) -> Any:
        return self.compared(other, lambda low, high: True if high <= 0 else False if low > 0 else None)

    def __gt__(self, other: Any) -> Any:
        return self.compared(other, lambda low, high: True if low > 0 else False if high <= 0 else None)

    def __ge__(self, other: Any) -> Any:
        return self.compared(other, lambda low, high: True if low >= 0 else False if high < 0 else None)

    def __bool__(self) -> bool:
        return bool(self != 0)

    def combined(
        self, other: Any, how: Callable[[Polynomial, Polynomial], Polynomial] | None, low: float, high: float
    ) -> "Symbol":
        """The result of an operation. What is not a polynomial moves only if one of its parts does."""
        if not isinstance(other, Symbol):
            if not isinstance(other, int):  # a fraction, or no number of Python's
                raise Untraceable
            other = Symbol(self.trace, {(): other} if other else {}, other, other)
        if how is None or self.terms is None or other.terms is None:
            return Symbol(self.trace, None, low, high, self.free & other.free)
        terms = how(self.terms, other.terms)
        small = len(terms) <= MOST_TERMS
        return Symbol(self.trace, terms, low, high, None if small else self.free & other.free)

    def compared(self, other: Any, decided: Callable[[float, float], bool | None]) -> bool:
        """The truth of a comparison with 0, of the difference: by the ranges, or as the path says."""
        beside = self - other
        known = decided(beside.low, beside.high)
        if known is not None:
            return known
        self.trace.free.append(beside.free)
        single = sorted((beside.terms or {}).items())
        pair = len(single) == 2 and all(len(symbols) == 1 for symbols, _ in single)
        self.trace.by_order.append(pair and sorted(factor for _, factor in single) == [-1, 1])
        return self.trace.decide()


def least(value: Any) -> float:
    return value.low if isinstance(value, Symbol) else value


def greatest(value: Any) -> float:
    return value.high if isinstance(value, Symbol) else value


def plus(one: Polynomial, other: Polynomial) -> Polynomial:
    total = dict(one)
    for symbols, factor in other.items():
        total[symbols] = total.get(symbols, 0) + factor
    return {symbols: factor for symbols, factor in total.items() if factor}


def times(one: Polynomial, other: Polynomial) -> Polynomial:
    total: Polynomial = {}
    for (mine, factor), (yours, more) in product(one.items(), other.items()):
        symbols = tuple(sorted(mine + yours))
        total[symbols] = total.get(symbols, 0) + factor * more
    return {symbols: factor for symbols, factor in total.items() if factor}


def unmoved(terms: Polynomial, axes: int) -> frozenset[int]:
    """The axes along which a polynomial does not change, if all elements move by the same amount."""
    changes: list[Polynomial] = [{} for _ in range(axes)]
    for symbols, factor in terms.items():
        for at, symbol in enumerate(symbols):  # the derivative by this symbol; of a power it is met as often
            rest, change = symbols[:at] + symbols[at + 1 :], changes[symbol % axes]
            change[rest] = change.get(rest, 0) + factor
    return frozenset(axis for axis, change in enumerate(changes) if not any(change.values()))


def traits_of(rule: Callable[..., Any], size: int, space: Space) -> Traits:
    """What can be proven of a rule of that many elements of a space."""
    ranges = coordinate_ranges(space)
    given: list[bool] | None = []
    bound, free, by_order = [0.0], frozenset(range(len(ranges))), True
    for _ in range(MOST_PATHS):
        assert given is not None
        trace = Trace(len(ranges), given, [], bound, [], [])
        try:
            bool(rule(*symbols(trace, ranges, size, isinstance(space.arguments[0], tuple))))
        except Exception:  # whatever it does, it is not what is traced here
            return Traits()
        free = free.intersection(*trace.free)
        by_order = by_order and all(trace.by_order)
        if (given := next_path(trace.asked)) is None:
            return Traits(True, free, by_order) if bound[0] < 2**63 else Traits()
    return Traits()


def coordinate_ranges(space: Space) -> list[tuple[int, int]]:
    """The least and the greatest value of each coordinate."""
    rows = [element if isinstance(element, tuple) else (element,) for element in space.arguments]
    return [(min(column), max(column)) for column in zip(*rows, strict=True)]


def symbols(trace: Trace, ranges: Sequence[tuple[int, int]], size: int, tuples: bool) -> list[Any]:
    """The elements for a call."""
    rows = [
        tuple(Symbol(trace, {(number * len(ranges) + axis,): 1}, *ends) for axis, ends in enumerate(ranges))
        for number in range(size)
    ]
    return rows if tuples else [row[0] for row in rows]


def next_path(asked: Sequence[bool]) -> list[bool] | None:
    """The truth values of the next path after these; None after the last."""
    while asked and not asked[-1]:
        asked = asked[:-1]
    return [*asked[:-1], False] if asked else None
