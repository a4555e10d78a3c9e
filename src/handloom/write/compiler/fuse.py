"""Fusing: a function of a function becomes one, where that does not take many more neurons: it saves a layer.

`late & ~carry` is then one sum and one neuron, and (a + b) % 10, or the end, one row of hinges.
"""

from collections import Counter
from math import prod
from typing import Any

import numpy as np

from handloom.write.compiler.codes import Codes
from handloom.write.compiler.hinges import fewest_hinges
from handloom.write.compiler.interpreter import in_order
from handloom.write.compiler.ranges import Ranges, is_column
from handloom.write.compiler.values import Count, Map, Plain, Value, token_of

MORE = 4  # neurons that a saved layer may cost
MOST_FUSED = 4_000  # cases of a fused function


def fused(answer: Value, ranges: Ranges, codes: Codes) -> Value:
    """The answer with its functions fused, the outermost first."""
    while isinstance(answer, Map) and (next := one_fused(answer, ranges, codes, uses_of(answer))) is not None:
        answer = next
    return answer


def uses_of(answer: Value) -> Counter[Value]:
    return Counter(one for value in in_order(answer) for one in value.inputs)


def one_fused(value: Map, ranges: Ranges, codes: Codes, uses: Counter[Value]) -> Map | None:
    """A map with one of its arguments fused in; None if nothing is gained."""
    for i, inner in enumerate(value.arguments):
        if not isinstance(inner, Map) or is_column(inner):
            continue
        whole = inlined(value, i, inner)
        if len(whole.arguments) > 1 and any(isinstance(one, Count) for one in inner.arguments):
            continue  # a count that is alone is read as the share that its head gives
        if len(whole.arguments) > 1 and not ranges.signs.isdisjoint(inner.arguments):
            continue  # of such a mean only the sign is known, and that alone
        if prod(len(ranges.values[one]) for one in whole.arguments) > MOST_FUSED:
            continue
        apart = neurons(value, ranges, codes, True) + (neurons(inner, ranges, codes, False) if uses[inner] == 1 else 0)
        if neurons(whole, ranges, codes, True) <= apart + MORE:
            return whole
    return None


def inlined(outer: Map, i: int, inner: Map) -> Map:
    """The outer function with the inner one in place of its argument i; arguments that are the same are given once."""
    every = (*outer.arguments[:i], *inner.arguments, *outer.arguments[i + 1 :])
    distinct = {one: place for place, one in enumerate(dict.fromkeys(every))}
    places = [distinct[one] for one in every]
    end = i + len(inner.arguments)

    def function(*given: Plain) -> Any:
        whole = [given[place] for place in places]
        middle = inner.function(*whole[i:end])
        return None if middle is None else outer.function(*whole[:i], middle, *whole[end:])

    return Map(function, tuple(distinct), inner.of_sign and len(outer.arguments) == 1, line=outer.line)


def neurons(value: Map, ranges: Ranges, codes: Codes, said: bool) -> int:
    """How many neurons a map takes."""
    cases = ranges.cases(value)
    results = [codes.answer(token_of(one)) if said else [float(one)] for one in cases.values()]
    return len(fewest_hinges(np.array([list(map(float, given)) for given in cases]), np.array(results)).at)
