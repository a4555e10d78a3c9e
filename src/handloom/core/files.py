"""Model files: one safetensors file per model, with everything but the arrays in its metadata.

    save(model, "hello.safetensors")
    model = load("hello.safetensors")

The arrays have the names of `params.flatten`. The metadata has one entry, a JSON object: `version` (of this format),
`config`, `vocab`, `notes`, and `sha256`, a digest of all of it and of the arrays. So a damaged file is detected, and
one model always makes the same bytes. The entry is called `handloom` for a transformer, and `handloom-KIND` for a model
of another kind. Nothing in a file can run code. A file is written beside its place and then moved there, so that the
whole file is there or none of it. Its name ends in .safetensors.
"""

import hashlib
import json
import os
import secrets
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import numpy as np

from handloom.core import params as parameters
from handloom.core.checks import parse_json, to_json
from handloom.core.config import Config
from handloom.core.errors import HandloomError, one_line, shown
from handloom.core.model import Model, read_only
from handloom.core.vocab import Vocab

VERSION = 1
ENTRY = "handloom"  # of the metadata, for a transformer; with -KIND behind it for another kind of model
MODEL_FILE = ".safetensors"

T = TypeVar("T")


def save(model: Model, path: str | os.PathLike[str]) -> None:
    """Write a model file, whose name ends in .safetensors. If interrupted, it leaves an existing file as it was."""
    write_model(path, ENTRY, model.config.to_json(), model.vocab, model.notes, model.flat)


def write_model(
    path: str | os.PathLike[str],
    entry: str,
    config: dict[str, Any],
    vocab: Vocab,
    notes: Mapping[str, Any],
    arrays: dict[str, Any],
) -> None:
    """Write the file of a model of any kind, which the entry of the metadata names. The arrays are not copied."""
    path = as_path(path)
    check_place(path)
    check_suffix(path, "a model file", MODEL_FILE)
    about = {"version": VERSION, "config": config, "vocab": vocab.to_json(), "notes": dict(notes)}
    about["sha256"] = digest(about, arrays)
    write_atomically(path, safetensors_parts(arrays, {entry: json.dumps(about, sort_keys=True)}))


def safetensors_parts(arrays: dict[str, Any], metadata: dict[str, str]) -> list[Any]:
    """The bytes of a safetensors file, in parts: its header, and the arrays as they are. The library's own functions
    copy the arrays, or write a file that has other permissions than ordinary ones."""
    header: dict[str, Any] = {"__metadata__": metadata}
    data, offset = [], 0
    for name in sorted(arrays, key=lambda name: (-arrays[name].itemsize, name.encode())):
        array = np.ascontiguousarray(arrays[name], arrays[name].dtype.newbyteorder("<"))
        dtype, shape = f"F{8 * array.itemsize}", list(np.shape(arrays[name]))
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [offset, offset + array.nbytes]}
        data.append(array.data if array.size else b"")
        offset += array.nbytes
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return [len(text).to_bytes(8, "little"), text, *data]


def write_atomically(path: Path, data: bytes | list[Any]) -> None:
    """Write all of the data, or of its parts, to that path, or change nothing. (A device or a pipe is written to
    directly.)"""
    path = check_place(path)
    parts = [data] if isinstance(data, bytes) else data
    try:
        if is_special(path):
            with open(path, "wb") as pipe:
                pipe.writelines(parts)
            return
        with beside(path) as (file, name):
            if path.exists():
                os.fchmod(file.fileno(), stat.S_IMODE(path.stat().st_mode))
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())
            os.replace(name, path)
    except OSError as error:
        raise HandloomError(f"cannot write {path}: {error.strerror}") from error


def check_place(path: Path) -> Path:
    """Where a file will be written, links followed; an error if nothing can be written there."""
    try:
        place = path.resolve()
        is_folder, has_folder = place.is_dir(), place.parent.is_dir()
        allowed = os.access(place if place.exists() else place.parent, os.W_OK)
    except (OSError, ValueError) as error:
        raise HandloomError(f"cannot write {shown(str(path))}: {getattr(error, 'strerror', None) or error}") from error
    if is_folder:
        raise HandloomError(f"{path} is a folder; give the name of a file in it")
    if not has_folder:
        raise HandloomError(f"cannot write {path}: there is no folder {path.parent}; make it first")
    if not allowed:
        raise HandloomError(f"cannot write {path}: permission denied")
    return place


def check_suffix(path: Path, what: str, *suffixes: str) -> None:
    """Raise an error if a file's name does not end as that kind of file does. (A pipe or a device may have any
    name.)"""
    if path.suffix.lower() not in suffixes and not is_special(path):
        raise HandloomError(f"{path}: {what} ends in {' or '.join(suffixes)}; name it {path.stem}{suffixes[0]}")


@contextmanager
def beside(path: Path) -> Iterator[tuple[BinaryIO, Path]]:
    """A new file next to that place, called .NAME.xxxxxxxx, to be moved there; removed in the end if it was not. (Files
    of `tempfile` are private; this one has the permissions of any other file.)"""
    name = path.with_name(f".{path.name[:100]}.{secrets.token_hex(4)}")
    with open(name, "xb") as file:
        try:
            yield file, name
        finally:
            name.unlink(missing_ok=True)


def load_file(path: str | os.PathLike[str]) -> Model:
    """Read a model file and check it: names, shapes, dtypes, finite values, and that it is as it was saved."""
    return read_model(path, read)


