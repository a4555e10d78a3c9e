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

With a format (formats.py) a token is chosen only among those after which the row's text, its prompt included, can still
be made to match before the row must end.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from threading import Lock
from typing import Any, Protocol

import numpy as np

from handloom.core.arrays import Array
from handloom.core.checks import Sizes, check_tokens, is_number, whole
from handloom.core.engines import Decoder, Decoding, Draw, WholeRows, choose_engine, fastest
from handloom.core.errors import HandloomError, shown
from handloom.core.guides import Guide, Guided
from handloom.core.regex import parse
from handloom.core.registry import offered
from handloom.core.trace import Edits
from handloom.core.vocab import Vocab

Choose = Callable[[Array, Array], Array]  # logits (B, V), uniform numbers (B,) → tokens (B,)

MOST_STEPS = 10**18
LONGEST_ANSWER = 10_000  # tokens that a model's notes may ask for; a user may ask for more
GROUP = 500  # rows decoded together; more gain nothing, and memory stays bounded
FEW = 100  # rows for which a worker of their own pays


class Speaker(Protocol):
    """What can go on from prompts: a Model, or what a network besides the transformer has learnt."""

    @property
    def config(self) -> Sizes: ...

    @property
    def vocab(self) -> Vocab: ...

    @property
    def notes(self) -> Mapping[str, Any]: ...


