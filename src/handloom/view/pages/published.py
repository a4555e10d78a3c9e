"""Published constructions beside ours: a part of the page of a run and of the page of records."""

from collections.abc import Sequence

from handloom.discover.problem import Problem
from handloom.discover.records.sources import Published
from handloom.discover.records.store import Record
from handloom.view.pages.skeleton import line as text
from handloom.view.svg.charts import exact

MOST = 8


def beside_published(
    problem: Problem | None, ours: Record | None, published: Sequence[Published], wide: bool = False, level: int = 2
) -> str:
    """Our best, and what is published, side by side; empty if nothing is."""
    if not published:
        return ""
    theirs = "".join(card_of(problem, one.record, text(one.source), words(ours, one)) for one in published[:MOST])
    own = card_of(problem, ours, "found here", "", best=True) if ours is not None else ""
    heading = f"<h{level}>Beside what is published</h{level}>"
    return f'{heading}<div class="cards{" across" * wide}">{own}{theirs}</div>'


def words(ours: Record | None, one: Published) -> str:
    """How a published construction compares with ours."""
    if ours is None:
        return ""
    if ours.key == one.record.key:
        return "the same as ours, up to symmetry"
    difference = ours.score - one.record.score
    if not difference:
        return "another one of the same score"
    return f"ours is {exact(abs(difference))} {'more' if difference > 0 else 'less'}"


def card_of(problem: Problem | None, record: Record, title: str, more: str, best: bool = False) -> str:
    from handloom.view.pages.discovery import construction_picture

    drawn = construction_picture(problem, record.construction) if problem is not None else ""
    told = f"<p>{more}</p>" if more else ""
    score = f"<p><b>{exact(record.score)}</b></p>"
    return f'<div class="card{" record" * best}">{score}<p>{title}</p>{told}<p>record {record.id}</p>{drawn}</div>'
