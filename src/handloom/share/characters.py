"""The tokens of a checkpoint, from a file that a user has: the characters in order, the training text, or a tokenizer.

nanoGPT numbers the sorted characters of its text. makemore does the same from 1, and 0 begins and ends a word.
nanoGPT's meta.pkl is a pickle, which could run code: the error has a line of Python that turns it into JSON.
"""

from pathlib import Path
from typing import Any

from handloom.core import HandloomError, Vocab
from handloom.core.checks import parse_json
from handloom.core.errors import one_line, shown
from handloom.core.files import what_is
from handloom.share.tensors import read_text
from handloom.share.tokenizer_reader import TOKENIZER, folder_vocab, tokenizer_vocab

END = "<end>"  # makemore's token 0
FROM_PICKLE = (
    "python -c \"import json, pickle; json.dump(pickle.load(open('meta.pkl', 'rb'))['stoi'], open('meta.json', 'w'))\""
)


def read_tokens(path: Path, size: int, words: bool = False) -> Vocab:
    """The vocabulary of a model with that many tokens. `words`: its training text has one word per line."""
    if what_is(path) == "nothing":
        raise HandloomError(f"{path}: no such file")
    if what_is(path) == "folder":
        if (vocab := folder_vocab(path, {}, size)) is None:
            raise HandloomError(f"{path} has no {TOKENIZER}; name a file with the tokens")
        return vocab
    if path.suffix in (".pkl", ".pickle"):
        raise HandloomError(
            f"{path} is a pickle, which could run code; if you trust it, turn it into JSON: {FROM_PICKLE}"
        )
    text = read_text(path)
    if path.suffix != ".json":
        return of_characters(path, text_characters(text, size, words), size)
    try:
        content = parse_json(text)
    except ValueError as error:
        raise HandloomError(f"{path} is not JSON ({one_line(error)}); write the characters as a list") from error
    if path.name == TOKENIZER or (isinstance(content, dict) and isinstance(content.get("model"), dict)):
        return tokenizer_vocab(path, size)
    return of_characters(path, json_characters(path, content), size)


def of_characters(path: Path, characters: list[str], size: int) -> Vocab:
    """As many characters as tokens; or one fewer, after a token 0 that begins and ends a text."""
    if len(characters) == size:
        return Vocab(tuple(characters), separator="")
    if len(characters) == size - 1:
        return Vocab((END, *characters), separator="", bos=END, eos=END)
    raise HandloomError(
        f"{path}: {len(characters)} characters for {size} tokens (expected {size}, or {size - 1} and a token that "
        "begins and ends a text); name the file with the model's own"
    )


def text_characters(text: str, size: int, words: bool) -> list[str]:
    """The characters of a file, each once: in its order, or sorted if one occurs twice, as in a training text. The line
    breaks of a training text of words are not in them, nor is the one at the end of a list."""
    text = text.replace("\r\n", "\n")
    listed = text.removesuffix("\n") if len(set(text)) > size or words else text
    if len(set(listed)) == len(listed):
        return list(listed)
    return sorted(set(text) - ({"\n"} if words else set()))


def json_characters(path: Path, content: Any) -> list[str]:
    """A list or a text of the characters in order, or {"a": 0, …}, or what nanoGPT's meta.pkl has: stoi and itos."""
    if isinstance(content, dict) and isinstance(content.get("stoi"), dict):
        content = content["stoi"]
    if isinstance(content, dict):
        numbered = {number: token for token, number in content.items() if type(number) is int}
        first = min(numbered, default=0)
        if first in (0, 1) and sorted(numbered) == list(range(first, first + len(content))):
            content = [numbered[number] for number in sorted(numbered)]
    characters = list(content) if isinstance(content, str | list) else []
    if not characters or not all(isinstance(one, str) for one in characters):
        expected = 'the characters in order, ["a", "b"] or {"a": 0, "b": 1}'
        raise HandloomError(f"{path} holds {shown(content)} (expected {expected}); write them so")
    return characters
