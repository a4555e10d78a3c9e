"""How well a method finds the true circuit: its scores of all edges against those that are real.

    score_methods("flow", on=["search", "addition:digits=2"])          # a table: one line per model
    auroc(scores, real)                                         # 1 finds it, 0.5 is chance

The truth is found on some pairs of inputs (circuit.py), and a method is given others. AUROC is the chance that a random
real edge has a higher score than a random unreal one, ties counting half. Average precision is the honest number where
few edges are real. Precision is that of the k best edges, for k real ones (and recall is then the same). CPR and CMD
are those of MIB (Mueller et al. 2025): the best 0.1 % to 100 % of the edges are kept, all others cut, and faithfulness
is the share of the metric that remains, (m(kept) − m(none)) / (m(all) − m(none)), where m is by how much the model's
own answer leads. CPR is the area below that curve over the share of edges kept, CMD the area between the curve and 1.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from time import perf_counter
from typing import Any

import numpy as np

from handloom.core import HandloomError, Model
from handloom.core.arrays import Array
from handloom.core.callbacks import Progress
from handloom.core.errors import shown
from handloom.core.finding import find
from handloom.core.registry import offered
from handloom.read.circuit import Circuit, circuit
from handloom.read.finders import METHODS, Method, Scores
from handloom.read.graph import Edge, Graph
from handloom.read.inputs import Pairs, pairs_of
from handloom.tasks import task_of

SIZES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)  # shares of edges kept, as in MIB
AREA_PAIRS = 32  # on which faithfulness is measured


@dataclass(frozen=True)
class MethodScore:
    """How well one method finds the circuit of one model."""

    model: str
    method: str
    edges: int
    real: int
    certified: bool
    auroc: float
    average_precision: float
    precision: float
    cpr: float
    cmd: float
    seconds: float


@dataclass(frozen=True)
class ScoreTable:
    """The scores of methods on models, and their means."""

    rows: tuple[MethodScore, ...]

    def mean(self, method: str, what: str = "auroc") -> float:
        return float(np.mean([getattr(row, what) for row in self.rows if row.method == method]))

    @property
    def methods(self) -> list[str]:
        return list(dict.fromkeys(row.method for row in self.rows))

    def __str__(self) -> str:
        methods, models = self.methods, list(dict.fromkeys(row.model for row in self.rows))
        wide = max(map(len, [*models, "mean"]))
        lines = [" ".join([f"{'AUROC':{wide}} edges real", *(f"{name:>8}" for name in methods)])]
        for model in models:
            rows = [row for row in self.rows if row.model == model]
            cells = [f"{row.auroc:8.3f}" for row in rows]
            lines.append(" ".join([f"{model:{wide}} {rows[0].edges:5} {rows[0].real:4}", *cells]))
        lines.append(" ".join([f"{'mean':{wide}} {'':10}", *(f"{self.mean(name):8.3f}" for name in methods)]))
        return "\n".join(lines)

    def to_json(self) -> list[dict[str, Any]]:
        return [asdict(row) for row in self.rows]

    def _repr_html_(self) -> str | None:
        """What a notebook shows."""
        return offered("html")(self)


def score_methods(
    methods: str | Method | Sequence[str | Method],
    on: Model | str | Sequence[Model | str] | Mapping[str, Model | str],
    pairs: int = 128,
    seed: int = 0,
    progress: Progress | None = None,
) -> ScoreTable:
    """The scores of methods, by name or as functions (model, pairs) → {edge: number}, on models, by name or as they
    are; a dict gives them names. The truth comes from `pairs` pairs of inputs, and the methods get as many others."""
    chosen = [methods] if isinstance(methods, str) or callable(methods) else list(methods)
    named = [named_method(one) for one in chosen]
    rows = list[MethodScore]()
    chosen_models = [on] if isinstance(on, str | Model) else on
    models = dict(on) if isinstance(on, Mapping) else {name_of(one): one for one in chosen_models}
    if not models or not named:
        raise HandloomError("scores: no model or no method is given (expected one at least); name some")
    for done, (name, one) in enumerate(models.items(), 1):
        model, folder = find(one)
        task = task_of(model, folder)
        truth, others = circuit(model, task, pairs, seed), pairs_of(model, task, pairs, seed + 2)
        rows += [scored(name, method, function, model, truth, others) for method, function in named]
        if progress:
            progress(done, len(models))
    return ScoreTable(tuple(rows))


def name_of(model: Model | str) -> str:
    return model if isinstance(model, str) else str(model.notes.get("task", "model"))


def named_method(method: str | Method) -> tuple[str, Method]:
    if callable(method):
        return str(getattr(method, "__name__", "method")), method
    if method not in METHODS:
        raise HandloomError(f"no method {shown(method)}; there are {', '.join(METHODS)}")
    return method, METHODS[method]


def scored(name: str, method: str, function: Method, model: Model, truth: Circuit, pairs: Pairs) -> MethodScore:
    """One line of the table."""
    begin = perf_counter()
    found = function(model, pairs)
    seconds = perf_counter() - begin
    scores = checked_scores(method, found, [one.edge for one in truth.edges])
    cpr, cmd = areas(Graph(model), scores, pairs.first(AREA_PAIRS))
    return MethodScore(
        name,
        method,
        len(truth.edges),
        len(truth.real),
        truth.certified,
        auroc(scores, truth.real),
        average_precision(scores, truth.real),
        precision_at(scores, truth.real, len(truth.real)),
        cpr,
        cmd,
        seconds,
    )


def checked_scores(method: str, found: Any, edges: Sequence[Edge]) -> dict[Edge, float]:
    """A method's scores, of every edge; what is not an edge, or not a number, raises an error."""
    if not isinstance(found, Mapping):
        raise HandloomError(f"{method}: it returned {shown(found)} (expected a dict from edges to numbers)")
    if unknown := [edge for edge in found if edge not in set(edges)]:
        raise HandloomError(f"{method}: {shown(unknown[0])} is no edge of this model; an edge is like {edges[0]!r}")
    try:
        scores = {edge: float(found.get(edge, 0.0)) for edge in edges}
    except (TypeError, ValueError):
        raise HandloomError(f"{method}: a score is not a number (expected a dict from edges to numbers)") from None
    if wrong := [edge for edge, number in scores.items() if not np.isfinite(number)]:
        raise HandloomError(f"{method}: the score of {wrong[0]!r} is {scores[wrong[0]]} (expected a finite number)")
    return scores


