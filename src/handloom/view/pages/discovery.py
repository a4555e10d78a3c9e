"""A run of discovery as one page: the best construction, curves, histograms, pictures, the record's family tree.

    discovery_page(Path("runs/isosceles-1"), problem, records, Path("page.html"))

It reads run.json and metrics.jsonl of the run's folder. Missing values, such as those of the model in a run without
one, are left out.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from handloom.core import HandloomError
from handloom.core.files import write_atomically
from handloom.discover.problem import Problem
from handloom.discover.records.origin import came_from, given_start, started_from
from handloom.discover.records.sources import published
from handloom.runs import Folder
from handloom.view.pages.published import beside_published
from handloom.view.pages.skeleton import line as text
from handloom.view.pages.skeleton import skeleton, table
from handloom.view.svg.charts import LEFT, RIGHT, WIDE, Curve, chart, exact, finite, measured, short_number
from handloom.view.svg.constructions import svg
from handloom.view.svg.drawing import as_svg
from handloom.view.svg.histograms import Bins, bins_for, histogram, thumbnail

if TYPE_CHECKING:
    from handloom.discover.loop.start import Discovery

MOST_PICTURES, MOST_SMALL = 24, 16
NEAREST, OLDEST = 12, 4  # of a long family tree
KINDS = {  # of the scores in a line of metrics: what they are, and their look
    "searched": ("Search alone", "search"),
    "before": ("The model's samples, before local search", "before"),
    "after": ("The model's samples, after local search", "after"),
}
MEASURES = {"max": "Largest score", "top_fifth": "Mean of the top fifth", "mean": "Mean", "median": "Median"}
SMALL = {"min": "Smallest score"} | {key: words for key, words in MEASURES.items() if key != "max"}  # minimise=True
BEST = ("max", "min")


class RecordLike(Protocol):
    """The fields of a record that the page needs."""

    @property
    def id(self) -> Any: ...
    @property
    def problem(self) -> str: ...
    @property
    def score(self) -> int | float: ...
    @property
    def construction(self) -> Any: ...  # as the space shows it
    @property
    def origin(self) -> Any: ...
    @property
    def parent(self) -> Any: ...


Metrics = Sequence[Mapping[str, Any]]  # the lines of metrics.jsonl


def run_page(run: "Discovery") -> Path:
    """Write the page of a run that has a folder, into it."""
    assert run.folder is not None
    beside = beside_published(run.problem, run.best, published(run.store, run.problem.name), is_wide(run.problem))
    return discovery_page(run.folder, run.problem, run.records, run.folder / "page.html", beside)


def discovery_page(folder: Path, problem: Problem, records: Sequence[RecordLike], out: Path, beside: str = "") -> Path:
    """Write the page of a run, all or nothing. `beside` is what it has of published constructions."""
    about, lines = about_and_lines(Path(folder))
    write_atomically(Path(out), as_page(about, lines, problem, records, beside).encode())
    return Path(out)


def about_and_lines(folder: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The contents of run.json, and the generations in order; of one that is there twice, as after a resume, the later
    line."""
    kept = Folder(folder)
    about = kept.about("discover")
    lines = {line["generation"]: line for line in kept.lines() if type(line.get("generation")) is int}
    return about, [lines[at] | {kind: checked(lines[at].get(kind)) for kind in KINDS} for at in sorted(lines)]


def checked(stats: Any) -> dict[str, Any] | None:
    """What is known of some scores, always with a histogram."""
    if not isinstance(stats, dict):
        return None
    return stats | {"histogram": stats["histogram"] if isinstance(stats.get("histogram"), dict) else {}}


def as_page(
    about: Mapping[str, Any], lines: Metrics, problem: Problem, records: Sequence[RecordLike], beside: str = ""
) -> str:
    """The page as text."""
    name = str(about.get("problem") or problem)
    ranked = sorted(records, key=lambda record: -problem.merit(record.score))
    body = [
        hero(name, about, lines, problem, ranked),
        curves(lines, problem.minimise),
        histograms(lines, problem.best_known),
        beside,
        gallery(problem, ranked),
        family(problem, ranked),
        settings(about),
    ]
    return skeleton(name, "\n".join(filter(None, body)), ["generations.js", "enlarge.js"], wide=True)


