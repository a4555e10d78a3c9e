"""The folder of a run: everything known about it, and everything needed to resume it. One reader for all kinds.

    run.json                  kind (learn, discover, …), version of handloom, seed, settings, and what the kind adds
    metrics.jsonl             one line per evaluation or generation
    model.safetensors         the current model, a model file like any other
    checkpoint.safetensors    weights, AdamW's moments and the position of the run: resuming starts from it
    strings.txt, task.py, problem.py    a copy of the user's own file, if there is one, and the files it imports

learn adds best.safetensors and model-15000.safetensors, discover state.json, records.jsonl and page.html. A folder of
several runs of discover has sweep.json or targets.json instead of run.json.

Every file is written beside its place and moved there, so a killed run still has its last whole checkpoint. Each file
holds a digest of its contents; the digest in run.json also covers the copies of the user's files. Damaged files raise
an error. A digest that was removed, as by a user who edits a file, is not checked. One process at a time has a run: its
lock on the folder ends with the process, however that ends.
"""

import fcntl
import json
import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import chain, count
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

import handloom
from handloom.core import HandloomError
from handloom.core.arrays import Arrays
from handloom.core.checks import parse_json
from handloom.core.errors import one_line
from handloom.core.files import digest, what_is, write_atomically
from handloom.tasks.catalogue import is_rule, users_file
from handloom.tasks.of_model import COPIES
from handloom.tasks.user_file import files_beside

Read = TypeVar("Read")

RUNS = Path("runs")  # where runs are by default
ABOUT = "run.json"
METRICS = "metrics.jsonl"
CHECKPOINT = "checkpoint.safetensors"
LOCK = ".lock"
TAIL = 65_536  # bytes at the end of a file in which its last line is looked for
TASK_COPY, STRINGS_COPY = COPIES  # names of the copy of the user's file: in a run of learn,
PROBLEM_COPY = "problem.py"  # and in a run of discover
COPIED = (TASK_COPY, STRINGS_COPY, PROBLEM_COPY)
FIRST = {LOCK, ABOUT, *COPIED}  # files that exist before the first checkpoint
SEVERAL = ("sweep.json", "targets.json")  # in a folder of several runs of discover
OURS = ["*.safetensors", "*.jsonl", ABOUT, "state.json", *SEVERAL, "page.html", "events.out.tfevents.*", *COPIED]


