"""Canonical forms of set systems, codes and matrices under all relabellings, by way of a graph with colours.

    >>> from handloom.discover.kinds.set_systems import set_system
    >>> pairs = set_system(3, 2)
    >>> [set_form(pairs, pairs.read([some])) for some in ([1, 2], [1, 3], [2, 3])]
    [(2,), (2,), (2,)]

A set system is a graph of points and sets, a code one of places, symbols at places, and words. A matrix is a graph of
rows and columns, each twice where it may be negated, whose edges have the entries as colours. The best order of the
vertices (labelling.py) says in which order points, symbols or rows come in the form.

A problem has such a form if it stays the same under all these relabellings: of what is forbidden that is tried on sets
of elements, of a score on random matrices.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from handloom.core.arrays import Array
from handloom.core.errors import in_users_code
from handloom.discover.problem import Problem, score_argument
from handloom.discover.search.labelling import best_order
from handloom.discover.search.symmetry import broken_by
from handloom.discover.spaces import Construction, Space

MOST_VERTICES = 200  # of a graph: above it a form takes long
TRIED = 12  # random matrices on which a symmetry of a score is tried
PAIR, FIRST_VALUE = 1, 2  # the colours of edges: between a row and its negative, and of the entry 0

Form = Callable[[Construction], Construction]


def relabelled_form(problem: Problem) -> Form | None:
    """A function from a problem's constructions to their forms, if it has such forms."""
    space = problem.space
    if space.kind == "matrix":
        ways = ways_of(problem)
        return lambda construction: matrix_form(space, construction, ways)
    if space.kind not in ("set system", "code") or problem.score is not None or problem.symmetries is not None:
        return None
    if broken_by(problem, "relabelling", space.generators) is not None:
        return None
    return lambda construction: (set_form if space.kind == "set system" else code_form)(space, construction)


def symmetric(size: int, edges: Sequence[tuple[int, int]]) -> Array:
    graph = np.zeros((size, size), np.uint8)
    if edges:
        u, v = np.array(edges).T
        graph[u, v] = graph[v, u] = 1
    return graph


def set_form(space: Space, construction: Construction) -> Construction:
    n, sets = space.sides[0], [space.elements[i] for i in construction]
    if not sets or n + len(sets) > MOST_VERTICES:
        return construction
    edges = [(v - 1, n + i) for i, some in enumerate(sets) for v in some]
    order, _ = best_order(symmetric(n + len(sets), edges), classes=(n, len(sets)))
    new = {int(v) + 1: i for i, v in enumerate(order[:n], 1)}
    return tuple(sorted(space.index[tuple(sorted(new[v] for v in some))] for some in sets))


