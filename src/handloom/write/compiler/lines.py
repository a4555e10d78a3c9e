"""What is read of sums, without going through all cases of their terms.

A read that sees x + y + z as often as a key has it is a line over the key, whatever x, y and z are. So each signal is
compared with what its variable adds to the keys, alone, and what is left of it is an error. The keys have more cases
than occur together; a read has the values of all of them.
"""

from collections.abc import Mapping, Sequence
from itertools import chain, product
from math import prod

import numpy as np

from handloom.core.arrays import Array
from handloom.write.compiler.cases import Domain
from handloom.write.compiler.ranges import bases, computed
from handloom.write.compiler.signals import Signal
from handloom.write.compiler.values import Constant, Linear, Map, Plain, Value

STRAIGHT = 1e-5  # of all that is read: a line may be off by as much
MOST_LINES = 200_000  # cases of the keys

Terms = list[tuple[float, Value]]
Tables = tuple[list[tuple[Plain, ...]], Array, Array]  # cases, values (n, m), errors (n, m)


def on_lines(signals: Sequence[Signal], scaled: Array, keys: Sequence[Value], domain: Domain) -> Tables | None:
    """What weights (D, m) read of signals, in all cases of the keys; None if it is no line over them."""
    groups = [joint_cases(group, domain) for group in computed_alike(keys)]
    if any(len(signal.key) != 1 for signal in signals) or prod(map(len, groups)) > MOST_LINES:
        return None
    tables = unit_tables(signals, scaled, domain)
    if not all(tables.values()):
        return None
    every = [terms_of(key) for key in keys]
    amounts = {unit: [added(terms, unit, list(table), tables) for terms, _ in every] for unit, table in tables.items()}
    known = all(unit_of(term, tables) is not None for terms, _ in every for _, term in terms)
    if not known or any(column is None for columns in amounts.values() for column in columns):
        return None
    whole = [np.array(columns, float).T.reshape(len(tables[unit]), len(keys)) for unit, columns in amounts.items()]
    reads = [np.array(list(table.values())) for table in tables.values()]
    slopes = fitted(whole, reads, scaled.shape[1])
    left = [read - part @ slopes for part, read in zip(whole, reads, strict=True)]
    middle = np.sum([(one.min(0) + one.max(0)) / 2 for one in left], axis=0)
    error = np.sum([np.ptp(one, axis=0) / 2 for one in left], axis=0)
    if (error > STRAIGHT * np.sum([np.abs(read).max(0) for read in reads], axis=0)).any():
        return None
    error = error + np.sum([signal.errors.max(0) @ np.abs(scaled) for signal in signals], axis=0)
    cases = [tuple(row[key] for key in keys) for row in (dict(chain(*rows)) for rows in product(*groups))]
    numbers = np.array(cases, float).reshape(len(cases), len(keys)) - np.array([constant for _, constant in every])
    values = numbers @ slopes + middle
    return cases, values, np.broadcast_to(error, values.shape)


def computed_alike(keys: Sequence[Value]) -> list[list[Value]]:
    """The keys, those together that are functions of one and the same value, such as the points of a circle."""
    groups: dict[Value, list[Value]] = {}
    for key in dict.fromkeys(keys):
        groups.setdefault(key.arguments[0] if isinstance(key, Map) and len(key.arguments) == 1 else key, []).append(key)
    return list(groups.values())


def joint_cases(group: Sequence[Value], domain: Domain) -> list[tuple[tuple[Value, Plain], ...]]:
    """What values can be together, each with its name; several are functions of one value, so they are what its cases
    give."""
    if len(group) == 1:
        return [((group[0], one),) for one in domain[group[0]]]
    source = group[0].inputs[0]
    rows = dict.fromkeys(tuple(computed(key, {source: one}) for key in group) for one in domain[source])
    allowed = [set(domain[key]) for key in group]
    return [
        tuple(zip(group, row, strict=True))
        for row in rows
        if all(one in some for one, some in zip(row, allowed, strict=True))
    ]


def unit_tables(signals: Sequence[Signal], scaled: Array, domain: Domain) -> dict[Value, dict[Plain, Array]]:
    """For each variable of signals, what is read in each of its cases, (m,)."""
    tables: dict[Value, dict[Plain, Array]] = {}
    for signal in signals:
        (unit,) = signal.key
        rows = signal.amounts @ (signal.vectors @ scaled)
        own = {one: rows[row] for (one,), row in signal.cases.items() if one in set(domain[unit])}
        before = tables.get(unit)
        tables[unit] = own if before is None else {one: before[one] + own[one] for one in own if one in before}
    return tables


def terms_of(key: Value, factor: float = 1.0) -> tuple[Terms, float]:
    """A key as a sum of multiples of values, and a constant."""
    if isinstance(key, Constant):
        return [], factor * float(key.value)
    if not isinstance(key, Linear):
        return [(factor, key)], 0.0
    terms, constant = list[tuple[float, Value]](), factor * key.constant
    for times, one in key.terms:
        more, its = terms_of(one, factor * times)
        terms, constant = terms + more, constant + its
    return terms, constant


def unit_of(term: Value, units: Mapping[Value, object]) -> Value | None:
    """The variable of a signal that a term is, or is computed from alone."""
    if term in units:
        return term
    sources = bases(term)
    return sources[0] if len(sources) == 1 and sources[0] in units else None


def added(terms: Terms, unit: Value, cases: list[Plain], units: Mapping[Value, object]) -> list[float] | None:
    """What a variable adds to a sum of terms, in each of its cases; None if that is no number."""
    own = [(factor, term) for factor, term in terms if unit_of(term, units) is unit]
    numbers = [[computed(term, {unit: one}) for _, term in own] for one in cases]
    if any(number is None or isinstance(number, str) for row in numbers for number in row):
        return None
    return [sum(factor * float(number) for (factor, _), number in zip(own, row, strict=True)) for row in numbers]


def fitted(whole: list[Array], reads: list[Array], columns: int) -> Array:
    """How often a read has each key, (k, m): what fits best, each variable from its own middle."""
    if not whole or not whole[0].shape[1]:
        return np.zeros((0, columns))
    rows, wanted = (np.vstack([one - one.mean(0) for one in some]) for some in (whole, reads))
    slopes: Array = np.linalg.lstsq(rows, wanted, rcond=None)[0]
    return slopes
