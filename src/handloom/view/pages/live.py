"""A page in which a model stays alive: the model, an engine that runs it, and the loom that shows it compute.

    page("addition", on="865+230=").save("addition.html")      # hl.page
    page("search", beside="runs/induction-1").save("both.html")

The page is one file that works offline. `looms.py` says what it holds; `web/` has the sources of what runs in it. Two
models stand side by side: an input that is typed for one goes to both, and what is selected in one is so in the other.
"""

import os
from dataclasses import dataclass
from html import escape
from pathlib import Path

from handloom.core import HandloomError, Model, params
from handloom.core.files import check_place, check_suffix, write_atomically
from handloom.core.finding import find
from handloom.read.explanation import explain
from handloom.view.pages.looms import MOST_POSITIONS, MOST_WEIGHTS, Loom, blocks, is_lively, loom_of, loom_page
from handloom.view.pages.skeleton import skeleton

ENDINGS = (".html", ".htm")
Given = Model | str | os.PathLike[str]


@dataclass(frozen=True)
class Page:
    """A page as text, and where to put it."""

    html: str

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file (.html)."""
        place = Path(path)
        check_suffix(check_place(place), "a page", *ENDINGS)
        write_atomically(place, self.html.encode())
        return place

    def _repr_html_(self) -> str:
        """What a notebook shows: the page in a frame that may run its script and nothing else."""
        look = "width:100%;height:640px;border:0"
        return f'<iframe sandbox="allow-scripts" style="{look}" srcdoc="{escape(self.html)}"></iframe>'


def page(model: Given, on: str | None = None, beside: Given | None = None) -> Page:
    """A page in which a model stays alive: type an input, see it compute, change a weight, take a head out. `model` is
    a Model, or the name of a program, a file or a run. `on` is the input that is shown first, by default one of the
    model's task; the page answers it itself, so that the beginning of an answer behind it is left out. `beside` is
    a second model, shown beside the first on the same input."""
    looms = [living(given, on) for given in ([model] if beside is None else [model, beside])]
    return Page(live_page(*looms))


def living(model: Given, on: str | None) -> Loom:
    """A model with its certificate, ready for a page."""
    found, folder = find(model)
    check_lively(found)
    return loom_of(explain(named(model, found), found, on, folder=folder))


def named(model: Given, found: Model) -> str:
    """What to call a model: the name it was found by, or what its notes say."""
    if isinstance(model, Model):
        return str(found.notes.get("program") or found.notes.get("task") or "a model")
    return str(model)


def check_lively(model: Model) -> None:
    """Raise an error for a model that a browser would take too long to run."""
    if not is_lively(model):
        raise HandloomError(
            f"a page is for models of up to {MOST_WEIGHTS:,} weights and {MOST_POSITIONS} positions, and this one has "
            f"{params.size(model.config):,} and {model.config.block:,}; choose a smaller one"
        )


def live_page(loom: Loom, beside: Loom | None = None) -> str:
    """The page of a model, or of two, as text."""
    looms = {"": loom} if beside is None else {"": loom, "-beside": beside}
    name = " beside ".join(one.name for one in looms.values())
    body = loom_page(name, "" if beside is None else "-beside")
    return skeleton(name, body, ["unpack.js"], live=True, data=blocks(looms))
