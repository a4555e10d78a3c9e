"""The tokenizer of a folder becomes a Vocab that holds its text: tokenizer.json, or vocab.json with merges.txt.

The names of the tokens are read from the file. Which tokens begin, end and pad a text is in tokenizer_config.json,
special_tokens_map.json or, by number, in config.json.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from handloom.core import HandloomError, Vocab
from handloom.core.checks import parse_json
from handloom.core.errors import shown
from handloom.core.files import what_is
from handloom.core.vocab import is_token
from handloom.share.tensors import read_json, read_text
from handloom.share.tokenizer import tokenizer_json

TOKENIZER = "tokenizer.json"
PARTS = ("bos", "eos", "pad")
END_OF_TEXT = "<|endoftext|>"  # GPT-2's one special token


def folder_vocab(folder: Path, values: Mapping[str, Any], size: int) -> Vocab | None:
    """The vocabulary of a folder whose config.json has these values, with one token per row of the embedding; None if
    it has no tokenizer."""
    options = optional_json(folder / "tokenizer_config.json")
    text = tokenizer_text(folder, options)
    if text is None:
        return None
    tokens = token_names(parse_json(text), size, folder)
    named = {**optional_json(folder / "special_tokens_map.json"), **options}
    specials = {part: special(named.get(f"{part}_token"), values.get(f"{part}_token_id"), tokens) for part in PARTS}
    return plain_vocab(parse_json(text), tokens, specials) or Vocab(tokens, separator="", tokenizer=text, **specials)


def plain_vocab(content: dict[str, Any], tokens: tuple[str, ...], specials: dict[str, Any]) -> Vocab | None:
    """The Vocab that handloom wrote as this tokenizer, and that needs none: writing it again gives the same file. Its
    last token is the unknown one. None for any other tokenizer."""
    unknown = content["model"].get("unk_token")
    if content["model"].get("type") != "WordLevel" or unknown != tokens[-1]:
        return None
    words = content.get("pre_tokenizer") == {"type": "WhitespaceSplit"}
    own = specials | ({"pad": None} if specials["pad"] in (specials["eos"], unknown) else {})
    with suppress(HandloomError):
        vocab = Vocab(tokens, separator=" " if words else "", **own)
        if tokenizer_json(vocab, unknown) == content:
            return vocab
    return None


def tokenizer_vocab(path: Path, size: int) -> Vocab:
    """The vocabulary of a tokenizer.json by itself; GPT-2's special token ends a text."""
    text = read_text(path)
    tokens = token_names(parse_json(text), size, path)
    end = END_OF_TEXT if END_OF_TEXT in tokens else None
    return Vocab(tokens, separator="", tokenizer=text, bos=end, eos=end)


def tokenizer_text(folder: Path, options: Mapping[str, Any]) -> str | None:
    """The text of the tokenizer, with the tokens that only tokenizer_config.json has; None if there is none."""
    if what_is(folder / TOKENIZER) == "file":
        content = read_json(folder / TOKENIZER)
        text = read_text(folder / TOKENIZER)
    elif what_is(folder / "vocab.json") == what_is(folder / "merges.txt") == "file":
        content, text = byte_pairs(folder), ""
    else:
        return None
    more = list(missing_tokens(content, options))
    if more or not text:
        content["added_tokens"] = [*(content.get("added_tokens") or []), *more]
        text = json.dumps(content, ensure_ascii=False)
    return text


def missing_tokens(content: dict[str, Any], options: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Tokens that tokenizer_config.json adds and the tokenizer does not have yet, by number."""
    listed = options.get("added_tokens_decoder")
    known = {one.get("id") for one in content.get("added_tokens") or [] if isinstance(one, dict)}
    entries = listed.items() if isinstance(listed, dict) else []
    whole = [(int(number), entry) for number, entry in entries if number.isdecimal() and isinstance(entry, dict)]
    for number, entry in sorted(whole, key=lambda pair: pair[0]):
        if number not in known and isinstance(entry.get("content"), str):
            flags = {name: bool(entry.get(name)) for name in ("single_word", "lstrip", "rstrip", "normalized")}
            yield {"id": number, "content": entry["content"], **flags, "special": bool(entry.get("special"))}


def byte_pairs(folder: Path) -> dict[str, Any]:
    """GPT-2's tokenizer from its two older files: pieces of bytes, and which neighbours become one."""
    pieces = read_json(folder / "vocab.json")
    lines = read_text(folder / "merges.txt").split("\n")
    merges = [line.split(" ") for line in lines if line.strip() and not line.startswith("#version")]
    if bad := [pair for pair in merges if len(pair) != 2]:
        raise HandloomError(f"{folder / 'merges.txt'}: {shown(bad[0])} is not a pair; copy the file again")
    bytes_ = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    ends = {"content": END_OF_TEXT, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": pieces[END_OF_TEXT], **ends, "special": True}] if END_OF_TEXT in pieces else [],
        "normalizer": None,
        "pre_tokenizer": bytes_,
        "post_processor": bytes_ | {"add_prefix_space": True, "trim_offsets": False},
        "decoder": bytes_ | {"add_prefix_space": True},
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "vocab": pieces, "merges": merges},
    }


def token_names(content: Any, size: int, where: Path) -> tuple[str, ...]:
    """The name of every row of the embedding; a row without one is called <unused-0> and so on."""
    names: dict[int, str] = {}
    taken: set[str] = set()
    for token, number in pieces_of(content, where):
        if token not in taken and number not in names and 0 <= number < size and is_token(token, ""):
            names[number] = token
            taken.add(token)
    spare = (name for i in range(2 * size) if (name := f"<unused-{i}>") not in taken)
    return tuple(names[i] if i in names else next(spare) for i in range(size))


def pieces_of(content: Any, where: Path) -> Iterator[tuple[str, int]]:
    """The tokens of a tokenizer.json and their numbers: added ones first, whose names win."""
    model = content.get("model") if isinstance(content, dict) else None
    vocab = model.get("vocab") if isinstance(model, dict) else None
    if not isinstance(vocab, dict | list):
        raise HandloomError(f"{where}: its tokenizer has no vocabulary that can be read; copy {TOKENIZER} again")
    added = content.get("added_tokens") or []
    pairs: list[Any] = [(one.get("content"), one.get("id")) for one in added if isinstance(one, dict)]
    if isinstance(vocab, dict):
        pairs += vocab.items()
    else:  # Unigram: pieces and their scores, in order
        pairs += [(one[0], i) for i, one in enumerate(vocab) if isinstance(one, list) and one]
    yield from (pair for pair in pairs if isinstance(pair[0], str) and type(pair[1]) is int)


def special(named: Any, number: Any, tokens: tuple[str, ...]) -> str | None:
    """A special token, by its name or by its number, if it is one of the tokens."""
    name = named.get("content") if isinstance(named, dict) else named
    if isinstance(name, str):
        return name if name in tokens else None
    known = token_id(number, len(tokens))
    return None if known is None else tokens[known]


def token_id(number: Any, size: int) -> int | None:
    """The number of a token, or the first of several, if it is in range."""
    first = number[0] if isinstance(number, list) and number else number
    return first if type(first) is int and 0 <= first < size else None


def optional_json(path: Path) -> dict[str, Any]:
    return read_json(path) if what_is(path) == "file" else {}
