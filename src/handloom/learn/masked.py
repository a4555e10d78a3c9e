"""Sampling from a model that sees both ways and was trained to predict hidden tokens from the others.

All of an answer is hidden at first. Then its places are predicted one by one, in random order, from all tokens known by
then. In exact arithmetic, and for a model that is right about every token given any others, this samples from the
distribution it was trained on.
"""

from collections.abc import Sequence

import numpy as np

from handloom.core import Model
from handloom.core.decoding import chooser
from handloom.core.engines import choose_engine
from handloom.core.seeds import Use, generator
from handloom.learn.batches import MASK
from handloom.tasks.task import Ids


def unmask(
    model: Model, prompts: Sequence[Ids], lengths: Sequence[int], temperature: float, seed: int, engine: str = "torch"
) -> list[Ids]:
    """An answer to every prompt, of a length drawn from those given. Row i has a generator of its own."""
    rngs = [generator(seed, Use.MASKED, i) for i in range(len(prompts))]
    hidden = model.vocab.id(MASK)
    drawn = [rng.choice(lengths) for rng in rngs]
    rows = [np.array([*prompt, *[hidden] * n]) for prompt, n in zip(prompts, drawn, strict=True)]
    decoder, choose = choose_engine(engine).Decoder(model), chooser(temperature, None, None)
    for length in sorted({len(row) for row in rows}):
        same = [i for i, row in enumerate(rows) if len(row) == length]
        block = np.stack([rows[i] for i in same])  # (B, T)
        places_of, chances = np.stack([rngs[i].random((2, length)) for i in same], 1)  # (B, T) each
        order = np.where(block == hidden, places_of, -1.0).argsort(-1)[:, ::-1]  # hidden places first
        for step in range(int((block == hidden).sum(-1).max())):
            open_rows = np.flatnonzero((block == hidden).any(-1))
            places = order[open_rows, step]
            logits = decoder.rerun(block[open_rows])[np.arange(len(open_rows)), places]
            logits[:, hidden] = -np.inf  # a hidden place gets a token, not the mask
            block[open_rows, places] = choose(logits, chances[open_rows, step])
        for i, row in zip(same, block, strict=True):
            rows[i] = row
    return [row[len(prompt) :].tolist() for row, prompt in zip(rows, prompts, strict=True)]
