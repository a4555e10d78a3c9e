"""Reading models: what their heads attend to, what their parts compute, and how an answer comes about.

import handloom as hl

hl.read.explain("addition", model)              # an Explanation: all of it on one example
hl.read.mean_attention(model, rows)             # (layers, heads, T, T)
hl.read.periodic("runs/modular-addition-1")     # a Periodic: frequencies, and what they carry
hl.read.dictionary(model, "1.resid_pre")        # a Dictionary: a sparse autoencoder, held against known directions
"""

from handloom.read.answer import Step
from handloom.read.attention import mean_attention, right_strings, strings_for
from handloom.read.dictionaries import Dictionary, dictionary
from handloom.read.explanation import Explanation, explain
from handloom.read.looks import Look, effects, looks_between
from handloom.read.part_names import direction_names
from handloom.read.periodic import Periodic, periodic

__all__ = [
    "Dictionary",
    "Explanation",
    "Look",
    "Periodic",
    "Step",
    "dictionary",
    "direction_names",
    "effects",
    "explain",
    "looks_between",
    "mean_attention",
    "periodic",
    "right_strings",
    "strings_for",
]
