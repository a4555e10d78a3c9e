"""Pictures of what `read` finds out about heads: their names, their circuits, composition, virtual heads, and a film
strip of their attention over the checkpoints of a run.

    as_svg(heads_drawing(heads(model)))

Every analysis has a function from its result to a Drawing; `HEAD_CARDS` are the same for a notebook.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from handloom.core import HandloomError
from handloom.core.arrays import Array
from handloom.read.composition import Composition
from handloom.read.film_strip import FilmStrip
from handloom.read.head_circuits import Circuits, HeadCircuits
from handloom.read.heads import HeadNames, NamedHead
from handloom.read.part_names import token_names
from handloom.read.virtual_heads import VirtualHeads
from handloom.view.pages.skeleton import figure, line, table
from handloom.view.svg.drawing import Drawing, Label, Rect, Shape, moved
from handloom.view.svg.heatmap import heatmap, small

BOX, HIGH, GAP = 132.0, 46.0, 8.0
SIDE = 84.0  # of a thumbnail
MOST_SIDE = 64  # tokens or positions of a thumbnail
MOST_FRAMES, MOST_HEADS, MOST_PAIRS = 40, 24, 8


def heads_drawing(names: HeadNames) -> Drawing:
    """A row of boxes per layer: each head with its name, as strong as its score; an unused one has only a frame."""
    places = [tuple(map(int, one.head.split("."))) for one in names]
    shapes: list[Shape] = []
    for one, (layer, head) in zip(names, places, strict=True):
        shapes += head_box(one, 14 + head * (BOX + GAP), 14 + layer * (HIGH + GAP))
    layers, heads = (1 + max(place[i] for place in places) for i in (0, 1))
    return Drawing(28 + heads * (BOX + GAP), 28 + layers * (HIGH + GAP), tuple(shapes))


def head_box(one: NamedHead, x: float, y: float) -> Iterable[Shape]:
    used = one.name != "unused"
    also = ", ".join(f"{name} {score:.2f}" for name, score in one.also)
    words = f"head {one.head}: {one.name} {one.score:.2f}" + (f"; {also}" if also else "")
    yield Rect(x, y, BOX, HIGH, "shade-plus", words, round(0.35 * one.score, 3) if used else 0.0)
    yield Rect(x, y, BOX, HIGH, "frame")
    yield Label(x + 8, y + 14, one.head, "place", 10, "start")
    yield Label(x + BOX - 8, y + 14, f"{one.score:.2f}" if used else "", "place", 10, "end")
    yield Label(x + BOX / 2, y + 31, one.name, "name" if used else "label", 11)


def film_strip_drawing(film: FilmStrip) -> Drawing:
    """A row per checkpoint and a column per head; of many checkpoints some, evenly chosen, with the last."""
    frames, layers, heads = film.patterns.shape[:3]
    check_few("heads", layers * heads, MOST_HEADS)
    chosen = sorted(set(np.linspace(0, frames - 1, min(frames, MOST_FRAMES)).astype(int).tolist()))
    columns = [f"{i}.{h}" for i, h in np.ndindex(layers, heads)]
    rows = [f"{film.steps[i]:,}" for i in chosen]
    return grid(
        rows, columns, lambda row, column: film.patterns[chosen[row]].reshape(-1, *film.patterns.shape[3:])[column]
    )


def circuits_drawing(found: Circuits) -> Drawing:
    """A row per head: QK and OV over tokens, and QK over positions, if these have a table; each on its own scale."""
    check_few("heads", len(found.heads), MOST_HEADS)
    check_few("tokens", found.model.config.vocab, MOST_SIDE)
    heads = list(found.heads.values())
    parts: dict[str, Callable[[HeadCircuits], Array]] = {
        "QK, tokens": lambda one: one.qk(),
        "OV, tokens": lambda one: one.ov(),
    }
    if heads[0].weights.model.config.positions == "table":
        parts["QK, positions"] = lambda one: one.qk("positions", "positions")[:MOST_SIDE, :MOST_SIDE]
    shown = list(parts.values())
    return grid(list(found.heads), list(parts), lambda row, column: shown[column](heads[row]), scale=None)


def head_circuits_drawing(one: HeadCircuits, circuit: str = "ov") -> Drawing:
    """One circuit of a head over tokens, "qk" or "ov", with the names of the tokens."""
    model = one.weights.model
    check_few("tokens", model.config.vocab, MOST_SIDE)
    names = token_names(model)
    if circuit == "qk":
        return heatmap(one.qk(), names, names, "token that looks", "token looked at")
    return heatmap(one.ov(), names, names, "token looked at", "logit")


def composition_drawing(found: Composition) -> Drawing:
    """A row per earlier head, a column per reader; 1 is random, and what fewer than 1 in 100 rotations reach is
    framed."""
    rows = list(dict.fromkeys(one.source for one in found.pairs))
    columns = list(dict.fromkeys(f"{one.target}.{one.kind}" for one in found.pairs))
    if not rows:
        raise HandloomError("composition: one layer has no pairs of heads (expected two layers or more)")
    check_few("heads", len(rows), MOST_HEADS)
    values, marked = np.zeros((len(rows), len(columns))), []
    for one in found.pairs:
        place = rows.index(one.source), columns.index(f"{one.target}.{one.kind}")
        values[place] = one.value
        marked += [place] if one.p < 0.01 else []
    return heatmap(values, rows, columns, "writes", "reads", marked=marked)


def virtual_heads_drawing(found: VirtualHeads) -> Drawing:
    """The patterns of the virtual heads with the largest shares."""
    pairs = found.pairs[:MOST_PAIRS]
    if not pairs:
        raise HandloomError("virtual heads: one layer has none (expected two layers or more)")
    columns = [f"{one.first} → {one.second}" for one in pairs]
    return grid([""], columns, lambda _, column: pairs[column].pattern)


def grid(
    rows: Sequence[str], columns: Sequence[str], of: Callable[[int, int], Array], scale: float | None = 1.0
) -> Drawing:
    """Thumbnails with a name per row and per column; by default square roots of shares, up to 1."""
    left, top = 16 + 7 * max(map(len, rows)), 24.0
    step = SIDE + GAP
    shapes: list[Shape] = [Label(left + step * j + SIDE / 2, 12, name, "name", 10) for j, name in enumerate(columns)]
    for i, name in enumerate(rows):
        shapes.append(Label(left - 6, top + step * i + SIDE / 2, name, "name", 10, "end"))
        for j in range(len(columns)):
            picture = small(thinned(of(i, j)), SIDE, scale=scale, root=scale is not None)
            shapes += moved(picture, left + step * j, top + step * i)
    return Drawing(left + step * len(columns) + 6, top + step * len(rows) + 6, tuple(shapes))


def thinned(matrix: Array) -> Array:
    """The corner of a large matrix that fits a thumbnail."""
    return matrix[:MOST_SIDE, :MOST_SIDE]


def check_few(what: str, count: int, most: int) -> None:
    if count > most:
        raise HandloomError(f"a picture of {count} {what} (expected up to {most}); look at the numbers instead")


def heads_card(names: HeadNames) -> str:
    rows = [(one.head, one.name, f"{one.score:.2f}", ", ".join(f"{a} {b:.2f}" for a, b in one.also)) for one in names]
    return (
        f"<h3>Heads</h3>{figure(heads_drawing(names))}<p>{line(names.measured_on)}</p>"
        f"<details><summary>All heads</summary>{table([('head', 'name', 'score', 'also'), *rows])}</details>"
    )


def film_strip_card(film: FilmStrip) -> str:
    about = f"{film.run}, {film.rows:,} row{'' if film.rows == 1 else 's'}: a row per checkpoint, a column per head"
    return f"<h3>Attention over training</h3><p>{line(about)}</p>{figure(film_strip_drawing(film))}"


def circuits_card(found: Circuits) -> str:
    rows = [(name, f"{one.copying:.2f}", f"{one.matching:.2f}") for name, one in found.heads.items()]
    return (
        f'<div class="facing"><div><h3>Circuits</h3>{table([("head", "copying", "matching"), *rows])}</div>'
        f"{figure(circuits_drawing(found))}</div>"
    )


def head_circuits_card(one: HeadCircuits) -> str:
    pictures = "".join(figure(head_circuits_drawing(one, name), name.upper()) for name in ("qk", "ov"))
    return f'<h3>Head {line(one.head)}</h3><p>copying {one.copying:.2f}</p><div class="side">{pictures}</div>'


def composition_card(found: Composition) -> str:
    rows = [(f"{one.source} → {one.target}.{one.kind}", f"{one.value:.2f}", f"{one.p:.2g}") for one in found.top()]
    return (
        f'<div class="facing"><div><h3>Composition</h3><p>1 is random</p>'
        f"{table([('pair', 'value', 'p'), *rows])}</div>{figure(composition_drawing(found))}</div>"
    )


def virtual_heads_card(found: VirtualHeads) -> str:
    rows = [
        (f"{one.first} → {one.second}", f"{one.share:.2f}", f"{one.copying:.2f}") for one in found.pairs[:MOST_PAIRS]
    ]
    return (
        f"<h3>Virtual heads</h3>{figure(virtual_heads_drawing(found))}{table([('heads', 'share', 'copying'), *rows])}"
    )


HEAD_CARDS: dict[str, Any] = {
    "HeadNames": heads_card,
    "FilmStrip": film_strip_card,
    "Circuits": circuits_card,
    "HeadCircuits": head_circuits_card,
    "Composition": composition_card,
    "VirtualHeads": virtual_heads_card,
}
