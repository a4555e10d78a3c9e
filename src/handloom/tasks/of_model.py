"""Which task a model is for. Its notes name it, whoever made it: `"task": "addition:digits=3"`.

    >>> from handloom.core.registry import offered
    >>> adder = offered("program")("addition:digits=2")
    >>> adder.notes["task"], task_of(adder).answer("45+78=")
    ('addition:digits=2', '123')

A compiled program is in the notes itself, as data. A task from a user's own file is noted by the file's name. The file
is looked for beside the model's file, and also in the current folder, unless it is the copy that a run keeps, which has
the same name in all runs. Notes may come from anyone: they can name a task of the catalogue, or an existing file, or
hold a compiled program, and nothing else.
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from handloom.core import HandloomError, Model
from handloom.core.decoding import LanguageModel
from handloom.core.errors import shown
from handloom.core.files import what_is
from handloom.core.finding import is_program
from handloom.core.registry import offered
from handloom.tasks.catalogue import TASKS, from_file, is_rule, task
from handloom.tasks.language import Language
from handloom.tasks.task import Task

COPIES = ("task.py", "strings.txt")  # what a run calls its copy of the user's file
PROBLEM = "discover/"  # in front of the problem that a model of a discovery was trained for

Noted = tuple[str, tuple[tuple[str, Any], ...]]  # a name, and parameters besides those in it


def task_of(model: LanguageModel, path: str | os.PathLike[str] | None = None) -> Task | Language | None:
    """The task that a model's notes name, or hold as data; None if there is none. `path` is the model's file or folder,
    where a user's own task is looked for. A task that is named and cannot be found is an error."""
    folder = None if path is None else Path(path) if what_is(Path(path)) == "folder" else Path(path).parent
    try:
        if (compiled := compiled_task(model)) is not None:
            return compiled
        found = noted(model)
        if found is None:
            return None
        name, parameters = found
        return known_task(name, parameters) if parameters else task_of_name(name, folder)
    except HandloomError as error:
        raise HandloomError(f"the task that the model's notes name: {error}", error.remedy) from error


def task_of_name(name: str, folder: Path | None) -> Task | Language:
    """The task that a model's notes, or a run's, name; a file is looked for in that folder."""
    if name.partition(":")[0] in TASKS or is_rule(name) or is_program(name):
        return known_task(name)
    if name.startswith(PROBLEM):
        raise HandloomError(
            f"{shown(name.removeprefix(PROBLEM))} is a problem of discovery, whose constructions have scores and "
            "not right answers; name a task to hold the model against",
            ("name task", ""),
        )
    return from_file(*find_task_file(name, folder))


def noted(model: LanguageModel) -> Noted | None:
    """The name of a model's task. A program whose task has parameters that no name can hold, such as a message with
    ",message=" in it, notes only itself."""
    notes = model.notes
    if isinstance(name := notes.get("task"), str):
        return name, ()
    if isinstance(program := notes.get("program"), str) and isinstance(given := notes.get("parameters"), dict):
        with suppress(HandloomError):
            known, values = offered("task_of_program")(program, given)
            return known, tuple((key, value) for key, value in values.items() if value is not None)
    return None


def find_task_file(name: str, folder: Path | None) -> tuple[Path, str]:
    """The user's own file that a note names, beside the model or in the current folder, and the parameters behind
    it."""
    file, _, parameters = name.partition(":")
    if Path(file).name == file and file not in ("", ".."):
        here = [] if file in COPIES else [Path()]  # another run's copy may lie around under such a name
        for place in ([folder] if folder else []) + here:
            if what_is(place / file) == "file":
                return place / file, parameters
    raise HandloomError(
        f"no task and no file {shown(name)} is here or beside the model; name the task, with its folder"
    )


@lru_cache(maxsize=16)
def known_task(name: str, parameters: tuple[tuple[str, Any], ...] = ()) -> Task | Language:
    """A task of the catalogue, kept in memory: one that checks inputs is needed for every text."""
    return task(name, **dict(parameters))


def compiled_task(model: LanguageModel) -> Task | None:
    """The task of a compiled program, which is in the model's notes as data; None if it is not compiled."""
    return stored_task(model) if isinstance(model, Model) and "compiled" in model.notes else None


@lru_cache(maxsize=4)
def stored_task(model: Model) -> Task:
    found: Task = offered("stored_task")(model)
    return found


def check_inputs(model: LanguageModel, texts: Sequence[str]) -> None:
    """Raise an error for a text that is not an input of the model's task. A model takes any text if its task is a
    Language, is not known, or is in a user's own file, which is not run for this."""
    checking = checking_task(model)
    if checking is not None:
        for text in texts:
            checking.check(text)


def checking_task(model: LanguageModel) -> Task | None:
    """The Task of the catalogue that a model is for, if it has the model's tokens. (A masked model has one more.)"""
    try:
        if (compiled := compiled_task(model)) is not None:
            return compiled
        found = noted(model)
        if found is None or found[0].partition(":")[0] not in TASKS:
            return None
        known = known_task(*found)
    except HandloomError:
        return None  # a file may note anything
    if isinstance(known, Task) and model.vocab.tokens[: len(known.vocab)] == known.vocab.tokens:
        return known
    return None
