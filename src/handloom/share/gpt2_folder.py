"""The GPT-2 folder: a model as stock transformers opens it, with its tokeniser and its card.

    config.json, model.safetensors               AutoModelForCausalLM.from_pretrained(folder)
    tokenizer.json, tokenizer_config.json        AutoTokenizer.from_pretrained(folder)
    generation_config.json                       greedy, and how long an answer is
    README.md                                    the card
    truth.json                                   the true circuit, if the notes of the model have it

The weights are float32 if the logits are close in it, else float64, which transformers opens as such. The folder is
written with NumPy and safetensors alone, beside its place, and then moved there: all of it is there or nothing.
"""

import json
import os
import secrets
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

from handloom import __version__
from handloom.core import HandloomError, Model
from handloom.core.checks import parse_json
from handloom.core.errors import shown
from handloom.core.files import what_is
from handloom.share.agreement import CLOSE, Agreement, check_agreement, stream_length
from handloom.share.card import card, generation_limit
from handloom.share.fitting import INSTEAD, add_unknown, check_fits_gpt2, fit_gpt2
from handloom.share.gpt2 import gpt2_config, gpt2_tensors
from handloom.share.rows import known_task_of
from handloom.share.tokenizer import padding_token, tokenizer_config, tokenizer_json
from handloom.share.truth_file import TRUTH, truth_text
from handloom.tasks import Language, Task

MARK = "handloom"  # in config.json: a folder that handloom wrote
WEIGHTS, CARD = "model.safetensors", "README.md"
JSON_FILES = ("config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json")
FILES = (CARD, *JSON_FILES, WEIGHTS, TRUTH)
KEPT = ("task", "program", "parameters", "made", "decode_steps")  # notes that config.json has too


def write_gpt2(
    model: Model, path: Path, beside: Path | None = None, dtype: str | None = None
) -> tuple[tuple[Path, ...], Agreement]:
    """Write the folder. `beside` is where a user's own task may be. Gives the files and what the check found."""
    place = check_folder(path)
    check_fits_gpt2(model.config)
    task = known_task_of(model, beside)
    exported, agreement = exported_model(model, task, dtype)
    texts = contents(model, exported) | {CARD: card(place.name, model, exported, task, agreement)}
    truth = truth_text(model, exported)
    write_folder(place, texts | ({} if truth is None else {TRUTH: truth}), exported)
    return tuple(path / name for name in FILES if name != TRUTH or truth is not None), agreement


def exported_model(model: Model, task: Task | Language | None, dtype: str | None) -> tuple[Model, Agreement]:
    """What the folder holds, in that dtype; by default in float32, or if the logits are not close in that, float64."""
    longest = stream_length(model, task) if model.config.norm == "none" else 0.0
    fitted = add_unknown(fit_gpt2(model, longest))
    if dtype is None:
        with suppress(HandloomError):  # a weight may even be too large for float32
            single = fitted.astype("float32")
            return single, check_agreement(model, single, task, CLOSE)
    try:
        exported = fitted.astype(dtype or "float64")
        return exported, check_agreement(model, exported, task)
    except HandloomError as error:
        raise HandloomError(f"the GPT-2 layout would not do what the model does: {error}; {INSTEAD}") from error


def contents(model: Model, exported: Model) -> dict[str, str]:
    """The JSON files, by name."""
    vocab, own = exported.vocab, exported.vocab.tokenizer
    unknown = None if own else vocab.tokens[-1]
    tokens = {"bos": vocab.bos, "eos": vocab.eos, "pad": padding_token(vocab, unknown)}
    ids = {f"{name}_token_id": None if token is None else vocab.id(token) for name, token in tokens.items()}
    notes = {name: model.notes[name] for name in KEPT if name in model.notes}
    files: dict[str, Any] = {
        "config.json": {**gpt2_config(exported), **ids, MARK: {"version": __version__, "notes": notes}},
        "generation_config.json": {"do_sample": False, **ids, **generation_limit(model)},
        "tokenizer_config.json": tokenizer_config(vocab, unknown, exported.config.block),
    }
    texts = {name: json.dumps(value, indent=2, ensure_ascii=False) + "\n" for name, value in files.items()}
    return texts | {"tokenizer.json": own or json.dumps(tokenizer_json(vocab, vocab.tokens[-1]), ensure_ascii=False)}


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
            (new / name).write_text(text, encoding="utf-8")
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
