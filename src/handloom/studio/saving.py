"""Keeping what was made in a page: a model file with the edits in its weights, or a page that opens in the same state.

    POST /api/save {"path": "mine.safetensors", "model": "addition", "edits": ["layers.2.W_V[0,2,0]=8000"]}
    POST /api/save {"path": "mine.taotp", "text": "{…}"}
    POST /api/export {"model": "addition", "edits": […], "state": "in=865+230=&edits=…"}

A file is written below the start folder, whole or not at all, and never over one that exists.
"""

import gzip
import os
import tempfile
from base64 import b64encode
from pathlib import Path
from typing import Any

from handloom.core import HandloomError, Model
from handloom.core.errors import shown
from handloom.core.files import save as save_model
from handloom.studio.desk import Studio
from handloom.studio.edits import edited, edits_of
from handloom.studio.models import found, page_of, text_of
from handloom.studio.texts import in_text
from handloom.view.pages.model_data import model_json, safe_json
from handloom.view.pages.skeleton import asset, skeleton
from handloom.write.taotp import save_taotp

ENDINGS = (".taotp", ".safetensors")
LONGEST_STATE = 100_000  # characters of a page's state


def save(studio: Studio, body: dict[str, Any]) -> dict[str, str]:
    """Write a model, or a text as it is. The name under which it is found."""
    path = new_file(studio, text_of(body, "path"))
    edits = edits_of(body)
    if path.suffix == ".taotp" and isinstance(text := body.get("text"), str) and not edits:
        in_text(text)
        write_new(path, lambda file: file.write_text(text, "utf-8"))
    else:
        model = edited(model_of(studio, body)[1], edits)
        write_new(path, lambda file: (save_taotp if path.suffix == ".taotp" else save_model)(model, file))
    return {"model": studio.shown(path)}


def model_of(studio: Studio, body: dict[str, Any]) -> tuple[str, Model, Path | None]:
    """The model that a request is about: that of its text, or that of a name; with its folder."""
    name = text_of(body, "name" if "text" in body else "model")
    if "text" in body:
        return name, in_text(text_of(body, "text")), None
    return (name, *found(studio, name))


def new_file(studio: Studio, name: str) -> Path:
    """A place for a new model file below the start folder."""
    path = studio.place(name)
    if studio.folder not in path.parents:
        raise HandloomError(f"{shown(name)}: not below the folder of the studio; choose a name in {studio.folder.name}")
    if path.suffix not in ENDINGS:
        raise HandloomError(f"{shown(name)}: unknown ending (expected {' or '.join(ENDINGS)}); choose one of them")
    if path.name.startswith("."):
        raise HandloomError(f"{shown(name)}: a hidden name (expected a letter first); choose another")
    if not path.parent.is_dir():
        raise HandloomError(f"{shown(name)}: there is no folder {shown(path.parent.name)}; make it, or choose another")
    if os.path.lexists(path):
        raise taken(name)
    return path


def taken(name: str) -> HandloomError:
    return HandloomError(f"{shown(name)}: there is such a file (expected a new name); choose another")


def write_new(path: Path, write: Any) -> None:
    """Have a file written elsewhere, then give it its name, which fails if somebody was faster."""
    try:
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".saving-") as folder:
            write(Path(folder) / path.name)
            os.link(Path(folder) / path.name, path)
    except FileExistsError:
        raise taken(path.name) from None
    except OSError as error:
        raise HandloomError(f"{path.name}: cannot be written: {error.strerror}; choose another place") from error


def export(studio: Studio, body: dict[str, Any]) -> dict[str, str]:
    """One live page of a model as text. It opens in the state that is sent, with its edits as edits, so that what is
    changed can be seen and undone."""
    name, model, folder = model_of(studio, body)
    state = body.get("state", "")
    if not isinstance(state, str) or len(state) > LONGEST_STATE:
        raise HandloomError(f"state={shown(state)} (expected up to {LONGEST_STATE:,} characters); undo some edits")
    page = page_of(studio, name, model, folder)["page"]
    packed = b64encode(gzip.compress(asset("live.js").encode(), mtime=0)).decode()
    data = {"model": model_json(model), "page": safe_json(page | {"state": state}), "packed": packed}
    return {"html": skeleton(name, '<main data-loom="model page"></main>', ["unpack.js"], live=True, data=data)}
