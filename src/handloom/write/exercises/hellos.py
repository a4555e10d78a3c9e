"""Other ways to output a message: the exercises of The Art of Transformer Programming, chapter 2, and its Simpleformer.

Each function writes a model that outputs any message its docstring allows, in the fewest dimensions we know of. All but
`repeat` are for the task `handloom.tasks.message.message`. docs/book/chapter2.md tells why they work.
"""

from typing import Any

import numpy as np

from handloom.core import Config, HandloomError, Model, Vocab, params
from handloom.core.arrays import Array
from handloom.core.config import Norm
from handloom.tasks.message import message_vocab
from handloom.write.parts.encodings import PLANE, circle, on_circle
from handloom.write.parts.loudness import LOUD
from handloom.write.parts.readings import EMBEDDED, LAST, numbered, plane, reading, readings
from handloom.write.parts.stream import Direction

Ids = list[int]


def flat_circle(count: int) -> Array:
    """`count` points, (count, 2), evenly spaced on the circle of radius √2 around 0: RMS norm keeps them."""
    angles = 2 * np.pi * np.arange(count) / count
    return np.sqrt(2.0) * np.stack([np.cos(angles), np.sin(angles)], axis=-1)


def signed_axes(count: int) -> Array:
    """`count` points, (count, ⌈count / 2⌉ but at least 3), with one number in each: the axes, then their opposites."""
    width = max(3, (count + 1) // 2)
    axes: Array = np.vstack([np.eye(width), -np.eye(width)])[:count]
    return axes


def spelled(message: str) -> tuple[Vocab, Ids, Ids]:
    """The vocabulary of a message, the token at every position, and the one that follows it."""
    vocab = message_vocab(message)
    ids = [vocab.id(token) for token in ["<bos>", *message, "<eos>"]]
    return vocab, ids[:-1], ids[1:]


def written(vocab: Vocab, tokens: Array, positions: Array, more: dict[str, Direction], **fields: Any) -> Model:
    """A model without layers that has these two tables, of which more can be read than the token."""
    width = tokens.shape[1]
    config = Config(vocab=len(vocab), block=len(positions), d_model=width, biases=(), **fields)
    known = {"token": reading(np.eye(width), points="W_E")} | more
    return Model(config, params.zeros(config) | {"W_E": tokens, "W_pos": positions}, vocab, readings(**known))


def simpleformer(message: str = "Hello World!") -> Model:
    """Section 2.1: no norm, and the tokens that stand there are not looked at. Two dimensions do."""
    vocab, _, following = spelled(message)
    config = Config(
        vocab=len(vocab), block=len(following), d_model=2, norm="none", tied=False, biases=()
    )  # fmt: skip
    out = flat_circle(len(vocab))
    known = readings(answer=reading(np.eye(2), points="W_U", sites=("pos_embed", *LAST)))
    return Model(config, params.zeros(config) | {"W_pos": out[following], "W_U": out.T}, vocab, known)


def repeat(tokens: int = 10, block: int = 1, sparse: bool = False) -> Model:
    """Exercises 1 and 2: the last token again, for ever. 3 · tokens entries, or with `sparse` as many non-zero ones as
    tokens. There is no table of positions; a block of 1 is enough, for the window slides."""
    table = signed_axes(tokens) if sparse else circle(tokens)
    config = Config(vocab=tokens, block=block, d_model=table.shape[1], positions="none", biases=())
    known = readings(token=reading(np.eye(table.shape[1]), points="W_E"))
    return Model(config, params.zeros(config) | {"W_E": table}, Vocab.numbers(tokens), known)


def sparse_hello(message: str = "Hello World!") -> Model:
    """Exercise 2: one non-zero entry for each token and each position."""
    vocab, _, following = spelled(message)
    table = signed_axes(len(vocab))
    return written(vocab, table, LOUD * table[following], {})


def chain_hello(message: str = "Hel Word!") -> Model:
    """Exercise 4: no positions, and still a single table, for messages in which no letter comes twice.

    The tokens stand on a spiral in the order of the message. From each the next one is a little further round and
    so much further out that it, and not the one after it, reaches furthest in the token's own direction: with k steps
    of an angle and a growth, growthᵏ · cos(k · angle) is largest at k = 1. Three quarters of a turn is all there is
    room for: past it the spiral would come round again."""
    vocab, standing, following = spelled(message)
    if len(vocab) <= len(standing):
        raise HandloomError(f"{message!r} has a letter twice; what follows must be known from the letter alone")
    angle = 1.5 * np.pi / max(len(vocab) - 1, 6)
    growth = np.sqrt(1.0 / np.cos(2 * angle)) if np.cos(2 * angle) > 0.25 else 2.0
    steps = np.arange(len(vocab))
    spiral = growth ** steps[:, None] * on_circle(angle * steps)
    known = {
        "token": reading(plane(0, 3), points="W_E"),
        "answer": reading(plane(0, 3), points="W_U", sites=LAST),
    }
    return written(vocab, spiral, np.zeros((len(following), 3)), known)


def counting_hello(message: str = "Hello World!") -> Model:
    """Exercise 5: any message without positions, in one layer: attention counts the tokens so far.

    <bos> has one embedding, every other token a second at right angles to it. A head that hears <bos> w times as loud
    as any other token gives, after t tokens, w · first + t · second: a direction whose angle, arctan(t / w), grows with
    t. Neuron k is on from position k onward; what each must write so that the sum is right at every position follows
    from the first to the last, as in solving a triangular system."""
    vocab, _, following = spelled(message)
    V, N = len(vocab), len(following)
    config = Config(
        vocab=V, block=N, d_model=3, layers=1, heads=1, d_head=3, d_ff=N, tied=False, activation="relu", biases=("mlp",)
    )  # fmt: skip
    first, second, loudness = on_circle(0.0), on_circle(np.pi / 2), max(1.0, N / 2)
    weights = params.zeros(config)
    weights["W_E"][:] = second
    weights["W_E"][vocab.id("<bos>")] = first
    weights["W_U"] = circle(V).T
    layer = weights["layers"][0]
    layer["W_Q"][0, :, 0] = first + second  # the same question from every token: 3
    layer["W_K"][0, :, 0] = np.log(loudness) * np.sqrt(3.0) / 9 * first  # scores log(loudness) and 0
    layer["W_V"][0], layer["W_O"][0] = np.eye(3), LOUD * np.eye(3)
    angles = np.arctan(np.arange(N) / loudness)
    starts = np.concatenate([[-np.pi / 4], (angles[1:] + angles[:-1]) / 2])
    layer["W_in"] = on_circle(starts + np.pi / 2).T  # positive past its start
    on = np.maximum(on_circle(angles) @ layer["W_in"], 0.0)
    layer["W_out"] = np.linalg.solve(on, LOUD**2 * circle(V)[following])
    notes = {
        **readings(
            token=reading(
                plane(0, 3), values=("<bos>", "any other"), points=np.stack([first, second]) @ PLANE.T, sites=EMBEDDED
            ),
            count=reading(plane(0, 3), "angle", on_circle(angles) @ PLANE.T, sites=("0.resid_mid",)),
            answer=reading(plane(0, 3), points="W_U", sites=("0.resid_post", *LAST)),
        ),
        "heads": {"0.0": "looks at all tokens, at <bos> loudest: the angle of what it hears tells how many there are"},
        "mlps": {"0": "neuron k is on from position k on; those that are on output together what comes next"},
    }
    return Model(config, weights, vocab, notes)


def rms_hello(message: str = "Hello World!") -> Model:
    """Exercise 6: RMS norm keeps a circle in two dimensions: 2 · (tokens + positions) entries, 48."""
    vocab, _, following = spelled(message)
    table = flat_circle(len(vocab))
    return written(vocab, table, LOUD * table[following], {}, norm="rms")


def integer_hello(message: str = "Hello World!") -> Model:
    """Exercise 7: whole numbers only, and small ones.

    Token k is (k, −k², 0), and position i writes (2j, 1, −2j − 1) where j is what follows. Their product, 2jk − k²,
    is largest at k = j. What stands at position i is known too, and is taken away."""
    vocab, standing, following = spelled(message)
    k = np.arange(len(vocab), dtype=np.float64)
    table = np.stack([k, 0 - k**2, 0 * k], axis=1)
    wanted = np.stack([2 * k, 0 * k + 1, -2 * k - 1], axis=1)
    known = {
        "token": reading(np.eye(3)[:2], points="W_E", sites=EMBEDDED),
        "answer": reading(np.eye(3)[:1] / 2, points=numbered(len(vocab)), values=vocab.tokens, sites=LAST),
    }
    return written(vocab, table, wanted[following] - table[standing], known)


def positive_hello(message: str = "Hello World!") -> Model:
    """Exercise 8: positive entries only. Layer norm takes the mean away, so that adding 2 to every entry changes
    nothing before it; and after it what sums to zero does not see what is the same in every dimension."""
    vocab, _, following = spelled(message)
    table = circle(len(vocab)) + 2.0
    return written(vocab, table, LOUD * table[following], {"token": reading(plane(0, 3), points="W_E")})


def train_hello(message: str = "Hello World!", d_model: int = 3, norm: Norm = "layer", seed: int = 0) -> Model:
    """Exercise 3: a model without layers trained to output a message, with Adam, from a random start. It stops when
    every token is right, or after 2,000 steps."""
    import torch

    from handloom.core import torch_engine

    vocab, standing, following = spelled(message)
    config = Config(vocab=len(vocab), block=len(following), d_model=d_model, norm=norm, biases=())
    model = Model(config, params.random(config, seed, scale=1.0), vocab)
    weights = torch_engine.tensors(model, grad=True)
    adam = torch.optim.Adam([weights["W_E"], weights["W_pos"]], lr=0.05)
    right = torch.tensor(following)
    for _ in range(2_000):
        logits, _ = torch_engine.compute(config, weights, standing)
        if bool((logits.argmax(-1) == right).all()):
            break
        adam.zero_grad()
        torch.nn.functional.cross_entropy(logits, right).backward()
        adam.step()
    return model.with_(params=weights)
