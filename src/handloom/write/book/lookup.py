"""Lookup table: memorise which value belongs to which key.

Head p looks p positions back and passes the token there through a matrix of its own; the sum over the last tokens is
the key's hash, and the unembedding finds the value in it. With an unembedding of its own random matrices will do, and
a value's vector is the sum of the hashes of its keys. Where embedding and unembedding are the same table, it and the
matrices are found by optimisation. (The Art of Transformer Programming, chapter 3.)

Such a hash is a sum over positions, so there are tables it cannot hold (`tests/write/test_lookup.py` has the smallest).
With one neuron for every key there are none: `any_lookup`.

    >>> from handloom.core import Vocab
    >>> table = Table([[1, 2, 3], [4, 5, 6]], [4, 7], Vocab.numbers(10))
    >>> any_table(table, block=8)("1 2 3 4 5 6")
    '7'
"""

from typing import Any

import numpy as np

from handloom.core import Config, HandloomError, Model, params
from handloom.core.arrays import Array
from handloom.core.checks import whole
from handloom.core.errors import counted
from handloom.tasks.lookup import Table, random_table
from handloom.tasks.task import whole_within
from handloom.write.book import BOOK
from handloom.write.parts.encodings import circle, layer_norm, turn
from handloom.write.parts.loudness import HARD, LOUD
from handloom.write.parts.readings import dimensions, plane, predicted, reading, readings

WIDEST = 1000  # dimensions of a hash
RATE = 0.1  # of the optimiser's first half; in the second it falls to nothing
APART = 0.01  # by how much a key must be more like itself than like any other, as a part of its likeness to itself


def book_lookup(
    entries: int = 10, vocab: int = 10, length: int = 5, block: int = 5, dims: int = 5, seed: int = 0
) -> Model:
    """The tied construction, for a random table: dims + 3 wide, with a head for each token of a key. The book counts a
    block that holds the key alone; with a larger one there may be something in front of it."""
    table = random_table(entries, vocab, length, seed)
    E, M = optimise(table, dims, seed)
    if (right := precision(table, E, M)) < 1:
        raise HandloomError(
            f"with dims={dims} only {right:.1%} of the {entries} entries came out right: try more dims or a larger "
            "vocab, or lookup, which holds any table"
        )
    return hashing(table, block, E, M)


def untied_lookup(
    entries: int = 10, vocab: int = 10, length: int = 5, block: int = 20, dims: int = 60, seed: int = 0
) -> Model:
    """The untied construction, by random matrices, for the same random table."""
    return untied_table(random_table(entries, vocab, length, seed), block, dims, seed)


def any_lookup(entries: int = 10, vocab: int = 10, length: int = 5, block: int = 20, seed: int = 0) -> Model:
    """The construction that holds every table, for the same random table."""
    return any_table(random_table(entries, vocab, length, seed), block, seed)


def tied_table(table: Table, block: int, dims: int, seed: int = 0) -> Model:
    """As much of any table as the tied construction can hold in `dims` dimensions; `precision` measures how much."""
    return hashing(table, block, *optimise(table, dims, seed))


def untied_table(table: Table, block: int, dims: int, seed: int = 0) -> Model:
    """Random tokens and matrices; a value is unembedded by the sum of its keys' hashes. Nothing makes it right but
    enough dimensions."""
    E, M = random_hash(table, dims, seed)
    return hashing(table, block, E, M, sums_by_value(table, hashes(table, E, M)))


def any_table(table: Table, block: int, seed: int = 0) -> Model:
    """Every table (exercise 12). Layer norm puts the hash on a sphere, where each key is nearest to itself: its neuron
    hears it and no other key, and writes the value so loudly that nothing else matters. The dimensions are as few as
    keep all keys apart."""
    E, M, y = apart(table, seed)
    V, d = E.shape
    D, K, n = d + 3, max(d, 3), len(table)
    config = Config(
        vocab=V, block=check_block(block, table), d_model=D, layers=1, heads=table.length, d_head=K, d_ff=n,
        activation="relu", biases=("mlp",),
    )  # fmt: skip
    weights = params.zeros(config)
    weights["W_E"][:, :d], weights["W_pos"][:, d:] = E, circle(block)
    layer = weights["layers"][0]
    look_back(layer, block)
    for h in range(table.length):
        layer["W_V"][h, :d, :d] = np.eye(d)
        layer["W_O"][h, :d, :d] = LOUD * M[-1 - h]
    self_like, other_like = likeness(y)
    layer["W_in"][:d] = y.T
    layer["b_in"][:] = -(self_like + other_like) / 2
    layer["W_out"][:, :d] = LOUD**2 * E[table.values]
    notes = hash_notes(d, table.length, tied=True) | {
        "mlps": {"0": "a neuron for each key, which hears it alone and outputs its value"}
    }
    return Model(config, weights, table.vocab, notes)


