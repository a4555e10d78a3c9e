"""Model files: one safetensors file, with everything but the arrays in its metadata.

    save(model, "hello.safetensors")
    model = load("hello.safetensors")

The arrays have the names of `params.flatten`. The metadata holds, as text, `handloom` (the version of this format),
`config`, `vocab` and `notes` (JSON), and `sha256`, a digest of all of it: a file whose bytes have changed is refused.
Nothing in a file can run code. A file is written beside its place and then moved there, so that there is
always a whole file or none.
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

VERSION = "1"


def save(model: Model, path: str | os.PathLike[str]) -> None:
    """Write a model file. Interrupted, it leaves what was there before."""
    from safetensors.numpy import save as to_bytes

    texts = {
        "handloom": VERSION,
        "config": json.dumps(model.config.to_json()),
        "vocab": json.dumps(model.vocab.to_json()),
        "notes": json.dumps(model.notes),
    }
    write_atomically(Path(path), to_bytes(model.flat, texts | {"sha256": digest(texts, model.flat)}))


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
        texts, arrays = read(path)
        return model_from(texts, arrays)
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


def model_from(texts: dict[str, str], arrays: dict[str, Any]) -> Model:
    """A Model from what a file holds."""
    if "handloom" not in texts:
        raise HandloomError("it is a safetensors file, but handloom did not write it (no 'handloom' in its metadata)")
    if texts["handloom"] != VERSION:
        raise HandloomError(f"its format is {shown(texts['handloom'])}, and this version of handloom reads {VERSION!r}")
    if missing := {"config", "vocab", "notes", "sha256"} - set(texts):
        raise HandloomError(f"its metadata has no {sorted(missing)[0]!r}")
    sealed = texts["sha256"]
    texts = {name: texts[name] for name in ("handloom", "config", "vocab", "notes")}
    if digest(texts, arrays) != sealed:
        raise HandloomError("its contents have changed since handloom wrote it (the sha256 does not match)")
    config = Config.from_json(parse("config", texts["config"]))
    notes = parse("notes", texts["notes"])
    if not isinstance(notes, dict):
        raise HandloomError("its notes are not an object")
    return Model(config, arrays, Vocab.from_json(parse("vocab", texts["vocab"])), notes)


def parse(name: str, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise HandloomError(f"its {name} is not JSON ({one_line(error)})") from error


def digest(texts: dict[str, str], arrays: dict[str, Any]) -> str:
    """SHA-256 of the metadata and of each array's name, dtype, shape and bytes."""
    seal = hashlib.sha256(json.dumps(texts, sort_keys=True).encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        seal.update(json.dumps([name, str(array.dtype), array.shape]).encode())
        seal.update(array.tobytes())
    return seal.hexdigest()


def one_line(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return text if len(text) <= 100 else text[:97] + "..."
