"""Edges that the weights rule out: what a source writes, a receiver cannot read.

Every source writes within a subspace of the stream, such as the rows of W_O, and every receiver reads by its weights,
behind a norm. If the product of the two is 0, nothing is read directly. With a norm in between the receiver may still
see the source in what the norm divides by, so that the edge is impossible only if there is no norm, or if the source
writes nothing that a norm leaves.
"""

import numpy as np

from handloom.core.arrays import Array
from handloom.core.params import Params, one_mlp
from handloom.core.reference import sinusoid
from handloom.read.graph import LOGITS, Edge, Graph

ZERO = 1e-12  # of the product of the norms of two matrices: what rounding leaves of 0


def impossible_edges(graph: Graph) -> frozenset[Edge]:
    """The edges that no input can make real."""
    writes = {source: centred(graph, written_by(graph, source)) for source in graph.sources}
    bare = graph.config.norm == "none"
    return frozenset(
        (source, receiver)
        for source, receiver in graph.edges
        if not writes[source].any() or (bare and is_zero(writes[source], read_by(graph, receiver)))
    )


def unread_edges(graph: Graph) -> frozenset[Edge]:
    """The edges whose receiver sees its source at most in what a norm divides by."""
    writes = {source: centred(graph, written_by(graph, source)) for source in graph.sources}
    return frozenset(
        (source, receiver) for source, receiver in graph.edges if is_zero(writes[source], read_by(graph, receiver))
    )


def is_zero(A: Array, B: Array) -> bool:
    return bool(np.linalg.norm(A @ B) <= ZERO * np.linalg.norm(A) * np.linalg.norm(B))


def centred(graph: Graph, rows: Array) -> Array:
    """Rows of the stream without their means, which a layer norm does not see."""
    return rows - rows.mean(-1, keepdims=True) if graph.config.norm == "layer" else rows


def written_by(graph: Graph, source: str) -> Array:
    """Rows (n, D) that span what a source writes, up to a constant."""
    p = graph.model.params
    if source == "embed":
        return np.asarray(p["W_E"])
    if source == "pos":
        at = np.arange(graph.config.block)
        return np.asarray(p["W_pos"] if graph.config.positions == "table" else sinusoid(at, graph.config.d_model))
    layer, _, part = source.partition(".")
    own = p["layers"][int(layer)]
    return np.asarray(one_mlp(graph.config, own)["W_out"] if part == "mlp" else own["W_O"][int(part)])


def read_by(graph: Graph, receiver: str) -> Array:
    """The weights (D, m) by which a receiver reads the stream, with the gain of its norm."""
    p = graph.model.params
    if receiver == LOGITS:
        return gained(p, "ln_final", p["W_E"].T if graph.config.tied else p["W_U"])
    layer, *part = receiver.split(".")
    own = p["layers"][int(layer)]
    if part == ["mlp"]:
        norm = "ln1" if graph.config.parallel else "ln2"
        weights = one_mlp(graph.config, own)
        return gained(own, norm, np.hstack([weights[name] for name in ("W_in", "W_gate") if name in weights]))
    head, kind = part
    return gained(own, "ln1", own[f"W_{kind.upper()}"][int(head)])


def gained(p: Params, norm: str, weights: Array) -> Array:
    gains = p.get(norm)
    return weights if gains is None else gains["w"][:, None] * weights
