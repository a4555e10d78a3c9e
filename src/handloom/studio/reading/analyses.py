"""The list of readings: each with a name, a sentence, what it asks for, and the function that gives what is shown.

    ANALYSES["circuit"].show(Question(model, None, task, {}, progress))

They are those of `handloom read`, and those that have no command. docs/read.md says what each means.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from handloom import read
from handloom.core import HandloomError, Model
from handloom.core.callbacks import Progress
from handloom.read.overview import example_input
from handloom.studio.reading.results import Shown, drawn, found_table
from handloom.tasks import Learnable, Task
from handloom.tasks.task import Ids
from handloom.view.dictionary_card import cosine_bars
from handloom.view.effect_drawings import edges_drawing, parts_drawing, patching_drawing
from handloom.view.head_pictures import (
    circuits_drawing,
    composition_drawing,
    film_strip_drawing,
    heads_drawing,
    virtual_heads_drawing,
)
from handloom.view.periodic_card import loss_curves, share_bars
from handloom.view.svg.circuit_graph import circuit_drawing
from handloom.view.svg.contributions import attribution_drawing, lens_drawing, paths_drawing, shares_drawing
from handloom.view.svg.heatmap import heatmap

PAIRS = 128  # for estimates, which need no more
MOST_PATHS = 40


@dataclass(frozen=True)
class Question:
    """What a reading is about: a model with its task, if that may be known, the folder it is in, and the fields that
    the page sends."""

    model: Model
    folder: Path | None
    task: Learnable | None
    fields: Mapping[str, str]
    progress: Progress

    @property
    def on(self) -> str:
        """The input: the one that is given, or an example."""
        return self.fields.get("on") or example_input(self.model, self.folder)

    def pairs(self) -> read.Pairs:
        return read.pairs_of(self.model, self.task, PAIRS)


def heads(asked: Question) -> Shown:
    found = read.heads(asked.model, task=asked.task)
    rows = [(one.head, one.name, one.score, ", ".join(f"{n} {s:.2f}" for n, s in one.also)) for one in found]
    return Shown([], [found_table("", ["head", "name", "score", "also"], rows)], [drawn("", heads_drawing(found))])


def circuit(asked: Question) -> Shown:
    found = read.circuit(asked.model, asked.task, progress=asked.progress)
    rows = [
        (f"{e.source} → {e.target}", e.share, "real" if e.real else "", "core" if e.core else "") for e in found.edges
    ]
    edges = found_table("Edges", ["edge", "pairs that need it", "real", "core"], sorted(rows, key=lambda row: -row[1]))
    return Shown([found.summary(), *found.comparison()], [edges], [drawn("", circuit_drawing(found))])


def paths(asked: Question) -> Shown:
    given, wanted = asked.on, (asked.fields.get("answer") or None, asked.fields.get("against") or None)
    found = read.paths(asked.model, given, *wanted).top(MOST_PATHS)
    words = str(found).splitlines()
    rows = [(" → ".join(one.to_json()["path"]), one.contribution) for one in found.paths]
    return Shown(
        [words[0], words[-1]],
        [found_table("", ["path", "contribution"], rows)],
        [drawn("", paths_drawing(found))],
        given,
    )


def attribution(asked: Question) -> Shown:
    given = asked.on
    found = read.direct_attribution(asked.model, given)
    rows = sorted(found.parts.items(), key=lambda part: -abs(part[1]))
    words = [str(found).splitlines()[0]]
    return Shown(
        words, [found_table("", ["part", "contribution"], rows)], [drawn("", attribution_drawing(found))], given
    )


def shares(asked: Question) -> Shown:
    given = asked.on
    found = read.shares(asked.model, given)
    rows = [(reader, source, share) for reader, of in found.to_json().items() for source, share in of.items() if share]
    rows.sort(key=lambda row: -abs(row[2]))
    return Shown([], [found_table("", ["reader", "reads", "share"], rows)], [drawn("", shares_drawing(found))], given)


def lens(asked: Question) -> Shown:
    given = asked.on
    found = read.lens(asked.model, given, asked.fields.get("answer") or None)
    each = found.to_json()
    rows = [
        (f"{i} {token}", *(f"{site['predicted'][i]} {site['probability'][i]:.0%}" for site in each["sites"]))
        for i, token in enumerate(each["tokens"])
    ]
    columns = ["position", *(site["site"] for site in each["sites"])]
    return Shown([], [found_table("", columns, rows)], [drawn("", lens_drawing(found))], given)


def ablation(asked: Question) -> Shown:
    found = read.ablate(asked.model, pairs=asked.pairs())
    each = found.to_json()
    rows = sorted(((one["part"], one["right"], one["change"]) for one in each["parts"]), key=lambda row: row[1])
    words = [f"{each['how']}; the metric with all parts is {each['metric']:.4g}"]
    return Shown(
        words, [found_table("", ["without", "still right", "change"], rows)], [drawn("", parts_drawing(found))]
    )


def patching(asked: Question) -> Shown:
    clean = asked.on
    other = asked.fields.get("other") or changed_input(asked, clean)
    found = read.patch(asked.model, clean, other, asked.fields.get("sites") or "*.resid_pre")
    names = [f"{i} {one}" for i, one in enumerate(found.tokens[0])]
    rows = [(name, *map(float, row)) for name, row in found.rows.items()]
    words = [str(found).splitlines()[0], f"{clean} into {other}"]
    return Shown(words, [found_table("", ["site", *names], rows)], [drawn("", patching_drawing(found))], clean)


def changed_input(asked: Question, text: str) -> str:
    """The input with one token changed, such that another answer is right."""
    task, vocab = asked.task, asked.model.vocab
    ids = vocab.encode(text)
    if not isinstance(task, Task) or (right := task.oracle(ids)) is None:
        raise HandloomError("patching needs another input with as many tokens; type one")

    def differs(changed: Ids) -> bool:
        answer = task.oracle(changed)
        return answer is not None and answer != right

    tried = ([*ids[:i], token, *ids[i + 1 :]] for i in range(len(ids)) for token in range(len(vocab.tokens)))
    found = next((changed for changed in tried if differs(changed)), None)
    if found is None:
        raise HandloomError("no change of one token gives another answer; type another input with as many tokens")
    return vocab.decode(found)


def edges(asked: Question) -> Shown:
    found = read.edge_attribution(asked.model, asked.pairs(), steps=5)
    rows = sorted(((f"{source} → {target}", score) for (source, target), score in found.items()), key=by_size)
    words = [f"{found.method}: {found.meaning}. An estimate by gradients; the circuit is the truth."]
    return Shown(words, [found_table("", ["edge", "score"], rows)], [drawn("", edges_drawing(found))])


def by_size(row: tuple[str, float]) -> float:
    return -abs(row[1])


def tables_of_heads(asked: Question) -> Shown:
    found = read.head_circuits(asked.model)
    rows = [(one["head"], one["copying"], one["matching"], *singular(one)) for one in found.to_json()]
    columns = ["head", "copying", "matching", "largest of QK", "largest of OV"]
    return Shown([], [found_table("", columns, rows)], [drawn("", circuits_drawing(found))])


def singular(one: Mapping[str, list[float]]) -> tuple[float, float]:
    """The largest singular values of QK and OV."""
    return max(one["qk_singular_values"], default=0.0), max(one["ov_singular_values"], default=0.0)


def composition(asked: Question) -> Shown:
    found = read.composition(asked.model)
    rows = [(one.source, one.target, one.kind, one.value, one.p) for one in found.pairs]
    columns = ["head", "is read by", "as", "composition", "chance"]
    return Shown([], [found_table("", columns, rows)], [drawn("", composition_drawing(found))])


def virtual(asked: Question) -> Shown:
    given = asked.on
    found = read.virtual_heads(asked.model, given)
    rows = [(f"{one.first} then {one.second}", one.share, one.copying) for one in found.pairs]
    drawing = drawn("", virtual_heads_drawing(found))
    return Shown([], [found_table("", ["virtual head", "share", "copying"], rows)], [drawing], given)


def dictionary(asked: Question) -> Shown:
    site = asked.fields.get("site") or f"{max(0, asked.model.config.layers - 1)}.resid_pre"
    found = read.dictionary(asked.model, site)
    facts = [
        ("features", f"{found.features:,}"),
        ("active at once", found.active),
        ("dead", f"{found.dead:,}"),
        ("variance explained", found.explained),
        ("loss recovered", found.recovered),
        ("same output", found.same),
    ]
    tables = [found_table(f"A sparse autoencoder at {site}", ["what", "value"], facts)]
    if found.matched is None:
        return Shown([], tables)
    tables.append(found_table("Named directions", ["direction", "best cosine"], found.cosines.items()))
    return Shown([], tables, [drawn("Best cosine of each named direction", cosine_bars(found))])


def periodic(asked: Question) -> Shown:
    found = read.periodic(asked.model, asked.task if isinstance(asked.task, Task) else None, asked.progress)
    rows = [(k, found.logits[k - 1], found.embedding[k - 1]) for k in range(1, len(found.logits) + 1)]
    drawings = [
        drawn("Logits: share of the variance by frequency", share_bars(found.logits, found.frequencies)),
        drawn("Embedding: share of the variance by frequency", share_bars(found.embedding, found.frequencies)),
    ]
    if len(found.checkpoints) > 1:
        drawings.append(drawn("Losses over the steps", loss_curves(found.checkpoints)))
    words = str(found).splitlines()[:2]
    return Shown(words, [found_table("", ["frequency", "of the logits", "of the embedding"], rows)], drawings)


def film(asked: Question) -> Shown:
    if asked.folder is None:
        raise HandloomError("a film strip is of a run with kept models; choose a run that keeps models while it trains")
    found = read.film_strip(asked.folder, asked.fields.get("on") or None, progress=asked.progress)
    rows = list(zip(found.steps, found.changes(), strict=True))
    moved = found_table("", ["step", "attention moved since the one before"], rows)
    words = str(found).splitlines()[0].removeprefix(f"{found.run}: ")
    return Shown([words], [moved], [drawn("", film_strip_drawing(found))])


def matching(asked: Question, other: Model) -> Shown:
    found = read.match_heads(asked.model, other)
    rows = [(f"{one.head} {one.name}", f"{one.other} {one.other_name}", one.similarity) for one in found.matches]
    drawing = heatmap(found.similarity, [f"{one.head} {one.name}" for one in found.matches], found.others, scale=1.0)
    return Shown([], [found_table("", ["head", "most similar there", "similarity"], rows)], [drawn("", drawing)])


@dataclass(frozen=True)
class Analysis:
    """A reading in a list. `asks` are the fields that a page may send: on, other, answer, against, sites, site."""

    title: str
    says: str
    show: Callable[[Question], Shown]
    asks: tuple[str, ...] = ()


ANALYSES = {
    "heads": Analysis("Heads by name", "What each head looks at, in a word, with a score above chance.", heads),
    "circuit": Analysis("Circuit", "The edges that the answers need, found by cutting each of them.", circuit),
    "paths": Analysis(
        "Paths", "The answer's logit as a sum over paths through heads.", paths, ("on", "answer", "against")
    ),
    "attribution": Analysis(
        "Direct attribution", "What each part writes into the answer's logit.", attribution, ("on",)
    ),
    "shares": Analysis("Shares", "From whom each part reads, in one run.", shares, ("on",)),
    "lens": Analysis("Logit lens", "What the stream would output, layer by layer.", lens, ("on", "answer")),
    "ablation": Analysis("Ablation", "How many answers stay right without each head and MLP.", ablation),
    "patching": Analysis(
        "Patching",
        "Which value, put into a run on another input, restores the answer.",
        patching,
        ("on", "other", "sites"),
    ),
    "edges": Analysis("Edge attribution", "An estimate for every edge, by gradients (EAP-IG).", edges),
    "tables": Analysis("QK and OV", "What each head compares and copies, over all tokens.", tables_of_heads),
    "composition": Analysis(
        "Composition", "Which heads read what other heads wrote, by the weights alone.", composition
    ),
    "virtual": Analysis("Virtual heads", "Two heads, one behind the other, as one.", virtual, ("on",)),
    "dictionary": Analysis(
        "Dictionary", "A sparse autoencoder, held against directions that are known.", dictionary, ("site",)
    ),
    "periodic": Analysis("Frequencies", "With which waves a model adds in a cyclic group.", periodic),
    "film": Analysis("Film strip", "The attention of every head over a run's kept models.", film, ("on",)),
}
