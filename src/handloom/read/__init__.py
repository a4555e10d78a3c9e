"""Reading models: what their heads attend to, what their parts compute, and how an answer comes about.

import handloom as hl

hl.read.explain("addition", model)              # an Explanation: all of it on one example
hl.read.mean_attention(model, rows)             # (layers, heads, T, T)
hl.read.heads(model)                            # what each head looks at: "offset 1", "induction 3", "unused", …
"""

from handloom.read.answer import Step
from handloom.read.attention import mean_attention, right_strings, strings_for
from handloom.read.circuits import Circuits, HeadCircuits, circuits
from handloom.read.composition import Composed, Composition, composition
from handloom.read.explanation import Explanation, explain
from handloom.read.film_strip import FilmStrip, film_strip
from handloom.read.heads import HeadNames, NamedHead, heads
from handloom.read.looks import Look, effects, looks_between
from handloom.read.part_names import direction_names
from handloom.read.virtual_heads import Term, VirtualHead, VirtualHeads, virtual_heads

__all__ = [
    "Circuits",
    "Composed",
    "Composition",
    "Explanation",
    "FilmStrip",
    "HeadCircuits",
    "HeadNames",
    "Look",
    "NamedHead",
    "Step",
    "Term",
    "VirtualHead",
    "VirtualHeads",
    "circuits",
    "composition",
    "direction_names",
    "effects",
    "explain",
    "film_strip",
    "heads",
    "looks_between",
    "mean_attention",
    "right_strings",
    "strings_for",
    "virtual_heads",
]