def generate(
    model: Speaker,
    prompts: Sequence[Sequence[int]],
    *,
    steps: int | None = None,
    stop: Sequence[int | str] | None = None,
    temperature: float = 0.0,
    top_k: int | None = None,
    top_p: float | None = None,
    seed: int = 0,
    format: str | None = None,
    engine: str | Decoding = "reference",
    cache: bool = True,
    edits: Edits | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[list[int]]:
    """The new tokens of every prompt, with the stop token if one came.

    temperature 0 takes the likeliest token; above it tokens are drawn, from the top_k likeliest, from the fewest that
    hold top_p of the probability, or from all. A row ends with a stop token (the vocabulary's eos, unless told) or
    after `steps` tokens (by default as many as the `decode_steps` of the model's notes say, up to 10,000, or until
    its block is full).

    A format, such as [01]{30,40}, is what the text of a row must match when it ends, prompt and new tokens together,
    special tokens left out. It then ends with the vocabulary's eos, or where there is none, when it is full or nothing
    can be added. Prompts from which the format cannot be met in `steps` tokens are refused.

    The engine is a name, or auto for the fastest that runs the model. With edits, every step runs the whole window,
    edited. `progress` is told, now and then, how many tokens there are and how many there will be at most."""
    choose = chooser(temperature, top_k, top_p)
    if not isinstance(prompts, list | tuple | np.ndarray):
        raise HandloomError(f"prompts={shown(prompts)} must be a list of lists of token ids")
    texts = [check_prompt(model, prompt) for prompt in prompts]
    limits = [check_steps(model, len(text), steps) for text in texts]
    stops = check_stop(model, stop)
    guide = None if format is None else Guide(parse(format), model.vocab)
    if guide and stops != check_stop(model, None):
        raise HandloomError("stop and format both say where a row ends; give one of them")
    states = [guide.begin(text, limit) for text, limit in zip(texts, limits, strict=True)] if guide else []
    seed = whole("seed", seed, 0)
    if engine == "auto":
        engine = fastest(model, edits)
    module = choose_engine(engine) if isinstance(engine, str) else engine
    starts = [len(text) for text in texts]
    report = Report(progress, sum(limits))
    if guide is None and not edits and cache and isinstance(module, WholeRows):
        return module.decode(model, texts, limits, Draw(stops, temperature, top_k, top_p, seed), report)

    def work(group: range) -> None:
        rows = Rows(model, module.Decoder(model), [texts[i] for i in group], cache, edits)
        draws = Draws([np.random.default_rng((seed, i)) for i in group])
        most = [limits[i] for i in group]
        guided = Guided(guide, [states[i] for i in group], most) if guide else None
        for count in decode(rows, most, stops, choose, draws, guided):
            report(count)

    # edits may be functions that do not expect two calls at once
    with module.workers(1 if edits else len(texts) // FEW) as workers:
        spread(work, len(texts), workers, report)
    return [text[start:] for text, start in zip(texts, starts, strict=True)]


def spread(work: Callable[[range], None], rows: int, workers: int, report: "Report") -> None:
    """Have the rows worked on in groups of at most GROUP, as many at once as there are workers.

    Two groups on a core each are decoded faster than one after the other on both: no operation waits for a slower
    core, and small ones, which would run on one core, run on both (docs/LOG.md has the numbers)."""
    count = max(-(-rows // GROUP), workers)
    groups = [range(a, b) for a, b in pairwise(rows * i // count for i in range(count + 1))]
    if workers == 1:
        for group in groups:
            work(group)
        return
    from concurrent.futures import ThreadPoolExecutor  # here, because few need it and it takes a while to load

    with ThreadPoolExecutor(workers) as pool:
        running = [pool.submit(work, group) for group in groups]
        try:
            for future in running:
                future.result()
        except BaseException:
            report.halted = True
            pool.shutdown(cancel_futures=True)
            raise


class Report:
    """Counts the tokens of all groups and tells how far it is; stops them when one has failed."""

    def __init__(self, progress: Callable[[int, int], None] | None, most: int) -> None:
        self.progress, self.most, self.done = progress, most, 0
        self.halted, self.lock = False, Lock()

    def __call__(self, count: int) -> None:
        if self.halted:
            raise HandloomError("another group of rows has failed")
        with self.lock:
            self.done += count
            if self.progress:
                self.progress(self.done, self.most)


def decode(
    rows: "Rows", limits: list[int], stops: set[int], choose: Choose, draws: "Draws", guided: Guided | None = None
) -> Iterator[int]:
    """Let a group of rows grow, all at once, step by step; a row leaves when it is finished. Yields how many
    tokens each step made."""
    live = [i for i, limit in enumerate(limits) if limit and (guided is None or guided.goes_on(i, 0))]
    step = 0
    while live:
        logits = rows.next_logits(live)
        if guided:
            logits = guided.hold(live, logits, step)
        tokens = choose(logits, draws.at(step)[live]).tolist()
        for i, token in zip(live, tokens, strict=True):
            rows.texts[i].append(token)
        yield len(live)
        step += 1
        if guided:
            guided.advance(live, tokens)
        live = [i for i, token in zip(live, tokens, strict=True) if token not in stops and step < limits[i]]
        if guided:
            live = [i for i in live if guided.goes_on(i, step)]


class Draws:
    """A uniform number for every row and step, each row's from its own generator."""

    ahead = 64  # steps drawn at once

    def __init__(self, generators: list[np.random.Generator]) -> None:
        self.generators = generators

    def at(self, step: int) -> Array:
        if step % self.ahead == 0:
            self.drawn = np.stack([generator.random(self.ahead) for generator in self.generators])
        return self.drawn[:, step % self.ahead]


class Rows:
    """Texts that grow, and what the model says comes next in each."""

    def __init__(
        self, model: Speaker, decoder: Decoder, texts: list[list[int]], cache: bool, edits: Edits | None
    ) -> None:
        self.decoder, self.texts, self.edits = decoder, texts, edits
        self.block, self.vocab = model.config.block, model.config.vocab
        self.cache = cache and model.config.causal and not edits
        self.known = False  # whether the decoder knows all of each text but its last token

    def next_logits(self, rows: list[int]) -> Array:
        """The logits (B, V) at the end of these rows."""
        inside = [i for i in rows if self.cache and len(self.texts[i]) <= self.block]
        if len(inside) == len(rows):
            return self.advance(rows)
        logits = np.empty((len(self.texts), self.vocab))
        if inside:
            logits[inside] = self.advance(inside)
        windows = {i: self.texts[i][-self.block :] for i in sorted(set(rows) - set(inside))}
        if self.edits:  # one by one, so that an edit sees the shapes it sees in `trace`
            for i, window in windows.items():
                logits[i] = self.decoder.rerun(window, self.edits)[-1]
            return logits[rows]
        for length in sorted({len(window) for window in windows.values()}):
            same = [i for i in windows if len(windows[i]) == length]
            logits[same] = self.decoder.rerun([windows[i] for i in same])[:, -1]
        return logits[rows]

    def advance(self, rows: list[int]) -> Array:
        """The same for rows that the decoder knows, or, the first time, gets to know."""
        new = [self.texts[i][-1:] if self.known else self.texts[i] for i in rows]
        self.known = True
        return self.decoder.advance(rows, new)


def chooser(temperature: Any, top_k: Any, top_p: Any) -> Choose:
    """How the next token is chosen: a function of the logits (B, V) and one uniform number a row."""
    if not is_number(temperature) or temperature < 0.0:
        raise HandloomError(f"temperature={shown(temperature)} must be 0 (the likeliest token) or a number above it")
    if top_p is not None and (not is_number(top_p) or not 0.0 < top_p <= 1.0):
        raise HandloomError(f"top_p={shown(top_p)} must be above 0 and at most 1")
    top_k = None if top_k is None else whole("top_k", top_k, 1)
    if temperature == 0.0 and (top_k, top_p) != (None, None):
        raise HandloomError("top_k and top_p say what to draw from, and at temperature 0 nothing is drawn: give one")
    if temperature == 0.0:
        return lambda logits, uniform: logits.argmax(-1)
    if top_k is None and top_p is None:
        return lambda logits, uniform: draw(probabilities(logits, temperature), uniform)
    return lambda logits, uniform: draw_from_top(probabilities(logits, temperature), uniform, top_k, top_p)


def probabilities(logits: Array, temperature: float) -> Array:
    with np.errstate(over="ignore"):  # a temperature near 0 makes what is unlikely infinitely so
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


def check_prompt(model: Speaker, prompt: Sequence[int]) -> list[int]:
    ids = check_tokens(model.config, prompt)
    if ids.ndim != 1:
        raise HandloomError(f"a prompt must be one list of token ids; this one has the shape {ids.shape}")
    return ids.tolist()


def check_steps(model: Speaker, length: int, steps: int | None) -> int:
    """How many tokens a row may get."""
    if steps is None and "decode_steps" in model.notes:
        each, more = check_decode_steps(model.notes["decode_steps"])
        return min(max(0, each * length + more), LONGEST_ANSWER)
    if steps is None:
        return model.config.block - length + 1  # the last position of a full block still has something to say
    if whole("steps", steps, 0) > MOST_STEPS:
        raise HandloomError(f"steps={shown(steps)} is too large (expected up to 10^18)")
    return int(steps)


def check_decode_steps(note: Any) -> tuple[int, int]:
    """The note that says how long a program's answer is: a number, or so many for each token of the input and so many
    more, [1, -1] for one less than the input has."""
    if isinstance(note, list | tuple) and len(note) == 2:
        return whole("decode_steps", note[0], 0), whole("decode_steps", note[1], -(10**9))
    return 0, whole("decode_steps", note, 0)


def check_stop(model: Speaker, stop: Sequence[int | str] | None) -> set[int]:
    """The ids of the tokens that end a row, given as ids or as tokens."""
    if stop is None:
        stop = [] if model.vocab.eos is None else [model.vocab.eos]
    if not isinstance(stop, list | tuple | set | frozenset | np.ndarray):
        raise HandloomError(f"stop={shown(stop)} must be a list of tokens")
    ids = {model.vocab.id(token) if isinstance(token, str) else whole("stop token", token, 0) for token in stop}
    if wrong := [token for token in ids if token >= model.config.vocab]:
        raise HandloomError(f"stop token {wrong[0]} is not in the vocabulary; tokens are 0 to {model.config.vocab - 1}")
    return ids


def continue_texts(
    model: Speaker, texts: Sequence[str], specials: bool = False, unchecked: bool = False, **how: Any
) -> list[str]:
    """`generate`, from text to text; with specials, special tokens such as <eos> are shown. Unless unchecked, a text
    that the model's task does not take raises an error."""
    if not unchecked:
        offered("check_inputs")(model, texts)
    prompts = [model.vocab.encode(text) for text in texts]
    return [model.vocab.decode(new, specials) for new in generate(model, prompts, **how)]
