"""Records as files: JSON, text, graph6 and Sage, which people and other programs read and write.

    >>> from handloom.discover.spaces import grid
    >>> board = grid(2, 3)
    >>> print(as_text([[0, 1], [1, 2]], board))
    . # .
    . . #
    >>> [board.shown(c) for c in constructions(board, Written(None, Lines((". # .", ". . #"))))]
    [[[0, 1], [1, 2]]]

JSON is a list of records as `handloom records --json` prints them, one such record, or only a construction: a list of
elements, a word, or a list of several. Text has one construction per paragraph: for a grid a picture, with rows of
`0 1`, or of `.` and one of `#`, `*`, `o`; otherwise one element per line, such as `3 5`; numbers may also share a line.
A set is a line of its members, `{}` if it has none; a matrix is its rows. Each line of words is a construction. A line
`// problem: NAME` names the problem of the next ones; other lines that start with `//` and a space are comments. A
graph may also be its adjacency matrix. A .g6 file has a graph per line (graph6.py), a .sage file what Sage loads
(sage.py).

What is read here is only well formed; the store checks whether it is legal.
"""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from handloom.core import HandloomError
from handloom.core.checks import parse_json
from handloom.core.errors import one_line, shown
from handloom.discover.records.graph6 import edges_in, graph6
from handloom.discover.records.origin import came_from, started_from
from handloom.discover.records.sage import as_sage, sage_file, sage_values
from handloom.discover.records.store import Record
from handloom.discover.spaces import Construction, Space

FREE, TAKEN = frozenset(".0"), frozenset("#*o1")  # the cells of a picture
NOTHING = "nothing"  # a construction without elements, as text
PROBLEM = "problem: "
HEADER = f"// {PROBLEM}"


class Lines(NamedTuple):
    """A paragraph of a text file."""

    lines: tuple[str, ...]


class Graph6(NamedTuple):
    """A line of a .g6 file."""

    line: str


@dataclass(frozen=True)
class Written:
    """One or more constructions as written in a file, not yet read."""

    problem: str | None  # as named in the file
    value: Any  # JSON, Lines, or Graph6
    origin: dict[str, Any] = field(default_factory=dict)  # how it was found, according to the file
    sources: Sequence[Any] = ()  # where it is published, likewise


def as_object(record: Record) -> dict[str, Any]:
    """A record for JSON. All records of a store are verified."""
    return {
        "problem": record.problem,
        "score": record.score,
        "verified": True,
        "found": record.found,
        "construction": record.construction,
        "origin": record.origin,
        "id": record.id,
        "parent": record.parent,
        "verified_at": record.verified,
        "version": record.version,
    } | ({"minimise": True} if record.minimise else {})


def as_paragraph(record: Record, space: Space | None = None) -> str:
    """A record for a text file; with its space, a grid becomes a picture."""
    name = record.problem if record.problem.isprintable() else json.dumps(record.problem)
    about = f"// score {record.score}, found {record.found}, verified {record.verified} by handloom {record.version}"
    how = ", ".join(filter(None, [f"record {record.id}", came_from(record.origin), started_from(record.origin)]))
    how = how if how.isprintable() else json.dumps(how)
    return f"{HEADER}{name}\n{about}\n// {how}\n{as_text(record.construction, space)}\n"


def as_graph6(record: Record, space: Space | None) -> str:
    """A record as a line of graph6; one that is no graph raises an error."""
    if space is None or space.kind != "graph":
        why = "its file is not given" if space is None else f"its constructions are not graphs: {space.kind}"
        raise HandloomError(f"{record.problem} cannot be written as graph6 ({why}); choose .json, .txt or .sage")
    return graph6(space.sides[0], [tuple(edge) for edge in record.construction])


def as_sage_file(records: Sequence[tuple[Record, Space | None]]) -> str:
    """Records as a file that Sage loads, each with its problem and its score as a comment."""
    entries = []
    for record, space in records:
        name = record.problem if record.problem.isprintable() else json.dumps(record.problem)
        about = f"{PROBLEM}{name}\nscore {record.score}, verified by handloom {record.version}, record {record.id}"
        entries.append((about, as_sage(record.construction, space)))
    return sage_file(entries)


def as_text(construction: Any, space: Space | None = None) -> str:
    """A construction as lines of text that `constructions` reads."""
    if isinstance(construction, str):
        plain = construction.isprintable() and not re.search(r'\s|^"|^//', construction)
        return construction if plain else json.dumps(construction)
    if space is not None and space.kind == "grid" and len(space.sides) == 2:
        taken = {tuple(point) for point in construction}
        rows, columns = space.sides
        return "\n".join(" ".join(".#"[(x, y) in taken] for y in range(columns)) for x in range(rows))
    if not construction:
        return NOTHING
    if isinstance(construction[0], list):  # with a comma after each, so that it does not look like a picture
        return "\n".join("".join(f"{number}, " for number in one).strip() or "{}" for one in construction)
    if isinstance(construction[0], str):
        return "\n".join(construction)
    return " ".join(map(str, construction))


