"""Which Python files a job may run: those that the studio's user has named, and copies of them that runs keep.

A task, a problem, a run and the notes of a model can all name a Python file, and to use it is to run it. So each name
is checked before anything is loaded.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from handloom.core.errors import HandloomError
from handloom.core.finding import is_program
from handloom.discover.catalogue import PROBLEMS
from handloom.runs.folder import PROBLEM_COPY, Folder
from handloom.tasks.catalogue import TASKS, is_rule, users_file
from handloom.tasks.naming import python_file
from handloom.tasks.of_model import PROBLEM, find_task_file
from handloom.tasks.user_file import files_beside

Files = Sequence[str]


def check_file(path: Path, files: Files) -> None:
    """Raise an error for a Python file that is not one of these, nor the same code in another place."""
    if path.suffix != ".py":
        return
    known = [Path(file) for file in files]
    if not any(path.resolve() == file.resolve() or code_of(path) == code_of(file) for file in known):
        raise HandloomError(
            f"{path}: a Python file that the studio may not run (expected one that was named when it was started); "
            f"start it with this file"
        )


def code_of(path: Path) -> tuple[bytes, dict[Path, bytes]]:
    """A file's contents, and those of the files beside it that it imports."""
    if not path.is_file():
        return b"", {}
    return path.read_bytes(), {file: (path.parent / file).read_bytes() for file in files_beside(path)}


def check_task(name: str, files: Files) -> None:
    """Of a task."""
    if file := users_file(name):
        check_file(file[0], files)


def check_problem(name: str, files: Files) -> None:
    """Of a problem."""
    if name.partition(":")[0] not in PROBLEMS and (file := python_file(name)):
        check_file(file[0], files)


def check_noted(name: Any, folder: Path | None, files: Files) -> None:
    """Of the task that a run, or a model's notes, name; its file may be in that folder."""
    if not isinstance(name, str) or name.partition(":")[0] in TASKS or name.startswith(PROBLEM):
        return
    if not is_rule(name) and not is_program(name):
        check_file(find_task_file(name, folder)[0], files)


def check_run(path: Path, files: Files) -> dict[str, Any]:
    """Of a run of either kind; what its run.json says."""
    about = Folder.open(path).about()
    if about["kind"] == "learn":
        check_noted(about.get("task"), path, files)
    elif isinstance(asked := about.get("asked"), str):
        check_problem(str(path / asked) if asked.startswith(PROBLEM_COPY) else asked, files)
    return about
