"""The tour: what handloom can do, each stop a few lines of Python that are run as they are shown.

A new capability adds its stop to `tour_stops.py`. `tour_page` makes one HTML file of what a tour has shown; it opens
with `addition`, computing.
"""

import contextlib
import importlib.util
import io
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from handloom.core import trace
from handloom.read.explanation import explain
from handloom.view.pages.looms import Loom, blocks, loom_figure, loom_of
from handloom.view.pages.skeleton import block, figure, line, skeleton
from handloom.view.pages.tour_stops import STOPS, Stop
from handloom.view.svg.drawing import Drawing
from handloom.view.svg.heatmap import heatmap
from handloom.write import program


@dataclass(frozen=True)
class Shown:
    stop: Stop
    output: str
    pictures: dict[str, Drawing] = field(default_factory=dict)  # by their captions
    loom: Loom | None = None


def take_tour(stops: tuple[Stop, ...] = STOPS) -> Iterator[Shown]:
    """Run one stop after the other; names carry over."""
    names: dict[str, Any] = {}
    for stop in stops:
        if stop.needs and not importlib.util.find_spec(stop.needs):
            extra = "discover" if stop.needs == "numba" else "learn"
            yield Shown(stop, f"(not run: it needs {stop.needs}; pip install 'handloom[{extra}]')")
            continue
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(stop.code, names)  # our own code, from the table of stops
        yield Shown(stop, output.getvalue().rstrip(), stop.picture(names), stop.loom(names))


def hello_picture() -> Drawing:
    """The logits of Hello World: what each position predicts."""
    model = program("hello")
    ids = model.vocab.encode("Hello World!")
    logits = trace(model, ids, want="logits")["logits"]
    names = [token if token.strip() else "␣" for token in model.vocab.tokens]
    rows = [names[token] for token in ids]
    best = [(i, int(j)) for i, j in enumerate(logits.argmax(-1))]
    return heatmap(logits, rows, names, "token, one per position", "logit of the next token", best)


def hero() -> Loom:
    """Addition with its proof, ready to be tried."""
    return loom_of(explain("addition", program("addition"), "865+230="))


def tour_page(shown: list[Shown]) -> str:
    """One page of all stops."""
    looms = {"-hero": hero()} | {f"-{i}": one.loom for i, one in enumerate(shown, 1) if one.loom}
    words = (
        "A workbench for small transformers. Every block below was run to make this page, and every loom runs in it."
    )
    invitation = (
        "This transformer was written by hand to add, and proven right on all its inputs. Type another sum. Choose "
        "the stage <b>2 · attention</b> and take out head 2.0, which finds where a carry begins: 1106, and the proof "
        "is void."
    )
    top = f"<h1>A tour of handloom</h1><p>{words}</p><p>{invitation}</p>{loom_figure('addition', '-hero')}"
    hello = figure(hello_picture(), "Hello World! in 72 numbers: the framed logit is the largest of its row")
    stops = (stop_html(i, one, hello if i == 1 else "") for i, one in enumerate(shown, 1))
    return skeleton("A tour of handloom", "\n".join([top, *stops]), ["unpack.js"], data=blocks(looms))


def stop_html(number: int, shown: Shown, more: str = "") -> str:
    """A stop: its words, its code and output, and what there is to see."""
    stop = shown.stop
    pictures = "".join(f"<div>{figure(drawn, caption)}</div>" for caption, drawn in shown.pictures.items())
    living = loom_figure(shown.loom.name, f"-{number}") if shown.loom else ""
    return (
        f"<h2>{number}. {line(stop.title)}</h2>\n<p>{line(stop.words)}</p>\n<div>{block(stop.code.strip(), 'code')}"
        f"{block(shown.output, 'output')}</div>{more}"
        + (f'<div class="side">{pictures}</div>' if pictures else "")
        + living
    )