def written_in(path: Path) -> list[Written]:
    """The contents of a file: JSON, graph6 or Sage if its name ends in .json, .g6 or .sage, otherwise text."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text in UTF-8"
        raise HandloomError(f"{shown(str(path))} cannot be read: {why or one_line(error)}") from error
    if (ending := path.suffix.lower()) == ".g6":
        return [Written(None, Graph6(line)) for line in text.split("\n") if line.strip()]
    if ending not in (".json", ".sage"):
        return written_in_text(text)
    try:
        return written_in_sage(text) if ending == ".sage" else written_in_json(parse_json(text))
    except HandloomError as error:
        raise HandloomError(f"{path}: {error}") from error
    except ValueError as error:
        raise HandloomError(f"{path} is not JSON: {one_line(error)}") from error


def written_in_json(value: Any) -> list[Written]:
    objects = value if isinstance(value, list) and any(isinstance(item, dict) for item in value) else [value]
    if not any(isinstance(item, dict) for item in objects):
        return [Written(None, value)]
    for item in objects:
        if not isinstance(item, dict) or "construction" not in item:
            raise HandloomError(f'{shown(item)} is not a record; write {{"problem": "NAME", "construction": [...]}}')
        if not isinstance(item.get("problem"), str | None):
            raise HandloomError(f"a record's problem is {shown(item['problem'])}; it must be a name")
    return [Written(one.get("problem"), one["construction"], origin_in(one), sources_in(one)) for one in objects]


def sources_in(item: dict[str, Any]) -> list[Any]:
    found = item.get("sources", [])
    return found if isinstance(found, list) else [found]


def written_in_sage(text: str) -> list[Written]:
    """The values, each with the problem that a comment above it names."""
    found = re.finditer(rf"^\s*# {PROBLEM}(.*)$", text, re.MULTILINE)
    named = [(text.count("\n", 0, one.end()) + 1, one[1].strip()) for one in found]
    above = [(next((name for at, name in reversed(named) if at < line), None), v) for line, v in sage_values(text)]
    return [Written(name, value) for name, value in above]


def origin_in(item: dict[str, Any]) -> dict[str, Any]:
    """How and when a record was found, according to the file."""
    return {key: item[key] for key in ("found", "origin") if key in item}


def written_in_text(text: str) -> list[Written]:
    """The paragraphs, each with the problem named last."""
    problem, found = None, []
    for paragraph in re.split(rf"\n\s*\n|(?=^{HEADER})", "\n".join(text.splitlines()), flags=re.MULTILINE):
        lines = [line.strip() for line in paragraph.split("\n") if line.strip()]
        problem = next((line.removeprefix(HEADER).strip() for line in lines if line.startswith(HEADER)), problem)
        if kept := tuple(line for line in lines if line != "//" and not line.startswith("// ")):
            found.append(Written(problem, Lines(kept)))
    return found


def constructions(space: Space, written: Written) -> list[Construction]:
    """The constructions of that space in what is written."""
    try:
        if isinstance(written.value, Graph6):
            return [space.read(in_graph6(space, written.value.line))]
        if isinstance(written.value, Lines):
            return [space.read(value) for value in in_paragraph(space, written.value.lines)]
        return [space.read(value) for value in in_json(space, written.value)]
    except TypeError as error:  # lists in lists
        raise HandloomError(f"{shown(written.value)} is not a construction; {space.wanted}") from error


def constructions_in(path: Path, space: Space) -> list[Construction]:
    """All constructions in a file, of whichever problem they are."""
    found: list[Construction] = []
    for number, written in enumerate(written_in(path), 1):
        try:
            found += constructions(space, written)
        except HandloomError as error:
            raise HandloomError(f"{path}, number {number}: {error}") from error
    if not found:
        raise HandloomError(f"there is no construction in {path}")
    return found


def in_graph6(space: Space, line: str) -> list[list[int]]:
    """The edges of a graph with as many vertices as the space's."""
    vertices, edges = edges_in(line)
    if space.kind != "graph" or vertices != space.sides[0]:
        raise HandloomError(f"{shown(line)} is a graph on {vertices:,} vertices; {space.wanted}")
    return [list(edge) for edge in edges]


