"""The second encoding: forbidden sets are counted together, and pairs of elements are variables of their own.

    >>> cliques([(0, 1), (0, 2), (1, 2), (2, 3)], 2)
    [(0, 1, 2), (2, 3)]

Where all sets of k of some elements are forbidden, these are a clique, and at most k − 1 of them are chosen. Where a is
forbidden with any two of some elements, at most one of these is chosen if a is. Of a set of four or more, pairs become
variables, those that most sets share; then cliques of pairs are looked for. In a graph without cycles of four,
the pairs are paths u–w–v, and for each u and v at most one is there.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import Any

from handloom.discover.proof.family import Family

Some = tuple[Any, ...]
LARGEST = 8  # a set with more elements is not divided into pairs


def add_cliques(model: Any, x: Sequence[Any], family: Family) -> None:
    by_size: dict[int, list[Some]] = defaultdict(list)
    for some in family.sets:
        by_size[len(some)].append(some)
    for (alone,) in by_size.pop(1, []):
        model.add(x[alone] == 0)
    for size, sets in by_size.items():
        rest = add_whole(model, x, sets, size)
        if size == 3:
            add_linked(model, x, rest)
        elif 3 < size <= LARGEST:
            add_paired(model, x, rest, size)
        else:
            add_counts(model, x, rest, size)


def add_counts(model: Any, x: Any, some: Iterable[Some], size: int) -> None:
    """Of each of these at most size − 1 elements are chosen."""
    for clique in some:
        model.add(sum(x[i] for i in clique) <= size - 1)


def add_whole(model: Any, x: Any, sets: list[Some], size: int) -> set[Some]:
    """The cliques of the elements themselves; the sets that are in none."""
    large = [clique for clique in cliques(sets, size) if len(clique) > size or size == 2]
    add_counts(model, x, large, size)
    return set(sets).difference(*(combinations(clique, size) for clique in large))


def add_linked(model: Any, x: Any, sets: set[Some]) -> None:
    """Sets of three: with an element, at most one of a clique of those that it links."""
    links: dict[int, list[Some]] = defaultdict(list)
    for some in sorted(sets):
        for a in some:
            links[a].append(tuple(b for b in some if b != a))
    found = [(a, clique) for a, pairs in links.items() for clique in cliques(pairs, 2)]
    left = set(sets)
    for a, clique in sorted(found, key=lambda one: -len(one[1])):
        covered = {tuple(sorted((a, *pair))) for pair in combinations(clique, 2)}
        if covered & left:
            left -= covered
            model.add(sum(x[i] for i in clique) <= 1).only_enforce_if(x[a])


def add_paired(model: Any, x: Any, sets: set[Some], size: int) -> None:
    """Larger sets: by cliques of pairs, the largest first."""
    divided = defaultdict(set)
    for some, ways in best_pairings(sets):
        for way in ways:
            divided[way].add(some)
    half = (size + 1) // 2
    left, both = set(sets), dict[Some, Any]()
    for clique in sorted(cliques(divided, half), key=lambda one: -len(one)):
        covered = set[Some]().union(*(divided[way] for way in combinations(clique, half)))
        if covered & left:
            left -= covered
            for pair in clique:
                both[pair] = both[pair] if pair in both else chosen_together(model, x, pair)
            add_counts(model, both, [clique], half)


def chosen_together(model: Any, x: Any, pair: Some) -> Any:
    """A variable: whether all elements of the pair are chosen."""
    if len(pair) == 1:
        return x[pair[0]]
    together = model.new_bool_var("")
    model.add_bool_or([together, *(~x[i] for i in pair)])
    for i in pair:
        model.add_implication(together, x[i])
    return together


def best_pairings(sets: set[Some]) -> Iterator[tuple[Some, list[Some]]]:
    """Each set with the ways to divide it into the pairs that occur most often."""
    often = Counter(pair for some in sets for pair in combinations(some, 2))
    for some in sorted(sets):
        ways = [*pairings(some)]
        counts = [sum(often[pair] for pair in way) for way in ways]
        yield some, [tuple(sorted(way)) for way, count in zip(ways, counts, strict=True) if count == max(counts)]


def pairings(some: Some) -> Iterator[tuple[Some, ...]]:
    """The ways to divide a set into pairs, and one single element if its number is odd.

    >>> [*pairings((0, 1, 2))]
    [((0,), (1, 2)), ((0, 2), (1,)), ((0, 1), (2,))]
    """
    if len(some) % 2:
        for i, single in enumerate(some):
            yield from (tuple(sorted(((single,), *way))) for way in pairings(some[:i] + some[i + 1 :]))
        return
    if not some:
        yield ()
    for i in range(1, len(some)):
        for way in pairings(some[1:i] + some[i + 1 :]):
            yield ((some[0], some[i]), *way)


def cliques(sets: Iterable[Some], size: int) -> list[Some]:
    """Cliques that together contain all the sets, found greedily; each as large as it can be."""
    all_sets = sorted(sets)
    beside: dict[Some, set[Any]] = defaultdict(set)
    for some in all_sets:
        for i, one in enumerate(some):
            beside[some[:i] + some[i + 1 :]].add(one)
    left, found = set(all_sets), list[Some]()
    for some in all_sets:
        if some in left:
            clique = grown(some, size, beside)
            left.difference_update(combinations(clique, size))
            found.append(clique)
    return found


def grown(some: Some, size: int, beside: dict[Some, set[Any]]) -> Some:
    """A clique around a set, larger by one element at a time."""
    clique = [*some]
    others = set.intersection(*(beside[few] for few in combinations(clique, size - 1))) - set(clique)
    while others:
        new = min(others)
        others = others - {new}
        for few in combinations(clique, size - 2):
            others &= beside.get(tuple(sorted((*few, new))), set())
        clique.append(new)
    return tuple(sorted(clique))
