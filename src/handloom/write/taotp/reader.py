"""Reading the TAOTP language, a transformer as text: text → entries → Model.

    >>> model = read_taotp('''
    ... {   # it outputs what beats its input
    ...     "tokens": ["rock", "paper", "scissors"],
    ...     "block_size": 1,
    ...     "tok_emb": [[1, -1, 0], [0, 1, -1], [-1, 0, 1]],
    ...     "out_emb": [[-1, 0, 1], [1, -1, 0], [0, 1, -1]],
    ...     "notes": {"decode_steps": 1},
    ... }''')
    >>> model("rock")
    'paper'

The entries are those of The Art of Transformer Programming (chapter 8): tok_emb, pos_emb, out_emb, layers with Q, K, V,
P, M1, b1, M2, b2, ln1, ln2, and lnf. What is left out takes the value that does nothing. A matrix may also be written
as an expression: zeros(2, 3), 1e6 * eye(3), circle(11). docs/taotp.md lists all of it. Nothing in a text can run code,
and what a text may make is bounded.
"""

import os
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import numpy as np

from handloom.core import Config, HandloomError, Model, Vocab
from handloom.core import params as parameters
from handloom.core.arrays import Array
from handloom.core.checks import whole
from handloom.core.errors import counted, shown
from handloom.core.files import as_path, check_ordinary, what_is
from handloom.write.book import BOOK
from handloom.write.taotp.literals import MOST_NUMBERS, MOST_TEXT, as_array, evaluate_literal, shape_text
from handloom.write.taotp.places import TextError, place_of, places

Entries = dict[str, Any]
Item = tuple[tuple[str, str], Array]  # an array with the name of its entry, for messages, and its own
Named = dict[tuple[str, str], Array]
Sizes = dict[str, int]

# name in the language → name of the array, and its shape in letters: V tokens, N positions, D model, H heads, K head,
# F hidden neurons, G heads with keys and values, E experts (EXPERTS has their letters).
# P and out_emb are here the other way round.
TABLES = {
    "tok_emb": ("W_E", "VD"),
    "pos_emb": ("W_pos", "ND"),
    "out_emb": ("W_U", "VD"),
    "out_bias": ("b_U", "V"),
}
LAYER = {
    "Q": ("W_Q", "HDK"),
    **{name: (f"W_{name}", "GDK") for name in "KV"},
    "P": ("W_O", "HDK"),
    "MG": ("W_gate", "DF"),
    "bG": ("b_gate", "F"),
    "M1": ("W_in", "DF"),
    "b1": ("b_in", "F"),
    "M2": ("W_out", "FD"),
    "b2": ("b_out", "D"),
    "bQ": ("b_Q", "HK"),
    **{f"b{name}": (f"b_{name}", "GK") for name in "KV"},
    "bP": ("b_O", "D"),
}
EXPERTS = {"MG": "DE", "bG": "E", "M1": "EDF", "b1": "EF", "M2": "EFD"}
TURNED = ("W_O", "W_U")
NORMS = {"ln1": "ln1", "ln2": "ln2", "lnf": "ln_final"}
WORDS = ("tokens", "separator", "bos", "eos", "pad")
KNOWN = (*TABLES, "layers", "lnf", "block_size", *WORDS, "config", "dtype", "notes")
SIZES = {"V": "vocabulary", "N": "block_size", "D": "d_model", "H": "heads", "K": "d_head", "F": "d_ff"}
SIZES |= {"G": "kv_heads", "E": "experts"}

BY_DIRECTION = ("Q", "K", "V", "P", "M1", "MG")  # their rows are dimensions of the stream

DECIDED = ("vocab", "block", "d_model", "layers", "tied")  # by the other entries


