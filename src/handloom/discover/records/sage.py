"""Constructions for Sage: a file that Sage loads, which is read back without running it.

    >>> from handloom.discover.spaces import graph, grid
    >>> as_sage([[0, 1], [1, 2]], graph(3))
    'Graph([[0, 1, 2], [(0, 1), (1, 2)]], format="vertices_and_edges")'
    >>> as_sage([[0, 1], [1, 2]], grid(2, 3))
    '[(0, 1), (1, 2)]'
    >>> sage_values("records = [Graph({0: [1], 1: [2]}), [(0, 1)]]")
    [(1, [[0, 1], [1, 2]]), (1, [[0, 1]])]

A graph is a Graph, a permutation a Permutation (of 1, 2, …), a word a Word, anything else a list of elements. What is
read is a literal: lists, tuples, numbers, texts, and these three with literals in them. Anything else is an error.
"""

import ast
from collections.abc import Callable, Sequence
from typing import Any

from handloom.core import HandloomError
from handloom.core.errors import one_line, shown
from handloom.discover.records.graph6 import edges_in
from handloom.discover.spaces import Space

NAME = "records"  # of the list in a file


def as_sage(construction: Any, space: Space | None) -> str:
    """A construction as an expression of Sage. Without its space, of a problem whose file is not here, plain lists."""
    kind = space.kind if space is not None else "word" if isinstance(construction, str) else "list"
    if kind == "word":
        return f"Word({construction!r})"
    if kind == "permutation":
        return f"Permutation({[value + 1 for value in construction]})"
    listed = [tuple(element) if isinstance(element, list) else element for element in construction]
    if kind == "graph" and space is not None:
        return f'Graph([{list(range(space.sides[0]))}, {listed}], format="vertices_and_edges")'
    return str(listed)


def sage_file(entries: Sequence[tuple[str, str]]) -> str:
    """A file with a list of expressions, each below a comment."""
    lines = []
    for about, value in entries:
        lines += [f"    # {line}" for line in about.split("\n")] + [f"    {value},"]
    return "\n".join([f"{NAME} = [", *lines, "]"]) + "\n"


def sage_values(text: str) -> list[tuple[int, Any]]:
    """The values in a file, as JSON would have them, each with its line: of the list `records`, and of lists of graphs,
    one by one; otherwise whole."""
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise HandloomError(f"it is not Sage that can be read: {one_line(error)}; write lists and graphs") from error
    values = [node for node in body if isinstance(node, ast.Assign | ast.Expr)]
    if len(values) != len(body) or not values:
        raise HandloomError(f"it is not Sage that can be read (expected {NAME} = [...]); write lists and graphs")
    return [(node.lineno, value_of(node)) for statement in values for node in parts_of(statement)]


def parts_of(statement: ast.Assign | ast.Expr) -> list[ast.expr]:
    """The expressions of a statement that are a construction each, or a list of some."""
    value = statement.value
    ours = isinstance(statement, ast.Assign) and any(getattr(one, "id", "") == NAME for one in statement.targets)
    if isinstance(value, ast.List | ast.Tuple) and (ours or any(isinstance(item, ast.Call) for item in value.elts)):
        return value.elts
    return [value]


def value_of(node: ast.AST) -> Any:
    """A literal, or a call of what is known with literals."""
    if isinstance(node, ast.Call):
        name = getattr(node.func, "id", "")
        if name in READERS and len(node.args) == 1:
            return READERS[name](plain(node.args[0]))
        raise HandloomError(f"{shown(ast.unparse(node))} is not read (expected {', '.join(READERS)}); write a list")
    return plain(node)


def plain(node: ast.AST) -> Any:
    """A literal with lists for tuples."""
    try:
        return lists(ast.literal_eval(ast.unparse(node)))
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError) as error:
        raise HandloomError(f"{shown(ast.unparse(node))} is not a list of numbers; write it out") from error


def lists(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: lists(item) for key, item in value.items()}
    return [lists(item) for item in value] if isinstance(value, list | tuple) else value


def edges_of(value: Any) -> list[Any]:
    """The edges of a Graph: from a list of edges, from vertices and edges, from neighbours, or from graph6."""
    if isinstance(value, str):
        return [list(edge) for edge in edges_in(value)[1]]
    if isinstance(value, dict):
        pairs = [sorted([u, v]) for u, others in value.items() for v in others]
        return [edge for i, edge in enumerate(pairs) if edge not in pairs[:i]]
    if len(value) == 2 and all(isinstance(vertex, int) for vertex in value[0]) and is_edges(value[1]):
        return [edge[:2] for edge in value[1]]
    return [edge[:2] for edge in value] if is_edges(value) else value


def is_edges(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(edge, list) and len(edge) in (2, 3) for edge in value)


def from_zero(permutation: Any) -> Any:
    """The values of a Permutation, which begin with 1 in Sage."""
    return [value - 1 for value in permutation]


READERS: dict[str, Callable[[Any], Any]] = {"Graph": edges_of, "Permutation": from_zero, "Word": str}
