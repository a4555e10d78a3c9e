"""Reading models: what their heads attend to, what their parts compute, and how an answer comes about.

import handloom as hl

hl.read.explain("addition", model)              # an Explanation: all of it on one example
hl.read.mean_attention(model, rows)             # (layers, heads, T, T)
"""

from handloom.read.answer import Step
from handloom.read.attention import mean_attention, right_strings, strings_for
from handloom.read.circuit import Circuit, circuit
from handloom.read.explanation import Explanation, explain
from handloom.read.looks import Look, effects, looks_between
from handloom.read.part_names import direction_names

__all__ = [
    "Circuit",
    "Explanation",
    "Look",
    "Step",
    "circuit",
    "direction_names",
    "effects",
    "explain",
    "looks_between",
    "mean_attention",
    "right_strings",
    "strings_for",
]
