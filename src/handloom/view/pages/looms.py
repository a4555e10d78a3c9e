"""Looms of a page: models that compute in it, each in a place of its own, with one script for all of them.

    looms = {"-hero": loom_of(explain("addition", program("addition")))}
    skeleton("A title", loom_figure("addition, computing", "-hero"), ["unpack.js"], data=blocks(looms))

A page holds two blocks of JSON for each model: `model-hero`, the model as `model_data.py` packs it, and `page-hero`,
what the page knows besides: the input to show first, the certificate in its own words, and an exam, inputs of the
model's task with their right answers, on which a changed model is judged while it is being changed. `web/page.js`
mounts them.
"""

import gzip
from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import chain, islice
from typing import Any

import numpy as np

from handloom.core import Model, count, params
from handloom.read.explanation import Explanation, question
from handloom.tasks import Certificate, Task
from handloom.tasks.certify import answered, some_inputs
from handloom.tasks.task import Ids
from handloom.view.pages.model_data import model_json, safe_json
from handloom.view.pages.skeleton import asset, line

EXAM, HARD = 200, 50  # questions, and how many of them may be of the task's hard ones
DRAWS = 4  # per question, since some inputs are drawn again
MOST_WEIGHTS, MOST_POSITIONS = 5_000_000, 512  # beyond these a browser takes seconds for one run


@dataclass(frozen=True)
class Loom:
    """A model, what is known of it, and the input that is shown first."""

    name: str
    model: Model
    on: str
    task: Task | None = None
    certificate: Certificate | None = None
    about: str = ""


def loom_of(e: Explanation) -> Loom:
    """The loom of an explained model, on its example without the beginning of an answer: the page answers itself."""
    on = e.model.vocab.decode(question(e.task, e.given)) if e.task else e.given
    return Loom(e.name, e.model, on, e.task, e.certificate, e.about)


def is_lively(model: Model) -> bool:
    """Whether a browser can run a model while one looks."""
    return params.size(model.config) <= MOST_WEIGHTS and model.config.block <= MOST_POSITIONS


def loom_page(first: str, beside: str = "", loom: str = "") -> str:
    """The whole of a page: one loom, or two side by side. `loom` and `beside` end the names of their blocks."""
    return f"<main {places(loom, beside)} aria-label={quoted(first)}></main>"


def loom_figure(label: str, loom: str, beside: str = "") -> str:
    """A loom, or two side by side, as a figure of an article."""
    waiting = '<p class="waiting">This figure computes in your browser, with JavaScript.</p>'
    return f'<div class="loom-figure" role="group" {places(loom, beside)} aria-label={quoted(label)}>{waiting}</div>'


def places(loom: str, beside: str) -> str:
    """The attributes that name the blocks of one model or two."""
    second = f' data-beside="model{beside} page{beside}"' if beside else ""
    return f'data-loom="model{loom} page{loom}"{second}'


def quoted(label: str) -> str:
    return f'"{line(label)}"'


def blocks(looms: Mapping[str, Loom]) -> dict[str, str]:
    """The blocks of a page with these looms, and the script that runs them; nothing without any."""
    found = {f"model{end}": model_json(loom.model) for end, loom in looms.items()}
    found |= {f"page{end}": safe_json(known(loom)) for end, loom in looms.items()}
    return found | ({"packed": packed_script()} if looms else {})


@cache
def packed_script() -> str:
    return b64encode(gzip.compress(asset("live.js").encode(), mtime=0)).decode()


def known(loom: Loom) -> dict[str, Any]:
    """What the page knows besides the model."""
    sizes, certificate = count(loom.model), loom.certificate
    return {
        "name": loom.name,
        "about": loom.about,
        "on": loom.on,
        "sizes": {"total": sizes.total, "nonzero": sizes.nonzero, "unique": sizes.unique},
        "certificate": None if certificate is None else {"text": str(certificate), "method": certificate.method},
        "takes": loom.task.takes if loom.task else None,
        "exam": exam_of(loom.model, loom.task, loom.on) if loom.task else [],
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
