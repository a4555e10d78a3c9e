"""An overview of a model as one page: the model itself computing, its heads by name, its circuit as a graph with what a
method finds of it, the largest paths to an answer, a patching grid, and for a run the film of its heads.

A model that was trained on the task of a program of ours stands beside it: written beside learned.
"""

from contextlib import suppress
from itertools import chain

from handloom.core import HandloomError, Model
from handloom.read.close_look import CloseLook
from handloom.read.overview import PATHS, Overview
from handloom.share.rows import known_task_of
from handloom.tasks import Task
from handloom.view.architecture import architecture_drawing
from handloom.view.effect_drawings import EFFECT_CARDS
from handloom.view.head_pictures import film_strip_card, heads_card
from handloom.view.pages.looms import Loom, blocks, is_lively, loom_figure
from handloom.view.pages.skeleton import figure, line, skeleton
from handloom.view.reading_cards import circuit_card
from handloom.view.run_cards import paths_card
from handloom.write import program

GRID = (
    '<p class="soft">A cell is a run on the other input with one value of the clean run: 1 restores the clean answer, '
    "0 does nothing.</p>"
)


def overview_page(found: Overview, look: CloseLook | None = None) -> str:
    """The page as text."""
    looms = looms_of(found)
    body, scripts = overview_body(found, look, loom_part(looms)), ["unpack.js"] * bool(looms)
    return skeleton(f"{found.name}: an overview", body, scripts, wide=True, data=blocks(looms))


def overview_body(found: Overview, look: CloseLook | None = None, looms: str = "") -> str:
    """What stands on the page, and in a notebook."""
    parts = [
        f'<header class="facing"><div><p class="eyebrow">handloom read</p><h1>{line(found.name)}</h1>'
        f"<p>{line(found.about)}</p></div>{figure(architecture_drawing(found.model.config))}</header>{looms}"
    ]
    parts += [heads_card(found.heads)] if found.heads else []
    if found.circuit:
        parts.append(circuit_card(found.circuit, look.method, look.scores) if look else circuit_card(found.circuit))
    parts += [f"<p>On <code>{line(found.given)}</code>:</p>{paths_card(found.paths.top(PATHS))}"] if found.paths else []
    parts += [f"{EFFECT_CARDS['Patching'](look.patching)}{GRID}"] if look and look.patching else []
    parts += [film_strip_card(look.film)] if look and look.film else []
    left_out = chain(found.left_out, look.left_out if look else ())
    return "\n".join([*parts, *(f"<p>{line(reason)}</p>" for reason in left_out)])


def looms_of(found: Overview) -> dict[str, Loom]:
    """The model, if a browser can run it, and a program that was written for its task, if it is not one itself."""
    if not is_lively(found.model):
        return {}
    known = known_task_of(found.model, None)
    task = known if isinstance(known, Task) else None
    looms = {"-read": Loom(found.name, found.model, found.given, task)}
    written = written_for(found.model)
    if written is not None:
        looms["-written"] = Loom(f"written: {found.model.notes['task']}", written, found.given, task)
    return looms


def written_for(model: Model) -> Model | None:
    """A program of ours for the task of a trained model, in the same tokens."""
    task = model.notes.get("task")
    if not isinstance(task, str) or "program" in model.notes:
        return None
    with suppress(HandloomError):
        written = program(task)
        if written.vocab.tokens == model.vocab.tokens and is_lively(written):
            return written
    return None


def loom_part(looms: dict[str, Loom]) -> str:
    """The figure, with a word on what it is."""
    if not looms:
        return ""
    if "-written" not in looms:
        return loom_figure(looms["-read"].name, "-read")
    words = "What is typed, selected or pointed at on one side is so on the other, where it exists there."
    label = "written beside learned"
    return f"<h3>Written beside learned</h3><p>{words}</p>{loom_figure(label, '-written', '-read')}"
