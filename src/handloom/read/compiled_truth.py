"""The edges that the compiler states of the models it makes, under the names of the graph.

A compiled model's notes have its truth (docs/truth.md): which head or group of neurons writes which variable, and who
reads it. Here these are edges as graph.py has them, where all neurons of a layer are one MLP. Edges whose effects
cancel, such as those of a dimension that was cleared, are listed beside them: cutting one of them alone has an effect,
cutting all has none.
"""

from dataclasses import dataclass
from typing import Any

from handloom.core import Model
from handloom.read.graph import LOGITS, Edge


@dataclass(frozen=True)
class Stated:
    """The edges of a compiled model, and those whose effects cancel."""

    edges: frozenset[Edge]
    cancelled: frozenset[Edge]


def stated_edges(model: Model) -> Stated | None:
    """What the notes of a model state; None if it is not compiled, or the notes are not of that form."""
    truth = model.notes.get("truth")
    try:
        edges = frozenset((source_of(edge["source"]), target_of(edge)) for edge in truth["edges"])  # type: ignore[index]
        cancelled = frozenset(
            (source_of(source), target_of(edge))
            for edge in truth["cancelled"]  # type: ignore[index]
            for source in edge["sources"]
        )
    except (TypeError, KeyError, ValueError, AttributeError):
        return None
    return Stated(edges, cancelled - edges)


def source_of(node: str) -> str:
    """`embed.token` is embed, `0.head.1` is 0.1, and `0.mlp.2`, one group of neurons of several, is 0.mlp."""
    if node.startswith("embed."):
        return {"embed.token": "embed", "embed.position": "pos"}[node]
    layer, kind, index = node.split(".")
    return f"{layer}.mlp" if kind == "mlp" else f"{layer}.{index}"


def target_of(edge: dict[str, Any]) -> str:
    if edge["target"] == LOGITS:
        return LOGITS
    part = source_of(edge["target"])
    return f"{part}.{edge['as']}" if edge["as"] in ("q", "k", "v") else part
