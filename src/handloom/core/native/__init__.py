"""The native engine: what `reference.py` defines, in C++, in float32, close to the speed of the processor.

It runs and trains the standard family of models, and needs no torch; `reason_against` says why it cannot run a Config.
The sources beside this file are built when handloom is installed, and docs/native.md explains them.

It computes logits and decodes. It records no sites and takes no edits; the reference and torch do.

Public: what every engine has (core/engines.py), `forward`, `Decoder` and `decode`; `reason_against`, `library` and
`describe`; and for the native trainer `library_for`, `lanes`, `thread_count`, `held` and `fine`, with `layout.py`.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from ctypes import byref
from itertools import chain
from math import prod
from typing import Any

import numpy as np

from handloom.core.arrays import Array
from handloom.core.checks import check_tokens
from handloom.core.config import Config
from handloom.core.engines import Texts, TokenChoice
from handloom.core.errors import HandloomError
from handloom.core.model import Model
from handloom.core.native.layout import (
    Layout,
    ProgressStruct,
    PromptsStruct,
    SamplingStruct,
    config_struct,
    fixed_positions,
)
from handloom.core.native.library import Library, library, pointer, reason_missing
from handloom.core.params import shapes
from handloom.core.trace import Edits, Trace, Want

MAX_THREADS = 256
AT_ONCE = 4_000_000  # random numbers in memory at a time


def reason_against(config: Config) -> str | None:
    """Why this engine cannot run such a model; None if it can."""
    if library() is None:
        return reason_missing()
    if config.positions == "rotary":
        return "it has no rotary positions"
    if not config.causal:
        return "it runs causal models only"
    if config.gated:
        return "it has no gated MLPs"
    if config.experts:
        return "it has no mixtures of experts"
    if config.kv_heads:
        return "its heads do not share keys and values"
    if config.attention != "softmax":
        return f"it has no {config.attention} attention"
    if config.parallel or len(config.skips) < 2:
        return "its sublayers are one after the other and all have skips"
    return None


def library_for(config: Config) -> Library:
    """The library, if it can run such a model."""
    if reason := reason_against(config):
        raise HandloomError(f"the native engine cannot run this model: {reason}; use torch")
    found = library()
    assert found is not None
    return found


def thread_count() -> int:
    """As many as OMP_NUM_THREADS says, by default one per core; up to MAX_THREADS."""
    wanted = os.environ.get("OMP_NUM_THREADS", "")
    if wanted.isdigit() and int(wanted):
        return min(MAX_THREADS, int(wanted))
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def lanes(config: Config) -> int:
    """The number of parts of a batch, each with a gradient of its own. It depends on the size of the model alone, so
    that training gives the same weights whatever the number of cores."""
    size = sum(prod(shape) for _, shape in shapes(config))
    return 8 if size <= 4_000_000 else 4 if size <= 32_000_000 else 2


def describe() -> str:
    """The engine in a few words."""
    found = library()
    assert found is not None
    cores = thread_count()
    return f"vectors of {found.vector_width()}, {cores} thread{'s' if cores > 1 else ''}"


class Runner:
    """A model, loaded into the engine."""

    def __init__(self, model: Model) -> None:
        self.library, self.config = library_for(model.config), model.config
        weights = Layout(self.library, model.config).joined(dict(model.flat))
        positions, struct = fixed_positions(model.config), config_struct(model.config)
        self.handle = held(self.library.runner(byref(struct), pointer(weights), pointer(positions), thread_count()))

    def __del__(self) -> None:
        if getattr(self, "handle", None):
            self.library.runner_free(self.handle)

    def logits(self, ids: Array, last: int) -> Array:
        """The logits (B, last, V) of the last positions of rows (B, T)."""
        rows, length = ids.shape
        ids = np.ascontiguousarray(ids)  # by a name, since its memory must outlive the call
        out = np.empty((rows, min(last, length), self.config.vocab), np.float32)
        fine(self.library.logits(self.handle, rows, length, pointer(ids), last, pointer(out)))
        return out

    def decode(
        self,
        texts: Texts,
        limits: Sequence[int],
        how: TokenChoice,
        uniforms: Array,
        report: Callable[[int], None],
    ) -> list[list[int]]:
        """The new tokens of rows, sampled with these uniform numbers, (rows, largest limit)."""
        stop = np.zeros(self.config.vocab, np.uint8)
        stop[list(how.stops)] = 1
        sampling = SamplingStruct(how.temperature, how.top_k or 0, how.top_p or 0.0)
        arrays: list[Array] = [
            np.fromiter(chain.from_iterable(texts), np.int64),
            np.cumsum([0, *map(len, texts)], dtype=np.int64),
            np.array(limits, np.int64),
            stop,
            uniforms,
        ]
        out, counts = np.zeros(uniforms.shape, np.int64), np.zeros(len(texts), np.int64)
        prompts = PromptsStruct(len(texts), *map(pointer, arrays), uniforms.shape[1])
        progress = ProgressStruct()

        def work() -> int:
            return self.library.decode(
                self.handle, byref(prompts), byref(sampling), byref(progress), pointer(out), pointer(counts)
            )

        if not fine(watched(work, progress, report)):
            raise HandloomError("the model's logits are not finite numbers: its weights are too large; scale them down")
        return [out[i, :count].tolist() for i, count in enumerate(counts.tolist())]


def held(handle: int | None) -> int:
    if not handle:
        raise HandloomError("not enough memory for this model; make it smaller")
    return handle


def fine(result: int) -> int:
    if result < 0:
        raise HandloomError("not enough memory to run this model on that many tokens at once; give it fewer")
    return result


def forward(model: Model, tokens: Any, want: Want = (), edits: Edits | None = None) -> tuple[Array, Trace]:
    """Run a model on tokens (..., T): the logits (..., T, V), and a Trace without sites."""
    if want or edits:
        raise HandloomError("the native engine records no sites and takes no edits; use the reference or torch")
    ids = np.asarray(check_tokens(model.config, tokens), np.int64)
    flat = ids.reshape(-1, ids.shape[-1])
    return Runner(model).logits(flat, ids.shape[-1]).reshape(*ids.shape, model.config.vocab), Trace(ids)


class Decoder:
    """Decodes token by token, where `decoding.py` itself samples the tokens: with a format or without a cache."""

    def __init__(self, model: Model) -> None:
        self.runner, self.config = Runner(model), model.config
        self.slots: dict[int, int] = {}
        self.handle: int | None = None

    def __del__(self) -> None:
        if getattr(self, "handle", None):
            self.runner.library.slots_free(self.handle)

    def advance(self, rows: Sequence[int], tokens: Sequence[Sequence[int]]) -> Array:
        """Feed each row its next tokens; the logits (B, V) after the last of them. The first call names all rows."""
        library = self.runner.library
        if self.handle is None:
            self.slots = {row: i for i, row in enumerate(rows)}
            self.handle = held(library.slots(self.runner.handle, len(rows), self.config.block))
        logits = np.empty((len(rows), self.config.vocab), np.float32)
        for step in range(max(map(len, tokens))):
            live = [i for i, new in enumerate(tokens) if step < len(new)]
            slots = np.array([self.slots[rows[i]] for i in live], np.int32)
            fed = np.array([tokens[i][step] for i in live], np.int64)
            out = np.empty((len(live), self.config.vocab), np.float32)
            fine(
                library.slots_step(
                    self.handle, len(live), pointer(slots), pointer(fed), self.config.vocab, pointer(out)
                )
            )
            logits[live] = out
        return logits.astype(np.float64)

    def rerun(self, windows: Any, edits: Edits | None = None, last: int | None = None) -> Array:
        """The logits (..., T, V) of windows (..., T), run from the beginning; if `last` is given, only of the last
        positions."""
        if edits:
            raise HandloomError("the native engine takes no edits; use the reference or torch")
        ids = check_tokens(self.config, windows)
        out = self.runner.logits(ids.reshape(-1, ids.shape[-1]), last or ids.shape[-1])
        return out.reshape(*ids.shape[:-1], *out.shape[1:]).astype(np.float64)


def decode(
    model: Model, texts: Texts, limits: Sequence[int], how: TokenChoice, report: Callable[[int], None]
) -> list[list[int]]:
    """The new tokens of all rows, sampled as in `decoding.py`: row i with the numbers of the generator (seed, i)."""
    runner, output, most = Runner(model), [], max(limits, default=0)
    for part in grouped(len(texts), AT_ONCE // max(1, most)):
        uniforms = np.empty((len(part), most))
        for row, i in enumerate(part if how.temperature else ()):
            np.random.default_rng((how.seed, i)).random(out=uniforms[row])
        output += runner.decode([texts[i] for i in part], [limits[i] for i in part], how, uniforms, report)
    return output


def grouped(count: int, size: int) -> Iterator[range]:
    for first in range(0, count, max(1, size)):
        yield range(first, min(count, first + max(1, size)))


def watched(work: Callable[[], int], progress: ProgressStruct, report: Callable[[int], None]) -> int:
    """Run `work` in another thread, while this one reports progress and can be interrupted."""
    from concurrent.futures import ThreadPoolExecutor, wait

    reported = 0
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(work)
        try:
            while not wait([future], 0.05).done:
                done = progress.done
                report(done - reported)
                reported = done
            report(progress.done - reported)
        except BaseException:
            progress.halt = 1
            raise
        return future.result()
