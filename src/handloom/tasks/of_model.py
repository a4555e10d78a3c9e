"""Which task a model is for. Its notes say so, whoever made it: `"task": "addition:digits=3"`.

    >>> from handloom.core.registry import offered
    >>> adder = offered("program")("addition:digits=2")
    >>> adder.notes["task"], task_of(adder).answer("45+78=")
    ('addition:digits=2', '123')

A task from a user's own file is noted by the file's name, and looked for beside the model's file; if it is not the
copy that a run keeps, which is called the same in all runs, also in the current folder. Notes may come from anyone:
they can name a task of the catalogue, or a file that is there, and nothing else.
"""

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from handloom.core import HandloomError
from handloom.core.decoding import Speaker
from handloom.core.errors import shown
from handloom.core.files import what_is
from handloom.core.finding import is_program
from handloom.core.registry import offered
from handloom.tasks.catalogue import TASKS, from_file, is_rule, resolve
from handloom.tasks.language import Language
from handloom.tasks.task import Task

COPIES = ("task.py", "strings.txt")  # what a run calls its copy of the user's file
PROBLEM = "discover/"  # in front of the problem that a model of a discovery was trained for

Noted = tuple[str, tuple[tuple[str, Any], ...]]  # a name, and parameters besides those in it


def task_of(model: Speaker, path: str | os.PathLike[str] | None = None) -> Task | Language | None:
    """The task that a model is for, as its notes say; None if they do not. `path` is the model's file or folder, where
    a task of one's own is looked for. A task that is noted and cannot be had is an error."""
    folder = None if path is None else Path(path) if what_is(Path(path)) == "folder" else Path(path).parent
    found = noted(model, folder)
    if found is None:
        return None
    name, parameters = found
    try:
        return from_catalogue(name, parameters) if parameters else task_of_name(name, folder)
    except HandloomError as error:
        raise HandloomError(f"the task that the model's notes name: {error}") from error


def task_of_name(name: str, folder: Path | None) -> Task | Language:
    """The task that a model's notes, or a run's, name; a file is looked for in that folder."""
    if name.partition(":")[0] in TASKS or is_rule(name) or is_program(name):
        return from_catalogue(name)
    if name.startswith(PROBLEM):
        raise HandloomError(
            f"{shown(name.removeprefix(PROBLEM))} is a problem of discovery, whose constructions have scores and "
            "not right answers; name a task to hold the model against"
        )
    return from_file(*find_task_file(name, folder))


def noted(model: Speaker, folder: Path | None = None) -> Noted | None:
    """The name of a model's task. Before it was noted, the program was, or the problem; or the run's folder had it."""
    notes = model.notes
    if isinstance(name := notes.get("task"), str):
        return name, ()
    if isinstance(problem := notes.get("for"), str) and "tokens" in notes:
        return PROBLEM + problem, ()
    if isinstance(program := notes.get("program"), str) and isinstance(given := notes.get("parameters"), dict):
        with suppress(HandloomError):
            task, values = offered("task_of_program")(program, given)
            return task, tuple(values.items())
    if folder and (name := task_in_run(folder)):
        return name, ()
    return None


def task_in_run(folder: Path) -> str | None:
    """The task that the run in a folder names, if there is one."""
    try:
        about = json.loads((folder / "run.json").read_bytes())
        return about["task"] if isinstance(about["task"], str) else None
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None


def find_task_file(name: str, folder: Path | None) -> tuple[Path, str]:
    """A user's own file that a note names, beside the model or else where we are, and the parameters behind it."""
    file, _, parameters = name.partition(":")
    if Path(file).name == file and file not in ("", ".."):
        here = [] if file in COPIES else [Path()]  # what lies around under such a name is of another run
        for place in ([folder] if folder else []) + here:
            if what_is(place / file) == "file":
                return place / file, parameters
    raise HandloomError(
        f"no task and no file {shown(name)} is here or beside the model; name the task, with its folder"
    )


@lru_cache(maxsize=16)
def from_catalogue(name: str, parameters: tuple[tuple[str, Any], ...] = ()) -> Task | Language:
    found = resolve(name, {key: value for key, value in parameters if value is not None})
    assert found is not None
    known, values = found
    made: Task | Language = TASKS[known].make(**values)
    return made


def check_inputs(model: Speaker, texts: Sequence[str]) -> None:
    """Refuse texts that the model's task does not take. A model whose task asks no questions, is not known, or is in a
    user's own file, which is not run for this, takes any text."""
    task = asked_of(model)
    if task is not None:
        for text in texts:
            task.check(text)


def asked_of(model: Speaker) -> Task | None:
    """The Task of the catalogue that a model is for, if it has the model's tokens. (A model that sees both ways has a
    token more.)"""
    found = noted(model)
    if found is None or found[0].partition(":")[0] not in TASKS:
        return None
    try:
        task = from_catalogue(*found)
    except HandloomError:
        return None  # a file may note anything
    if isinstance(task, Task) and model.vocab.tokens[: len(task.vocab)] == task.vocab.tokens:
        return task
    return None