# numbers


def auroc(scores: Scores, real: frozenset[Edge]) -> float:
    """The chance that a real edge has a higher score than an unreal one, ties counting half; not a number if all edges
    are real, or none."""
    positive = np.array([number for edge, number in scores.items() if edge in real])
    negative = np.array([number for edge, number in scores.items() if edge not in real])
    if not len(positive) or not len(negative):
        return float("nan")
    above = (positive[:, None] > negative).sum() + (positive[:, None] == negative).sum() / 2
    return float(above / (len(positive) * len(negative)))


def average_precision(scores: Scores, real: frozenset[Edge]) -> float:
    """The mean over real edges of the precision at their score; equal scores are taken together."""
    numbers, hits = as_arrays(scores, real)
    if not hits.any():
        return float("nan")
    precision = [hits[numbers >= level].mean() for level in numbers[hits]]
    return float(np.mean(precision))


def precision_at(scores: Scores, real: frozenset[Edge], k: int) -> float:
    """The share of real edges among the k best; of equal scores at the end, the share that is expected."""
    numbers, hits = as_arrays(scores, real)
    if not k:
        return float("nan")
    least = np.sort(numbers)[-k]
    above, tied = numbers > least, numbers == least
    return float((hits[above].sum() + (k - above.sum()) * hits[tied].mean()) / k)


def as_arrays(scores: Scores, real: frozenset[Edge]) -> tuple[Array, Array]:
    return np.array(list(scores.values())), np.array([edge in real for edge in scores])


def areas(graph: Graph, scores: Scores, pairs: Pairs) -> tuple[float, float]:
    """CPR and CMD."""
    best = sorted(scores, key=lambda edge: -scores[edge])
    counts = [round(share * len(best)) for share in SIZES]
    different = sorted({0, *counts})
    leads = dict(zip(different, lead(graph, pairs, [frozenset(best[n:]) for n in different]), strict=True))
    none, every = leads[0], leads[len(best)]
    faithful = np.array([(leads[n] - none) / (every - none) if every != none else 1.0 for n in counts])
    return trapezoid(faithful, SIZES), trapezoid(np.abs(1 - faithful), SIZES)


def lead(graph: Graph, pairs: Pairs, cuts: Sequence[frozenset[Edge]]) -> Array:
    """By how much the model's own answers lead, on average, with each of these sets of edges cut."""
    total, count = np.zeros(len(cuts)), 0
    for batch in pairs:
        logits = graph.logits(batch, [frozenset(), *cuts], graph.other_terms(batch))
        own = logits[0].argmax(-1)
        total += leads_of(logits[1:], own).sum(-1)
        count += len(own)
    mean: Array = total / count
    return mean


def leads_of(logits: Array, right: Array) -> Array:
    """The logit of the right token (n,) less the largest other one, (…, n)."""
    place = np.arange(len(right)), right
    own = logits[..., place[0], place[1]]
    rest = logits.copy()
    rest[..., place[0], place[1]] = -np.inf
    ahead: Array = own - rest.max(-1)
    return ahead


def trapezoid(values: Array, at: Sequence[float]) -> float:
    return float(np.sum((values[1:] + values[:-1]) / 2 * np.diff(at)))
