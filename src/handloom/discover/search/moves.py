"""The moves of annealing: small changes of words, permutations and subsets that can be undone, compiled by Numba.

    words           a letter changed, a block reversed, a block shifted by one
    permutations    two values exchanged, a block reversed, one value moved
    subsets         an element put in or taken out, one exchanged for another

Before an element is put in, others are taken out until it completes no forbidden set: a subset is always legal.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from handloom.core.arrays import Array
from handloom.discover.problem import Problem, arity
from handloom.discover.search.compiling import Test, compiled, coordinates, kernel
from handloom.discover.search.orbit_search import below
from handloom.discover.search.symmetry import NONE, orbits_of

Conflict = Callable[[Any, int], int]


class Walker(NamedTuple):
    """A word or a permutation on its way."""

    random: Array  # (1,) of xorshift64*
    flat: Array  # (length,) the construction
    given: Array  # a copy for the score, which may write into it
    row: Array  # the same memory as given
    best: Array  # the construction with the best score
    numbers: Array  # (3,)
    letters: int  # 0 for a permutation
    saved: Array  # (length,) what was there before the last change,
    span: Array  # (2,) from here to there


class Chosen(NamedTuple):
    """A subset on its way."""

    random: Array  # (1,)
    flat: Array  # 0s and 1s: of a graph its matrix, as one row
    given: Array  # in the shape that the score expects
    row: Array
    best: Array
    numbers: Array
    cells: Array  # (elements, 2) where an element stands in the row; an edge stands twice in the matrix
    order: Array  # (elements,) those that are chosen come first
    place: Array  # (elements,) where an element stands in this order
    counts: Array  # (2,) how many are chosen; how many were put in or taken out by the last change
    log: Array  # those that were
    others: Array  # those that would complete a forbidden set with an element
    asked: Array  # (5,) the elements that a rule was last called with
    xy: Array  # the elements' coordinates
    sets: Array  # (sets, k) listed as forbidden, filled up with −1
    starts: Array  # (elements + 1,) where an element's rows begin
    rows: Array  # of the sets that an element is in
    orbit: Array  # (elements,) of an element under the required symmetry: these are put in and taken out together
    first: Array  # (orbits + 1,) where an orbit begins,
    inside: Array  # (elements,) in this list


@kernel()
def move(conflict: Any, s: Any) -> bool:
    rearrange(s)  # a kernel of its own: Numba caches none on disk that takes a function
    return True


@kernel(cache=True)
def rearrange(s: Any) -> None:
    """A word or a permutation changed: in one letter, by an exchange, or a block of it reversed or shifted."""
    size = len(s.flat)
    i = below(s, size)
    j = min(size - 1, i + 1 + below(s, 1 + below(s, size)))  # short blocks more often
    kind = below(s, 4)
    if s.letters and kind < 2:
        j = i
    s.span[0], s.span[1] = i, j + 1
    s.saved[i : j + 1] = s.flat[i : j + 1]
    if i == j and s.letters > 1:
        s.flat[i] = (s.flat[i] + 1 + below(s, s.letters - 1)) % s.letters
    elif kind == 0:
        s.flat[i], s.flat[j] = s.flat[j], s.flat[i]
    elif kind < 3:
        s.flat[i : j + 1] = s.saved[i : j + 1][::-1]
    elif below(s, 2):
        s.flat[i:j], s.flat[j] = s.saved[i + 1 : j + 1], s.saved[i]
    else:
        s.flat[i + 1 : j + 1], s.flat[i] = s.saved[i:j], s.saved[j]


@kernel(cache=True)
def restore(s: Any) -> None:
    s.flat[s.span[0] : s.span[1]] = s.saved[s.span[0] : s.span[1]]


@kernel()
def flip_some(conflict: Any, s: Any) -> bool:
    """A subset changed by one element, or by one for another; False if that element is forbidden by itself."""
    count, size = s.counts[0], len(s.order)
    s.counts[1] = 0
    if 0 < count < size and below(s, 2):
        out, element = s.order[below(s, count)], s.order[count + below(s, size - count)]
        flip_orbit(s, out)
    else:
        element = below(s, size)
    if s.place[element] < s.counts[0]:
        flip_orbit(s, element)
        return True
    if not push_in(conflict, s, element):
        undo_flips(s)
        return False
    return True


@kernel()
def push_in(conflict: Any, s: Any, element: int) -> bool:
    """Put in an element with its orbit, and take out what forbids that; False if it forbids itself."""
    mine = s.orbit[element]
    for i in range(s.first[mine], s.first[mine + 1]):
        new = s.inside[i]
        number = conflict(s, new)
        while number > 0:
            other = s.others[below(s, number)]
            if s.orbit[other] == mine:
                return False
            flip_orbit(s, other)
            number = conflict(s, new)
        if number < 0:
            return False
        flip(s, new)
    return True


@kernel(cache=True)
def flip_orbit(s: Any, element: int) -> None:
    mine = s.orbit[element]
    for i in range(s.first[mine], s.first[mine + 1]):
        flip(s, s.inside[i])


@kernel(cache=True)
def flip(s: Any, element: int) -> None:
    """Put an element in, or take it out."""
    there = s.place[element] < s.counts[0]
    s.counts[0] -= there
    at, edge = s.place[element], s.counts[0]
    other = s.order[edge]
    s.order[at], s.order[edge] = other, element
    s.place[other], s.place[element] = at, edge
    s.counts[0] += not there
    s.flat[s.cells[element, 0]] = s.flat[s.cells[element, 1]] = not there
    s.log[s.counts[1]] = element
    s.counts[1] += 1


@kernel(cache=True)
def undo_flips(s: Any) -> None:
    for i in range(s.counts[1] - 1, -1, -1):
        flip(s, s.log[i])
    s.counts[1] = 0


@kernel()
def put_in(conflict: Any, s: Any, elements: Array) -> None:
    """Put in the elements, each with its orbit, in the order given, as far as they are legal together."""
    for element in elements:
        s.counts[1] = 0
        mine = s.orbit[element]
        if s.place[element] < s.counts[0]:
            continue
        for i in range(s.first[mine], s.first[mine + 1]):
            if conflict(s, s.inside[i]) != 0:
                undo_flips(s)
                break
            flip(s, s.inside[i])


@kernel(cache=True)
def nothing(s: Any, element: int) -> int:
    return 0


@kernel(cache=True)
def listed(s: Any, element: int) -> int:
    """The number of chosen elements, written to `others`, that form a listed set with this one; −1 if it is one."""
    for i in range(s.starts[element], s.starts[element + 1]):
        number = 0
        for other in s.sets[s.rows[i]]:
            if other >= 0 and other != element:
                if s.place[other] >= s.counts[0]:
                    break
                s.others[number] = other
                number += 1
        else:
            return number if number else -1
    return 0


@kernel(no_cpython_wrapper=True)
def broken(test: Any, size: int, s: Any, element: int) -> int:
    """The same for a rule of `size` elements."""
    count, number, at = s.counts[0], size - 1, s.others
    order, asked, xy = s.order, s.asked, s.xy
    for i in range(number):
        at[i] = i
    while number <= count:
        ask(asked, element, order, at, number)
        if test(xy, asked[0], asked[1], asked[2], asked[3], asked[4]):
            for i in range(number):
                at[i] = order[at[i]]
            return number if number else -1
        last = number - 1
        while last >= 0 and at[last] == count - number + last:
            last -= 1
        if last < 0:
            break
        at[last] += 1
        for i in range(last + 1, number):
            at[i] = at[i - 1] + 1
    return 0


@kernel(cache=True)
def ask(asked: Array, element: int, order: Array, at: Array, number: int) -> None:
    """Write the element and those at these places of the order, ascending: a rule may depend on which comes first."""
    asked[0] = element
    for i in range(number):
        other, j = order[at[i]], i + 1
        while j > 0 and asked[j - 1] > other:
            asked[j] = asked[j - 1]
            j -= 1
        asked[j] = other


def conflict_of(problem: Problem) -> Conflict:
    """Everything that is forbidden, as one function."""
    conflict: Conflict = listed if problem.sets else nothing
    for rule in problem.rules:
        conflict = either(conflict, compiled(problem, rule), arity(rule))
    return conflict


def either(one: Conflict, test: Test, size: int) -> Conflict:
    @kernel(no_cpython_wrapper=True)
    def conflict(s: Any, element: int) -> int:
        number = one(s, element)
        return number if number else broken(test, size, s, element)

    return conflict


def tables(problem: Problem) -> tuple[Array, ...]:
    """For a subset: the cells of the elements, their coordinates, the listed sets, and the sets of each element."""
    space, size = problem.space, len(problem.space.elements)
    if space.kind == "graph":
        cells = np.array([(u * space.sides[0] + v, v * space.sides[0] + u) for u, v in space.elements], np.int64)
    else:
        cells = np.stack([np.arange(size)] * 2, axis=1)
    xy = coordinates(space) if problem.rules else np.zeros((1, 1), np.int64)
    sets = problem.set_rows
    rows, columns = np.nonzero(sets >= 0)
    elements = sets[rows, columns]
    starts = np.concatenate([[0], np.cumsum(np.bincount(elements, minlength=size))])
    orbits = orbits_of(problem, NONE)
    first, inside = np.cumsum([0, *orbits.weights]), np.concatenate(orbits.members)
    return cells, xy, sets, starts, rows[np.argsort(elements, kind="stable")], orbits.of, first, inside