def load_taotp(path: str | os.PathLike[str]) -> Model:
    """The model in a .taotp file."""
    path = as_path(path)
    check_ordinary(path)
    if what_is(path) != "file":
        raise HandloomError(f"{path}: {'is a folder' if what_is(path) == 'folder' else 'no such file'}")
    try:
        with path.open("rb") as file:
            data = file.read(MOST_TEXT + 1)
        if len(data) > MOST_TEXT:
            raise HandloomError(f"the file is too large for a text: it may have {MOST_TEXT:,} bytes")
        return read_taotp(data.decode("utf-8-sig"))
    except OSError as error:
        raise HandloomError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise HandloomError(f"{path} is not text (UTF-8), so that it cannot be a .taotp file") from error
    except HandloomError as error:
        raise HandloomError(f"{path}: {error}") from error


def read_taotp(text: str) -> Model:
    """The model that a text describes. An error says in which line; one of a wrong entry, in which line it begins."""
    try:
        return build(evaluate_literal(text))
    except TextError as error:  # matrices in a message take several lines
        raise TextError(in_one_line(error), error.line, error.column) from error
    except HandloomError as error:
        raise located(in_one_line(error), text) from error


def in_one_line(error: HandloomError) -> str:
    return " ".join(str(error).split())


def located(message: str, text: str) -> HandloomError:
    """An error about an entry, with the line in which the entry begins."""
    try:
        place = place_of(message, places(text))
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        place = None  # it was no text, or too much of one
    return TextError(f"line {place.line}: {message}", place.line, place.column) if place else TextError(message)


def build(entries: Any) -> Model:
    if not isinstance(entries, dict):
        raise HandloomError(f"the text is {shown(entries)}, expected a dict of entries, with tok_emb among them")
    check_names("", entries, KNOWN)
    with np.errstate(all="ignore"):  # what overflows is infinite, and refused below
        config, flat = arrays_of(entries)
        dtype = entries.get("dtype", "float64")
        if not isinstance(dtype, str) or dtype not in ("float32", "float64"):
            raise HandloomError(f"dtype is {shown(dtype)}, expected 'float32' or 'float64'")
        notes = entries.get("notes", {})
        if not isinstance(notes, dict):
            raise HandloomError(f"notes is {shown(notes)}, expected a dict")
        arrays = {name: a.astype(dtype) for name, a in flat.items()}
        return Model(config, arrays, vocabulary(entries, config), without_matrices(notes))


def without_matrices(value: Any) -> Any:
    """Notes with lists in the place of matrices."""
    if isinstance(value, dict):
        return {name: without_matrices(item) for name, item in value.items()}
    if isinstance(value, list):
        return [without_matrices(item) for item in value]
    return value.tolist() if isinstance(value, np.ndarray) else value


def arrays_of(entries: Entries) -> tuple[Config, dict[str, Array]]:
    """The Config that entries imply, and all arrays; those that are not given do nothing."""
    given, norms, config = gather(entries)
    largest = parameters.size(config)
    if largest > MOST_NUMBERS:
        raise HandloomError(f"the model has {counted(largest)} entries; a .taotp text may have up to {MOST_NUMBERS:,}")
    flat = {name: np.full(shape, float(parameters.is_gain(name))) for name, shape in parameters.shapes(config)}
    for (name, target), array in (given | norms).items():
        if target in flat:
            flat[target] = array.reshape(flat[target].shape)
        elif not does_nothing(target, array):
            raise HandloomError(f"{name} is given, but {why_not(target, config)}: leave it out")
    return config, flat


