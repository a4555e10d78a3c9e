"""The truth about a compiled model: which part writes which number of the stream, and which parts read it as what.

    >>> from handloom.write.standard import standard
    >>> from handloom.write.compiler import compile
    >>> truth = compile(standard("induction:n=5,letters=3")).notes["truth"]
    >>> [(edge["source"], edge["as"]) for edge in truth["edges"] if edge["target"] == "logits"][-1]
    ('1.head.0', 'logits')

It is derived from the parts as they are emitted, behind merging, placing and clearing, so it holds for the weights:
a part reads everything that earlier parts wrote to the dimensions it reads, whatever the names. Neurons that clear a
dimension take away what was written to it before. Later readers of the dimension have coefficients for both, which
add up to 0: these are no edges, and listed as `cancelled`. The constant 1, which every position holds, is no edge.
docs/truth.md has the form.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from handloom.core.arrays import Array
from handloom.write.compiler.codes import Codes
from handloom.write.compiler.emit import stream_of
from handloom.write.compiler.layering import LayerParts, writes_of
from handloom.write.compiler.lowered import PLANE, HeadPart, Lowered, NeuronPart, Read
from handloom.write.compiler.place import clearing
from handloom.write.compiler.values import Line

VERSION = 1
LOGITS = "logits"

Edge = dict[str, Any]
Written = tuple[str, str]  # a node and the number that it writes


@dataclass
class Reader:
    """A node with the names of the numbers that it reads, by what it reads them as."""

    node: dict[str, Any]
    reads: Mapping[str, Sequence[str]]
    writes: Sequence[str] = ()
    clears: Sequence[str] = ()


@dataclass
class Dimension:
    """What stands in a dimension: what was written to it and not cleared, and what was cleared, with what cleared."""

    live: list[Written] = field(default_factory=list)
    cleared: list[list[Written]] = field(default_factory=list)


def truth_of(
    lowered: Lowered, places: Mapping[str, int], layers: Sequence[LayerParts], codes: Codes, block: int
) -> dict[str, Any]:
    """Nodes, variables and edges, as JSON has them."""
    embeddings = [embedding_of(lowered, "token", PLANE), embedding_of(lowered, "position", ())]
    halves = [half for i, layer in enumerate(layers) for half in (heads_of(i, layer), neurons_of(i, layer, lowered))]
    logits = Reader(described(LOGITS, len(layers), LOGITS, "the unembedding"), {LOGITS: PLANE})
    edges, cancelled = edges_of(places, [embeddings, *halves, [logits]])
    return {
        "version": VERSION,
        "nodes": [reader.node for half in (embeddings, *halves, [logits]) for reader in half],
        "variables": variables_of(lowered, places, codes, block),
        "edges": edges,
        "cancelled": cancelled,
    }


def edges_of(places: Mapping[str, int], halves: Sequence[Sequence[Reader]]) -> tuple[list[Edge], list[Edge]]:
    """The edges, and those that cancel. Parts of a half layer read before any of them writes."""
    stream: dict[object, Dimension] = {place_of(name, places): Dimension() for name in (*places, *PLANE)}
    edges: list[Edge] = []
    cancelled: list[Edge] = []
    for half in halves:
        for reader in half:
            for role, names in reader.reads.items():
                end = {"target": reader.node["name"], "as": role}
                for dimension in dict.fromkeys(place_of(name, places) for name in names):
                    found = stream[dimension]
                    edges += [{"source": node, **end, "variable": name} for node, name in found.live]
                    cancelled += [
                        {"sources": [node for node, _ in gone], **end, "variables": names_in(gone)}
                        for gone in found.cleared
                    ]
        for reader in half:
            for name in reader.clears:
                found = stream[place_of(name, places)]
                found.cleared.append([*found.live, (reader.node["name"], name)])
                found.live = []
        for reader in half:
            for name in reader.writes:
                stream[place_of(name, places)].live.append((reader.node["name"], name))
    return edges, cancelled


def place_of(name: str, places: Mapping[str, int]) -> object:
    """The dimension of a number; the two of the token have names for places."""
    return places.get(name, name)


def names_in(written: Sequence[Written]) -> list[str]:
    return list(dict.fromkeys(name for _, name in written))


def described(name: str, layer: int, kind: str, about: str, line: Line | None = None, **more: Any) -> dict[str, Any]:
    """A node."""
    source = {"number": line.number, "text": line.text} if line and line.number else None
    return {"name": name, "layer": layer, "kind": kind, **more, "line": source, "about": about}


def embedding_of(lowered: Lowered, of: str, others: Sequence[str]) -> Reader:
    names = [*others, *(name for name, column in lowered.columns.items() if column.of == of and any(column.values))]
    return Reader(described(f"embed.{of}", 0, "embedding", f"the {of}"), {}, names)


def heads_of(i: int, layer: LayerParts) -> list[Reader]:
    return [head_of(i, h, part) for h, part in enumerate(layer.heads)]


def head_of(i: int, h: int, part: HeadPart) -> Reader:
    queries, keys = [q for q, _ in part.looks], [k for _, k in part.looks]
    reads = {"q": names_of(queries), "k": names_of(keys), "v": names_of([read for read, _ in part.moves])}
    writes = sorted(writes_of(part))
    about = f"moves {listed(reads['v'])} into {listed(writes)}"
    return Reader(described(f"{i}.head.{h}", i, "head", about, part.line, index=h), reads, writes)


def neurons_of(i: int, layer: LayerParts, lowered: Lowered) -> list[Reader]:
    found, first = [], 0
    for g, part in enumerate(layer.neurons):
        reads, writes = names_of([read for read, _ in part.rows]), sorted(writes_of(part))
        cleared = reads if is_clearing(part, reads, lowered) else []
        about = f"clears {listed(cleared)}" if cleared else f"computes {listed(writes)} from {listed(reads)}"
        neurons = list(range(first, first := first + len(part.rows)))
        node = described(f"{i}.mlp.{g}", i, "neurons", about, part.line, neurons=neurons)
        found.append(Reader(node, {"in": reads}, [] if cleared else writes, cleared))
    return found


def is_clearing(part: NeuronPart, names: Sequence[str], lowered: Lowered) -> bool:
    """Whether neurons take away all that stands in the numbers they read, and do nothing else."""
    if not set(names) <= lowered.bounds.keys():
        return False
    rows: list[tuple[Read, Read]] = [row for name in names for row in clearing(name, lowered.bounds)]
    return bool(names) and list(part.rows) == rows


def names_of(reads: Sequence[Read]) -> list[str]:
    """The numbers that are read, in order, without the constant 1."""
    return list(dict.fromkeys(name for read in reads for name, amount in read.items() if amount and name != "one"))


def listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "1"


def variables_of(lowered: Lowered, places: Mapping[str, int], codes: Codes, block: int) -> list[dict[str, Any]]:
    """How each number is read and written, and the least and greatest value it has; of the token, before the answer is
    written there."""
    stream = stream_of(lowered, places, block)
    ends = {name: (float(x.min()), float(x.max())) for name, x in zip(PLANE, codes.points.T, strict=True)}
    return [
        {
            "name": name,
            "reads": numbers(stream.directions[name].reads[0]),
            "writes": numbers(stream.directions[name].writes[0]),
            "scale": float(stream.scale),
            "values": list(ends[name] if name in ends else lowered.bounds[name]),
        }
        for name in (*PLANE, *places)
    ]


def numbers(vector: Array) -> list[float]:
    """The numbers of a vector; whole ones without a point, for most are 0 and a file should be short."""
    return [int(x) if x == int(x) else float(x) for x in vector]
