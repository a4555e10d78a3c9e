"""Live pages for tests, made of what `handloom page` makes them of."""

from handloom.core import Model
from handloom.read.explanation import Explanation
from handloom.share.rows import known_task_of
from handloom.tasks import Certificate, Task
from handloom.view.pages import live

CERTIFICATE = Certificate("proof", 10**6, True, 0.5, "float64", how="by hand")


def live_page(model: Model, on: str, certificate: Certificate | None = None, name: str = "model") -> str:
    """The page of a model as text. Nothing is certified for it: that takes longer than a test may."""
    task = known_task_of(model, None)
    known = Explanation.__new__(Explanation)
    given = {"name": name, "about": "", "model": model, "task": task if isinstance(task, Task) else None}
    for field, value in {**given, "certificate": certificate, "given": on}.items():
        object.__setattr__(known, field, value)
    return live.live_page(known)
