"""Search: find where the last tokens stood before, and output what came after them.

Layer 0 copies the l tokens before each position into the room that padding has kept for them: head h looks h
positions back. Layer 1 asks with the last l tokens of its own position for a position whose l tokens before it are
the same, and takes the token that stands there. What was there before is taken away by heads that look at their own
position. (The Art of Transformer Programming, chapter 4.)

It may be wrong on inputs with a phantom (`handloom.tasks.search.has_phantom`): near the beginning a head that
looks further back than there is text sees the first token, as if it stood there again and again.
`ours/small_search.py` has a construction that knows better, and is smaller.
"""

from typing import Any

import numpy as np

from handloom.core import Config, HandloomError, Model, Vocab, params
from handloom.core.arrays import Array
from handloom.write.book import BOOK
from handloom.write.parts.encodings import circle, level, padding, turn
from handloom.write.parts.loudness import HARD
from handloom.write.parts.readings import PLACED, plane, reading, readings

GATHERED = ("0.resid_mid", "0.resid_post", "1.resid_pre")  # where the tokens before stand beside each token


def book_search(tokens: int = 10, length: int = 3, block: int = 100) -> Model:
    """Searches for `length` tokens in a block: 3 · (length + 1) dimensions and length + 1 heads."""
    if tokens < 1 or length < 2 or block < 1:
        raise HandloomError("search needs at least 1 token, a length of at least 2 and a block of at least 1")
    return search_with(circle(tokens), length, block, Vocab.numbers(tokens))


def search_with(vectors: Array, length: int, block: int, vocab: Vocab) -> Model:
    """The same with other vectors (V, W) for the tokens: any that layer norm keeps and that differ. (Exercise 1.)"""
    tokens, width = vectors.shape
    if width < 3 or not np.allclose([vectors.mean(-1), vectors.std(-1)], [[0.0], [1.0]]):
        raise HandloomError(
            "search needs token vectors that layer norm keeps, 3 or more wide: subtract each one's mean and divide it "
            "by its standard deviation"
        )
    K, D = width * length, width * (length + 1)
    config = Config(vocab=tokens, block=block, d_model=D, layers=2, heads=length + 1, d_head=K, **BOOK)
    weights = params.zeros(config)
    room = padding(D - width - 3)
    weights["W_E"] = np.hstack([vectors, np.tile(room, (tokens, 1)), np.zeros((tokens, 3))])
    weights["W_pos"] = np.hstack([np.zeros((block, D - 3)), circle(block)])
    gather(weights["layers"][0], width, 2 * np.pi / block)
    find(weights["layers"][1], width)
    return Model(config, weights, vocab, search_notes(vectors, length))


def search_notes(vectors: Array, length: int) -> dict[str, Any]:
    width = vectors.shape[1]
    D, across = width * (length + 1), level(width)
    places = {f"{back} back": [width * back, width * (back + 1)] for back in range(1, length + 1)}
    before = {
        name: reading(np.pad(across, ((0, 0), (first, D - end))), points=vectors @ across.T, sites=GATHERED)
        for name, (first, end) in places.items()
    }
    token = reading(np.pad(across, ((0, 0), (0, D - width))), points="W_E")
    return {
        "decode_steps": 1,
        "directions": {"token": [0, width], **places},  # the position comes in the last three, and goes in layer 0
        **readings(token=token, **before, position=reading(plane(D - 3, D), "angle", "W_pos", sites=PLACED)),
        "heads": {
            "0.0": "looks at itself, and clears all but its own token",
            **{f"0.{back}": f"copies the token {back} back" for back in range(1, length + 1)},
            "1.0": "finds where the tokens before are my last ones, and takes the token there",
            "1.1": "clears what was there before",
            "1.2": "clears the rest of it",
        },
    }


def gather(layer: dict[str, np.ndarray], width: int, step: float) -> None:
    """Head h looks h positions back and copies the token there to the h-th place; head 0 clears the places."""
    heads, _, K = layer["W_Q"].shape
    token = np.eye(width)
    for h in range(heads):
        layer["W_Q"][h, -3:, -3:] = HARD * turn(-h * step)
        layer["W_K"][h, -3:, -3:] = np.eye(3)
        if h:
            layer["W_V"][h, :width, :width] = token
            layer["W_O"][h, :width, width * h : width * (h + 1)] = token
        else:
            layer["W_V"][h, width:] = np.eye(K)
            layer["W_O"][h, :, width:] = -np.eye(K)


def find(layer: dict[str, np.ndarray], width: int) -> None:
    """Head 0 finds and fetches; heads 1 and 2 clear what was there before."""
    every, token = np.eye(layer["W_Q"].shape[-1]), np.eye(width)
    layer["W_Q"][0, :-width] = HARD * every  # my last tokens, mine among them
    layer["W_K"][0, width:] = every  # the tokens before me
    layer["W_V"][0, :width, :width] = token
    layer["W_O"][0, :width, :width] = token
    layer["W_Q"][1, :-width], layer["W_K"][1, :-width] = HARD * every, every
    layer["W_V"][1, :-width], layer["W_O"][1, :, :-width] = every, -every
    layer["W_Q"][2, -width:, -width:], layer["W_K"][2, -width:, -width:] = HARD * token, token
    layer["W_V"][2, -width:, -width:], layer["W_O"][2, -width:, -width:] = token, -token
