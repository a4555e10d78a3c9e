"""Reading models: what their heads attend to, what their parts compute, and how an answer comes about.

import handloom as hl

hl.read.explain("addition", model)              # an Explanation: all of it on one example
hl.read.mean_attention(model, rows)             # (layers, heads, T, T)
"""

from handloom.read.answer import Step
from handloom.read.attention import mean_attention, right_strings, strings_for
from handloom.read.explanation import Explanation, explain
from handloom.read.looks import Look, effects, looks_between
from handloom.read.part_names import direction_names
from handloom.read.paths import Path, Paths, paths

__all__ = [
    "Explanation",
    "Look",
    "Path",
    "Paths",
    "Step",
    "direction_names",
    "effects",
    "explain",
    "looks_between",
    "mean_attention",
    "paths",
    "right_strings",
    "strings_for",
]
