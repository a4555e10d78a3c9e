"""Hello World: a transformer without layers that prints a fixed message.

What comes next depends on the position alone. The vector of position i is a large multiple of the embedding of token
i + 1; beside it the embedding of the token that stands there is too small to matter, layer norm brings the sum back to
the embedding's size, and the unembedding, being the same table, finds it.
(The Art of Transformer Programming, chapter 2.)
"""

from handloom.core import Config, Model, Vocab, params
from handloom.tasks.message import ascii_vocab, message_vocab
from handloom.write.book import BOOK
from handloom.write.parts.encodings import circle
from handloom.write.parts.loudness import LOUD
from handloom.write.parts.readings import plane, reading, readings


def book_hello(message: str = "Hello World!") -> Model:
    """The book's construction: 3 · (tokens + positions) parameters, 72 for its message."""
    return output(message, message_vocab(message))


def book_ascii(message: str = "Hello World!") -> Model:
    """The same over 256 characters: 807 parameters."""
    return output(message, ascii_vocab(message))


def output(message: str, vocab: Vocab) -> Model:
    following = [vocab.id(token) for token in [*message, vocab.eos or ""]]
    config = Config(vocab=len(vocab), block=len(following), d_model=3, **BOOK)
    weights = params.zeros(config)
    weights["W_E"] = circle(len(vocab))
    weights["W_pos"] = LOUD * weights["W_E"][following]
    notes = {"directions": {"token": [0, 3]}, **readings(token=reading(plane(0, 3), points="W_E"))}
    return Model(config, weights, vocab, notes)
