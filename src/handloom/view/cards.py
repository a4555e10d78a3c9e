"""What a notebook shows of a value: a small picture of a Model, a Trace, a Certificate, a Training, records, or what
`read` found out.

    html(program("addition"))       # the text of a <div> with its style in it

These classes ask for it in `_repr_html_`. Every picture is bounded in size, needs no network and no Matplotlib.
"""

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from handloom.core import HandloomError, Model, Trace, count
from handloom.core.arrays import Array
from handloom.read.attention import to_numpy
from handloom.tasks import Certificate
from handloom.view.architecture import architecture_drawing
from handloom.view.dictionary_card import dictionary_card
from handloom.view.effect_drawings import EFFECT_CARDS
from handloom.view.head_pictures import HEAD_CARDS
from handloom.view.pages.reading import overview_body
from handloom.view.pages.skeleton import figure, line, notebook_part, table
from handloom.view.periodic_card import periodic_card
from handloom.view.reading_cards import circuit_card, matches_card, scores_card
from handloom.view.run_cards import RUN_CARDS
from handloom.view.svg.charts import Curve, chart, exact, finite
from handloom.view.svg.heatmap import small

if TYPE_CHECKING:
    from handloom.discover.problem import Problem
    from handloom.discover.records.selection import Records
    from handloom.discover.records.store import Record
    from handloom.learn.training import Training

MOST_CELLS = 48  # positions and dimensions of a picture of a trace
MOST_PATTERNS, MOST_STREAMS, MOST_SITES = 16, 12, 400
MOST_RECORDS = 50
MOST_LETTERS = 400  # of a construction that cannot be drawn


def html(shown: Any) -> str | None:
    """The picture, or None if it cannot be drawn; a notebook then shows the text of the value."""
    try:
        return notebook_part(CARDS[type(shown).__name__](shown))
    except Exception:  # values come from files of all kinds, and a cell of a notebook must not fail for a picture
        return None


def model_card(model: Model) -> str:
    """The architecture, the sizes, and the task."""
    sizes = count(model)
    made = [("task", model.notes.get("task")), ("made", model.notes.get("made") or model.notes.get("program"))]
    rows = [
        ("parameters", f"{sizes.total:,}, {sizes.nonzero:,} not zero, {sizes.unique:,} different"),
        ("trainable", f"{sizes.trainable:,}"),
        ("tokens", model.vocab.sample()),
        ("dtype", model.dtype),
        *((name, words) for name, words in made if words),
    ]
    return (
        f'<div class="facing"><div><h3>Model</h3>{table(rows)}</div>{figure(architecture_drawing(model.config))}</div>'
    )


def trace_card(trace: Trace) -> str:
    """The tokens, the patterns and the stream as small heat maps, and all sites with their shapes; of a batch the
    first."""
    ids = to_numpy(trace.tokens)
    batch = max(0, ids.ndim - 1)
    more = f", the first of {ids[..., 0].size} texts is drawn" if batch else ""
    words = f"{len(trace)} site{'' if len(trace) == 1 else 's'}, {ids.shape[-1] if ids.ndim else 0} tokens{more}"
    patterns, streams = list(drawn_patterns(trace, batch)), list(drawn_streams(trace, batch))
    names = [trace.vocab.tokens[int(i)] for i in ids[(0,) * batch][:MOST_CELLS]] if trace.vocab and ids.ndim else []
    labels = f"<p>{' '.join(f'<code>{line(name)}</code>' for name in names)}</p>" if names else ""
    sites = [(site, " × ".join(map(str, array.shape))) for site, array in list(trace.items())[:MOST_SITES]]
    return (
        f"<h3>Trace</h3><p>{words}</p>{labels}"
        + side("Attention: a row is a position that looks", patterns, MOST_PATTERNS)
        + side("The stream: a row per position, each direction on its own scale", streams, MOST_STREAMS)
        + (f"<details><summary>All sites and their shapes</summary>{table(sites)}</details>" if sites else "")
    )


def drawn_patterns(trace: Trace, batch: int) -> Iterator[str]:
    """A small picture of each head's pattern; square roots, so that a tenth can be seen beside one."""
    for site, array in trace.items():
        if site.endswith(".pattern"):
            for h, pattern in enumerate(first_of(array, batch)):
                layer = site.partition(".")[0]
                largest = max(
                    1.0, float(np.abs(pattern).max(initial=0.0))
                )  # patterns of linear attention have any size
                yield figure(small(pattern, 112, scale=largest, root=True), f"head {layer}.{h}")


def drawn_streams(trace: Trace, batch: int) -> Iterator[str]:
    for site, array in trace.items():
        if is_stream(site, trace):
            values = first_of(array, batch)
            yield figure(small(values, 128, scale=np.abs(values).max(0, initial=0.0)), site)


def is_stream(site: str, trace: Trace) -> bool:
    """Whether a site is the stream, or its ends, and not the same as the end of the layer before it."""
    layer, _, name = site.rpartition(".")
    layers = {int(other.partition(".")[0]) for other in trace if other.endswith(".resid_post")}
    if name == "resid_pre":
        return int(layer) - 1 not in layers
    return name in ("resid_mid", "resid_post", "embed", "logits") or (name == "resid_final" and not layers)