def read_model(path: str | os.PathLike[str], read: Callable[[Any], T]) -> T:
    """What `read` makes of an open safetensors file; all that may be wrong with the file raises a HandloomError."""
    from safetensors import SafetensorError, safe_open

    path = as_path(path)
    check_ordinary(path)
    if what_is(path) == "folder":
        raise HandloomError(f"{path} is a folder, not a model file; name the .safetensors file")
    if what_is(path) == "nothing":
        raise HandloomError(f"{path}: no such file")
    if not os.access(path, os.R_OK):
        raise HandloomError(f"{path} cannot be read: permission denied")
    try:
        with safe_open(path, framework="numpy") as file:
            return read(file)
    except HandloomError as error:
        raise HandloomError(f"{path} is not a model that can be loaded: {error}") from error
    except OSError as error:
        raise HandloomError(f"{path} cannot be read: {error.strerror or one_line(error)}") from error
    except SafetensorError as error:
        why = f"it is cut short, damaged or not a safetensors file ({one_line(error)})"
        raise HandloomError(f"{path} is not a model that can be loaded: {why}") from error


def entry_of(path: str | os.PathLike[str]) -> str | None:
    """The entry of a model file's metadata, which tells the kind of its model; None if handloom did not write it."""
    return read_model(path, lambda file: find_entry(file.metadata() or {}))


def find_entry(metadata: Mapping[str, str]) -> str | None:
    return next((name for name in metadata if name == ENTRY or name.startswith(ENTRY + "-")), None)


def as_path(path: Any) -> Path:
    if not isinstance(path, str | os.PathLike):
        raise HandloomError(f"expected the name of a file, not {shown(path)}")
    return Path(path)


def what_is(path: Path) -> str:
    """What is at a path: "file", "folder" or "nothing" (a pipe or a device is nothing that can be loaded)."""
    try:
        return "folder" if path.is_dir() else "file" if path.is_file() else "nothing"
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise HandloomError(f"{shown(str(path))} cannot be opened: {why}") from error


def is_special(path: Path) -> bool:
    """Whether it is a pipe or a device."""
    return what_is(path) == "nothing" and path.exists()


def check_ordinary(path: Path) -> None:
    """Raise an error for a pipe or a device: it may never end, and cannot be read twice."""
    if is_special(path):
        raise HandloomError(f"{path} is a pipe or a device (expected a file); copy its contents into a file first")


@dataclass(frozen=True)
class Described:
    """An array as the header of a file describes it."""

    shape: tuple[int, ...]
    dtype: str


def read(file: Any) -> Model:
    """The model in an open safetensors file. The arrays are read last, once their descriptions have passed."""
    about = read_about(file.metadata() or {})
    config, vocab = Config.from_json(about["config"]), Vocab.from_json(about["vocab"])
    arrays = read_arrays(file, about, lambda described: parameters.check(config, described))
    return Model(config, arrays, vocab, about["notes"])


def read_arrays(file: Any, about: dict[str, Any], check: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """The arrays of a file, read once their descriptions in the header have passed the check; the digest must match."""
    slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118
    kinds = {"F32": "float32", "F64": "float64"}
    described = {n: Described(tuple(s.get_shape()), kinds.get(s.get_dtype(), s.get_dtype())) for n, s in slices.items()}
    check(described)
    arrays = {name: read_only(name, file.get_tensor(name)) for name in slices}  # which a Model does not copy again
    if about["sha256"] != digest({key: about[key] for key in about if key != "sha256"}, arrays):
        raise HandloomError("it is damaged: its contents are not those that were saved (the sha256 does not match)")
    return arrays


def read_about(metadata: dict[str, str], entry: str = ENTRY) -> dict[str, Any]:
    """The entry of the metadata, if handloom wrote it and its format is this one."""
    if entry not in metadata:
        if other := find_entry(metadata):
            kinds = f"{kind_of(other)} (expected {kind_of(entry)})"
            raise HandloomError(f"it holds {kinds}; sample from the run that made it")
        raise HandloomError(f"it is a safetensors file, but handloom did not write it (no '{entry}' in its metadata)")
    try:
        about = parse_json(metadata[entry])
        to_json(about, allow_nan=True)  # what cannot be written again cannot be checked
    except ValueError as error:
        raise HandloomError(f"it is damaged: its metadata is not JSON ({one_line(error)})") from error
    if not isinstance(about, dict) or set(about) != {"version", "config", "vocab", "notes", "sha256"}:
        raise HandloomError("it is damaged: its metadata must be version, config, vocab, notes and sha256")
    if about["version"] != VERSION:
        raise HandloomError(f"its format is {shown(about['version'])}, and this version of handloom reads {VERSION}")
    if not isinstance(about["notes"], dict):
        raise HandloomError("its notes are not an object")
    return about


def kind_of(entry: str) -> str:
    """The kind of model that an entry of the metadata names, in words."""
    words = {ENTRY: "a transformer", f"{ENTRY}-cells": "cells, such as those of an RNN"}
    return words.get(entry, entry.removeprefix(ENTRY + "-"))


def digest(about: dict[str, Any], arrays: dict[str, Any]) -> str:
    """SHA-256 of the metadata and of each array's name, dtype, shape and bytes."""
    seal = hashlib.sha256(json.dumps(about, sort_keys=True).encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        seal.update(json.dumps([name, str(array.dtype), array.shape]).encode())
        seal.update(array.data if array.size else b"")
    return seal.hexdigest()
