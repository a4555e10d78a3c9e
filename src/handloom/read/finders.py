"""Methods that look for a model's circuit: functions of one signature, from a model and pairs of inputs to a score per
edge.

    scores = METHODS["flow"](model, pairs)              # {("embed", "0.0.q"): 0.31, …}: larger is likelier real

| method | what it does | runs |
| --- | --- | --- |
| exact | cuts each edge alone, as the truth does: the share of pairs on which an answer changes | one per edge |
| acdc | prunes edges from the end while the output stays within a threshold (Conmy et al. 2023) | 8 per edge |
| eap | attribution patching: what another value would change, by the gradient (Syed et al. 2023) | 2 |
| eap-ig | the same with the gradient averaged over 5 steps between the two (Hanna et al. 2024) | 6 |
| weights | how much of what a source writes a receiver's weights read; no inputs at all (Elhage et al. 2021) | 0 |
| shares | what part of what a receiver reads comes from the source (shares.py) | 1 |
| flow | shares, weighted by what flows on to the answer (flow.py) | 1 |

An edge that a method leaves out has score 0.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping

import numpy as np

from handloom.core import Model
from handloom.core.arrays import Array
from handloom.read.attribution import edge_attribution
from handloom.read.circuit import shares_changed
from handloom.read.flow import flow
from handloom.read.graph import Edge, Graph
from handloom.read.impossible import centred, read_by, written_by
from handloom.read.inputs import PairBatch, Pairs
from handloom.read.shares import shares

Scores = Mapping[Edge, float]
Method = Callable[[Model, Pairs], Scores]

THRESHOLDS = tuple(10.0**k for k in range(-6, 2))  # of ACDC, in nats
ACDC_PAIRS = 32
IG_STEPS = 5


def exact(model: Model, pairs: Pairs) -> Scores:
    """The share of pairs on which cutting an edge alone changes an answer."""
    return shares_changed(Graph(model), pairs)


def acdc(model: Model, pairs: Pairs) -> Scores:
    """At how many thresholds an edge survives pruning."""
    graph, few = Graph(model), pairs.first(ACDC_PAIRS)
    survived = dict.fromkeys(graph.edges, 0.0)
    divergence = Divergence(graph, few)
    for threshold in THRESHOLDS:
        for edge in frozenset(graph.edges) - pruned_to(graph, divergence, threshold):
            survived[edge] += 1
    return survived


def pruned_to(graph: Graph, divergence: "Divergence", threshold: float) -> frozenset[Edge]:
    """The edges that ACDC cuts: from the last receiver to the first, each if the output moves by less than the
    threshold."""
    cut, before = frozenset[Edge](), 0.0
    for receiver in reversed(graph.receivers):
        for source in reversed(graph.before(receiver)):
            tried = cut | {(source, receiver)}
            after = divergence(tried)
            if after - before < threshold:
                cut, before = tried, after
    return cut


class Divergence:
    """KL divergence, in nats per answer, of the outputs with edges cut from the plain ones."""

    def __init__(self, graph: Graph, pairs: Pairs) -> None:
        self.graph = graph
        self.batches = [(batch, graph.other_terms(batch)) for batch in pairs]
        self.plain = [log_chances(graph.logits(batch, [frozenset()], other)[0]) for batch, other in self.batches]

    def __call__(self, cut: frozenset[Edge]) -> float:
        total, count = 0.0, 0
        for (batch, other), plain in zip(self.batches, self.plain, strict=True):
            after = log_chances(self.graph.logits(batch, [cut], other)[0])
            total += float((np.exp(plain) * (plain - after)).sum())
            count += len(plain)
        return total / count


def log_chances(logits: Array) -> Array:
    shifted = logits - logits.max(-1, keepdims=True)
    chances: Array = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
    return chances


def weights(model: Model, pairs: Pairs | None = None) -> Scores:
    """‖A B‖ / (‖A‖ ‖B‖) for what a source writes, A, and what a receiver reads, B, with the norm between them."""
    graph = Graph(model)
    writes = {source: centred(graph, written_by(graph, source)) for source in graph.sources}
    reads = {receiver: read_by(graph, receiver) for receiver in graph.receivers}
    return {(source, receiver): overlap(writes[source], reads[receiver]) for source, receiver in graph.edges}


def overlap(A: Array, B: Array) -> float:
    largest = float(np.linalg.norm(A) * np.linalg.norm(B))
    return float(np.linalg.norm(A @ B)) / largest if largest else 0.0


def by_shares(model: Model, pairs: Pairs) -> Scores:
    """The size of the share of what a receiver reads that comes from a source, in the clean runs."""
    return mean_of(pairs, lambda batch: shares(model, batch.clean, batch.answers).edges)


def by_flow(model: Model, pairs: Pairs) -> Scores:
    """What an edge carries to the answers, in the clean runs."""
    return mean_of(pairs, lambda batch: flow(model, batch.clean, batch.answers))


def eap(model: Model, pairs: Pairs) -> Scores:
    """The size of edge attribution."""
    return {edge: abs(number) for edge, number in edge_attribution(model, pairs).items()}


def eap_ig(model: Model, pairs: Pairs) -> Scores:
    """The size of edge attribution with integrated gradients."""
    return {edge: abs(number) for edge, number in edge_attribution(model, pairs, steps=IG_STEPS).items()}


def mean_of(pairs: Pairs, scores_of: Callable[[PairBatch], Scores]) -> Scores:
    """The mean of the scores of batches, each as often as it has rows, without those of biases, which are no edges."""
    total: dict[Edge, float] = defaultdict(float)
    for batch in pairs:
        for edge, number in scores_of(batch).items():
            if edge[0] != "bias":
                total[edge] += number * len(batch.clean) / len(pairs)
    return total


METHODS: dict[str, Method] = {
    "exact": exact,
    "acdc": acdc,
    "eap": eap,
    "eap-ig": eap_ig,
    "weights": weights,
    "shares": by_shares,
    "flow": by_flow,
}
