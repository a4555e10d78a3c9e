"""Holding a model against its task, as a job. It can be halted: then it says nothing about the model."""

from handloom.core.finding import find
from handloom.studio.allowed import check_noted
from handloom.studio.worker import Halt, Pace, Spec, Tell, words
from handloom.tasks.certify import certify as check
from handloom.tasks.of_model import noted


class Halted(BaseException):
    """Out of the middle of a check. It is no error, and nothing that a task's own function raises."""


def certify(spec: Spec, tell: Tell, halt: Halt) -> None:
    """The certificate, and its text."""
    name, pace = words(spec, "model"), Pace()
    model, folder = find(name)
    if task := noted(model):
        check_noted(task[0], folder, spec["files"])
    tell("begun", title=name, task=task and task[0], folder=None, settings={}, config=model.config.to_json())

    def progress(done: int, most: int) -> None:
        if halt.asked:
            raise Halted
        if pace.is_due():
            tell("progress", done=done, most=most)

    try:
        certificate = check(name if folder else model, samples=spec.get("samples"), progress=progress)
    except Halted:
        tell("done", halted=True, text=f"{name}: stopped, so that nothing is known")
    else:
        tell("done", halted=False, text=str(certificate), certificate=certificate.to_json())
