"""What notes say of a model's heads, neurons and directions, carried along when a disguise reorders and turns them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from handloom.core.arrays import Array
from handloom.core.errors import HandloomError, one_line

KINDS = ("embedding", "head", "neurons", "logits")  # of nodes in notes["truth"], in the order of a layer


@dataclass(frozen=True)
class Orders:
    """For each layer, which head and which neuron moves to each place; and the numbers that heads had which were added
    to every layer: those that write nothing, and those that cancel, in pairs."""

    heads: Sequence[Sequence[int]]
    neurons: Sequence[Sequence[int]]
    dead: Sequence[int] = ()
    distracting: Sequence[int] = ()

    def head(self, layer: int, old: int) -> int:
        """The new number of a head."""
        return list(self.heads[layer]).index(old)

    def neuron(self, layer: int, old: int) -> int:
        return list(self.neurons[layer]).index(old)


def disguised_notes(notes: Mapping[str, Any], M: Array, orders: Orders) -> dict[str, Any]:
    """The notes of a model whose parts are put in these orders and whose stream x becomes x @ M. Damaged notes raise an
    error: a file may have any."""
    found = {name: value for name, value in notes.items() if name != "directions"}
    try:
        if "readings" in notes:
            found["readings"] = {
                name: one | {"vectors": (np.array(one["vectors"], np.float64) @ M).tolist()}
                for name, one in notes["readings"].items()
            }
        if "heads" in notes:
            places = {name: tuple(map(int, name.split("."))) for name in notes["heads"]}
            found["heads"] = {f"{i}.{orders.head(i, h)}": notes["heads"][name] for name, (i, h) in places.items()}
        if "truth" in notes:
            found["truth"] = disguised_truth(notes["truth"], M, orders)
        changes = [*notes.get("changed", []), "disguise"]
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise HandloomError(f"disguise: the notes of the model are damaged: {one_line(error)}") from error
    added = [node for i in range(len(orders.heads)) for node in added_nodes(i, orders)]
    names = {kind: [node["name"] for node in added if node["added"] == kind] for kind in ("dead", "distracting")}
    return found | {"changed": changes, "disguise": names}


def disguised_truth(truth: Mapping[str, Any], M: Array, orders: Orders) -> dict[str, Any]:
    """The truth about the disguised model: other names, other vectors, and the heads that were added."""
    nodes = [renumbered(node, orders) for node in truth["nodes"]]
    names = {old["name"]: new["name"] for old, new in zip(truth["nodes"], nodes, strict=True)}
    nodes += [node for i in range(len(orders.heads)) for node in added_nodes(i, orders)]
    nodes.sort(key=lambda node: (node["kind"] != "embedding", node["layer"], KINDS.index(node["kind"])))
    edges = [edge | {"source": names[edge["source"]], "target": names[edge["target"]]} for edge in truth["edges"]]
    cancelled = [
        edge | {"sources": [names[source] for source in edge["sources"]], "target": names[edge["target"]]}
        for edge in truth["cancelled"]
    ]
    turned = with_vectors(truth, lambda vector: vector @ M, lambda vector: vector @ M)
    return turned | {"nodes": nodes, "edges": edges, "cancelled": cancelled}


def renumbered(node: Mapping[str, Any], orders: Orders) -> dict[str, Any]:
    layer = node["layer"]
    if node["kind"] == "head":
        index = orders.head(layer, node["index"])
        return {**node, "name": head_name(layer, index), "index": index}
    if node["kind"] == "neurons":
        return {**node, "neurons": sorted(orders.neuron(layer, old) for old in node["neurons"])}
    return dict(node)


def head_name(layer: int, index: int) -> str:
    return f"{layer}.head.{index}"


def added_nodes(layer: int, orders: Orders) -> Iterator[dict[str, Any]]:
    """The nodes of heads that do nothing."""

    def node(old: int, **more: Any) -> dict[str, Any]:
        index = orders.head(layer, old)
        return {"name": head_name(layer, index), "layer": layer, "kind": "head", "index": index, "line": None, **more}

    for old in orders.dead:
        yield node(old, about="attends and writes nothing", added="dead")
    for i, old in enumerate(orders.distracting):
        other = head_name(layer, orders.head(layer, orders.distracting[i ^ 1]))
        yield node(old, about=f"attends; what it writes and {other} writes adds up to 0", added="distracting")


def with_vectors(
    truth: Mapping[str, Any], read: Callable[[Array], Array], write: Callable[[Array], Array]
) -> dict[str, Any]:
    """The truth with the vectors of its variables changed."""

    def vector(variable: Mapping[str, Any], name: str, change: Callable[[Array], Array]) -> dict[str, Any]:
        return {name: change(np.array(variable[name], np.float64)).tolist()} if name in variable else {}

    variables = [
        {**variable, **vector(variable, "reads", read), **vector(variable, "writes", write)}
        for variable in truth["variables"]
    ]
    return {**truth, "variables": variables}