class Lock:
    """A lock on a folder, held until it is released or the process ends. The file stays; who holds it, the system
    knows."""

    def __init__(self, folder: Path) -> None:
        self.handle = -1
        try:
            self.handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o666)
            fcntl.flock(self.handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.release()
            raise HandloomError(
                f"{folder} is in use: another process is at work on this run; wait until it ends, or stop it"
            ) from None
        except OSError as error:
            if self.handle < 0:
                raise HandloomError(f"cannot write {folder / LOCK}: {error.strerror}") from error
            # this file system has no locks; users must not run two jobs in one folder

    def release(self) -> None:
        if self.handle >= 0:
            os.close(self.handle)
            self.handle = -1

    __del__ = release


class Folder:
    """The folder of one run: `Folder.create` makes a new one, `Folder.open` takes an existing one."""

    def __init__(self, path: Path, made: Sequence[Path] = (), lock: Lock | None = None) -> None:
        self.path, self.made = path, made  # `made`: it and its parents, as far as they did not exist
        self.lock = lock

    @classmethod
    def create(cls, path: Path | None, name: str) -> "Folder":
        """An empty, locked folder: at that path, or else the next free one for that name under runs/."""
        try:
            return cls(*(next_free(name) if path is None else emptied(path)))
        except OSError as error:
            raise HandloomError(f"cannot make the folder {path or RUNS}: {error.strerror}") from error

    @classmethod
    def open(cls, path: Path) -> "Folder":
        """The folder of an existing run, not locked."""
        if what_is(path) != "folder" or what_is(path / ABOUT) != "file":
            raise HandloomError(f"{path} is not the folder of a run: it has no {ABOUT}; name the folder of a run")
        return cls(path)

    def hold(self) -> None:
        """Lock it, and remove files that a killed process left half written."""
        self.lock = Lock(self.path)
        for name in OURS:
            for file in self.path.glob(f".{name}.????????"):
                file.unlink()

    def release(self) -> None:
        if self.lock:
            self.lock.release()

    # The user's own files

    def copy(self, data: bytes, name: str) -> str:
        """Copy the user's own file, so that the run does not depend on it; returns the name of the copy."""
        write_atomically(self.path / name, data)
        return name

    def copy_python(self, path: Path, name: str) -> str:
        """The same for a Python file. The files beside it that it imports are copied under their own names."""
        beside = files_beside(path)
        if Path(name) in beside:
            raise HandloomError(f"{path} imports {name}, which is the name of its own copy in a run; rename that file")
        for file in beside:
            (self.path / file).parent.mkdir(parents=True, exist_ok=True)
            self.copy((path.parent / file).read_bytes(), str(file))
        return self.copy(path.read_bytes(), name)

    def copies(self) -> Arrays:
        """The copies of the user's file and of the files it imports, as bytes."""
        files = [file for name in COPIED if (file := self.path / name).exists()] + self.imported()
        return {str(file.relative_to(self.path)): np.frombuffer(file.read_bytes(), np.uint8) for file in files}

    def imported(self) -> list[Path]:
        """The copies of the files that the user's own file imports."""
        main = [file for name in COPIED if name.endswith(".py") and (file := self.path / name).exists()]
        return [self.path / beside for file in main for beside in files_beside(file)]

    # What the run is

    def write_about(self, kind: str, about: Mapping[str, Any]) -> None:
        """Write run.json."""
        self.write_json(ABOUT, {"kind": kind, "handloom": handloom.__version__, **about})

    def about(self, kind: str | None = None, needed: Collection[str] = ()) -> dict[str, Any]:
        """Read run.json. Raises an error if it is damaged, lacks one of the `needed` entries, or is of another kind
        than asked for."""
        about = self.read_json(ABOUT)
        about["kind"] = is_a = kind_of(about)
        if kind is not None and is_a is not None and is_a != kind:
            raise HandloomError(
                f"{self.path} is a run of {is_a} (expected a run of {kind}); resume it with {is_a}, or name another",
                ("resume", str(self.path)),
            )
        if missing := sorted(set(needed) - set(about)):
            raise damaged(self.path / ABOUT, f"it has no {', '.join(missing)}")
        return about

    def write_json(self, name: str, values: Mapping[str, Any]) -> None:
        """Write a JSON object with its digest. That of run.json covers the copies of the user's files too."""
        whole = sealed(values, self.copies() if name == ABOUT else {})
        indent = 2 if name == ABOUT else None  # people read it
        write_atomically(self.path / name, (json.dumps(whole, indent=indent) + "\n").encode())

    def read_json(self, name: str) -> dict[str, Any]:
        """Read a JSON object and check its digest."""
        path = (self.open(self.path) if name == ABOUT else self).path / name
        try:
            return unsealed(parse_json(path.read_text("utf-8")), self.copies() if name == ABOUT else {})
        except (OSError, ValueError, TypeError) as error:
            raise damaged(path, one_line(error)) from error

    # Checkpoints

    def write_checkpoint(self, arrays: Arrays, where: dict[str, Any]) -> None:
        from safetensors.numpy import save

        about = {"where": json.dumps(where)}
        write_atomically(self.path / CHECKPOINT, save(arrays, about | {"sha256": digest(about, arrays)}))

    def checkpoint(self) -> tuple[Arrays, dict[str, Any]] | None:
        """The last checkpoint, None if there is none yet: arrays, and the position of the run."""
        return self.from_checkpoint(read_checkpoint)

    def position(self) -> dict[str, Any] | None:
        """The position of the run at its last checkpoint, from the head of the file alone."""
        return self.from_checkpoint(lambda file: dict(parse_json((file.metadata() or {})["where"])))

    def from_checkpoint(self, read: Callable[[Any], Read]) -> Read | None:
        from safetensors import SafetensorError, safe_open

        path = self.path / CHECKPOINT
        if what_is(path) != "file":
            return None
        try:
            with safe_open(path, framework="numpy") as file:
                return read(file)
        except (OSError, SafetensorError, ValueError, TypeError, KeyError) as error:
            raise damaged(path, one_line(error)) from error

    # Lines

    def append(self, line: Mapping[str, Any], name: str = METRICS) -> None:
        """Append a line to a file of JSON lines."""
        try:
            with open(self.path / name, "a", encoding="utf-8") as file:
                file.write(as_line(line))
        except OSError as error:
            raise HandloomError(f"cannot write {self.path / name}: {error.strerror}") from error

    def lines(self, name: str = METRICS) -> list[dict[str, Any]]:
        """All lines of a file; a last line that was cut off is left out."""
        path = self.path / name
        try:
            lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
        except OSError as error:
            raise HandloomError(f"{path} cannot be read: {error.strerror}") from error
        if lines and is_cut_off(lines[-1]):
            lines.pop()
        return [read_line(path, number, line) for number, line in enumerate(lines, 1)]

    def last_line(self, name: str = METRICS) -> tuple[dict[str, Any], str | None]:
        """The last line of a file that is not damaged, read from its end, empty if there is none; and what is wrong
        with the very last line, if it is damaged. (One that was cut off is left out.)"""
        path, problem = self.path / name, None
        if what_is(path) != "file":
            return {}, None
        with open(path, "rb") as file:
            file.seek(max(0, path.stat().st_size - TAIL))
            lines = file.read().splitlines(keepends=True)
        if lines and is_cut_off(lines[-1]):
            lines.pop()
        for line in reversed(lines):
            try:
                return read_line(path, None, line), problem
            except HandloomError as error:
                problem = problem or str(error)
        return {}, problem

    def rewrite(self, lines: Iterable[Mapping[str, Any]], name: str = METRICS) -> None:
        """Replace all lines of a file: those after the last checkpoint will be written again."""
        write_atomically(self.path / name, "".join(map(as_line, lines)).encode())

    def remove(self) -> None:
        """Remove a run that never started: its files, and the folders made for it."""
        imported = self.imported()
        packages = {place for file in imported for place in file.parents if self.path in place.parents}
        clear(self.path)
        for file in (*imported, self.path / LOCK):
            file.unlink(missing_ok=True)
        self.release()
        with suppress(OSError):  # somebody else has put something there
            for folder in [*sorted(packages, reverse=True), *self.made]:
                folder.rmdir()


def kind_of(about: Mapping[str, Any]) -> str | None:
    """The kind of a run. The first runs did not note it; None if it cannot be told."""
    kind = about.get("kind", "discover" if "problem" in about else "learn" if "network" in about else None)
    return kind if isinstance(kind, str) else None


def read_checkpoint(file: Any) -> tuple[Arrays, dict[str, Any]]:
    """The arrays and the position in an open checkpoint; a digest, if there is one, must match."""
    about, names = file.metadata() or {}, file.keys()
    arrays = {name: file.get_tensor(name) for name in names}
    if set(about) - {"sha256"} != {"where"}:
        raise ValueError("its metadata must be where and sha256")
    if about.get("sha256") not in (None, digest({"where": about["where"]}, arrays)):
        raise ValueError("its sha256 does not match")
    return arrays, parse_json(about["where"])


def damaged(path: Path, why: str) -> HandloomError:
    return HandloomError(f"{path} is damaged: {why}; start a new run")


def sealed(values: Mapping[str, Any], arrays: Arrays) -> dict[str, Any]:
    """JSON values with a digest of them, as they will be read again, and of some arrays."""
    return {**values, "sha256": digest(json.loads(json.dumps(values)), arrays)}


def unsealed(whole: Any, arrays: Arrays) -> dict[str, Any]:
    """The values without their digest. A digest that does not match raises a ValueError; a missing one does not."""
    if not isinstance(whole, dict):
        raise ValueError("it must be a JSON object")
    values = {key: value for key, value in whole.items() if key != "sha256"}
    if "sha256" in whole and whole["sha256"] != digest(values, arrays):
        raise ValueError("its sha256 does not match (if you changed it, or the copy of your file, take that out)")
    return values


def as_line(values: Mapping[str, Any]) -> str:
    return json.dumps(sealed(values, {})) + "\n"


def read_line(path: Path, number: int | None, line: bytes) -> dict[str, Any]:
    """A JSON line of a file; its number, None for the last, is for the error."""
    try:
        return unsealed(parse_json(line), {})
    except ValueError as error:
        place = "its last line" if number is None else f"line {number}"
        raise HandloomError(f"{path}, {place}, is damaged: {one_line(error)}; remove it") from error


def is_cut_off(line: bytes) -> bool:
    """Whether a last line is only the beginning of one, as left by a process killed while writing."""
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
    """A new folder, all folders made for it, and its lock: runs/strings-1 for the first run of a task or problem of
    that name, runs/strings-2 for the second, …"""
    file = users_file(name)
    known = "strings" if is_rule(name) else (file[0] if file else Path(name.partition(":")[0])).stem
    words = re.findall(r"[A-Za-z0-9]+", known) or ["run"]
    for number in count(1):
        path = RUNS / f"{'-'.join(words)}-{number}"
        new = not_existing(path)
        try:
            path.mkdir(parents=True)
            return path, new, Lock(path)
        except FileExistsError:  # of an earlier run, or of one that starts at the same time
            if not path.exists():
                raise
    raise AssertionError("there is always a next number")


def not_existing(path: Path) -> list[Path]:
    """Of a path and its parents, from the inside out, those that do not exist."""
    return [folder for folder in (path, *path.parents) if not folder.exists()]


def emptied(path: Path) -> tuple[Path, Sequence[Path], Lock]:
    """A folder at that path, all folders made for it, and its lock. What a run killed before it started left there is
    removed."""
    check_free(path)
    new = not_existing(path)
    path.mkdir(parents=True, exist_ok=True)
    lock = Lock(path)
    check_free(path)  # another process may have used it in the meantime
    clear(path)
    return path, new, lock


def check_free(path: Path) -> None:
    """Raise an error if a folder holds anything."""
    if what_is(path) == "nothing" or (what_is(path) == "folder" and (never_started(path) or not any(path.iterdir()))):
        return
    if what_is(path / ABOUT) == "file":
        text = f"{path} exists already; name another folder, or resume the run in it"
        raise HandloomError(text, ("resume", str(path)))
    raise HandloomError(f"{path} exists already; name another folder", ("new folder", str(path)))


def never_started(path: Path) -> bool:
    """Whether a folder holds only what a run leaves that is killed before its first checkpoint. The lock must be among
    it: it is made first, in an empty folder, so the other files are not the user's."""
    names = {file.name for file in path.iterdir()}
    return LOCK in names and all(name in FIRST or re.fullmatch(r"\..+\.\w{8}", name) for name in names)