def code_form(space: Space, construction: Construction) -> Construction:
    (n, q), words = space.sides, [space.elements[i] for i in construction]
    size = n + n * q + len(words)
    if not words or size > MOST_VERTICES:
        return construction
    edges = [(i, n + i * q + x) for i in range(n) for x in range(q)]
    edges += [(n + i * q + x, n + n * q + k) for k, word in enumerate(words) for i, x in enumerate(word)]
    order, _ = best_order(symmetric(size, edges), classes=(n, n * q, len(words)))
    places = order[:n].tolist()
    symbols = [[v - n - i * q for v in order[n : n + n * q].tolist() if (v - n) // q == i] for i in range(n)]
    new = [[of.index(x) for x in range(q)] for of in symbols]
    return tuple(sorted(space.index[tuple(new[i][word[i]] for i in places)] for word in words))


class Ways(NamedTuple):
    """How matrices may be changed and keep their score."""

    rows: bool  # permuted
    columns: bool
    transposed: bool
    negated_rows: bool
    negated_columns: bool


def ways_of(problem: Problem) -> Ways:
    """The ways that leave the score of random matrices as it is."""
    space, rng = problem.space, np.random.default_rng(0)
    rows, columns = space.sides
    m, by_row, by_column = len(space.elements), list(range(rows)), list(range(columns))
    drawn = [rng.integers(m, size=(rows, columns)) * (rng.random((rows, columns)) < rng.random()) for _ in range(TRIED)]

    with in_users_code(str(problem)):
        before = [worth(problem, one) for one in drawn]

    def keeps(*changes: Callable[[Array], Array]) -> bool:
        with in_users_code(str(problem)):
            pairs = [*zip(drawn, before, strict=True)]
            return all(worth(problem, change(one)) == value for change in changes for one, value in pairs)

    def negate(one: Array, where: tuple[int | slice, int | slice]) -> Array:
        changed = one.copy()
        changed[where] = opposite(changed[where], m)
        return changed

    last = slice(None)
    return Ways(
        rows > 1 and keeps(lambda a: a[[*by_row[1::-1], *by_row[2:]]], lambda a: np.roll(a, 1, axis=0)),
        columns > 1 and keeps(lambda a: a[:, [*by_column[1::-1], *by_column[2:]]], lambda a: np.roll(a, 1, axis=1)),
        rows == columns and keeps(lambda a: a.T),
        keeps(lambda a: negate(a, (0, last)), lambda a: negate(a, (rows - 1, last))),
        keeps(lambda a: negate(a, (last, 0)), lambda a: negate(a, (last, columns - 1))),
    )


def worth(problem: Problem, array: Array) -> object:
    """The score of a matrix, and whether its check refuses it."""
    construction = tuple(array.flatten().tolist())
    refused = problem.check is not None and problem.check(problem.space.seen(construction)) is not None
    assert problem.score is not None
    with np.errstate(all="ignore"):
        value = problem.score(score_argument(problem.space, construction))
    return (round(float(value), 6), refused)


def opposite(values: Array, m: int) -> Array:
    """Minus the values modulo m; modulo 2, where that is the same, 0 and 1 exchanged."""
    return 1 - values if m == 2 else -values % m


def matrix_form(space: Space, construction: Construction, ways: Ways) -> Construction:
    """The form under these ways; with none of them, the matrix itself."""
    rows, columns = space.sides
    doubled = (1 + ways.negated_rows, 1 + ways.negated_columns)
    height, width = rows * doubled[0], columns * doubled[1]
    if not any(ways) or height + width > MOST_VERTICES:
        return construction
    entries = np.array(construction).reshape(rows, columns)
    both = np.stack([entries, opposite(entries, len(space.elements))])
    signs = (np.arange(height)[:, None] % doubled[0] + np.arange(width)[None] % doubled[1]) % 2
    cells = both[signs, np.arange(height)[:, None] // doubled[0], np.arange(width)[None] // doubled[1]]
    graph = np.zeros((height + width, height + width), np.uint8)
    graph[:height, height:] = FIRST_VALUE + cells
    graph[height:, :height] = graph[:height, height:].T
    for begin, end, twice in ((0, height, doubled[0]), (height, height + width, doubled[1])):
        for v in range(begin, end, 2) if twice == 2 else ():
            graph[v, v + 1] = graph[v + 1, v] = PAIR
    by_row = [height] if ways.rows else [doubled[0]] * rows
    by_column = [width] if ways.columns else [doubled[1]] * columns
    one = ways.transposed and ways.rows and ways.columns and doubled[0] == doubled[1]
    order = best_order(graph, classes=(height + width,) if one else (*by_row, *by_column))[0].tolist()
    across, down = [v for v in order if v < height], [v - height for v in order if v >= height]
    lines = [firsts(across, doubled[0]), firsts(down, doubled[1])]
    form = cells[np.ix_(*lines)]
    return tuple((form.T if order[0] >= height else form).flatten().tolist())


def firsts(order: list[int], doubled: int) -> list[int]:
    """Of each vertex and its negative the one that comes first, in the order of these.

    >>> firsts([3, 0, 2, 1], 2), firsts([1, 0], 1)
    ([3, 0], [1, 0])
    """
    found: dict[int, int] = {}
    for v in order:
        found.setdefault(v // doubled, v)
    return [*found.values()]
