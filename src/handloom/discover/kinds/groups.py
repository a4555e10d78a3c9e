"""Subsets of a finite abelian group, the product of cyclic groups: sum-free sets, Sidon sets, difference sets.

    >>> abelian_group(13).elements[:3], abelian_group(2, 4).elements[:3]
    ((0, 1, 2), ((0, 0), (0, 1), (0, 2)))

The elements of one cyclic group are numbers, of several they are tuples. Symmetries: `negation`; `times-u`, an
automorphism that multiplies by a unit; `translate-p`, by an element of prime order p; `swap` or `cycle` of equal
factors. Two sets are the same if a translation, a unit of one factor, or an exchange of equal factors takes one to the
other, as far as these preserve what is forbidden.
"""

from collections.abc import Callable
from itertools import product
from math import gcd, lcm
from typing import Any

from handloom.core import HandloomError
from handloom.core.checks import whole
from handloom.discover.spaces import Map, Space, check_elements

MOST_UNITS = 8  # units with a symmetry of their own: one for each cyclic group of them, the smallest groups first


def abelian_group(*orders: int) -> Space:
    """Subsets of the product of the cyclic groups of these orders."""
    if not orders:
        raise HandloomError("an abelian group needs the orders of its cyclic factors, such as 13, or 3, 3")
    for order in orders:
        whole("the order of a cyclic group", order, 1)
    alone = len(orders) == 1
    elements: Any = range(orders[0]) if alone else product(*map(range, orders))
    found = check_elements(tuple(elements))
    return Space("group", found, len(found), orders, named(orders, alone), generators(orders, alone))


def mapped(orders: tuple[int, ...], alone: bool, move: Callable[[list[int]], list[int]]) -> Map:
    """A map of elements, from one of lists of coordinates."""

    def moved(x: Any) -> Any:
        image = [c % order for c, order in zip(move([x] if alone else [*x]), orders, strict=True)]
        return image[0] if alone else tuple(image)

    return moved


def times(orders: tuple[int, ...], alone: bool, unit: int, *places: int) -> Map:
    return mapped(orders, alone, lambda x: [c * unit if i in places else c for i, c in enumerate(x)])


def plus(orders: tuple[int, ...], alone: bool, place: int, amount: int) -> Map:
    return mapped(orders, alone, lambda x: [c + amount if i == place else c for i, c in enumerate(x)])


def named(orders: tuple[int, ...], alone: bool) -> dict[str, tuple[Map, ...]]:
    exponent, places = lcm(*orders), range(len(orders))
    found: dict[str, tuple[Map, ...]] = {}
    if exponent > 2:
        found["negation"] = (times(orders, alone, -1, *places),)
    for unit in units_of_groups(exponent):
        found[f"times-{unit}"] = (times(orders, alone, unit, *places),)
    for p in (p for p in range(2, exponent + 1) if exponent % p == 0 and all(p % q for q in range(2, p))):
        place = next(i for i in places if orders[i] % p == 0)
        found[f"translate-{p}"] = (plus(orders, alone, place, orders[place] // p),)
    if not alone and len(set(orders)) == 1:
        found["swap" if len(orders) == 2 else "cycle"] = (mapped(orders, alone, lambda x: [*x[1:], x[0]]),)
    return found


def units_of_groups(m: int) -> list[int]:
    """For each cyclic group of units modulo m, but that of 1 and that of −1, the least that generates it."""
    groups: dict[frozenset[int], int] = {}
    for unit in (u for u in range(2, m - 1) if gcd(u, m) == 1):
        powers, power = {1}, unit
        while power != 1:
            powers.add(power)
            power = power * unit % m
        groups.setdefault(frozenset(powers), unit)
    return [groups[one] for one in sorted(groups, key=len)][:MOST_UNITS]


def generators(orders: tuple[int, ...], alone: bool) -> tuple[Map, ...]:
    """Translations by 1, multiplications by units, and exchanges of equal factors: of one coordinate or two."""
    places = range(len(orders))
    found = [plus(orders, alone, i, 1) for i in places]
    found += [
        times(orders, alone, unit, i) for i in places for unit in range(2, orders[i]) if gcd(unit, orders[i]) == 1
    ]
    for i in places[1:]:
        if orders[i] == orders[i - 1]:
            found.append(mapped(orders, alone, lambda x, i=i: [*x[: i - 1], x[i], x[i - 1], *x[i + 1 :]]))  # type: ignore[misc]
    return tuple(found)
