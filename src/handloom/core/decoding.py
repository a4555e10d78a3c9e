"""Decoding: letting a model go on from prompts, token by token, on any engine.

    >>> from handloom.core import Config, Model, Vocab, params
    >>> config = Config(vocab=5, block=4, d_model=8, layers=1, heads=2, d_head=4, d_ff=16)
    >>> model = Model(config, params.random(config, seed=0, scale=1.0), Vocab.numbers(5))
    >>> [len(new) for new in generate(model, [[3], [1, 4]], steps=6)]       # past the block: the window slides
    [6, 6]

Definition: the next token of a row is chosen by the logits at the end of the window, which is the last `block`
tokens of the row. While the window holds the whole row a causal model need not be run again from the beginning: the
engine's Decoder knows the keys and values of what was there. Once it slides, every position in it has changed.

Row i of the prompts draws its random numbers from (seed, i), so that what a row becomes does not depend on
the other rows, the engine, the cache, or how rows are grouped.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from handloom.core.config import shown
from handloom.core.engines import Decoder, choose_engine
from handloom.core.errors import HandloomError
from handloom.core.model import Model
from handloom.core.sites import Edits
from handloom.core.tokens import check_tokens

Array = np.ndarray[Any, Any]
Choose = Callable[[Array, Array], Array]  # logits (B, V), uniform numbers (B,) → tokens (B,)

GROUP = 512  # rows decoded together; more gain nothing, and memory stays bounded


def generate(
    model: Model,
    prompts: Sequence[Sequence[int]],
    *,
    steps: int | None = None,
    stop: Sequence[int] | None = None,
    temperature: float = 0.0,
    top_k: int | None = None,
    top_p: float | None = None,
    seed: int = 0,
    engine: str = "reference",
    cache: bool = True,
    edits: Edits | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[list[int]]:
    """The new tokens of every prompt, with the stop token if one came.

    temperature 0 takes the likeliest token; above it tokens are drawn, from the top_k likeliest, from the fewest that
    hold top_p of the probability, or from all. A row ends with a stop token (the vocabulary's eos, unless told) or
    after `steps` tokens (if not told: what the model's notes say, or until its block is full). With edits, every
    step runs the whole window, edited. `progress` is told, now and then, how many tokens there are and how many
    there will be at most."""
    choose = chooser(temperature, top_k, top_p)
    texts = [check_tokens(model.config, prompt).tolist() for prompt in prompts]
    limits = [check_steps(model, len(text), steps) for text in texts]
    stops = check_stop(model, stop)
    check_whole("seed", seed)
    module = choose_engine(engine)
    made: list[list[int]] = [[] for _ in texts]
    for at in range(0, len(texts), GROUP):
        group = range(at, min(at + GROUP, len(texts)))
        rows = Rows(model, module.Decoder(model), [texts[i] for i in group], cache, edits)
        draws = [np.random.default_rng((seed, i)).random(limits[i] if temperature else 0) for i in group]
        for new in decode(rows, [limits[i] for i in group], stops, choose, draws):
            for i, token in new.items():
                made[at + i].append(token)
            if progress:
                progress(sum(map(len, made)), sum(limits))
    return made


def decode(
    rows: "Rows", limits: list[int], stops: set[int], choose: Choose, draws: list[Array]
) -> Iterator[dict[int, int]]:
    """Step by step the new tokens of a group of rows, decoded together; a row leaves when it is finished."""
    live = [i for i, limit in enumerate(limits) if limit]
    step = 0
    while live:
        uniform = np.array([draws[i][step] if draws[i].size else 0.0 for i in live])
        new = dict(zip(live, choose(rows.next_logits(live), uniform).tolist(), strict=True))
        for i, token in new.items():
            rows.texts[i].append(token)
        yield new
        step += 1
        live = [i for i in live if new[i] not in stops and step < limits[i]]


class Rows:
    """Texts that grow, and what the model says comes next in each."""

    def __init__(
        self, model: Model, decoder: Decoder, texts: list[list[int]], cache: bool, edits: Edits | None
    ) -> None:
        self.decoder, self.texts, self.edits = decoder, texts, edits
        self.block, self.vocab = model.config.block, model.config.vocab
        self.cache = cache and model.config.causal and not edits
        self.fed = [0] * len(texts)  # how much of each text the decoder knows

    def next_logits(self, rows: list[int]) -> Array:
        """The logits (B, V) at the end of these rows."""
        logits = np.empty((len(self.texts), self.vocab))
        inside = [i for i in rows if self.cache and len(self.texts[i]) <= self.block]
        if inside:
            logits[inside] = self.decoder.advance(inside, [self.texts[i][self.fed[i] :] for i in inside])
            for i in inside:
                self.fed[i] = len(self.texts[i])
        windows = {i: self.texts[i][-self.block :] for i in sorted(set(rows) - set(inside))}
        if self.edits:  # one by one, so that an edit sees the shapes it sees in `trace`
            for i, window in windows.items():
                logits[i] = self.decoder.rerun(window, self.edits)
            return logits[rows]
        for length in sorted({len(window) for window in windows.values()}):
            same = [i for i in windows if len(windows[i]) == length]
            logits[same] = self.decoder.rerun([windows[i] for i in same])
        return logits[rows]


def chooser(temperature: float, top_k: int | None, top_p: float | None) -> Choose:
    """How the next token is chosen: a function of the logits (B, V) and one uniform number a row."""
    if not 0.0 <= temperature < np.inf:
        raise HandloomError(f"temperature={temperature} must be 0 (the likeliest token) or a number above it")
    if top_k is not None and top_k < 1:
        raise HandloomError(f"top_k={top_k} must be at least 1")
    if top_p is not None and not 0.0 < top_p <= 1.0:
        raise HandloomError(f"top_p={top_p} must be above 0 and at most 1")
    if temperature == 0.0:
        return lambda logits, uniform: logits.argmax(-1)
    if top_k is None and top_p is None:
        return lambda logits, uniform: draw(probabilities(logits, temperature), uniform)
    return lambda logits, uniform: draw_from_top(probabilities(logits, temperature), uniform, top_k, top_p)


def probabilities(logits: Array, temperature: float) -> Array:
    weights: Array = np.exp((logits - logits.max(-1, keepdims=True)) / temperature)
    return weights / weights.sum(-1, keepdims=True)


def draw(p: Array, uniform: Array) -> Array:
    """The token at which the running sum of p, (B, V), passes the uniform number; p need not sum to 1."""
    reached = np.cumsum(p, -1)
    passed: Array = reached > (uniform * reached[:, -1])[:, None]
    return passed.argmax(-1)


def draw_from_top(p: Array, uniform: Array, top_k: int | None, top_p: float | None) -> Array:
    """The same among the top_k likeliest tokens, and among the fewest likeliest that hold top_p."""
    order = np.argsort(-p, axis=-1, kind="stable")
    ranked = np.take_along_axis(p, order, -1)
    if top_p is not None:
        before = np.cumsum(ranked, -1) - ranked
        ranked = np.where(before < top_p, ranked, 0.0)
    if top_k is not None:
        ranked[:, top_k:] = 0.0
    return np.take_along_axis(order, draw(ranked, uniform)[:, None], -1)[:, 0]


def check_steps(model: Model, length: int, steps: int | None) -> int:
    """How many tokens a row may get."""
    steps = model.notes.get("steps") if steps is None else steps
    if steps is None:
        return model.config.block - length + 1  # the last position of a full block still has something to say
    return check_whole("steps", steps)


def check_whole(name: str, value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise HandloomError(f"{name}={shown(value)} must be a whole number of at least 0")
    return value


def check_stop(model: Model, stop: Sequence[int] | None) -> set[int]:
    if stop is None:
        return set() if model.vocab.eos is None else {model.vocab.id(model.vocab.eos)}
    if wrong := [token for token in stop if not 0 <= token < model.config.vocab]:
        raise HandloomError(f"stop token {wrong[0]} is not in the vocabulary; tokens are 0 to {model.config.vocab - 1}")
    return set(stop)


def continue_texts(model: Model, texts: Sequence[str], **how: Any) -> list[str]:
    """`generate`, from text to text."""
    prompts = [model.vocab.encode(text) for text in texts]
    return [model.vocab.decode(new) for new in generate(model, prompts, **how)]
