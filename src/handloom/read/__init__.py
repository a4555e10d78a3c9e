"""Reading models: what their heads attend to, what their parts compute, and how an answer comes about.

import handloom as hl

hl.read.explain("addition", model)              # an Explanation: all of it on one example
hl.read.mean_attention(model, rows)             # (layers, heads, T, T)
hl.read.patch(model, clean, other)              # a Patching: which values restore the clean answer
hl.read.ablate(model)                           # PartEffects: what each head and MLP does for the answers
hl.read.edge_attribution(model, pairs)          # EdgeScores: an estimate for every edge
"""

from handloom.read.ablation import PartEffects, ablate
from handloom.read.answer import Step
from handloom.read.attention import mean_attention, right_strings, strings_for
from handloom.read.attribution import edge_attribution, node_attribution
from handloom.read.edge_scores import EdgeScores
from handloom.read.explanation import Explanation, explain
from handloom.read.looks import Look, effects, looks_between
from handloom.read.part_names import direction_names
from handloom.read.patching import Patching, patch, path_patch

__all__ = [
    "EdgeScores",
    "Explanation",
    "Look",
    "PartEffects",
    "Patching",
    "Step",
    "ablate",
    "direction_names",
    "edge_attribution",
    "effects",
    "explain",
    "looks_between",
    "mean_attention",
    "node_attribution",
    "patch",
    "path_patch",
    "right_strings",
    "strings_for",
]
