"""Search: find where the last tokens stood before, and say what came after them.

Layer 0 copies the l tokens before each position into the room that padding has kept for them: head h looks h
positions back. Layer 1 asks with the last l tokens of its own position for a position whose l tokens before it are
the same, and takes the token that stands there. What was there before is taken away by heads that look at their own
position. (The Art of Transformer Programming, chapter 4.)
"""

import numpy as np

from handloom.core import Config, HandloomError, Model, Vocab, params
from handloom.write.encodings import circle, padding, turn

HARD = 1e8


def book_search(tokens: int = 10, length: int = 3, block: int = 100) -> Model:
    """Searches for `length` tokens in a block: 3 · (length + 1) dimensions and length + 1 heads."""
    if tokens < 1 or length < 2 or block < 1:
        raise HandloomError("search needs at least 1 token, a length of at least 2 and a block of at least 1")
    K, D = 3 * length, 3 * length + 3
    config = Config(
        vocab=tokens, block=block, d_model=D, layers=2, heads=length + 1, d_head=K, biases=("mlp",)
    )  # fmt: skip
    weights = params.zeros(config)
    weights["W_E"] = np.hstack([circle(tokens), np.tile(padding(D - 6), (tokens, 1)), np.zeros((tokens, 3))])
    weights["W_pos"] = np.hstack([np.zeros((block, D - 3)), circle(block)])
    gather(weights["layers"][0], length, 2 * np.pi / block)
    find(weights["layers"][1], K)
    return Model(config, weights, Vocab.numbers(tokens), {"decode_steps": 1})


def gather(layer: dict[str, np.ndarray], length: int, step: float) -> None:
    """Head h looks h positions back and copies the token there to the h-th place; head 0 clears the places."""
    three = np.eye(3)
    for h in range(length + 1):
        layer["W_Q"][h, -3:, -3:] = HARD * turn(-h * step)
        layer["W_K"][h, -3:, -3:] = three
        if h:
            layer["W_V"][h, :3, :3] = three
            layer["W_O"][h, :3, 3 * h : 3 * h + 3] = three
        else:
            layer["W_V"][h, 3:] = np.eye(3 * length)
            layer["W_O"][h, :, 3:] = -np.eye(3 * length)


def find(layer: dict[str, np.ndarray], K: int) -> None:
    """Head 0 finds and fetches; heads 1 and 2 clear what was there before."""
    every, three = np.eye(K), np.eye(3)
    layer["W_Q"][0, :-3] = HARD * every  # my last tokens, mine among them
    layer["W_K"][0, 3:] = every  # the tokens before me
    layer["W_V"][0, :3, :3] = three
    layer["W_O"][0, :3, :3] = three
    layer["W_Q"][1, :-3], layer["W_K"][1, :-3] = HARD * every, every
    layer["W_V"][1, :-3], layer["W_O"][1, :, :-3] = every, -every
    layer["W_Q"][2, -3:, -3:], layer["W_K"][2, -3:, -3:] = HARD * three, three
    layer["W_V"][2, -3:, -3:], layer["W_O"][2, -3:, -3:] = three, -three
