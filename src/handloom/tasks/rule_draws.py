"""Draw strings that satisfy a rule, each as likely as another among those of its length.

At each length there are three ways. Conditions that digits are equal to each other, or to a symbol, are met by copying:
draw the string, then copy. The other conditions depend only on the digits they name and on how often symbols occur. If
there are few cases, all are listed, each with the number of strings it stands for, and one is drawn. If there are many,
strings are drawn until one satisfies the rule.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, product
from math import comb, prod

import numpy as np

from handloom.core import HandloomError
from handloom.core.arrays import Array
from handloom.core.errors import shown
from handloom.tasks.rule_parts import Comparison, Digit, Number, Part, Symbol
from handloom.tasks.rules import Rule

CASES, FEW = 100_000, 16  # the most that are listed over all lengths; and always that few at one length
TRIES, LENGTHS = 1000, 20  # strings drawn at one length before another length is drawn, and how many lengths, at first


def random_strings(
    rule: Rule, shortest: int, longest: int, cases: int = CASES, few: int = FEW
) -> Callable[[np.random.Generator], str]:
    """A function that draws. A rule that no string satisfies, or so few that none is found, raises an error. Up to
    `cases` cases are listed, over all lengths, and always `few` at one length."""
    most = max(cases // (longest - shortest + 1), few)
    draws = [one for n in range(shortest, longest + 1) if (one := draws_of(rule, n, most))]
    rng = np.random.default_rng(0)
    if not draws or not any(draws[rng.integers(len(draws))](rng) for _ in range(LENGTHS)):
        doubt = f" was found in {TRIES * LENGTHS} tries that" if draws else ""
        raise HandloomError(
            f"rule {shown(rule.text)}: no string of length {shortest} to {longest}{doubt} satisfies it; "
            f"give a rule that {'more' if draws else 'some'} strings satisfy"
        )

    def draw(rng: np.random.Generator) -> str:
        while True:  # one has been found before, so this ends
            if (text := draws[rng.integers(len(draws))](rng)) is not None:
                return text

    return draw


@dataclass(frozen=True)
class Case:
    """Some of the strings of one length: the named digits have these symbols, and `groups` counts the free digits with
    symbols of each group. `weight` is the number of these strings."""

    named: tuple[int, ...]
    groups: tuple[int, ...]
    weight: int


@dataclass(frozen=True)
class Draws:
    """How strings of one length are drawn. Digits are counted from 0 here, and symbols are their places in the
    alphabet."""

    rule: Rule
    length: int
    copies: tuple[Array, Array]  # from these digits to those
    fixed: tuple[Array, Array]  # digits, and the symbols they must be
    named: Array  # digits that cases speak of
    free: Array  # digits that are neither named nor fixed nor copied
    groups: list[Array]  # symbols that the rule does not tell apart in free digits
    codes: Array  # of the symbols, in Unicode
    cases: list[Case] | None = None  # None: too many

    def __call__(self, rng: np.random.Generator) -> str | None:
        """A random string; None if none was found."""
        if self.cases is not None:
            return self.text(self.of_a_case(rng))
        for _ in range(TRIES):
            text = self.text(rng.integers(0, len(self.codes), self.length))
            if self.rule.holds(text):
                return text
        return None

    @cached_property
    def chances(self) -> Array:
        """Of each case and all before it."""
        sums = list(accumulate(case.weight for case in self.cases or ()))
        return np.array([so_far / sums[-1] for so_far in sums])

    def of_a_case(self, rng: np.random.Generator) -> Array:
        assert self.cases is not None
        case = self.cases[0 if len(self.cases) == 1 else int(np.searchsorted(self.chances, rng.random(), "right"))]
        symbols = rng.integers(0, len(self.codes), self.length)
        if len(self.groups) > 1:
            symbols[self.free] = rng.permutation(
                np.concatenate(
                    [group[rng.integers(0, len(group), n)] for group, n in zip(self.groups, case.groups, strict=True)]
                )
            )
        if len(self.named):
            symbols[self.named] = case.named
        return symbols

    def text(self, symbols: Array) -> str:
        """The string, once fixed digits are set and copies made."""
        if len(self.fixed[0]):
            symbols[self.fixed[0]] = self.fixed[1]
        symbols[self.copies[1]] = symbols[self.copies[0]]
        return self.codes[symbols].tobytes().decode("utf-32-le")


def draws_of(rule: Rule, length: int, most: int) -> Draws | None:
    """How strings of this length are drawn, with the cases listed if there are up to `most`; None if no string
    satisfies the rule."""
    conditions = list(rule.conditions())
    others = [condition for condition in conditions if not equals(condition)]
    if any(condition.only_of_length and not condition.holds(rule.alphabet[0] * length) for condition in others):
        return None
    copies: dict[int, int] = {}  # digit to the digit it is a copy of
    fixed: dict[int, int] = {}  # digit to the symbol it must be
    for joint in united([nodes(condition, length) for condition in conditions if equals(condition)]):
        symbols, digits = [~node for node in joint if node < 0], sorted(node for node in joint if node >= 0)
        if len(symbols) > 1:
            return None
        fixed |= dict.fromkeys(digits, symbols[0]) if symbols else {}
        copies |= dict.fromkeys(digits[1:], digits[0]) if not symbols else {}
    counted = [rule.alphabet.index(symbol) for symbol in {s: 1 for other in others for s in other.counted}]
    looked_at = {position - 1 for other in others for position in other.positions(length)}
    named = {copies.get(digit, digit) for digit in looked_at} | (set(copies.values()) if counted else set())
    named -= set(fixed)
    uncounted = [symbol for symbol in range(len(rule.alphabet)) if symbol not in counted]
    draws = Draws(
        rule,
        length,
        copies=(whole(copies.values()), whole(copies)),
        fixed=(whole(fixed), whole(fixed.values())),
        named=whole(sorted(named)),
        free=whole(set(range(length)) - named - set(fixed) - set(copies)),
        groups=[whole(group) for group in (*([symbol] for symbol in counted), uncounted) if group],
        codes=np.array([ord(symbol) for symbol in rule.alphabet], "<u4"),
    )
    if len(rule.alphabet) ** len(named) * comb(len(draws.free) + len(draws.groups) - 1, len(draws.groups) - 1) > most:
        return draws
    cases = [case for case in cases_of(draws) if holds(draws, case, others)]
    return replace(draws, cases=cases) if cases else None


def cases_of(draws: Draws) -> Iterator[Case]:
    sizes = [len(group) for group in draws.groups]
    for named in product(range(len(draws.codes)), repeat=len(draws.named)):
        for numbers in splits(len(draws.free), len(sizes)):
            orders = prod(comb(sum(numbers[i:]), n) for i, n in enumerate(numbers))
            yield Case(named, numbers, orders * prod(size**n for size, n in zip(sizes, numbers, strict=True)))


def holds(draws: Draws, case: Case, conditions: list[Rule]) -> bool:
    """Whether conditions hold for the strings of a case: for all of them or for none, so that one is enough."""
    symbols = np.zeros(draws.length, np.int64)
    symbols[draws.free] = np.repeat([group[0] for group in draws.groups], case.groups)
    symbols[draws.named] = case.named
    text = draws.text(symbols)
    return all(condition.holds(text) for condition in conditions)


def splits(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    """All ways to write a number as an ordered sum of that many numbers from 0."""
    if parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        yield from ((first, *rest) for rest in splits(total - first, parts - 1))


def equals(condition: Rule) -> bool:
    """Whether a condition is only that digits are equal to each other or to symbols of the alphabet."""
    tree = condition.tree
    if not isinstance(tree, Comparison) or any(sign not in ("=", "==") for sign, _ in tree.rest):
        return False
    return all(isinstance(part, Digit) or symbol_of(part) in tuple(condition.alphabet) for part in operands(tree))


def operands(tree: Comparison) -> list[Part]:
    return [tree.first, *(part for _, part in tree.rest)]


def symbol_of(part: Part) -> str | None:
    """The symbol that a part is, if it is one."""
    return part.character if isinstance(part, Symbol) else str(part.value) if isinstance(part, Number) else None


def nodes(condition: Rule, length: int) -> set[int]:
    """The digits, from 0, that must be equal; and as ~i, which is below 0, the symbols of the alphabet."""
    assert isinstance(condition.tree, Comparison)
    symbols = {symbol_of(part) for part in operands(condition.tree)} - {None}
    return {at - 1 for at in condition.positions(length)} | {~condition.alphabet.index(str(s)) for s in symbols}


def united(sets: Iterable[set[int]]) -> list[set[int]]:
    """Sets that meet become one."""
    apart: list[set[int]] = []
    for new in sets:
        meeting = [old for old in apart if old & new]
        apart = [*(old for old in apart if not old & new), new.union(*meeting)]
    return apart


def whole(numbers: Iterable[int]) -> Array:
    return np.array(list(numbers), np.int64)
