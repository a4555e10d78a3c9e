"""A task that a user has written: a Python file that defines `task`. The file is run, as its user wants."""

import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

from handloom.core import HandloomError
from handloom.core.errors import shown
from handloom.tasks.language import Language
from handloom.tasks.naming import given
from handloom.tasks.task import Task

WANTED = "define task, a Task or a Language, or a function task() that makes one, as examples/task.py does"


def user_task(path: Path, text: str, beside: dict[str, Any]) -> Task | Language:
    """What the file's `task` is, or makes when it is called with the parameters in the text and those beside it."""
    module = ModuleType(path.stem)
    module.__file__ = str(path)
    try:
        exec(compile(path.read_bytes(), str(path), "exec"), module.__dict__)
    except (Exception, SystemExit) as error:
        raise HandloomError(told(path, error)) from error
    task = vars(module).get("task")
    if isinstance(task, Task | Language):
        if text or beside:
            raise HandloomError(f"{path}: its task takes no parameters; make it a function to have some")
        return task
    if not callable(task):
        raise HandloomError(f"{path}: there is no task in it; {WANTED}")
    values = given(str(path), task, text, beside)
    try:
        made = task(**values)
    except (Exception, SystemExit) as error:
        raise HandloomError(told(path, error)) from error
    if not isinstance(made, Task | Language):
        raise HandloomError(f"{path}: task() gave {shown(made)}; it must give a Task or a Language")
    return made


def told(path: Path, error: BaseException) -> str:
    """What went wrong, in one line: the file, the line of it where it happened, and what Python says."""
    if isinstance(error, SyntaxError) and error.filename == str(path):
        line, says = error.lineno, error.msg
    else:
        places = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
        line, says = (places[-1] if places else None), " ".join(str(error).split())
    kind = "" if isinstance(error, HandloomError) else f"{type(error).__name__}: "
    return f"{path}{f', line {line}' if line else ''}: {kind}{says[:200]}"
