"""Reading models: what their heads attend to, what their parts compute, and how an answer comes about.

import handloom as hl

hl.read.explain("addition", model)              # an Explanation: all of it on one example
hl.read.mean_attention(model, rows)             # (layers, heads, T, T)
hl.read.paths(model, text)                      # the logit as a sum over paths, largest first
hl.read.shares(model, text)                     # from whom each head, MLP and the logits read
hl.read.lens(model, text)                       # what the stream would predict at each site
hl.read.direct_attribution(model, text)         # which parts wrote the answer
hl.read.say(model, vector, site)                # what stands in the stream, in words, by the model's readings
hl.read.heads(model)                            # what each head looks at: "offset 1", "induction 3", "unused", …
hl.read.periodic("runs/modular-addition-1")     # a Periodic: frequencies, and what they carry
hl.read.dictionary(model, "1.resid_pre")        # a Dictionary: a sparse autoencoder, held against known directions
hl.read.patch(model, clean, other)              # a Patching: which values restore the clean answer
hl.read.ablate(model)                           # PartEffects: what each head and MLP does for the answers
hl.read.edge_attribution(model, pairs)          # EdgeScores: an estimate for every edge
"""

from handloom.read.ablation import PartEffects, ablate
from handloom.read.answer import Step
from handloom.read.attention import mean_attention, right_strings, strings_for
from handloom.read.attribution import edge_attribution, node_attribution
from handloom.read.circuit import Circuit, circuit
from handloom.read.composition import Composed, Composition, composition
from handloom.read.dictionaries import Dictionary, dictionary
from handloom.read.edge_scores import EdgeScores
from handloom.read.explanation import Explanation, explain
from handloom.read.film_strip import FilmStrip, film_strip
from handloom.read.flow import flow
from handloom.read.head_circuits import Circuits, HeadCircuits, head_circuits
from handloom.read.heads import HeadNames, NamedHead, heads
from handloom.read.inputs import PairBatch, Pairs, pairs_of
from handloom.read.lens import Attribution, Lens, direct_attribution, lens
from handloom.read.looks import Look, effects, looks_between
from handloom.read.matching import HeadMatch, HeadMatches, match_heads
from handloom.read.overview import Overview, overview
from handloom.read.part_names import direction_names
from handloom.read.patching import Patching, patch, path_patch
from handloom.read.paths import Path, Paths, paths
from handloom.read.periodic import Periodic, periodic
from handloom.read.readings import say
from handloom.read.shares import Shares, shares
from handloom.read.truth_scores import MethodScore, ScoreTable, score_methods
from handloom.read.virtual_heads import Term, VirtualHead, VirtualHeads, virtual_heads

__all__ = [
    "Attribution",
    "Circuit",
    "Circuits",
    "Composed",
    "Composition",
    "Dictionary",
    "EdgeScores",
    "Explanation",
    "FilmStrip",
    "HeadCircuits",
    "HeadMatch",
    "HeadMatches",
    "HeadNames",
    "Lens",
    "Look",
    "MethodScore",
    "NamedHead",
    "Overview",
    "PairBatch",
    "Pairs",
    "PartEffects",
    "Patching",
    "Path",
    "Paths",
    "Periodic",
    "ScoreTable",
    "Shares",
    "Step",
    "Term",
    "VirtualHead",
    "VirtualHeads",
    "ablate",
    "circuit",
    "composition",
    "dictionary",
    "direct_attribution",
    "direction_names",
    "edge_attribution",
    "effects",
    "explain",
    "film_strip",
    "flow",
    "head_circuits",
    "heads",
    "lens",
    "looks_between",
    "match_heads",
    "mean_attention",
    "node_attribution",
    "overview",
    "pairs_of",
    "patch",
    "path_patch",
    "paths",
    "periodic",
    "right_strings",
    "say",
    "score_methods",
    "shares",
    "strings_for",
    "virtual_heads",
]