def hero(name: str, about: Mapping[str, Any], lines: Metrics, problem: Problem, ranked: Sequence[RecordLike]) -> str:
    """The problem, the best score against the best known, what was done, and the best construction."""
    reached = [score for line in lines if (score := finite(line.get("best"))) is not None]
    best = (
        ranked[0].score if ranked else max(reached, key=problem.merit, default=None)
    )  # what is verified goes before what was reported
    number = f'<span class="score">{exact(best)}</span>' if best is not None else ""
    look, words = against(best, problem.best_known, problem.minimise)
    source = f'<p class="soft">Best known: {text(problem.source)}</p>' if problem.source else ""
    drawn = construction_picture(problem, ranked[0].construction) if ranked else ""
    shape = "bare" if not drawn else "across" if is_wide(problem) else ""
    return (
        f'<header class="hero {shape}"><div><p class="eyebrow">handloom discover</p><h1>{text(name)}</h1>'
        + (f"<p>{text(problem.about)}</p>" if problem.about else "")
        + f'<div class="verdict">{number}<span class="badge {look}">{words}</span></div>'
        + f"<p>{text(account(about, lines, len(ranked)))}{only_greedy(lines, ranked)}</p>{source}</div>{drawn}</header>"
    )


def against(best: float | None, known: float | None, minimise: bool = False) -> tuple[str, str]:
    """The best score and the best known one: a look, and words."""
    if best is None:
        return "", "nothing found yet"
    if known is None:
        return "", "no best known value"
    if best == known:
        return "good", f"equals the best known value, {exact(known)}"
    side = "above" if best > known else "below"
    return (
        "good" if (best > known) != minimise else ""
    ), f"{exact(abs(best - known))} {side} the best known value, {exact(known)}"


def only_greedy(lines: Metrics, ranked: Sequence[RecordLike]) -> str:
    """A word of warning if there is nothing that a search has found."""
    searched = any(line.get(kind) for line in lines for kind in KINDS)
    if searched or not ranked or any((record.origin or {}).get("how") != "greedy" for record in ranked):
        return ""
    return " The run ended before its first search: what it has is only greedy."


def account(about: Mapping[str, Any], lines: Metrics, count: int) -> str:
    """What was done, in a few sentences."""
    if not lines:
        return f"No generation is complete yet. {plural(count, 'record')} so far."
    seconds = finite(lines[-1].get("seconds"))
    took = f" in {timedelta(seconds=round(seconds))}" if seconds is not None and 0 <= seconds < 1e9 else ""
    searched = sum(int(measured(line, "searched", "count") or 0) for line in lines)
    sampled = [line for line in lines if line.get("before") is not None and (finite(line.get("sampled")) or 0) > 0]
    words = f"{plural(len(lines), 'generation')}{took}. "
    words += f"Search alone found {plural(searched, 'construction')}. " if searched else ""
    if sampled:
        total = sum(line["sampled"] for line in sampled)
        bad = sum(line["sampled"] * share(line, "illegal") for line in sampled)
        again = sum(line["sampled"] * share(line, "duplicates") for line in sampled)
        words += f"{who_proposed(about)} proposed {plural(int(total), 'sample')}; {bad / total:.0%} were not "
        words += f"constructions, {again / total:.0%} were already known. "
    else:
        trained = any(line.get("loss") is not None for line in lines)
        words += "The model has not been sampled yet. " if trained else "No model was used. "
    words += f"{plural(count, 'record')}, each verified exactly."
    made = [f"seed {about['seed']}"] if about.get("seed") is not None else []
    made += [f"handloom {about['handloom']}"] if about.get("handloom") else []
    return words + (f" ({', '.join(made)})" if made else "")


def who_proposed(about: Mapping[str, Any]) -> str:
    """The transformer, or what it is compared with."""
    chosen = about.get("settings")
    proposals = chosen.get("proposals", "model") if isinstance(chosen, Mapping) else "model"
    return "The transformer" if proposals == "model" else f"No model, but '{text(proposals)}',"


def share(line: Mapping[str, Any], key: str) -> float:
    return min(1.0, max(0.0, finite(line.get(key)) or 0.0))


def plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def curves(lines: Metrics, minimise: bool = False) -> str:
    """Everything that is measured, over the generations, if there are several."""
    if len(lines) < 2:
        return ""
    generations = [line["generation"] for line in lines]
    looks = [(kind, name, look) for kind, (name, look) in KINDS.items() if any(line.get(kind) for line in lines)]
    charts = []
    for measure, title in (SMALL if minimise else MEASURES).items():
        drawn = [Curve(name, look, [measured(line, kind, measure) for line in lines]) for kind, name, look in looks]
        if measure in BEST:
            drawn.append(Curve("Best so far", "best", [finite(line.get("best")) for line in lines]))
        charts.append(chart(title, drawn, generations))

    def values(key: str) -> list[float | None]:
        return [finite(line.get(key)) if line.get("before") is not None else None for line in lines]

    legal = [None if share is None else 1 - share for share in values("illegal")]
    charts += [
        chart("Samples that are constructions", [Curve("Legal", "after", legal)], generations, share=True),
        chart("Samples seen before", [Curve("Duplicates", "after", values("duplicates"))], generations, share=True),
        chart("Temperature", [Curve("Temperature", "after", values("temperature"))], generations),
        chart("Loss per token", [Curve("Loss", "after", [finite(line.get("loss")) for line in lines])], generations),
        chart(
            "Held-out loss (grey: marginals)",
            [Curve("Model", "after", values("held_out")), Curve("Marginals", "search", values("marginals"))],
            generations,
        ),
        chart("Share of proposals, by what paid", [Curve("Share", "after", values("share"))], generations, share=True),
    ]
    if not any(charts):
        return ""
    legend = "".join(f'<span><i class="{look}"></i>{name}</span>' for _, name, look in looks)
    legend += '<span><i class="best"></i>Best so far</span>'
    axis = f'data-left="{LEFT}" data-right="{WIDE - RIGHT}" data-first="{generations[0]}" data-last="{generations[-1]}"'
    figures = f'<div class="charts" {axis}>{"".join(charts)}</div>'
    return f'<h2>Over the generations</h2><div class="legend">{legend}</div>{figures}'


def histograms(lines: Metrics, best_known: float | None) -> str:
    """The scores of each generation: all of them behind a slider, some as small pictures."""
    kept = [line for line in lines if any(line.get(kind) for kind in KINDS)]
    bins = bins_for(((line.get(kind) or {}).get("histogram") for line in kept for kind in KINDS), best_known)
    if bins is None:
        return ""
    last = len(kept) - 1
    full = "".join(generation(line, bins, hidden=i < last) for i, line in enumerate(kept))
    few = sorted(
        {round(last * k / max(1, MOST_SMALL - 1)) for k in range(MOST_SMALL)} if last >= MOST_SMALL else range(last + 1)
    )
    smalls = "".join(small(i, kept[i], bins) for i in few)
    slider = (
        f'<div class="slider"><output>Generation {kept[last]["generation"]}</output>'
        f'<input type="range" min="0" max="{last}" value="{last}" aria-label="generation"></div>'
    )
    known = " The dashed line is the best known score." if bins.best_known is not None else ""
    return (
        f"<h2>Scores in each generation</h2><p>How many constructions have which score.{known}</p>"
        + (slider if last else "")
        + full
        + (f'<div class="smalls">{smalls}</div>' if last else "")
    )


def generation(line: Mapping[str, Any], bins: Bins, hidden: bool) -> str:
    """The histograms of one generation, below each other, on the same axis."""
    figures = []
    for kind, (name, look) in KINDS.items():
        if not (stats := line.get(kind)):
            continue
        illegal = share(line, "illegal") * (finite(line.get("sampled")) or 0) if kind == "before" else 0
        told = [("mean", "mean"), ("median", "median"), ("top_fifth", "mean of the top fifth")]
        told += [(best, best) for best in BEST if best in stats]
        known = [
            f"{words} {short_number(round(value, 2))}"
            for key, words in told
            if (value := measured(line, kind, key)) is not None
        ]
        caption = f"<figcaption><b>{name}</b> · {', '.join(known)}</figcaption>"
        drawn = histogram(stats.get("histogram"), bins, look, round(illegal))
        figures.append(f"<figure>{caption}{as_svg(drawn)}</figure>")
    return (
        f'<div class="generation" data-generation="{line["generation"]}"{" hidden" * hidden}>{"".join(figures)}</div>'
    )


def small(i: int, line: Mapping[str, Any], bins: Bins) -> str:
    """What the model made before and after local search; without a model what search found."""
    kinds = ("before", "after") if line.get("before") else ("searched", "after")
    drawn = thumbnail([((line.get(kind) or {}).get("histogram"), KINDS[kind][1]) for kind in kinds], bins)
    return f'<button data-at="{i}">{as_svg(drawn)}{line["generation"]}</button>'


