"""Pictures of experiments on a model: patching as layers × positions, numbers of edges as sources × receivers, and the
effects of parts as layers × heads. Each is a heat map: blue above 0, orange below."""

from typing import Any

import numpy as np

from handloom.read.ablation import PartEffects
from handloom.read.edge_scores import EdgeScores
from handloom.read.patching import Patching
from handloom.view.pages.skeleton import figure, line
from handloom.view.svg.drawing import Drawing
from handloom.view.svg.heatmap import heatmap

MOST_NEURONS = 64  # parts in one row of a picture


def patching_drawing(found: Patching) -> Drawing:
    """A row per site, or per head of a site, a column per position: 1, or more, is full blue."""
    columns = [one if one == two else f"{one}/{two}" for one, two in zip(*found.tokens, strict=True)]
    values = np.stack(list(found.rows.values()))
    return heatmap(values, list(found.rows), columns, column_title="position (clean/other)", numbered=True, scale=1.0)


def edges_drawing(scores: EdgeScores) -> Drawing:
    """A row per source, a column per receiver; edges that do not exist are 0."""
    sources, receivers = (list(dict.fromkeys(edge[end] for edge in scores)) for end in (0, 1))
    values = [[scores.scores.get((source, receiver), 0.0) for receiver in receivers] for source in sources]
    return heatmap(values, sources, receivers, "source", "receiver")


def parts_drawing(effects: PartEffects) -> Drawing:
    """A row per layer with its heads and its MLP or its neurons; parts of other kinds in one row."""
    rows: dict[str, dict[str, float]] = {}
    for part, change in effects.items():
        layer, _, name = part.rpartition(".")
        rows.setdefault(layer, {})[name] = change
    columns = list(dict.fromkeys(name for row in rows.values() for name in row))[:MOST_NEURONS]
    values = [[row.get(name, 0.0) for name in columns] for row in rows.values()]
    return heatmap(values, [layer or "-" for layer in rows], columns, "layer", "part")


def card(title: str, drawing: Drawing, words: Any) -> str:
    return f"<h3>{line(title)}</h3><p>{line(words)}</p>{figure(drawing)}"


EFFECT_CARDS: dict[str, Any] = {
    "Patching": lambda found: card("Patching", patching_drawing(found), str(found).partition("\n")[0]),
    "EdgeScores": lambda scores: card(scores.method, edges_drawing(scores), scores.meaning),
    "PartEffects": lambda found: card(found.how, parts_drawing(found), str(found).partition("\n")[0]),
}
