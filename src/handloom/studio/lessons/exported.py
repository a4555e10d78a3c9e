"""A lesson as one page that works offline: its text, its models, and the loom.

lesson_page("addition").save("addition.html")
"""

from functools import cache
from typing import Any

from handloom.core import Model
from handloom.core.finding import find
from handloom.core.registry import offered
from handloom.read.explanation import about, example_for
from handloom.studio.lessons.lesson import LEARNED, learned_model, lesson
from handloom.tasks import Certificate, Task, certify, task_of
from handloom.tasks.certify import proven
from handloom.view.pages.live import Page
from handloom.view.pages.looms import Loom, known, packed_script
from handloom.view.pages.model_data import packed_model, safe_json
from handloom.view.pages.skeleton import line, skeleton

FEW = 1_000  # inputs
LESSON = "lesson/"  # in front of the name of a lesson, where models are named too


def lesson_page(name: str) -> Page:
    """The page of a lesson."""
    chosen = lesson(name)
    models = {one: packed(one, on, certified(one)) for one, on in chosen.models().items()}
    data = {"lesson": safe_json({"lesson": chosen.to_json(), "models": models}), "packed": packed_script()}
    main = f'<main data-lesson="lesson" aria-label="{line(chosen.title)}"></main>'
    return Page(skeleton(chosen.title, main, ["unpack.js"], live=True, data=data))


def packed(name: str, on: str | None, certificate: Certificate | None = None) -> dict[str, Any]:
    """A model of a lesson as a page takes it. It begins with the first input that the lesson gives it."""
    model = model_of(name)
    task = task_of(model)
    asks = task if isinstance(task, Task) else None
    given = example_for(model, asks) if on is None else on
    return {"model": packed_model(model), "page": known(Loom(name, model, given, asks, certificate, about(model)))}


@cache
def certified(name: str) -> Certificate | None:
    """The proof that a program has, checked now, which takes seconds; or a certificate of all inputs, if they are few.
    Of other models there is none: that some inputs are right is what the exam says."""
    model = model_of(name)
    task, prove = task_of(model), offered("prover_of")(model)
    if not isinstance(task, Task):
        return None
    if prove:
        return proven(prove, model, task.count, None)
    return certify(model) if task.count is not None and task.count <= FEW else None


def model_of(name: str) -> Model:
    """A model that a lesson shows: a program, or one of its trained ones."""
    return learned_model(name) if name.startswith(LEARNED) else find(name).model
