"""The folder of a run: all there is to know of it, and all that is needed to go on.

    run.json                  task, model, settings, versions
    model.safetensors         the model as it is now, a model file as any other
    best.safetensors          the model when its held-out loss was lowest
    checkpoint.safetensors    weights, AdamW's moments and where the run stands, in one file: from it the run goes on
    metrics.jsonl             one line an evaluation
    model-15000.safetensors   models that were kept on the way
    strings.txt, task.py      a copy of the user's own file, if the task is one; beside task.py, the files it imports

Every file is written beside its place and moved there, so that a run that is killed has its last whole checkpoint. Each
has a digest of what it holds, that of run.json also covers the copy of the user's file: what was damaged is refused.
Files of older versions, which have none, are read as they are.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import chain, count
from pathlib import Path
from typing import Any

import numpy as np

from handloom.core import HandloomError
from handloom.core.arrays import Arrays
from handloom.core.files import digest, one_line, what_is, write_atomically
from handloom.learn.lock import LOCK, Lock
from handloom.tasks.catalogue import is_rule, users_file
from handloom.tasks.user_file import files_beside

RUNS = Path("runs")  # where runs are, unless told
METRICS = "metrics.jsonl"
CHECKPOINT = "checkpoint.safetensors"
COPIES = ("strings.txt", "task.py")  # what a copy of the user's file is called
PROBLEM = "problem.py"  # and in a run of discover
FIRST = {LOCK, "run.json", PROBLEM, *COPIES}  # what is there before the first checkpoint
OURS = ["*.safetensors", "*.jsonl", "run.json", "state.json", PROBLEM, "page.html", *COPIES, "events.out.tfevents.*"]


class Folder:
    """A run's folder, new or old."""

    def __init__(self, path: Path, made: Sequence[Path] = (), lock: Lock | None = None) -> None:
        self.path, self.made = path, made  # it, and those it is in, as far as they were not there
        self.lock = lock

    @classmethod
    def new(cls, path: Path | None, name: str, resume: str = "resume") -> "Folder":
        """An empty folder at that path, or else the next free one for that name under runs/, locked. `resume` is the
        command that resumes a run that is there."""
        try:
            return cls(*(next_free(name) if path is None else emptied(path, resume)))
        except OSError as error:
            raise HandloomError(f"cannot make the folder {path or RUNS}: {error.strerror}") from error

    @classmethod
    def old(cls, path: Path) -> "Folder":
        if what_is(path) != "folder" or what_is(path / "run.json") != "file":
            raise HandloomError(f"{path} is not the folder of a run (it has no run.json); handloom learn makes one")
        return cls(path)

    def take(self) -> None:
        """Lock an old one, and remove what a process that was killed was about to write."""
        self.lock = Lock(self.path)
        for name in OURS:
            for file in self.path.glob(f".{name}.????????"):
                file.unlink()

    def release(self) -> None:
        if self.lock:
            self.lock.release()

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
        whole = sealed(about, self.copies())
        write_atomically(self.path / "run.json", (json.dumps(whole, indent=2) + "\n").encode())

    def copies(self) -> Arrays:
        """The copy of the user's file, and of those it imports, byte by byte."""
        files = [file for name in (*COPIES, PROBLEM) if (file := self.path / name).exists()] + self.imported()
        return {str(file.relative_to(self.path)): np.frombuffer(file.read_bytes(), np.uint8) for file in files}

    def imported(self) -> list[Path]:
        """The copies of the files that the user's own imports."""
        return [self.path / file for name in (COPIES[1], PROBLEM) for file in files_beside(self.path / name)]

    def about(self) -> dict[str, Any]:
        try:
            about = unsealed(json.loads((self.path / "run.json").read_text("utf-8")), self.copies())
            if "problem" in about:
                raise HandloomError(
                    f"{self.path} is a run of discover, not of learn; handloom discover --resume {self.path} goes on"
                    f" with it, handloom run {self.path} lets its model speak"
                )
            if not {"task", "network", "settings"} <= set(about):
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

        about = {"where": json.dumps(where)}
        write_atomically(self.path / CHECKPOINT, save(arrays, about | {"sha256": digest(about, arrays)}))

    def checkpoint(self) -> tuple[Arrays, dict[str, Any]] | None:
        """What was saved last, if anything was, and as it was saved."""
        from safetensors import SafetensorError, safe_open

        path = self.path / CHECKPOINT
        if what_is(path) != "file":
            return None
        try:
            with safe_open(path, framework="numpy") as file:
                about, names = file.metadata() or {}, file.keys()
                arrays = {name: file.get_tensor(name) for name in names}
            if set(about) - {"sha256"} != {"where"}:
                raise ValueError("its metadata must be where and sha256")
            if about.get("sha256") not in (None, digest({"where": about["where"]}, arrays)):  # older ones have none
                raise ValueError("its sha256 does not match")
            return arrays, json.loads(about["where"])
        except (OSError, SafetensorError, ValueError, TypeError) as error:
            raise HandloomError(f"{path} is damaged: {one_line(error)}; begin a new run") from error

    def append(self, line: dict[str, Any], name: str = METRICS) -> None:
        """A line more in a file of JSON lines."""
        try:
            with open(self.path / name, "a", encoding="utf-8") as file:
                file.write(as_line(line))
        except OSError as error:
            raise HandloomError(f"cannot write {self.path / name}: {error.strerror}") from error

    def lines(self, name: str = METRICS) -> list[dict[str, Any]]:
        """The lines so far; a last one that was cut off is left out."""
        path = self.path / name
        lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
        if lines and is_cut_off(lines[-1]):
            lines.pop()
        found = []
        for number, line in enumerate(lines, 1):
            try:
                found.append(unsealed(json.loads(line)))
            except (ValueError, RecursionError) as error:
                raise HandloomError(f"{path}, line {number}, is damaged: {one_line(error)}; remove it") from error
        return found

    def rewrite(self, lines: Iterable[dict[str, Any]], name: str = METRICS) -> None:
        """The file with these lines: what came after the last checkpoint will come again."""
        write_atomically(self.path / name, "".join(map(as_line, lines)).encode())

    def remove(self) -> None:
        """Leave nothing behind of a run that never began: no file that is a run's, no folder that was made for it."""
        imported = self.imported()
        packages = {place for file in imported for place in file.parents if self.path in place.parents}
        clear(self.path)
        for file in (*imported, self.path / LOCK):
            file.unlink(missing_ok=True)
        self.release()
        with suppress(OSError):  # somebody else has put something there
            for folder in [*sorted(packages, reverse=True), *self.made]:
                folder.rmdir()


