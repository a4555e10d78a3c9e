"""An oracle for the truth about a model: which parts have coefficients for which others, by their weights alone."""

import numpy as np

import handloom as hl


def writes_of(model: hl.Model, node: dict) -> np.ndarray | None:
    """The rows (m, D) that a node adds multiples of to the stream."""
    layer = node["layer"]
    if node["kind"] == "head":
        return model.flat[f"layers.{layer}.W_O"][node["index"]]
    if node["kind"] == "neurons":
        return model.flat[f"layers.{layer}.W_out"][node["neurons"]]
    if node["kind"] == "embedding":
        table = model.flat["W_E" if node["name"] == "embed.token" else "W_pos"]
        return table - table.mean(0)  # what all positions have is the constant 1
    return None


def reads_of(model: hl.Model, node: dict) -> dict[str, np.ndarray]:
    """The columns (D, m) that a node reads the stream behind its norm with, by what it reads it as."""
    at, flat = f"layers.{node['layer']}.", model.flat
    if node["kind"] == "head":
        gain = flat[at + "ln1.w"][:, None]
        return {x: gain * flat[f"{at}W_{x.upper()}"][node["index"]] for x in "qkv"}
    if node["kind"] == "neurons":
        return {"in": flat[at + "ln2.w"][:, None] * flat[at + "W_in"][:, node["neurons"]]}
    if node["kind"] == "logits":
        return {"logits": flat["ln_final.w"][:, None] * (flat["W_E"].T if model.config.tied else flat["W_U"])}
    return {}


def time_of(node: dict) -> float:
    if node["kind"] == "embedding":
        return -1
    return 2 * node["layer"] + (node["kind"] == "neurons")


def coefficients(model: hl.Model, truth: dict, relative: float) -> set[tuple[str, str, str]]:
    """Sources, targets and what they are read as, where a coefficient is more than that part of what it could be."""
    D, found = model.config.d_model, set()
    centre = np.eye(D) - 1 / D
    for source in truth["nodes"]:
        written = writes_of(model, source)
        for target in truth["nodes"]:
            for role, read in reads_of(model, target).items() if time_of(source) < time_of(target) else ():
                written, read = np.float64(written) @ centre, np.float64(read)
                sizes = np.linalg.norm(written, axis=1)[:, None] * np.linalg.norm(read, axis=0)
                if (abs(written @ read) > relative * sizes.max()).any():
                    found.add((source["name"], target["name"], role))
    return found


def listed(truth: dict) -> set[tuple[str, str, str]]:
    """The same by the truth: edges, and what cancels."""
    edges = {(edge["source"], edge["target"], edge["as"]) for edge in truth["edges"]}
    cancelled = {(s, edge["target"], edge["as"]) for edge in truth["cancelled"] for s in edge["sources"]}
    return edges | cancelled


def without(model: hl.Model, node: dict) -> hl.Model:
    """The model with what a head or a group of neurons writes set to zero."""
    name = f"layers.{node['layer']}." + ("W_O" if node["kind"] == "head" else "W_out")
    array = np.array(model.flat[name])
    array[node["index"] if node["kind"] == "head" else node["neurons"]] = 0
    return model.with_(params=model.flat | {name: array})


def nodes_before_logits(truth: dict) -> set[str]:
    """The nodes with a path to the logits."""
    found = {"logits"}
    for node in reversed(truth["nodes"]):
        if any(edge["source"] == node["name"] and edge["target"] in found for edge in truth["edges"]):
            found.add(node["name"])
    return found
