"""Models as the studio opens them: found by name, safely, with their task, exam and text.

A name comes from a page. It may be that of a program or of a lesson's model, or of a file or folder below the start
folder; a Python file that a model's notes name is run only if the command line named it.
"""

import re
from functools import lru_cache
from pathlib import Path
from typing import Any

from handloom.core import HandloomError, Model
from handloom.core.errors import shown
from handloom.core.finding import LAST, find, is_program
from handloom.core.registry import loaded
from handloom.read.explanation import about, example_for, question
from handloom.studio.desk import Studio
from handloom.studio.lessons.lesson import LEARNED, learned_model
from handloom.tasks import Task, task_of
from handloom.tasks.catalogue import TASKS, is_rule
from handloom.tasks.naming import python_file
from handloom.tasks.of_model import find_task_file, noted
from handloom.view.pages.live import check_lively
from handloom.view.pages.looms import Loom, known
from handloom.view.pages.model_data import packed_model

KEPT = re.compile(r"model-(\d+)\.safetensors")  # of a run
PROGRAM = re.compile(r"^\s*@(\w+\.)*program\b", re.MULTILINE)  # in front of a function of the language
LONGEST_TEXT = 200_000  # characters of a model's text that an editor takes


def open_model(studio: Studio, body: dict[str, Any]) -> dict[str, Any]:
    """A model and what a page shows of it. `model` is its name, `on` the input to begin with."""
    name = text_of(body, "model")
    model, folder = found(studio, name)
    answer = page_of(studio, name, model, folder, body.get("on"))
    answer["page"] |= {"kept": kept(studio, name, folder), "source": bool(program_file(studio, name))}
    return answer


def page_of(studio: Studio, name: str, model: Model, folder: Path | None, on: Any = None) -> dict[str, Any]:
    """A model as the loom takes it, with what it shows besides."""
    check_lively(model)
    task, why = task_in(studio, model, folder)
    given = on if isinstance(on, str) else example_for(model, task)
    shown_first = model.vocab.decode(question(task, given)) if task else given
    facts = known(Loom(name, model, shown_first, task, None, about(model)))
    facts |= {"without_exam": why, "certifiable": can_be_certified(model, task)} | studio.certificates.known(model)
    return {"model": packed_model(model), "page": facts}


def can_be_certified(model: Model, task: Task | None) -> bool:
    """Whether a certificate can be asked for: the task has right answers, in the model's tokens."""
    return task is not None and task.near is None and tuple(task.vocab.tokens) == tuple(model.vocab.tokens)


def found(studio: Studio, name: str) -> tuple[Model, Path | None]:
    """The model of that name, and its folder if it is on disk."""
    if is_program(name):
        return find(name).model, None
    if file := program_file(studio, name):
        return compiled(str(file) + name.removeprefix(name.partition(".py")[0] + ".py")), file.parent
    if name.startswith(LEARNED):
        return learned_model(name), None
    path = studio.place(name)
    if path.suffix == ".py":
        raise HandloomError(f"{shown(name)} is a Python file; name it on the command line")
    model, folder = find(path)
    return model, folder


def program_file(studio: Studio, name: str) -> Path | None:
    """The Python file with programs in it that a name such as mine.py:reverse stands for, if it may be run."""
    file = None if is_program(name) else python_file(name)
    if file is None or not studio.runs_python(path := studio.place(str(file[0]))):
        return None
    return path if PROGRAM.search(path.read_text("utf-8", "replace")) else None


@lru_cache(maxsize=8)
def compiled_as(name: str, changed: float) -> Model:
    made: Model = loaded("handloom.write.compiler:compile")(name)
    return made


def compiled(name: str) -> Model:
    """The model of a program in a user's file, compiled anew when the file has changed."""
    return compiled_as(name, Path(name.partition(".py")[0] + ".py").stat().st_mtime)


def kept(studio: Studio, name: str, folder: Path | None) -> list[dict[str, Any]]:
    """The kept models of the run that a model belongs to, in the order of their steps, and its newest last."""
    if folder is None or is_program(name) or not (folder / "run.json").is_file():
        return []
    steps = sorted((int(found[1]), path) for path in folder.iterdir() if (found := KEPT.fullmatch(path.name)))
    files = [{"step": step, "model": studio.shown(path)} for step, path in steps]
    newest = [{"step": None, "model": studio.shown(folder)}] if (folder / LAST).is_file() else []
    return [*files, *newest] if files else []


def task_in(studio: Studio, model: Model, folder: Path | None) -> tuple[Task | None, str]:
    """The model's task, None if it has none that asks questions; and, if it has one that is not run, why."""
    try:
        if (why := not_run(studio, model, folder)) is not None:
            return None, why
        known = task_of(model, folder)
    except HandloomError as error:
        return None, str(error)
    return (known, "") if isinstance(known, Task) else (None, "")


def not_run(studio: Studio, model: Model, folder: Path | None) -> str | None:
    """Why the model's task is not asked for, if it is code that the command line did not name."""
    names = noted(model)
    if "compiled" in model.notes or names is None:
        return None
    name, more = names
    if more or name.partition(":")[0] in TASKS or is_rule(name) or is_program(name):
        return None
    file, _ = find_task_file(name, folder)
    if file.suffix != ".py" or studio.runs_python(file):
        return None
    return f"its task is code, {file.name}, which the studio runs only if the command line names it"


def text_of(body: dict[str, Any], name: str) -> str:
    """A text that a request must have."""
    value = body.get(name)
    if not isinstance(value, str) or not value:
        raise HandloomError(f"{name} is missing (expected a text); send it")
    return value