def is_wide(problem: Problem) -> bool:
    """Whether pictures of this problem are much wider than tall."""
    space = problem.space
    return space.kind in ("word", "list") or (space.kind == "grid" and len(space.sides) % 2 == 1)


def construction_picture(problem: Problem, construction: Any) -> str:
    """The construction, to be enlarged by a click; nothing if it is not one of this problem's space."""
    try:
        drawn = svg(problem.space, problem.space.read(construction))
    except HandloomError:
        return ""
    return f'<button class="picture" title="enlarge">{drawn}</button>'


def construction_card(problem: Problem, record: RecordLike, best: bool = False) -> str:
    other = f"<p>{text(record.problem)}</p>" if record.problem != problem.name and problem.name else ""
    told = filter(None, (came_from(record.origin), started_from(record.origin)))
    words = "".join(f"<p>{text(one)}</p>" for one in told) + f"{other}<p>record {text(str(record.id)[:12])}</p>"
    score = f"<p><b>{exact(record.score)}</b></p>"
    return (
        f'<div class="card{" record" * best}">{score}{words}{construction_picture(problem, record.construction)}</div>'
    )


def gallery(problem: Problem, ranked: Sequence[RecordLike]) -> str:
    """The best constructions, drawn."""
    if not ranked:
        return ""
    more = f" {len(ranked) - MOST_PICTURES:,} more are in the store." if len(ranked) > MOST_PICTURES else ""
    cards = "".join(construction_card(problem, record) for record in ranked[:MOST_PICTURES])
    wide = " across" * is_wide(problem)
    return f'<h2>The best constructions</h2><p>A click enlarges them.{more}</p><div class="cards{wide}">{cards}</div>'


def ancestors(ranked: Sequence[RecordLike]) -> list[RecordLike]:
    """The best record, the one that its search began with, and so on, as far as searches began with records."""
    by_id = {record.id: record for record in ranked}
    line: dict[Any, RecordLike] = {}  # by their ids: a store that was tampered with may go round in circles
    at: RecordLike | None = ranked[0] if ranked else None
    while at is not None and at.id not in line:
        line[at.id] = at
        at = by_id.get(at.parent)
    return list(line.values())


def family(problem: Problem, ranked: Sequence[RecordLike]) -> str:
    """From what the oldest search began with to the record."""
    line = ancestors(ranked)
    if not line:
        return ""
    words = ", ".join(filter(None, [came_from(line[-1].origin), started_from(line[-1].origin)]))
    cards = [construction_card(problem, record, best=i == 0) for i, record in enumerate(line)] + start_card(
        problem, line[-1]
    )
    if len(cards) == 1:
        return f"<h2>Where the record comes from</h2><p>{text(words).capitalize()}.</p>"
    if len(cards) > NEAREST + OLDEST + 1:
        between = f'<span class="soft">{len(cards) - NEAREST - OLDEST} more</span>'
        cards = [*cards[:NEAREST], between, *cards[-OLDEST:]]
    drawn = '<span class="then">→</span>'.join(cards[::-1])
    wide = " across" * is_wide(problem)
    told = f"Each was found by a search that began with the one before it. The oldest record: {words}."
    return f'<h2>Where the record comes from</h2><p>{text(told)}</p><div class="tree{wide}">{drawn}</div>'


def start_card(problem: Problem, record: RecordLike) -> list[str]:
    """A card of what a record's search began with, if that is known, and something."""
    start = record.origin.get("start") if record.origin else None
    if not isinstance(start, Mapping) or "construction" not in start:
        return []
    words = given_start(start) or (
        "a sample of the model" if start.get("from") == "model" else "a construction of the pool"
    )
    drawn = construction_picture(problem, start.get("construction"))
    return [f'<div class="card"><p><b>{text(start.get("score"))}</b></p><p>{text(words)}</p>{drawn}</div>']


def settings(about: Mapping[str, Any]) -> str:
    """All settings of the run, in a table that opens."""
    kept = about.get("settings")
    listed = {**about, **kept} if isinstance(kept, Mapping) else dict(about)
    rows = [
        (key, value if isinstance(value, str) else json.dumps(value))
        for key, value in listed.items()
        if key != "settings"
    ]
    return f"<h2>Settings</h2><details><summary>All settings of this run</summary>{table(rows)}</details>"
