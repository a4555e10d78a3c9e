"""Model files: one safetensors file, with everything but the arrays in its metadata.

    save(model, "hello.safetensors")
    model = load("hello.safetensors")

The arrays have the names of `params.flatten`. The metadata has one entry, `handloom`, a JSON object: `version` (of this
format), `config`, `vocab`, `notes`, and `sha256`, a digest of all of it and of the arrays: a file that has changed is
refused, and one model always makes the same bytes. Nothing in a file can run code. A file is written beside its
place and then moved there, so that there is always a whole file or none.
"""

import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from handloom.core.config import Config, shown
from handloom.core.errors import HandloomError
from handloom.core.model import Model
from handloom.core.vocab import Vocab

VERSION = 1


def save(model: Model, path: str | os.PathLike[str]) -> None:
    """Write a model file. Interrupted, it leaves what was there before."""
    from safetensors.numpy import save as to_bytes

    about = {
        "version": VERSION,
        "config": model.config.to_json(),
        "vocab": model.vocab.to_json(),
        "notes": model.notes,
    }
    about["sha256"] = digest(about, model.flat)
    write_atomically(Path(path), to_bytes(model.flat, {"handloom": json.dumps(about)}))


def write_atomically(path: Path, data: bytes) -> None:
    """All of the data at that path, or no change."""
    if path.is_dir():
        raise HandloomError(f"{path} is a folder; give the name of a file in it")
    try:
        handle, beside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise HandloomError(f"cannot write {path}: {error.strerror}") from error
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(beside, 0o666 & ~current_umask())
        os.replace(beside, path)
    except BaseException as error:
        os.unlink(beside)
        if isinstance(error, OSError):
            raise HandloomError(f"cannot write {path}: {error.strerror}") from error
        raise


def current_umask() -> int:
    """mkstemp makes private files; a model file gets the permissions of any other."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def load(path: str | os.PathLike[str]) -> Model:
    """Read a model file, checked: names, shapes, dtypes, finite values, and that it is what was saved."""
    path = Path(path)
    if path.is_dir():
        raise HandloomError(f"{path} is a folder, not a model file; name the .safetensors file")
    if not path.is_file():
        raise HandloomError(f"{path}: no such file")
    try:
        metadata, arrays = read(path)
        return model_from(metadata, arrays)
    except HandloomError as error:
        raise HandloomError(f"{path} is not a model that can be loaded: {error}") from error


def read(path: Path) -> tuple[dict[str, str], dict[str, Any]]:
    """The metadata and the arrays of any safetensors file."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as file:
            return file.metadata() or {}, {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except OSError as error:
        raise HandloomError(f"it cannot be read ({error.strerror or error})") from error
    except (SafetensorError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise HandloomError(f"it is cut short, damaged or not a safetensors file ({one_line(error)})") from error


def model_from(metadata: dict[str, str], arrays: dict[str, Any]) -> Model:
    """A Model from what a file holds."""
    if "handloom" not in metadata:
        raise HandloomError("it is a safetensors file, but handloom did not write it (no 'handloom' in its metadata)")
    try:
        about = json.loads(metadata["handloom"])
    except (ValueError, RecursionError) as error:
        raise HandloomError(f"it is damaged: its metadata is not JSON ({one_line(error)})") from error
    if not isinstance(about, dict) or set(about) != {"version", "config", "vocab", "notes", "sha256"}:
        raise HandloomError("it is damaged: its metadata must be version, config, vocab, notes and sha256")
    if about["version"] != VERSION:
        raise HandloomError(f"its format is {shown(about['version'])}, and this version of handloom reads {VERSION}")
    if about.pop("sha256") != digest(about, arrays):
        raise HandloomError("it is damaged: its contents are not those that were saved (the sha256 does not match)")
    if not isinstance(about["notes"], dict):
        raise HandloomError("its notes are not an object")
    return Model(Config.from_json(about["config"]), arrays, Vocab.from_json(about["vocab"]), about["notes"])


def digest(about: dict[str, Any], arrays: dict[str, Any]) -> str:
    """SHA-256 of the metadata and of each array's name, dtype, shape and bytes."""
    seal = hashlib.sha256(json.dumps(about, sort_keys=True).encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        seal.update(json.dumps([name, str(array.dtype), array.shape]).encode())
        seal.update(array.tobytes())
    return seal.hexdigest()


def one_line(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return text if len(text) <= 100 else text[:97] + "..."
