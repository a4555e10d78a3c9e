"""Live pages for tests, made of what `handloom page` makes them of."""

from handloom.core import Model
from handloom.share.rows import known_task_of
from handloom.tasks import Certificate, Task
from handloom.view.pages import live
from handloom.view.pages.looms import Loom

CERTIFICATE = Certificate("proof", 10**6, True, 0.5, "float64", how="by hand")


def loom(model: Model, on: str, certificate: Certificate | None = None, name: str = "model") -> Loom:
    """The loom of a model. Nothing is certified for it: that takes longer than a test may."""
    task = known_task_of(model, None)
    return Loom(name, model, on, task if isinstance(task, Task) else None, certificate)


def live_page(model: Model, on: str, certificate: Certificate | None = None, name: str = "model") -> str:
    """The page of a model as text."""
    return live.live_page(loom(model, on, certificate, name))
