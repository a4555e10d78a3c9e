"""The GPT-2 folder: a model as stock transformers opens it, with its tokeniser and its card.

    config.json, model.safetensors               AutoModelForCausalLM.from_pretrained(folder)
    tokenizer.json, tokenizer_config.json        AutoTokenizer.from_pretrained(folder)
    generation_config.json                       greedy, and how long an answer is
    README.md                                    the card

The weights are float32 where the model is right in it, else float64. Written with NumPy and safetensors alone, beside
its place, and then moved there: the whole folder is there or nothing.
"""

import json
import os
import secrets
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

import handloom
from handloom.core import HandloomError, Model
from handloom.core.checks import parse_json
from handloom.core.errors import shown
from handloom.core.files import what_is
from handloom.share.agreement import Agreement, check_agreement, stream_length
from handloom.share.card import card, generation_limit
from handloom.share.fitting import INSTEAD, add_unknown, check_fits_gpt2, fit_gpt2
from handloom.share.gpt2 import gpt2_config, gpt2_tensors
from handloom.share.tokenizer import padding_token, tokenizer_config, tokenizer_json
from handloom.tasks import Language, Task, task_of

MARK = "handloom"  # in config.json: a folder that handloom wrote
WEIGHTS, CARD = "model.safetensors", "README.md"
JSON_FILES = ("config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json")
FILES = (CARD, *JSON_FILES, WEIGHTS)
KEPT = ("task", "program", "parameters", "made", "decode_steps")  # notes that config.json has too


def write_gpt2(model: Model, path: Path, beside: Path | None = None) -> tuple[tuple[Path, ...], Agreement]:
    """Write the folder. `beside` is where a user's own task may be. Gives the files and what the check found."""
    place = check_folder(path)
    check_fits_gpt2(model.config)
    task = known_task_of(model, beside)
    exported, agreement = exported_model(model, task)
    texts = {name: json.dumps(value, indent=2, ensure_ascii=False) for name, value in contents(model, exported).items()}
    texts[CARD] = card(place.name, model, exported, task, agreement)
    write_folder(place, texts, exported)
    return tuple(path / name for name in FILES), agreement


def known_task_of(model: Model, beside: Path | None) -> Task | Language | None:
    """The model's task; None if its notes name none, or one that is not here."""
    with suppress(HandloomError):
        return task_of(model, beside)
    return None


def exported_model(model: Model, task: Task | Language | None) -> tuple[Model, Agreement]:
    """What the folder holds: in float32, or if it does not do the same in that, in float64."""
    longest = stream_length(model, task) if model.config.norm == "none" else 0.0
    fitted = add_unknown(fit_gpt2(model, longest))
    with suppress(HandloomError):  # a weight may be too large for float32
        single = fitted.astype("float32")
        return single, check_agreement(model, single, task)
    double = fitted.astype("float64")
    try:
        return double, check_agreement(model, double, task)
    except HandloomError as error:
        raise HandloomError(f"the GPT-2 layout would not do what the model does: {error}; {INSTEAD}") from error


def contents(model: Model, exported: Model) -> dict[str, Any]:
    """The JSON files."""
    vocab, unknown = exported.vocab, exported.vocab.tokens[-1]
    tokens = {"bos": vocab.bos, "eos": vocab.eos, "pad": padding_token(vocab, unknown)}
    ids = {f"{name}_token_id": None if token is None else vocab.id(token) for name, token in tokens.items()}
    notes = {name: model.notes[name] for name in KEPT if name in model.notes}
    about = {"version": handloom.__version__, "unknown": vocab.id(unknown), "notes": notes}
    return {
        "config.json": {**gpt2_config(exported), **ids, MARK: about},
        "generation_config.json": {"do_sample": False, **ids, **generation_limit(model)},
        "tokenizer.json": tokenizer_json(vocab, unknown),
        "tokenizer_config.json": tokenizer_config(vocab, unknown, exported.config.block),
    }


def check_folder(path: Path) -> Path:
    """Where the folder will be, links followed; an error if something else is there."""
    try:
        place = path.resolve()
        has_parent, allowed = place.parent.is_dir(), os.access(place.parent, os.W_OK)
    except (OSError, ValueError) as error:
        raise HandloomError(f"cannot write {shown(str(path))}: {getattr(error, 'strerror', None) or error}") from error
    if not has_parent:
        raise HandloomError(f"cannot write {path}: there is no folder {path.parent}; make it first")
    if not allowed:
        raise HandloomError(f"cannot write {path}: permission denied")
    if what_is(place) != "folder":
        if place.exists():
            raise HandloomError(f"{path} is not a folder (expected a new or empty one); choose another name")
        return place
    others = sorted(file.name for file in place.iterdir() if file.name not in FILES)
    if others or (any(place.iterdir()) and not is_export(place)):
        what = f"has {others[0]} in it" if others else "is not an export of handloom"
        raise HandloomError(f"{path} {what} (expected a new or empty folder, or an earlier export); choose another")
    return place


def is_export(place: Path) -> bool:
    """Whether handloom wrote the folder."""
    with suppress(OSError, ValueError):
        about = parse_json((place / "config.json").read_bytes())
        return isinstance(about, dict) and MARK in about
    return False


def write_folder(place: Path, texts: dict[str, str], exported: Model) -> None:
    """Write all files beside the place, then move them there; an earlier export is removed last."""
    from safetensors.numpy import save_file

    new, old = (place.with_name(f".{place.name[:100]}.{secrets.token_hex(4)}") for _ in range(2))
    try:
        new.mkdir()
        for name, text in texts.items():
            (new / name).write_text(text + "\n" * (not text.endswith("\n")), encoding="utf-8")
        save_file(gpt2_tensors(exported), new / WEIGHTS, {"format": "pt"})
        if place.exists():
            place.rename(old)
        new.rename(place)
    except OSError as error:
        raise HandloomError(f"cannot write {place}: {error.strerror}") from error
    finally:
        if old.exists() and not place.exists():
            old.rename(place)
        for left in (new, old):
            shutil.rmtree(left, ignore_errors=True)