def gather(entries: Entries) -> tuple[Named, Named, Config]:
    """The arrays and norms that are given, each checked against the sizes that the ones before it have, and the Config
    that they imply."""
    layers, config = entries.get("layers", []), entries.get("config", {})
    if not isinstance(layers, list) or not all(isinstance(layer, dict) for layer in layers):
        raise HandloomError(f"layers is {shown(layers)}, expected a list of dicts")
    if not isinstance(config, dict):
        raise HandloomError(f"config is {shown(config)}, expected a dict")
    check_names("config.", config, [f.name for f in fields(Config) if f.name not in DECIDED])
    sizes = {letter: whole(f"config: {name}", config[name], 0) for letter, name in SIZES.items() if name in config}
    if "block_size" in entries:
        sizes["N"] = whole("block_size", entries["block_size"], 1)
    if "tok_emb" not in entries:
        raise HandloomError("tok_emb is missing; it has a row for every token")
    given = dict(tables("", "", entries, TABLES, sizes))
    norms = dict(norm("", entries, "lnf", sizes["D"]))
    for i, layer in enumerate(layers):
        check_names(f"layers[{i}].", layer, (*LAYER, "ln1", "ln2"))
        layer = with_named_rows(f"layers[{i}].", layer, directions_of(entries.get("notes")), sizes["D"])
        given |= dict(tables(f"layers[{i}].", f"layers.{i}.", layer, LAYER, sizes))
        norms |= dict(norm(f"layers[{i}].", layer, "ln1", sizes["D"]))
        norms |= dict(norm(f"layers[{i}].", layer, "ln2", sizes["D"]))
    if "N" not in sizes:
        raise HandloomError("block_size is missing: give the number of positions, or pos_emb")
    settled: Entries = {"vocab": sizes["V"], "block": sizes["N"], "d_model": sizes["D"], "layers": len(layers)}
    settled |= {SIZES[letter]: sizes.get(letter, 0) for letter in "HKF"} | BOOK
    settled |= {"tied": "out_emb" not in entries, "biases": biases(given, norms)}
    settled |= {"gated": not sizes.get("E") and any("MG" in layer for layer in layers)}
    return given, norms, Config.from_json(settled | config)


def directions_of(notes: Any) -> dict[str, tuple[int, int]]:
    """The first and the last + 1 dimension of each direction that notes name; what they hold otherwise is left out."""
    named = notes.get("directions") if isinstance(notes, dict) else None
    found = {}
    for name, place in named.items() if isinstance(named, dict) else ():
        first, end = place if isinstance(place, list) and len(place) == 2 else (place, None)
        if type(first) is int and first >= 0 and type(end) in (int, type(None)):
            found[name] = (first, first + 1 if end is None else end)
    return found


def with_named_rows(at: str, layer: Entries, directions: dict[str, tuple[int, int]], D: int) -> Entries:
    """The entries of a layer, {"digit": [1, 0]} being a matrix that has these rows at this direction, and zeros."""

    def matrix(name: str, value: Any) -> Any:
        if isinstance(value, list) and name in BY_DIRECTION:
            return [matrix(name, item) if isinstance(item, dict) else item for item in value]
        if not isinstance(value, dict) or name not in BY_DIRECTION:
            return value
        check_names(f"{at}{name}.", value, directions)
        parts = {key: np.atleast_2d(numbers(f"{at}{name}.{key}", rows)) for key, rows in value.items()}
        if wrong := [key for key, part in parts.items() if part.ndim > 2]:
            raise HandloomError(
                f"{at}{name}.{wrong[0]} is {shape_text(parts[wrong[0]].shape)}, expected a row or a matrix"
            )
        full = np.zeros((D, max((part.shape[1] for part in parts.values()), default=0)))
        for key, part in parts.items():
            first, end = directions[key]
            if part.shape != full[first:end].shape:
                expected = f"{max(min(end, D) - first, 0)} × {full.shape[1]}"
                raise HandloomError(f"{at}{name}.{key} is {shape_text(part.shape)}, expected {expected}")
            full[first:end] = part
        return full

    return {name: matrix(name, value) for name, value in layer.items()}


def tables(at: str, into: str, entries: Entries, known: dict[str, tuple[str, str]], sizes: Sizes) -> Iterator[Item]:
    """The arrays among some entries, turned our way."""
    for name, (target, letters) in known.items():
        if name in entries:
            letters = EXPERTS.get(name, letters) if sizes.get("E") else letters
            letters = letters if sizes.get("G") else letters.replace("G", "H")
            array = fit(at + name, numbers(at + name, entries[name]), letters, sizes)
            yield (at + name, into + target), np.swapaxes(array, -1, -2) if target in TURNED and array.size else array


