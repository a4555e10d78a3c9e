"""Answers to the exercises of The Art of Transformer Programming, chapter 3. (`book/lookup.py` answers 12.)"""

import numpy as np

from handloom.core import Config, Model, params
from handloom.core.checks import whole
from handloom.tasks.lookup import Table
from handloom.write.book import BOOK
from handloom.write.book.lookup import check_block, look_back, random_hash, sums_by_value
from handloom.write.parts.encodings import circle, padding
from handloom.write.parts.loudness import LOUD
from handloom.write.parts.readings import PLACED, dimensions, plane, predicted, reading, readings


def concatenated_table(table: Table, block: int, dims: int, seed: int = 0) -> Model:
    """Exercise 2: the untied construction with the tokens of the key side by side, `dims` for each, not hashed."""
    length, V = table.length, len(table.vocab)
    whole("lookup: dims", dims, 3)
    E, _ = random_hash(table, dims, seed)
    D = length * dims + 3
    config = Config(
        vocab=V, block=check_block(block, table), d_model=D, layers=1, heads=length, d_head=dims,
        tied=False, **BOOK,
    )  # fmt: skip
    weights = params.zeros(config)
    weights["W_E"][:, :dims] = E
    if length > 1:
        weights["W_E"][:, dims:-3] = padding(D - dims - 3)
    weights["W_pos"][:, -3:] = circle(block)
    layer = weights["layers"][0]
    look_back(layer, block)
    for h in range(length):
        layer["W_V"][h, :dims] = np.eye(dims)
        layer["W_O"][h, :, h * dims : (h + 1) * dims] = LOUD * np.eye(dims)
    side_by_side = E[table.keys[:, ::-1]].reshape(len(table), -1)  # the last token first: head 0 brings it
    weights["W_U"][:-3] = sums_by_value(table, side_by_side).T
    known = readings(
        token=reading(dimensions(0, dims, D), points="W_E", sites=("embed", *PLACED)),
        position=reading(plane(D - 3, D), "angle", "W_pos"),
        answer=predicted(D),
    )
    return Model(config, weights, table.vocab, {"decode_steps": 1, **known})
