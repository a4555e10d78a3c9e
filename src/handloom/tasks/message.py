"""Output a fixed message, and stop."""

import numpy as np

from handloom.core import HandloomError, Vocab
from handloom.tasks.task import Ids, Task


def message_vocab(message: str) -> Vocab:
    """The message's own characters."""
    return Vocab(tuple(dict.fromkeys(["<bos>", *message, "<eos>"])), separator="", bos="<bos>", eos="<eos>")


def ascii_vocab(message: str) -> Vocab:
    """256 characters, the first of which begins and ends a text."""
    if wrong := [c for c in message if not 0 < ord(c) < 256]:
        raise HandloomError(f"{wrong[0]!r} is not one of the 255 characters from \\x01 to \\xff; leave it out")
    return Vocab(tuple(map(chr, range(256))), separator="", bos="\0", eos="\0")


def message(message: str = "Hello World!") -> Task:
    """The message, or the rest of it after a given beginning."""
    return message_task(message, message_vocab(message))


def ascii_message(message: str = "Hello World!") -> Task:
    return message_task(message, ascii_vocab(message))


def message_task(message: str, vocab: Vocab) -> Task:
    whole = [*vocab.encode(message), vocab.ids[vocab.eos or ""]]

    def oracle(ids: Ids) -> Ids | None:
        return whole[len(ids) :] if len(ids) < len(whole) and whole[: len(ids)] == ids else None

    def draw(rng: np.random.Generator) -> Ids:
        return whole[: rng.integers(1, len(whole))]

    return Task(
        takes=f"nothing, or the beginning of {message!r}",
        vocab=vocab,
        oracle=oracle,
        draw=draw,
        count=len(whole) - 1,
        every=lambda: (whole[:length] for length in range(1, len(whole))),
    )