def fit(name: str, array: Array, letters: str, sizes: Sizes) -> Array:
    """Hold an array against the sizes known so far; those not yet known are now what this array has.

    In a layer, an empty list stands for any array without entries."""
    shape, wanted = array.shape, [sizes.get(letter) for letter in letters]
    if not array.size and set(letters) & set("HGF"):
        wanted = wanted[: len(shape)]
    if len(shape) != len(wanted) or any(want not in (None, size) for want, size in zip(wanted, shape, strict=True)):
        expected = " × ".join(str(sizes.get(letter, SIZES[letter])) for letter in letters)
        raise HandloomError(f"{name} is {shape_text(shape)}, expected {expected}")
    sizes |= dict(zip(letters, shape, strict=False))
    return array


def norm(at: str, entries: Entries, name: str, D: int) -> Iterator[Item]:
    """The gain and bias of a norm, each given as one number or as D of them."""
    given = entries.get(name, {})
    if not isinstance(given, dict):
        raise HandloomError(f"{at}{name} is {shown(given)}, expected a dict with gamma and beta")
    check_names(f"{at}{name}.", given, ("gamma", "beta"))
    inside = at.replace("[", ".").replace("]", "")
    for part, ours in (("gamma", "w"), ("beta", "b")):
        if part in given:
            array = numbers(f"{at}{name}.{part}", given[part])
            if array.shape not in ((), (D,)):
                raise HandloomError(f"{at}{name}.{part} is {shape_text(array.shape)}, expected one number or {D}")
            yield (f"{at}{name}.{part}", f"{inside}{NORMS[name]}.{ours}"), np.broadcast_to(array, (D,))


def biases(given: Named, norms: Named) -> list[str]:
    """Which parts have biases, by default: MLPs always, as in the book, others where they are given."""
    targets = {target.rpartition(".")[2] for _, target in given}
    has_norm_bias = any(target.endswith(".b") and array.any() for (_, target), array in norms.items())
    return [
        *["attn"] * bool(targets & {"b_Q", "b_K", "b_V", "b_O"}),
        "mlp",
        *["norm"] * has_norm_bias,
        *["unembed"] * ("b_U" in targets),
    ]


def does_nothing(target: str, array: Array) -> bool:
    """Whether a model that has no place for an array computes the same without it."""
    return not array.size or (parameters.is_norm(target) and bool(np.all(array == parameters.is_gain(target))))


def why_not(target: str, config: Config) -> str:
    if target.endswith("_gate") and not (config.gated or config.experts):
        return "the config has neither gated MLPs nor experts"
    if target == "W_pos":
        return f"the config has positions {config.positions!r}"
    if target.endswith(".w") or (target.endswith(".b") and "norm" in config.biases):
        return "the model has no norm there"
    return f"the config has no such biases, only {list(config.biases)}"


def vocabulary(entries: Entries, config: Config) -> Vocab:
    """The tokens given, or numbers."""
    words = {name: entries[name] for name in WORDS if name in entries}
    if "tokens" not in words:
        if words:
            raise HandloomError(f"{next(iter(words))} is given without tokens; give those too")
        return Vocab.numbers(config.vocab)
    if wrong := [name for name in words if name != "tokens" and not isinstance(words[name], str | None)]:
        raise HandloomError(f"{wrong[0]} is {shown(words[wrong[0]])}, expected text in quotes")
    vocab = Vocab.from_json(words)
    if len(vocab) != config.vocab:
        raise HandloomError(f"tokens has {len(vocab)} names, tok_emb has rows for {config.vocab}")
    return vocab


def check_names(at: str, entries: Entries, known: Any) -> None:
    if unknown := [name for name in entries if name not in known]:
        raise HandloomError(f"there is no entry {shown(at + unknown[0])}; the entries here are {', '.join(known)}")


def numbers(name: str, value: Any) -> Array:
    """An entry as an array of finite numbers."""
    try:
        array = as_array(value)
    except HandloomError as error:
        raise HandloomError(f"{name}: {error}") from error
    if not np.isfinite(array).all():
        raise HandloomError(f"{name} has infinity or NaN in it; every weight must be a finite number")
    return array
