"""What a notebook shows of a circuit, of the scores of methods, and of an overview."""

from collections.abc import Mapping

from handloom.read.circuit import Circuit
from handloom.read.graph import Edge
from handloom.read.matching import HeadMatches
from handloom.read.truth_scores import ScoreTable, auroc
from handloom.view.pages.skeleton import figure, line, table
from handloom.view.svg.circuit_graph import circuit_drawing
from handloom.view.svg.heatmap import heatmap


def circuit_card(found: Circuit, method: str = "", scores: Mapping[Edge, float] | None = None) -> str:
    """The graph, and what was tried; with the scores of a method, what it would find."""
    look, sign = ("good", "✓") if found.certified else ("bad", "✗")
    words = "".join(f"<p>{line(words)}</p>" for words in found.comparison())
    badge = f'<p><span class="badge {look}">{sign} {line(found.summary())}</span></p>'
    if len(found.real) in (0, len(found.edges)):
        scores = None  # a method has nothing to tell apart
    if scores is not None:
        share = f"AUROC {auroc(scores, found.real):.3f}"  # 1 finds the circuit, 0.5 is chance
        best = f"its {len(found.real)} best edges beside the {len(found.real)} real ones; {share}"
        words += f"<p>The method <b>{line(method)}</b>: {line(best)}.</p>"
    return f"<h3>Circuit</h3>{badge}{words}{figure(circuit_drawing(found, scores))}"


def scores_card(found: ScoreTable) -> str:
    """AUROC of every method on every model, and the means."""
    models = dict.fromkeys(row.model for row in found.rows)
    cells = {(row.model, row.method): f"{row.auroc:.3f}" for row in found.rows}
    rows = [(model, *(cells.get((model, method), "") for method in found.methods)) for model in models]
    means = ("mean", *(f"{found.mean(method):.3f}" for method in found.methods))
    return f"<h3>AUROC</h3>{table([('model', *found.methods), *rows, means])}"


def matches_card(found: HeadMatches) -> str:
    """How alike each head is to each head of the other model."""
    mine = [f"{one.head} {one.name}" for one in found.matches]
    return f"<h3>Heads matched</h3>{figure(heatmap(found.similarity, mine, found.others, scale=1.0))}"