def first_of(array: Any, batch: int) -> Array:
    """Of a batch the first, and of positions and directions as many as are drawn."""
    values = to_numpy(array)
    return values[(0,) * batch][..., :MOST_CELLS, :MOST_CELLS]


def side(title: str, figures: list[str], most: int) -> str:
    """Pictures beside each other, below a title, up to a number."""
    if not figures:
        return ""
    more = f" (the first {most} of {len(figures)})" if len(figures) > most else ""
    return f'<p class="soft">{title}{more}</p><div class="side">{"".join(figures[:most])}</div>'


def certificate_card(certificate: Certificate) -> str:
    """A badge with the whole sentence, and the numbers."""
    look, sign = ("good", "✓") if certificate.right else ("bad", "✗")
    rows = [
        ("method", f"{certificate.method}{f': {certificate.how}' if certificate.how else ''}"),
        ("inputs", f"{certificate.inputs:,}"),
        ("right", "yes" if certificate.right else f"no: {certificate.wrong:,} wrong"),
        ("smallest margin", f"{certificate.margin:.2g}"),
        ("dtype", certificate.dtype),
    ]
    sentence = f'<p><span class="badge {look}">{sign} {line(certificate)}</span></p>'
    return f"<h3>Certificate</h3>{sentence}{table(rows)}"


def training_card(training: "Training") -> str:
    """Success and loss over the steps, and where the run stands."""
    lines = [kept for kept in training.lines or [] if isinstance(kept.get("step"), int)]
    steps = [kept["step"] for kept in lines]

    def curve(name: str, look: str, key: str) -> Curve:
        return Curve(name, look, [finite(kept.get(key)) for kept in lines])

    losses = [curve("on the training set", "search", "loss"), curve("held out", "after", "held_out")]
    charts = chart("Right", [curve("right", "after", "success")], steps, share=True)
    charts += chart("Loss per token: held out (blue) and on the training set", losses, steps)
    rows: list[tuple[str, object]] = [("task", training.learner.notes.get("task", ""))]
    rows += [("step", f"{training.where.step:,} of {training.settings.steps:,}")]
    rows += [("held-out loss", f"{training.held_out_loss:.4f}")] if training.held_out_loss is not None else []
    rows += [("samples", training.evaluation or "not evaluated yet")]
    rows += [("folder", training.folder.path)] if training.folder else []
    drawn = f'<div class="charts">{charts}</div>' if charts else ""
    return f"<h3>Training</h3>{table(row for row in rows if row[1] != '')}{drawn}"


def record_card(record: "Record") -> str:
    """The construction, its score, when it was verified, and where it came from."""
    from handloom.discover.records.origin import came_from, started_from

    origin = ", ".join(filter(None, (came_from(record.origin), started_from(record.origin))))
    problem = problem_of_ours(record)
    known = [] if problem is None or problem.best_known is None else [("best known", exact(problem.best_known))]
    rows = [
        ("problem", record.problem),
        *known,
        ("verified", f"{record.verified}, by handloom {record.version}"),
        ("origin", origin or "not recorded"),
        ("record", record.id),
    ]
    score = f'<p><span class="score">{exact(record.score)}</span></p>'
    return f'<div class="facing"><div><h3>Record</h3>{score}{table(rows)}</div>{construction(record, problem)}</div>'


def problem_of_ours(record: "Record") -> "Problem | None":
    """Its problem, if that is one of ours: showing a record does not run a user's file."""
    from handloom.discover.catalogue import PROBLEMS, problem_named

    if record.problem.partition(":")[0] not in PROBLEMS:
        return None
    with suppress(HandloomError):  # of another version
        return problem_named(record.problem)
    return None


def construction(record: "Record", problem: "Problem | None") -> str:
    """The picture of a construction, if its problem is known, otherwise its text."""
    from handloom.view.svg.constructions import construction_drawing

    if problem is not None:
        with suppress(HandloomError):  # of another version
            return figure(construction_drawing(problem.space, problem.space.read(record.construction)))
    text = str(record.construction)
    return f"<p><code>{line(text if len(text) <= MOST_LETTERS else text[:MOST_LETTERS] + ' …')}</code></p>"


def records_card(records: "Records") -> str:
    """A table: of each record its number, problem, score and origin."""
    from handloom.discover.records.origin import came_from

    rows = [(one.id, one.problem, exact(one.score), came_from(one.origin)) for one in records[:MOST_RECORDS]]
    more = f", the first {MOST_RECORDS} are shown" if len(records) > MOST_RECORDS else ""
    return f"<h3>Records</h3><p>{len(records):,}{more}</p>{table([('record', 'problem', 'score', 'origin'), *rows])}"


CARDS: dict[str, Any] = {
    "Model": model_card,
    "Trace": trace_card,
    "Certificate": certificate_card,
    "Training": training_card,
    "Record": record_card,
    "Records": records_card,
    **RUN_CARDS,
    **HEAD_CARDS,
    "Circuit": circuit_card,
    "ScoreTable": scores_card,
    "HeadMatches": matches_card,
    "Overview": overview_body,
    "Periodic": periodic_card,
    "Dictionary": dictionary_card,
    **EFFECT_CARDS,
}