def sealed(values: Mapping[str, Any], arrays: Arrays | None = None) -> dict[str, Any]:
    """JSON values with a digest of them, as they will be read again, and of some arrays."""
    return {**values, "sha256": digest(json.loads(json.dumps(values)), arrays or {})}


def unsealed(whole: Any, arrays: Arrays | None = None) -> dict[str, Any]:
    """The values without their digest; a ValueError if it is another one. Older versions have written none."""
    if not isinstance(whole, dict):
        raise ValueError("it must be a JSON object")
    values = {key: value for key, value in whole.items() if key != "sha256"}
    if "sha256" in whole and whole["sha256"] != digest(values, arrays or {}):
        raise ValueError("its sha256 does not match (if you changed it, or the copy of your file, take that out)")
    return values


def as_line(values: Mapping[str, Any]) -> str:
    return json.dumps(sealed(values)) + "\n"


def is_cut_off(line: bytes) -> bool:
    """Whether a last line is the beginning of one, as a process leaves it that is killed while it writes."""
    if line.endswith(b"\n"):
        return False
    try:
        json.JSONDecoder().raw_decode(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return True
    return False


def clear(path: Path) -> None:
    for file in chain.from_iterable(path.glob(pattern) for name in OURS for pattern in (name, f".{name}.????????")):
        file.unlink()


def next_free(name: str) -> tuple[Path, Sequence[Path], Lock]:
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
            return path, new, Lock(path)
        except FileExistsError:  # of an earlier run, or of one that begins at the same time
            if not path.exists():
                raise
    raise AssertionError("there is always a number more")


def missing(path: Path) -> list[Path]:
    """Of a path and the folders it is in, from the inside out, those that are not there."""
    return [folder for folder in (path, *path.parents) if not folder.exists()]


def emptied(path: Path, resume: str) -> tuple[Path, Sequence[Path], Lock]:
    """A folder at that path with nothing in it, or with what a run left that was killed before it began; all folders
    that were made for it."""
    check_free(path, resume)
    new = missing(path)
    path.mkdir(parents=True, exist_ok=True)
    lock = Lock(path)
    check_free(path, resume)  # another process may have had it in the meantime
    clear(path)
    return path, new, lock


def check_free(path: Path, resume: str) -> None:
    """Refuse a folder that holds anything."""
    if what_is(path) == "nothing" or (what_is(path) == "folder" and (never_began(path) or not any(path.iterdir()))):
        return
    go_on = f", or resume it with handloom {resume} {path}" if what_is(path / "run.json") == "file" else ""
    raise HandloomError(f"{path} is there already; name another folder{go_on}")


def never_began(path: Path) -> bool:
    """Whether a folder has only what a run leaves there that is killed before its first checkpoint. One of these is the
    lock, which is made first, when the folder is empty: so the others are not the user's."""
    names = {file.name for file in path.iterdir()}
    return LOCK in names and all(name in FIRST or re.fullmatch(r"\..+\.\w{8}", name) for name in names)
