"""Reading models: what their heads attend to, what their parts compute, and how an answer comes about.

    import handloom as hl

    hl.read.explain("addition", model)              # an Explanation: all of it on one example
    hl.read.mean_attention(model, rows)             # (layers, heads, T, T)

Public: what is imported here.
"""

from handloom.read.answer import Step as Step
from handloom.read.attention import mean_attention as mean_attention
from handloom.read.attention import right_strings as right_strings
from handloom.read.attention import strings_for as strings_for
from handloom.read.explanation import Explanation as Explanation
from handloom.read.explanation import explain as explain
from handloom.read.looks import Look as Look
from handloom.read.looks import effects as effects
from handloom.read.looks import looks_between as looks_between
from handloom.read.part_names import direction_names as direction_names