def hashing(table: Table, block: int, E: Array, M: Array, out: Array | None = None) -> Model:
    """The book's transformer for tokens E (V, d), matrices M (length, d, d) and, where it is not tied, the vectors
    `out` (V, d) by which values are unembedded: d + 3 wide, the last three for positions."""
    V, d = E.shape
    config = Config(
        vocab=V, block=check_block(block, table), d_model=d + 3, layers=1, heads=table.length, d_head=d + 3,
        tied=out is None, **BOOK,
    )  # fmt: skip
    weights = params.zeros(config)
    weights["W_E"][:, :d], weights["W_pos"][:, d:] = E, circle(block)
    layer = weights["layers"][0]
    look_back(layer, block)
    layer["W_V"][:] = np.eye(d + 3)
    layer["W_O"][:, :d, :d] = M[::-1]
    layer["W_O"][0] -= np.eye(d + 3)  # clears what stood there
    if out is not None:
        weights["W_U"][:d] = out.T
    return Model(config, weights, table.vocab, hash_notes(d, table.length, tied=out is None))


def hash_notes(d: int, length: int, tied: bool) -> dict[str, Any]:
    position = reading(plane(d, d + 3), "angle", "W_pos")
    token = reading(dimensions(0, d, d + 3), points="W_E", sites=() if tied else ("embed", "pos_embed", "0.resid_pre"))
    return {
        "decode_steps": 1,
        "directions": {"token": [0, d], "position": [d, d + 3]},
        **readings(token=token, position=position, **({} if tied else {"answer": predicted(d + 3)})),
        "heads": {f"0.{h}": f"adds the hash of the token {h} back" for h in range(length)},
    }


def look_back(layer: dict[str, Array], block: int) -> None:
    """Head h looks h positions back, by the last three dimensions."""
    for h in range(len(layer["W_Q"])):
        layer["W_Q"][h, -3:, -3:] = HARD * turn(-h * 2 * np.pi / block)
        layer["W_K"][h, -3:, -3:] = np.eye(3)


def check_block(block: int, table: Table) -> int:
    return whole("lookup: block", block, table.length)


def hashes(table: Table, E: Array, M: Array) -> Array:
    """The hash of every key: (entries, d)."""
    x = E[table.keys].reshape(len(table), -1)
    summed: Array = x @ M.reshape(-1, M.shape[-1])
    return summed


def precision(table: Table, E: Array, M: Array, out: Array | None = None) -> float:
    """How many entries come out right, as a part of one. The last layer norm does not change which score is the
    highest: it takes away the hash's mean, which is 0, and divides by a positive number."""
    h = hashes(table, E, M)
    return float(((h @ (E if out is None else out).T).argmax(-1) == table.values).mean())


def sums_by_value(table: Table, h: Array) -> Array:
    """For each token the sum of the vectors of those keys whose value it is."""
    sums = np.zeros((len(table.vocab), h.shape[1]))
    np.add.at(sums, table.values, h)
    return sums


def random_hash(table: Table, dims: int, seed: int) -> tuple[Array, Array]:
    """Tokens that layer norm keeps, and matrices that change no vector's length by much and leave its mean 0; all at
    random."""
    whole_within("lookup: dims", dims, 2, WIDEST)
    if (size := table.length * dims**2) > params.MOST:
        raise HandloomError(
            f"lookup: {counted(size)} numbers in its hash (expected up to {counted(params.MOST)}); "
            "take fewer dims or shorter keys"
        )
    rng = np.random.default_rng(whole("lookup: seed", seed, 0))
    E = layer_norm(rng.normal(size=(len(table.vocab), dims)))
    M = rng.normal(size=(table.length, dims, dims)) / np.sqrt(table.length * dims)
    return E, M - M.mean(-1, keepdims=True)


def apart(table: Table, seed: int) -> tuple[Array, Array, Array]:
    """A random hash in the fewest dimensions in which one of ten keeps all keys, and all tokens, apart, and the keys'
    hashes as layer norm leaves them."""
    for dims in range(2, WIDEST):
        for attempt in range(10):
            E, M = random_hash(table, dims, 1000 * seed + attempt)
            h = hashes(table, E, M)
            y = h / np.sqrt((h * h).sum(-1, keepdims=True) / (dims + 3))
            if spread(E) > APART * dims and spread(y) > APART * (dims + 3):
                return E, M, y
    raise HandloomError(
        f"no random hash of up to {WIDEST} dimensions keeps the keys of this table apart: try another seed"
    )


