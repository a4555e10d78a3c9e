"""An overview of a model as one page: its heads by name, its circuit as a graph, and the largest paths to an answer."""

from handloom.read.overview import PATHS, Overview
from handloom.view.architecture import architecture_drawing
from handloom.view.head_pictures import heads_card
from handloom.view.pages.skeleton import figure, line, skeleton
from handloom.view.reading_cards import circuit_card
from handloom.view.run_cards import paths_card


def overview_page(found: Overview) -> str:
    """The page as text."""
    return skeleton(f"{found.name}: an overview", overview_body(found), wide=True)


def overview_body(found: Overview) -> str:
    parts = [
        f'<header class="facing"><div><p class="eyebrow">handloom read</p><h1>{line(found.name)}</h1>'
        f"<p>{line(found.about)}</p></div>{figure(architecture_drawing(found.model.config))}</header>"
    ]
    parts += [heads_card(found.heads)] if found.heads else []
    parts += [circuit_card(found.circuit)] if found.circuit else []
    parts += [f"<p>On <code>{line(found.given)}</code>:</p>{paths_card(found.paths.top(PATHS))}"] if found.paths else []
    return "\n".join([*parts, *(f"<p>{line(reason)}</p>" for reason in found.left_out)])
