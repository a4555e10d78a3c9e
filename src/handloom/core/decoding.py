"""Decoding: a model generates tokens after prompts, one by one, on any engine.

    >>> from handloom.core import Config, Model, Vocab, params
    >>> config = Config(vocab=5, block=4, d_model=8, layers=1, heads=2, d_head=4, d_ff=16)
    >>> model = Model(config, params.random(config, seed=0, scale=1.0), Vocab.numbers(5))
    >>> [len(new) for new in generate(model, [[3], [1, 4]], steps=6)]       # past the block: the window slides
    [6, 6]

Definition: the logits at the end of the window, which is the last `block` tokens of a row, choose the row's next token.
While the window holds the whole row, a causal model need not run from the beginning again: the engine's Decoder keeps
the keys and values of earlier positions. Once the window slides, every position in it has changed.

Row i of the prompts draws its random numbers from (seed, i). So the tokens of a row do not depend on the other rows,
the engine, the cache, or how rows are batched.

With a format (`regex.py`) a token is chosen only among those after which the row's text, its prompt included, can still
match before the row must end.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from threading import Lock
from typing import Any, Protocol

import numpy as np

from handloom.core.arrays import Array
from handloom.core.callbacks import Progress
from handloom.core.checks import Sizes, check_tokens, is_number, whole
from handloom.core.engines import (
    Decoder,
    DecodingEngine,
    InThreads,
    TokenChoice,
    WholeRows,
    choose_engine,
    fastest,
    usual_engine,
)
from handloom.core.errors import HandloomError, shown
from handloom.core.guides import Guide, Guided
from handloom.core.regex import parse_regex
from handloom.core.registry import offered
from handloom.core.trace import Edits
from handloom.core.vocab import Vocab

Choose = Callable[[Array, Array], Array]  # logits (B, V), uniform numbers (B,) → tokens (B,)

MOST_STEPS = 10**18
LONGEST_ANSWER = 10_000  # tokens that a model's notes may ask for; a user may ask for more
BATCH = 500  # rows decoded together; more gain nothing, and memory stays bounded
ROWS_PER_THREAD = 100  # fewer rows do not pay for a thread


class LanguageModel(Protocol):
    """What can generate from prompts: a Model, or a trained network of another kind."""

    @property
    def config(self) -> Sizes: ...

    @property
    def vocab(self) -> Vocab: ...

    @property
    def notes(self) -> Mapping[str, Any]: ...


def generate(
    model: LanguageModel,
    prompts: Sequence[Sequence[int]],
    *,
    steps: int | None = None,
    stop: Sequence[int | str] | None = None,
    temperature: float = 0.0,
    top_k: int | None = None,
    top_p: float | None = None,
    seed: int = 0,
    format: str | None = None,
    engine: str | DecodingEngine | None = None,
    cache: bool = True,
    edits: Edits | None = None,
    progress: Progress | None = None,
    batch: int = BATCH,
    rows_per_thread: int = ROWS_PER_THREAD,
) -> list[list[int]]:
    """The new tokens of every prompt, including the stop token if one was generated.

    temperature 0 takes the likeliest token; above it tokens are drawn, from the top_k likeliest, from the fewest that
    hold top_p of the probability, or from all. A row ends with a stop token (by default the vocabulary's eos) or after
    `steps` tokens. By default that is the `decode_steps` of the model's notes, up to 10,000, or what fills the block.

    A format, such as [01]{30,40}, is what the text of a finished row matches, prompt and new tokens together, without
    special tokens. The row ends with the vocabulary's eos, or if it has none, when the row is full or nothing can be
    added. A prompt that cannot be completed to match within `steps` tokens raises an error.

    `engine` is a name, or auto for the fastest that runs the model; by default the reference, and for a large float32
    model torch if it is here. With edits, every step runs the whole window,
    edited. `batch` rows are decoded together, and a thread gets at least `rows_per_thread`. `progress` gets the number
    of tokens so far and the most there can be."""
    batch, rows_per_thread = whole("batch", batch, 1), whole("rows_per_thread", rows_per_thread, 1)
    choice = check_choice(model, stop, temperature, top_k, top_p, seed)
    texts = check_prompts(model, prompts)
    limits = [check_steps(model, len(text), steps) for text in texts]
    guided = None if format is None else held_to(format, model, texts, limits, choice.stops)
    chosen = engine_for(model, engine, edits)
    counter = TokenCounter(progress, sum(limits))
    if guided is None and not edits and cache and isinstance(chosen, WholeRows):
        return chosen.decode(model, texts, limits, choice, counter)
    starts = [len(text) for text in texts]

    def work(group: range) -> None:
        rows = Rows(model, chosen.Decoder(model), [texts[i] for i in group], cache, edits)
        for count in decode(rows, [limits[i] for i in group], choice, group, guided and guided.some(group)):
            counter(count)

    useful = 1 if edits else len(texts) // rows_per_thread  # two calls of an edit at once might disturb each other
    spread(work, len(texts), batch, useful, chosen, counter)
    return [text[start:] for text, start in zip(texts, starts, strict=True)]


def held_to(format: str, model: LanguageModel, texts: list[list[int]], limits: list[int], stops: set[int]) -> Guided:
    """The rows, held to a format."""
    if stops != check_stop(model, None):
        raise HandloomError("stop and format both say where a row ends; give one of them")
    guide = Guide(parse_regex(format), model.vocab)
    return Guided(guide, [guide.begin(text, limit) for text, limit in zip(texts, limits, strict=True)], limits)


def engine_for(model: LanguageModel, engine: str | DecodingEngine | None, edits: Edits | None) -> DecodingEngine:
    if engine is None:
        engine = usual_engine(model, edits)
    if engine == "auto":
        engine = fastest(model, edits)
    return choose_engine(engine) if isinstance(engine, str) else engine


def spread(
    work: Callable[[range], None],
    rows: int,
    batch: int,
    useful: int,
    engine: DecodingEngine,
    counter: "TokenCounter",
) -> None:
    """Decode the rows in groups of up to `batch`, in up to `useful` threads if the engine has them.

    Two groups at once, on a core each, are faster than one after the other on both cores: no operation waits for a
    slower core, and small ones, which would run on one core, run on both (docs/LOG.md has the numbers)."""
    threads = engine.decoders_at_once(useful) if isinstance(engine, InThreads) else 1
    count = max(-(-rows // batch), threads)
    groups = [range(a, b) for a, b in pairwise(rows * i // count for i in range(count + 1))]
    if threads == 1 or not isinstance(engine, InThreads):
        for group in groups:
            work(group)
        return
    with engine.pool(threads) as pool:
        running = [pool.submit(work, group) for group in groups]
        try:
            for future in running:
                future.result()
        except BaseException:
            counter.halted = True
            pool.shutdown(cancel_futures=True)
            raise


class TokenCounter:
    """Counts the new tokens of all groups and reports them; stops the other groups once one has failed."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self.progress, self.total, self.done = progress, total, 0
        self.halted, self.lock = False, Lock()

    def __call__(self, count: int) -> None:
        if self.halted:
            raise HandloomError("another group of rows has failed")
        with self.lock:
            self.done += count
            if self.progress:
                self.progress(self.done, self.total)


def decode(
    rows: "Rows", limits: list[int], choice: TokenChoice, numbers: range, guided: Guided | None = None
) -> Iterator[int]:
    """Extend a group of rows, all of them at each step; a finished row leaves. `numbers` are the rows' places among
    all prompts. Yields the number of tokens that each step made."""
    choose = chooser(choice.temperature, choice.top_k, choice.top_p)
    draws = Draws([np.random.default_rng((choice.seed, number)) for number in numbers])
    live = [i for i, limit in enumerate(limits) if limit and (guided is None or guided.continues(i, 0))]
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
        live = [i for i, token in zip(live, tokens, strict=True) if token not in choice.stops and step < limits[i]]
        if guided:
            live = [i for i in live if guided.continues(i, step)]


class Draws:
    """A uniform number per row and step, each row's from its own generator."""

    ahead = 64  # steps drawn at once

    def __init__(self, generators: list[np.random.Generator]) -> None:
        self.generators = generators

    def at(self, step: int) -> Array:
        if step % self.ahead == 0:
            self.drawn = np.stack([generator.random(self.ahead) for generator in self.generators])
        return self.drawn[:, step % self.ahead]


class Rows:
    """Rows of tokens that grow, and the logits of the next token of each."""

    def __init__(
        self, model: LanguageModel, decoder: Decoder, texts: list[list[int]], cache: bool, edits: Edits | None
    ) -> None:
        self.decoder, self.texts, self.edits = decoder, texts, edits
        self.block, self.vocab = model.config.block, model.config.vocab
        self.cache = cache and model.config.causal and not edits
        self.known = False  # whether the decoder has seen all of each row but its last token

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
        """The same for rows that the decoder has seen; the first time it is shown them whole."""
        new = [self.texts[i][-1:] if self.known else self.texts[i] for i in rows]
        self.known = True
        return self.decoder.advance(rows, new)


def chooser(temperature: Any, top_k: Any, top_p: Any) -> Choose:
    """How the next token is chosen: a function of the logits (B, V) and one uniform number per row."""
    if not is_number(temperature) or temperature < 0.0:
        raise HandloomError(f"temperature={shown(temperature)} must be 0 (the likeliest token) or a number above it")
    if top_p is not None and (not is_number(top_p) or not 0.0 < top_p <= 1.0):
        raise HandloomError(f"top_p={shown(top_p)} must be above 0 and at most 1")
    top_k = None if top_k is None else whole("top_k", top_k, 1)
    if temperature == 0.0 and (top_k, top_p) != (None, None):
        raise HandloomError(
            "top_k and top_p limit what is drawn, and at temperature 0 nothing is drawn; give a temperature above 0"
        )
    if temperature == 0.0:
        return lambda logits, uniform: logits.argmax(-1)
    if top_k is None and top_p is None:
        return lambda logits, uniform: draw(probabilities(logits, temperature), uniform)
    return lambda logits, uniform: draw_from_top(probabilities(logits, temperature), uniform, top_k, top_p)


def probabilities(logits: Array, temperature: float) -> Array:
    with np.errstate(over="ignore"):  # a temperature near 0 makes unlikely tokens infinitely so
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


def check_choice(
    model: LanguageModel,
    stop: Sequence[int | str] | None,
    temperature: float,
    top_k: int | None,
    top_p: float | None,
    seed: int,
) -> TokenChoice:
    chooser(temperature, top_k, top_p)
    return TokenChoice(check_stop(model, stop), temperature, top_k, top_p, whole("seed", seed, 0))


def check_prompts(model: LanguageModel, prompts: Any) -> list[list[int]]:
    if not isinstance(prompts, list | tuple | np.ndarray):
        raise HandloomError(f"prompts={shown(prompts)} must be a list of lists of token ids")
    return [check_prompt(model, prompt) for prompt in prompts]


def check_prompt(model: LanguageModel, prompt: Sequence[int]) -> list[int]:
    ids = check_tokens(model.config, prompt)
    if ids.ndim != 1:
        raise HandloomError(f"a prompt must be one list of token ids; this one has the shape {ids.shape}")
    return ids.tolist()


def check_steps(model: LanguageModel, length: int, steps: int | None) -> int:
    """How many tokens may be added to a row."""
    if steps is None and "decode_steps" in model.notes:
        each, more = check_decode_steps(model.notes["decode_steps"])
        return min(max(0, each * length + more), LONGEST_ANSWER)
    if steps is None:
        return model.config.block - length + 1  # the last position of a full block predicts a token too
    if whole("steps", steps, 0) > MOST_STEPS:
        raise HandloomError(f"steps={shown(steps)} is too large (expected up to 10^18); give fewer")
    return int(steps)


def check_decode_steps(note: Any) -> tuple[int, int]:
    """The note on the length of a program's answer: a number, or [a, b] for a tokens per token of the input and b more;
    [1, -1] is one token fewer than the input has."""
    if isinstance(note, list | tuple) and len(note) == 2:
        return whole("decode_steps", note[0], 0), whole("decode_steps", note[1], -(10**9))
    return 0, whole("decode_steps", note, 0)


def check_stop(model: LanguageModel, stop: Sequence[int | str] | None) -> set[int]:
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
    model: LanguageModel, texts: Sequence[str], specials: bool = False, unchecked: bool = False, **how: Any
) -> list[str]:
    """`generate`, from text to text; with `specials`, special tokens such as <eos> are shown. A text that is not an
    input of the model's task raises an error, unless `unchecked`."""
    if not unchecked:
        offered("check_inputs")(model, texts)
    prompts = [model.vocab.encode_prompt(text) for text in texts]
    return [model.vocab.decode(new, specials) for new in generate(model, prompts, **how)]