def in_json(space: Space, value: Any) -> Iterable[Any]:
    """The values, one per construction."""
    if space.kind == "word":
        return value if isinstance(value, list) else [value]
    if space.kind == "matrix":
        rows = [row for item in value for row in item if isinstance(item, list)] if isinstance(value, list) else []
        return value if rows and all(isinstance(row, list) for row in rows) else [value]
    if isinstance(value, list) and value and not all(is_element(space, item) for item in value):
        several = all(isinstance(item, list) for item in value)
        return [oriented(space, item) for item in value] if several else [value]
    return [oriented(space, value)]


def is_element(space: Space, item: Any) -> bool:
    """Whether it is written like an element, not like a construction."""
    if space.kind == "set system":
        return isinstance(item, list) and not any(isinstance(member, list) for member in item)
    if space.kind == "code":
        return isinstance(item, str) or (isinstance(item, list) and item != [] and type(item[0]) is int)
    if isinstance(space.elements[0], tuple):
        return isinstance(item, list) and item != [] and not isinstance(item[0], list)
    return not isinstance(item, list)


def oriented(space: Space, value: Any) -> Any:
    """Edges with the smaller end first; they may be written either way."""
    if space.kind != "graph" or not isinstance(value, list):
        return value
    pairs = [isinstance(edge, list) and all(type(end) is int for end in edge) for edge in value]
    return [sorted(edge) if pair else edge for edge, pair in zip(value, pairs, strict=True)]


def in_paragraph(space: Space, lines: tuple[str, ...]) -> Iterable[Any]:
    """The values, one per construction."""
    if space.kind == "word":
        return [as_word(space, line) for line in lines]
    if (points := in_picture(space, lines)) is not None:
        return [points]
    if lines == (NOTHING,):
        return [[]]
    if space.kind == "code":
        return [[word for line in lines for word in line.replace(",", " ").split()]]
    if space.kind == "matrix":
        return [[entries(line, space.sides[1]) for line in lines]]
    if (edges := in_matrix(space, lines)) is not None:
        return [edges]
    rows = [numbers(line) for line in lines]
    if not isinstance(space.elements[0], tuple):
        return [[number for row in rows for number in row]]
    return [oriented(space, rows)]


def as_word(space: Space, line: str) -> str:
    if line.startswith('"') and ('"' not in space.index or len(line) != space.length):
        try:
            return str(parse_json(line))
        except ValueError:
            return line
    return line if any(letter.isspace() for letter in space.elements) else "".join(line.split())


def in_picture(space: Space, lines: tuple[str, ...]) -> list[list[int]] | None:
    """The points of a picture of the whole grid; None if it is not a picture."""
    rows = ["".join(line.split()) for line in lines]
    sides = space.sides if len(space.sides) == 2 else (1, *space.sides)
    cells = set("".join(rows))
    if space.kind != "grid" or len(sides) != 2 or not cells <= FREE | TAKEN:
        return None
    if [len(row) for row in rows] != [sides[1]] * sides[0]:
        if cells <= {"0", "1"}:  # perhaps numbers
            return None
        raise HandloomError(f"a picture of another size (expected {sides[0]} rows of {sides[1]} cells each)")
    points = [[x, y] for x, row in enumerate(rows) for y, cell in enumerate(row) if cell in TAKEN]
    return points if len(space.sides) == 2 else [[y] for _, y in points]


def entries(line: str, count: int) -> list[int]:
    """A row of a matrix; its entries may stand side by side if they are digits."""
    return [*map(int, line)] if re.fullmatch(r"[0-9]+", line) and len(line) == count > 1 else numbers(line)


def in_matrix(space: Space, lines: tuple[str, ...]) -> list[list[int]] | None:
    """The edges of an adjacency matrix; None if it is not one. (On two vertices it looks like a list of edges.)"""
    rows = ["".join(re.split(r"[\s,;\[\]]+", line)) for line in lines]
    size = space.sides[0] if space.kind == "graph" else 0
    if size < 3 or len(rows) != size or any(len(row) != size or set(row) - {"0", "1"} for row in rows):
        return None
    if any(rows[u][v] != rows[v][u] or rows[u][u] != "0" for u in range(size) for v in range(size)):
        raise HandloomError("an adjacency matrix must be symmetric, with a diagonal of 0 (expected a simple graph)")
    return [[u, v] for u in range(size) for v in range(u + 1, size) if rows[u][v] == "1"]


def numbers(line: str) -> list[int]:
    """`3 5`, `3, 5`, `(3, 5)`, `[3, 5]` or `{3, 5}`."""
    found = re.sub(r"[\s,;()\[\]{}]+", " ", line).split()
    for text in found:
        if not re.fullmatch(r"[+-]?[0-9]{1,18}", text):
            raise HandloomError(
                f"{shown(text)} in the line {shown(line)} is not a whole number; write one element per line, as 3 5"
            )
    return [int(text) for text in found]
