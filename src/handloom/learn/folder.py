"""The folder of a run: all there is to know of it, and all that is needed to go on.

    run.json                  task, model, settings, versions
    model.safetensors         the model as it is now, a model file as any other
    best.safetensors          the model when its held-out loss was lowest
    checkpoint.safetensors    weights, AdamW's moments and where the run stands, in one file: from it the run goes on
    metrics.jsonl             one line an evaluation
    model-15000.safetensors   models that were kept on the way
    strings.txt, task.py      a copy of the user's own file, if the task is one; beside task.py, the files it imports

Every file is written beside its place and moved there, so that a run that is killed has its last whole checkpoint.
"""

import json
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import chain, count
from pathlib import Path
from typing import Any

from handloom.core import HandloomError
from handloom.core.files import one_line, what_is, write_atomically
from handloom.learn.network import Arrays
from handloom.tasks.catalogue import is_rule, users_file
from handloom.tasks.user_file import files_beside

RUNS = Path("runs")  # where runs are, unless told
METRICS = "metrics.jsonl"
COPIES = ("strings.txt", "task.py")  # what a copy of the user's file is called
OURS = ["*.safetensors", "*.jsonl", "run.json", "state.json", "problem.py", "events.out.tfevents.*", *COPIES]


class Folder:
    """A run's folder, new or old."""

    def __init__(self, path: Path, made: Sequence[Path] = ()) -> None:
        self.path, self.made = path, made  # it, and those it is in, as far as they were not there

    @classmethod
    def new(cls, path: Path | None, name: str, resume: str = "resume") -> "Folder":
        """An empty folder at that path, or else the next free one for that name under runs/. `resume` is the command
        that goes on with one that is there."""
        try:
            return cls(*(next_free(name) if path is None else (path, empty(path, resume))))
        except OSError as error:
            raise HandloomError(f"cannot make the folder {path or RUNS}: {error.strerror}") from error

    @classmethod
    def old(cls, path: Path) -> "Folder":
        if what_is(path) != "folder" or what_is(path / "run.json") != "file":
            raise HandloomError(f"{path} is not the folder of a run (it has no run.json); handloom learn makes one")
        return cls(path)

    def copy(self, data: bytes, name: str) -> str:
        """Keep the user's own file, so that the run does not depend on it; the copy's name in the folder."""
        write_atomically(self.path / name, data)
        return name

    def copy_python(self, path: Path, name: str) -> str:
        """The same for a Python file; the files beside it that it imports keep their names."""
        beside = files_beside(path)
        if Path(name) in beside:
            raise HandloomError(
                f"{path} imports {name}, which is what its own copy in a run is called; rename that file"
            )
        for file in beside:
            (self.path / file).parent.mkdir(parents=True, exist_ok=True)
            self.copy((path.parent / file).read_bytes(), str(file))
        return self.copy(path.read_bytes(), name)

    def write_about(self, about: dict[str, Any]) -> None:
        write_atomically(self.path / "run.json", (json.dumps(about, indent=2) + "\n").encode())

    def about(self) -> dict[str, Any]:
        try:
            about = json.loads((self.path / "run.json").read_text("utf-8"))
            if isinstance(about, dict) and "problem" in about:
                raise HandloomError(
                    f"{self.path} is a run of discover, not of learn; handloom discover --resume {self.path} goes on"
                    f" with it, handloom run {self.path} lets its model speak"
                )
            if not isinstance(about, dict) or not {"task", "network", "settings"} <= set(about):
                raise ValueError("it has no task, network or settings")
            if not isinstance(about["task"], str | None) or "kind" not in dict(about["network"]):
                raise ValueError("its task must be text, and its network have a kind")
            return about
        except HandloomError:
            raise
        except (OSError, ValueError, TypeError, RecursionError) as error:
            raise HandloomError(f"{self.path / 'run.json'} is damaged: {one_line(error)}; begin a new run") from error

    def write_checkpoint(self, arrays: Arrays, where: dict[str, Any]) -> None:
        from safetensors.numpy import save

        write_atomically(self.path / "checkpoint.safetensors", save(arrays, {"where": json.dumps(where)}))

    def checkpoint(self) -> tuple[Arrays, dict[str, Any]] | None:
        """What was saved last, if anything was."""
        from safetensors import SafetensorError, safe_open

        path = self.path / "checkpoint.safetensors"
        if what_is(path) != "file":
            return None
        try:
            with safe_open(path, framework="numpy") as file:
                where = json.loads(file.metadata()["where"])
                return {name: file.get_tensor(name) for name in file.keys()}, where  # noqa: SIM118
        except (OSError, SafetensorError, ValueError, KeyError, TypeError) as error:
            raise HandloomError(f"{path} is damaged: {one_line(error)}; begin a new run") from error

    def append(self, line: dict[str, Any], name: str = METRICS) -> None:
        """A line more in a file of JSON lines."""
        try:
            with open(self.path / name, "a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
        except OSError as error:
            raise HandloomError(f"cannot write {self.path / name}: {error.strerror}") from error

    def lines(self, name: str = METRICS) -> list[dict[str, Any]]:
        """The lines so far; a last one that was cut off is left out."""
        path = self.path / name
        lines = path.read_bytes().splitlines() if path.exists() else []
        found = []
        for number, line in enumerate(lines, 1):
            try:
                found.append(json.loads(line))
            except (ValueError, RecursionError) as error:
                if number < len(lines):
                    raise HandloomError(f"{path}, line {number}, is damaged: {one_line(error)}; take it out") from error
        if not all(isinstance(line, dict) for line in found):
            raise HandloomError(f"{path} is damaged: each line must be a JSON object; take out those that are not")
        return found

    def rewrite(self, lines: Iterable[dict[str, Any]], name: str = METRICS) -> None:
        """The file with these lines: what came after the last checkpoint will come again."""
        write_atomically(self.path / name, "".join(json.dumps(line) + "\n" for line in lines).encode())

    def remove(self) -> None:
        """Leave nothing behind of a run that never began: no file that is a run's, no folder that was made for it."""
        beside = [self.path / file for name in ("task.py", "problem.py") for file in files_beside(self.path / name)]
        for file in {*beside, *chain.from_iterable(self.path.glob(name) for name in OURS)}:
            file.unlink()
        packages = {file.parent for file in beside} - {self.path}
        with suppress(OSError):  # somebody else has put something there
            for folder in [*sorted(packages, reverse=True), *self.made]:
                folder.rmdir()


def next_free(name: str) -> tuple[Path, Sequence[Path]]:
    """A new folder: runs/strings-1 for the first run of a task of that name, runs/strings-2 for the second, …; and
    all folders that were made for it."""
    file = users_file(name)
    known = "strings" if is_rule(name) else (file[0] if file else Path(name.partition(":")[0])).stem
    words = re.findall(r"[A-Za-z0-9]+", known) or ["run"]
    for number in count(1):
        path = RUNS / f"{'-'.join(words)}-{number}"
        new = missing(path)
        try:
            path.mkdir(parents=True)
            return path, new
        except FileExistsError:  # of an earlier run, or of one that begins at the same time
            if not path.exists():
                raise
    raise AssertionError("there is always a number more")


def missing(path: Path) -> list[Path]:
    """Of a path and the folders it is in, from the inside out, those that are not there."""
    return [folder for folder in (path, *path.parents) if not folder.exists()]


def empty(path: Path, resume: str) -> Sequence[Path]:
    """A folder at that path, with nothing in it; all folders that were made for it."""
    if what_is(path) == "file" or (what_is(path) == "folder" and any(path.iterdir())):
        go_on = f", or go on with handloom {resume} {path}" if what_is(path / "run.json") == "file" else ""
        raise HandloomError(f"{path} is there already; name another folder{go_on}")
    new = missing(path)
    path.mkdir(parents=True, exist_ok=True)
    return new
