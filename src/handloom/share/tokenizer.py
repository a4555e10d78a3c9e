"""A vocabulary as tokenizer.json, which the library `tokenizers` and AutoTokenizer read. Written as plain JSON.

Tokens separated by spaces are words; tokens without a separator are cut out by a regular expression, the longest first.
Special tokens are those of the Vocab, so that `skip_special_tokens=True` shows what handloom shows: bos in front, eos
and pad hidden. What is no token becomes the unknown token, where handloom raises an error.
"""

from typing import Any

from handloom.core import HandloomError, Vocab
from handloom.core.errors import shown

WORD = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"


def tokenizer_json(vocab: Vocab, unknown: str) -> dict[str, Any]:
    """The content of tokenizer.json. A text is split into the same ids as by `vocab.encode`, and ids are joined into
    the same text as by `vocab.decode`."""
    specials = [*vocab.specials, unknown]
    check_specials(vocab, specials)
    words = vocab.separator == " "
    pattern = "|".join([*map(escaped, sorted(vocab.tokens, key=len, reverse=True)), r"[\s\S]"])
    split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [added(vocab, token) for token in sorted(specials, key=vocab.id)],
        "normalizer": without_bos(vocab),
        "pre_tokenizer": {"type": "WhitespaceSplit"} if words else split,
        "post_processor": bos_in_front(vocab),
        "decoder": None if words else {"type": "Fuse"},
        "model": {"type": "WordLevel", "vocab": vocab.ids, "unk_token": unknown},
    }


def tokenizer_config(vocab: Vocab, unknown: str | None, block: int) -> dict[str, Any]:
    """The content of tokenizer_config.json. A row is padded with pad, or eos, or the unknown token: never with a token
    that a text may have, for special tokens are cut out of it first."""
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_input_names": ["input_ids", "attention_mask"],
        "model_max_length": block,
        "clean_up_tokenization_spaces": False,
        "padding_side": "left",
        "bos_token": vocab.bos,
        "eos_token": vocab.eos,
        "unk_token": unknown,
        "pad_token": padding_token(vocab, unknown),
    }


def padding_token(vocab: Vocab, unknown: str | None) -> str | None:
    return vocab.pad or vocab.eos or unknown


def check_specials(vocab: Vocab, specials: list[str]) -> None:
    """Raise an error if a special token is part of another token: it would be cut out of it."""
    for special in specials:
        for token in vocab.tokens:
            if token != special and special in token and not (vocab.separator and inside_word(special, token)):
                raise HandloomError(
                    f"the special token {shown(special)} is part of the token {shown(token)}, and tokenizer.json "
                    "cannot tell them apart; rename one of them"
                )


def inside_word(special: str, token: str) -> bool:
    """Whether every occurrence of a special token touches a letter or digit, and so is not a word of its own."""
    places = [i for i in range(len(token)) if token.startswith(special, i)]
    return all({*token[max(i - 1, 0) : i], *token[i + len(special) :][:1]} & set(WORD) for i in places)


def escaped(token: str) -> str:
    """A token as a regular expression (of Oniguruma)."""
    return "".join(c if c in WORD else rf"\x{{{ord(c):x}}}" for c in token)


def added(vocab: Vocab, token: str) -> dict[str, Any]:
    """A special token. Between spaces it is a word of its own, so that an eos of 0 leaves 10 whole."""
    fields = {"lstrip": False, "rstrip": False, "normalized": True, "special": True}
    return {"id": vocab.id(token), "content": token, "single_word": vocab.separator == " ", **fields}


def bos_in_front(vocab: Vocab) -> dict[str, Any] | None:
    if vocab.bos is None:
        return None
    bos, id = vocab.bos, vocab.id(vocab.bos)
    one, two = ({"Sequence": {"id": name, "type_id": 0}} for name in "AB")
    first = {"SpecialToken": {"id": bos, "type_id": 0}}
    specials = {bos: {"id": bos, "ids": [id], "tokens": [bos]}}
    return {"type": "TemplateProcessing", "single": [first, one], "pair": [first, one, two], "special_tokens": specials}


def without_bos(vocab: Vocab) -> dict[str, Any] | None:
    """A text that begins with bos does not get another one. (A text that is nothing but bos does: an added token may
    not be normalised to nothing.)"""
    if vocab.bos is None:
        return None
    start = rf"^\s*{escaped(vocab.bos)}(?=\s)" if vocab.separator else rf"^{escaped(vocab.bos)}(?=[\s\S])"
    return {"type": "Replace", "pattern": {"Regex": start}, "content": ""}
