"""graph6: a graph as a line of printable characters, as nauty, networkx and Sage read and write it.

    >>> graph6(5, [(0, 2), (0, 4), (1, 3), (3, 4)])  # the example of the format's specification
    'DQc'
    >>> edges_in("DQc")
    (5, [(0, 2), (1, 3), (0, 4), (3, 4)])

The number of vertices, then the upper triangle of the adjacency matrix column by column, six bits to a character
(https://users.cecs.anu.edu.au/~bdm/data/formats.txt).
"""

from collections.abc import Iterable

from handloom.core import HandloomError
from handloom.core.errors import shown

HEADER = ">>graph6<<"
FIRST, LAST = 63, 126  # of the characters
Edge = tuple[int, int]


def graph6(vertices: int, edges: Iterable[Edge]) -> str:
    """A graph on the vertices 0, 1, … as graph6."""
    there = {(min(edge), max(edge)) for edge in edges}
    bits = [int((u, v) in there) for v in range(vertices) for u in range(v)]
    bits += [0] * (-len(bits) % 6)
    sixes = [int("".join(map(str, bits[i : i + 6])), 2) for i in range(0, len(bits), 6)]
    return "".join(chr(FIRST + six) for six in [*size_as_sixes(vertices), *sixes])


def size_as_sixes(vertices: int) -> list[int]:
    """The number of vertices: one character, or 126 and three of them, or twice 126 and six."""
    if vertices <= 62:
        return [vertices]
    places, marks = (3, [63]) if vertices <= 258_047 else (6, [63, 63])
    return marks + [vertices >> 6 * place & 63 for place in reversed(range(places))]


def edges_in(line: str) -> tuple[int, list[Edge]]:
    """The number of vertices and the edges of a graph in graph6."""
    text = line.strip().removeprefix(HEADER)
    if text[:1] in (":", ";", "&"):
        raise HandloomError(f"{shown(line)} is sparse6 or digraph6 (expected graph6); convert it first")
    if not text or any(not FIRST <= ord(letter) <= LAST for letter in text):
        raise HandloomError(f"{shown(line)} is not graph6 (expected characters from ? to ~); write one graph per line")
    sixes = [ord(letter) - FIRST for letter in text]
    vertices, rest = size_in(line, sixes)
    if len(rest) != -(-(vertices * (vertices - 1) // 2) // 6):
        raise HandloomError(f"{shown(line)} is not graph6: {len(rest)} characters for {vertices:,} vertices; mend it")
    bits = (six >> place & 1 for six in rest for place in reversed(range(6)))
    pairs = ((u, v) for v in range(vertices) for u in range(v))
    return vertices, [pair for pair, bit in zip(pairs, bits, strict=False) if bit]


def size_in(line: str, sixes: list[int]) -> tuple[int, list[int]]:
    """The number of vertices, and what follows it."""
    marks = 0 if sixes[0] < 63 else 1 if sixes[1:2] != [63] else 2
    places = (1, 3, 6)[marks]
    if len(sixes) < marks + places:
        raise HandloomError(f"{shown(line)} is not graph6: it ends within the number of vertices; mend it")
    size = 0
    for six in sixes[marks : marks + places]:
        size = size << 6 | six
    return size, sixes[marks + places :]
