"""What constructions are made of: subsets of a grid, of the edges of a graph or of any list; words; permutations.
The spaces of set systems, codes, matrices, abelian groups and points are in kinds/.

    >>> space = grid(3, 3)
    >>> space.elements[5], space.index[1, 2]
    ((1, 2), 5)
    >>> space.shown((0, 5))
    [[0, 0], [1, 2]]

A construction is a tuple of whole numbers: for a subset the indices of its elements, in ascending order; for a word the
indices of its letters; for a permutation its values. `shown` converts it to what people write, `read` back.

A space knows its symmetries by name, each as the maps of elements that generate it. Which of them a problem has depends
on the problem (search/symmetry.py).

Rules receive `arguments`: the elements, but of a set system each set as the bits of a number.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, permutations, product
from typing import Any, Literal

from handloom.core import HandloomError
from handloom.core.checks import whole
from handloom.core.errors import shown

Construction = tuple[int, ...]
Element = Any  # an int or a tuple of ints; of a word a letter
Map = Callable[[Any], Any]  # from elements to elements
Symmetries = Mapping[str, tuple[Map, ...]]
Maps = Mapping[str, Map | Sequence[Map]]  # symmetries as a user may write them
Kind = Literal["grid", "graph", "list", "word", "permutation", "set system", "code", "matrix", "group", "point set"]

MOST_ELEMENTS = 100_000
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"  # the symbols of codes


@dataclass(frozen=True)
class Space:
    """All constructions of a kind; made by `grid`, `graph`, `subsets`, `word`, `permutation`, and those of kinds/."""

    kind: Kind
    elements: tuple[Element, ...]  # of which subsets are made; letters of a word; values of a permutation or a matrix
    length: int  # of a word, a permutation or a matrix; the largest size of a subset
    sides: tuple[int, ...] = ()  # of a grid or a matrix; the orders of a group; how many vertices, points, or symbols
    symmetries: Symmetries = field(default_factory=dict, compare=False)
    generators: tuple[Map, ...] = field(default=(), compare=False)  # more symmetries, for canonical forms

    @property
    def plural(self) -> str:
        return "matrices" if self.kind == "matrix" else f"{self.kind}s"

    @property
    def is_subset(self) -> bool:
        return self.kind not in ("word", "permutation", "matrix")

    @cached_property
    def arguments(self) -> tuple[Element, ...]:
        """What rules receive for each element."""
        if self.kind != "set system":
            return self.elements
        return tuple(sum(1 << (member - 1) for member in some) for some in self.elements)

    @cached_property
    def index(self) -> dict[Element, int]:
        return {element: i for i, element in enumerate(self.elements)}

    def shown(self, construction: Construction) -> Any:
        """As people write it, and as it is stored in JSON: a list of elements or values, or the text of a word."""
        if self.kind == "word":
            return "".join(self.elements[i] for i in construction)
        return [self.written(element) for element in self.seen(construction)]

    def seen(self, construction: Construction) -> list[Element]:
        """The chosen elements; the letters of a word, the values of a permutation, the rows of a matrix."""
        found = [self.elements[i] for i in construction]
        if self.kind != "matrix":
            return found
        return [tuple(found[i : i + self.sides[1]]) for i in range(0, len(found), self.sides[1])]

    def written(self, element: Element) -> Any:
        """An element as people write it, and as it is stored in JSON."""
        if self.kind == "code":
            return "".join(DIGITS[symbol] for symbol in element)
        return list(element) if isinstance(element, tuple) else element

    def name(self, element: Element) -> str:
        """An element in a message."""
        if self.kind == "set system":
            return f"{{{', '.join(map(str, element))}}}"
        return str(self.written(element)) if self.kind == "code" else str(element)

    def read(self, value: Any) -> Construction:
        """The construction of what people write."""
        if not isinstance(value, str if self.kind == "word" else list | tuple):
            raise HandloomError(f"{shown(value)} is not a construction; {self.wanted}")
        items = self.cells_in(value) if self.kind == "matrix" else value
        found = [self.index_of(item) for item in items]
        construction = tuple(sorted(set(found))) if self.is_subset else tuple(found)
        if not self.is_subset and len(construction) != self.length:
            raise HandloomError(f"{shown(value)} has {len(construction)} places, not {self.length}; {self.wanted}")
        if self.kind == "permutation" and len(set(construction)) != self.length:
            raise HandloomError(f"{shown(value)} has a value twice; {self.wanted}")
        return construction

    def index_of(self, value: Any) -> int:
        """The index of an element, which may be written as a list."""
        element = tuple(value) if isinstance(value, list) else value
        if self.kind == "code" and isinstance(value, str):
            element = tuple(map(DIGITS.find, value))
        plain = element if isinstance(element, tuple) else (element,)
        if any(isinstance(part, bool | float | list | dict) for part in plain) or element not in self.index:
            raise HandloomError(f"{shown(value)} is not an element here; {self.wanted}")
        return self.index[element]

    def cells_in(self, rows: Any) -> list[Any]:
        """The entries of a matrix, row after row."""
        rows_are, columns = [isinstance(row, list | tuple) for row in rows], self.sides[1]
        if not all(rows_are) or any(len(row) != columns for row in rows):
            raise HandloomError(f"{shown(rows)} is not such a matrix; {self.wanted}")
        return [entry for row in rows for entry in row]

    @property
    def wanted(self) -> str:
        """What a construction looks like, for messages."""
        sides, one = "×".join(map(str, self.sides)), shown(self.written(self.elements[-1]))
        return {
            "grid": f"write a list of points of the {sides} grid, each a list such as {shown([0] * len(self.sides))}",
            "graph": f"write a list of edges [u, v] with 0 ≤ u < v < {sides}",
            "list": f"write a list of elements such as {shown(self.elements[:3])}",
            "word": f"write a word of {self.length} letters out of {shown(''.join(map(str, self.elements[:40])))}",
            "permutation": f"write a list of 0 to {self.length - 1} in some order",
            "set system": f"write a list of sets of numbers from 1 to {sides}, such as {one}",
            "code": f"write a list of words such as {one}",
            "matrix": f"write a list of rows, {sides} numbers from 0 to {len(self.elements) - 1}",
            "group": f"write a list of elements such as {one}",
            "point set": f"write a list of points such as {one}",
        }[self.kind]


def grid(*sides: int) -> Space:
    """Subsets of a grid: the points (x, y, …) with 0 ≤ x < the first side, and so on."""
    for side in sides:
        whole("a side of a grid", side, 1)
    points = tuple(product(*map(range, sides)))
    return Space("grid", check_elements(points), len(points), sides, grid_symmetries(sides))


def grid_symmetries(sides: tuple[int, ...]) -> Symmetries:
    """The symmetries of a segment, a rectangle, a square, a box or a cube, by name."""
    last = tuple(side - 1 for side in sides)

    def antipode(p: Any) -> Any:
        return tuple(m - x for m, x in zip(last, p, strict=True))

    def mirror(p: Any) -> Any:
        return (last[0] - p[0], *p[1:])

    def other_mirror(p: Any) -> Any:
        return (*p[:-1], last[-1] - p[-1])

    def swap(p: Any) -> Any:
        return (p[1], p[0])

    def cycle(p: Any) -> Any:
        return (*p[1:], p[0])

    if len(sides) == 1:
        return {"mirror": (mirror,)}
    found: dict[str, tuple[Map, ...]] = {"mirror": (mirror,), "mirrors": (mirror, other_mirror)}
    found["rotation-180" if len(sides) == 2 else "antipodal"] = (antipode,)
    all_equal = len(set(sides)) == 1
    if all_equal and len(sides) == 2:  # a square
        return found | {
            "diagonal": (swap,),
            "diagonals": (swap, antipode),
            "rotation-90": (lambda p: (p[1], last[0] - p[0]),),
            "square": (mirror, swap),
        }
    if all_equal:  # a cube, of any dimension
        return found | {"cycle": (cycle,), "antipodal-cycle": (antipode, cycle)}
    return found


def graph(vertices: int) -> Space:
    """Graphs on the vertices 0, 1, …: subsets of the edges (u, v) with u < v."""
    whole("the number of vertices", vertices, 2)
    edges = tuple(combinations(range(vertices), 2))
    turns = {f"turn-{k}": (turned_circles(vertices, k),) for k in range(2, min(vertices, 12) + 1)}
    return Space("graph", check_elements(edges), len(edges), (vertices,), turns)


def turned_circles(vertices: int, k: int) -> Map:
    """The vertices in circles of k, each turned by one; those left over at the end stay."""
    moved = in_circles(vertices, k)
    return lambda edge: tuple(sorted(map(moved, edge)))


def in_circles(count: int, k: int) -> Callable[[int], int]:
    """0, …, count − 1 in circles of k, each turned by one; those left over at the end stay."""
    whole_circles = count - count % k
    return lambda v: v if v >= whole_circles else v - k + 1 if v % k == k - 1 else v + 1


def copies(space: Space, pattern: Iterable[tuple[int, int]]) -> list[tuple[Element, ...]]:
    """All copies of a small graph, given by its edges, in a space of graphs: each a set of edges."""
    edges = [tuple(edge) for edge in pattern]
    corners = sorted({v for edge in edges for v in edge})
    place = {v: i for i, v in enumerate(corners)}
    ways = {
        tuple(sorted(tuple(sorted((order[place[u]], order[place[v]]))) for u, v in edges))
        for order in permutations(range(len(corners)))
    }
    chosen = combinations(range(space.sides[0]), len(corners))
    return [tuple((some[u], some[v]) for u, v in way) for some in chosen for way in ways]


def subsets(elements: Iterable[Element], symmetries: Maps | None = None) -> Space:
    """Subsets of any list of whole numbers, or of tuples of them."""
    listed = tuple(elements)
    for element in listed:
        parts = element if isinstance(element, tuple) else (element,)
        if not parts or any(type(part) is not int for part in parts):
            raise HandloomError(f"{shown(element)} is not an element; each must be a whole number, or a tuple of such")
    return Space("list", check_elements(listed), len(listed), (), maps_by_name(symmetries or {}))


def maps_by_name(symmetries: Maps) -> Symmetries:
    """Symmetries as tuples of maps; a single map may be given without a tuple."""
    if not isinstance(symmetries, Mapping):
        raise HandloomError(f"symmetries={shown(symmetries)} must be a dict: a name, and a map of elements or several")
    found = {name: (maps,) if callable(maps) else maps for name, maps in symmetries.items()}
    for name, maps in found.items():
        if not isinstance(maps, list | tuple) or not all(map(callable, maps)):
            raise HandloomError(
                f"the symmetry {shown(name)} is {shown(maps)}; it must be a function, or a list of them"
            )
    return {name: tuple(maps) for name, maps in found.items()}


def word(length: int, letters: str = "01") -> Space:
    """Words of that many letters."""
    whole("the length of a word", length, 1)
    if not isinstance(letters, str):
        raise HandloomError(f"letters={shown(letters)} must be a string of all the letters, such as '01'")
    return Space("word", check_elements(tuple(letters)), length)


def permutation(length: int) -> Space:
    """The permutations of 0, 1, …, length − 1."""
    whole("the length of a permutation", length, 1)
    return Space("permutation", tuple(range(length)), length)


def check_elements(elements: tuple[Element, ...]) -> tuple[Element, ...]:
    """The elements, if they are distinct and neither too few nor too many."""
    if not 0 < len(elements) <= MOST_ELEMENTS:
        raise HandloomError(f"a space of {len(elements):,} elements; it must have from 1 to {MOST_ELEMENTS:,}")
    if len(set(elements)) < len(elements):
        raise HandloomError("an element is listed twice; list each once")
    return elements
