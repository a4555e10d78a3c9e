"""Models whose heads look exactly where a test wants: one-hot tokens and positions, and scores of one's choice."""

import math

import numpy as np

from handloom.core import Config, Model, Vocab, params

HARD = 30.0


def tailored(*scores, tokens=12, block=40, causal=True, writes=None):
    """A layer without norm, with a head per matrix of scores: score[a, b] is what a position with a gives to one with
    b, a and b being tokens (0 …) and positions (tokens, tokens + 1, …), added up. `writes` scales what heads write."""
    D, H = tokens + block, len(scores)
    config = Config(
        vocab=tokens, block=block, d_model=D, layers=1, heads=H, d_head=D, norm="none", causal=causal, biases=()
    )
    arrays = params.zeros(config)
    arrays["W_E"] = np.eye(D)[:tokens]
    arrays["W_pos"] = np.eye(D)[tokens:]
    for h, matrix in enumerate(scores):
        arrays["layers"][0]["W_Q"][h] = math.sqrt(D) * matrix
        arrays["layers"][0]["W_K"][h] = np.eye(D)
        arrays["layers"][0]["W_V"][h] = np.eye(D)
        arrays["layers"][0]["W_O"][h] = np.eye(D) * (1.0 if writes is None else writes[h])
    return Model(config, arrays, Vocab.numbers(tokens))


def nowhere(tokens=12, block=40):
    return np.zeros((tokens + block, tokens + block))


def back(offset, tokens=12, block=40):
    """Looks so many positions back."""
    scores = nowhere(tokens, block)
    for t in range(block):
        if 0 <= t - offset < block:
            scores[tokens + t, tokens + t - offset] = HARD
    return scores


def at(position, tokens=12, block=40):
    """Looks at one position, from all tokens."""
    scores = nowhere(tokens, block)
    scores[:tokens, tokens + position] = HARD
    return scores


def pairs(matrix, block=40):
    """Looks from token to token, wherever they are."""
    scores = nowhere(len(matrix), block)
    scores[: len(matrix), : len(matrix)] = matrix
    return scores