def spread(y: Array) -> float:
    """By how much each vector is more like itself than like any other, for the one that is so by least."""
    self_like, other_like = likeness(y)
    return float((self_like - other_like).min())


def likeness(y: Array) -> tuple[Array, Array]:
    """How much each vector is like itself, and like the other that is most like it."""
    products = y @ y.T
    self_like = products.diagonal().copy()
    np.fill_diagonal(products, -np.inf)
    return self_like, np.maximum(products.max(-1), -self_like)


def optimise(
    table: Table,
    dims: int,
    seed: int = 0,
    iterations: int = 300,
    margin: float = 0.1,
    sharp: float = 4.0,
    count_right: bool = False,
) -> tuple[Array, Array]:
    """Tokens and matrices by which every entry comes out right with a margin in its logit, or those by which most did.

    Adam on the cross entropy of the model's own logits, `sharp` times as large: at 1, as in the book, a table needs
    more dimensions, but more is right of one that does not fit. Tokens go back to where layer norm keeps them after
    every step. With `count_right` on how many are right instead, as far as that is smooth: the sum of the
    probabilities of the right values, whose gradient is that of the cross entropy weighted by the probability."""
    at_first = random_hash(table, dims, seed)
    E: Array = at_first[0].astype(np.float32)  # twice as fast as float64, and exact enough
    M: Array = at_first[1].astype(np.float32)
    best, most = (E, M), (-1, 0.0)
    steps = [Adam(E), Adam(M)]
    for t in range(iterations):
        lead, dE, dM = descent(table, E, M, sharp, count_right)
        if (score := (int((lead > 0).sum()), float(lead.min()))) > most:
            best, most = (E, M), score
        if lead.min() > margin:
            break
        rate = RATE * min(1.0, 2 * (1 - t / iterations))
        E = layer_norm(E - rate * steps[0](dE))
        M = M - rate * steps[1](dM)
    E, M = best[0].astype(np.float64), best[1].astype(np.float64)
    return layer_norm(E), M - M.mean(-1, keepdims=True)


def descent(table: Table, E: Array, M: Array, sharp: float, count_right: bool) -> tuple[Array, Array, Array]:
    """By how much each right logit leads the others, and the gradients for E and M. Most of the time goes into arrays
    of entries by tokens, so there is only one, and it is changed in place."""
    (n, length), d = table.keys.shape, E.shape[1]
    at = np.arange(n), table.values
    x = E[table.keys].reshape(n, length * d)
    flat = M.reshape(length * d, d)
    h = x @ flat
    h -= h.mean(-1, keepdims=True)
    scale = np.sqrt((h * h).sum(-1, keepdims=True) / (d + 3)) + 1e-10
    y = h / scale  # the last layer norm, whose last three dimensions are 0
    z = y @ (sharp * E.T)  # (n, V)
    right = z[at]
    z[at] = -np.inf
    others = z.max(-1)
    top = np.maximum(right, others)
    z -= top[:, None]
    p = np.exp(z, out=z)
    p_right = np.exp(right - top)
    total = p.sum(-1) + p_right
    p_right /= total
    weight = sharp / n * (p_right if count_right else 1.0)
    p *= (weight / total)[:, None]
    p[at] = weight * (p_right - 1.0)  # now the gradient for the logits
    dy = p @ E
    dh = (dy - y * (dy * y).sum(-1, keepdims=True) / (d + 3)) / scale
    dh -= dh.mean(-1, keepdims=True)
    dE = p.T @ y
    np.add.at(dE, table.keys.ravel(), (dh @ flat.T).reshape(n * length, d))
    return (right - others) / sharp, dE, (x.T @ dh).reshape(M.shape)


class Adam:
    """The direction of a step, each entry's gradient measured by what it has been lately (Kingma and Ba 2015)."""

    def __init__(self, like: Array) -> None:
        self.mean, self.square, self.t = np.zeros_like(like), np.zeros_like(like), 0

    def __call__(self, gradient: Array) -> Array:
        self.t += 1
        self.mean += 0.1 * (gradient - self.mean)
        self.square += 0.01 * (gradient**2 - self.square)
        unbiased: Array = self.mean / (1 - 0.9**self.t)
        return unbiased / (np.sqrt(self.square / (1 - 0.99**self.t)) + 1e-12)
