"""A page in which a model stays alive: the model, an engine that runs it, and the loom that shows it compute.

    page("addition", on="865+230=").save("addition.html")      # hl.page

The page is one file that works offline. It holds the model as `model_data.py` packs it, the text to show first, the
certificate in its own words, and an exam: inputs of the model's task with their right answers, on which a changed model
is judged while it is being changed. `web/` has the sources of what runs in it.
"""

import gzip
import os
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from handloom.core import HandloomError, Model, count, params
from handloom.core.files import check_place, check_suffix, write_atomically
from handloom.core.finding import find
from handloom.read.explanation import Explanation, explain, question
from handloom.tasks import Certificate, Task
from handloom.tasks.certify import answered, some_inputs
from handloom.tasks.task import Ids
from handloom.view.pages.model_data import model_json, safe_json
from handloom.view.pages.skeleton import asset, skeleton

EXAM, HARD = 200, 50  # questions, and how many of them may be of the task's hard ones
DRAWS = 4  # per question, since some inputs are drawn again
MOST_WEIGHTS, MOST_POSITIONS = 5_000_000, 512  # beyond these a browser takes seconds for one run
ENDINGS = (".html", ".htm")


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


def page(model: Model | str | os.PathLike[str], on: str | None = None) -> Page:
    """A page in which a model stays alive: type an input, see it compute, change a weight, take a head out. `model` is
    a Model, or the name of a program, a file or a run. `on` is the input that is shown first, by default one of the
    model's task; the page answers it itself, so that the beginning of an answer behind it is left out."""
    found, folder = find(model)
    check_lively(found)
    return Page(live_page(explain(named(model, found), found, on, folder=folder)))


def named(model: Model | str | os.PathLike[str], found: Model) -> str:
    """What to call a model: the name it was found by, or what its notes say."""
    if isinstance(model, Model):
        return str(found.notes.get("program") or found.notes.get("task") or "a model")
    return str(model)


def check_lively(model: Model) -> None:
    """Raise an error for a model that a browser would take too long to run."""
    config, weights = model.config, params.size(model.config)
    if weights > MOST_WEIGHTS or config.block > MOST_POSITIONS:
        raise HandloomError(
            f"a page is for models of up to {MOST_WEIGHTS:,} weights and {MOST_POSITIONS} positions, and this one has "
            f"{weights:,} and {config.block:,}; choose a smaller one"
        )


def live_page(e: Explanation) -> str:
    """The page of an explained model as text."""
    packed = b64encode(gzip.compress(asset("live.js").encode(), mtime=0)).decode()
    data = {
        "model": model_json(e.model),
        "page": safe_json(page_facts(e.name, e.about, e.model, e.task, e.given, e.certificate)),
        "packed": packed,
    }
    return skeleton(e.name, '<main data-loom="model page"></main>', ["unpack.js"], live=True, data=data)


def page_facts(
    name: str, about: str, model: Model, task: Task | None, given: str, certificate: Certificate | None
) -> dict[str, Any]:
    """What a page knows besides the model."""
    sizes = count(model)
    return {
        "name": name,
        "about": about,
        "on": model.vocab.decode(question(task, given)) if task else given,
        "sizes": {"total": sizes.total, "nonzero": sizes.nonzero, "unique": sizes.unique},
        "certificate": certificate and {"text": str(certificate), "method": certificate.method},
        "takes": task.takes if task else None,
        "exam": exam_of(model, task, given) if task else [],
    }


def exam_of(model: Model, task: Task, given: str) -> list[tuple[Ids, Ids]]:
    """Different inputs with their answers, which fit into the model's block: the one that is shown first, if it is an
    input, some hard ones, and random ones. A task that accepts several answers has none: the page knows only what it
    is told."""
    if task.near is not None:
        return []
    rng, shown = np.random.default_rng(0), model.vocab.encode(given)
    hard, drawn = islice(some_inputs(task), HARD), islice(random_inputs(task, rng), DRAWS * EXAM)
    first = [shown] if task.oracle(shown) is not None else []
    different = dict.fromkeys(tuple(prompt) for prompt in chain(first, hard, drawn))
    asked = (([*prompt], answered(task, [*prompt])) for prompt in different)
    fitting = ((prompt, answer) for prompt, answer in asked if len(prompt) + len(answer) - 1 <= model.config.block)
    return list(islice(fitting, EXAM))


def random_inputs(task: Task, rng: np.random.Generator) -> Iterator[Ids]:
    while True:
        yield task.draw(rng)
