"""The native engine: the function of `reference.py` in C++, in float32, close to the speed of the processor.

It runs and trains the standard family of models, and needs no torch; `reason_against` says why a Config is not among
them. The sources beside this file are built when handloom is installed, and docs/native.md explains them.

As an engine it gives logits and decodes. It looks at no sites and takes no edits: for those there are the others.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from ctypes import byref
from itertools import chain
from math import prod
from typing import Any

import numpy as np

from handloom.core.arrays import Array
from handloom.core.checks import check_tokens
from handloom.core.config import Config
from handloom.core.engines import Draw, Texts
from handloom.core.errors import HandloomError
from handloom.core.model import Model
from handloom.core.native.arrays import Arrays, config_struct, fixed_positions
from handloom.core.native.library import ChoiceStruct, Library, ProgressStruct, PromptsStruct, library, pointer
from handloom.core.params import shapes
from handloom.core.trace import Edits, Trace, Want

MISSING = "it was not built when handloom was installed; with g++ or clang++ at hand, install handloom again"
MOST = 256  # threads
AT_ONCE = 4_000_000  # random numbers held at a time


def reason_against(config: Config) -> str | None:
    """Why this engine cannot run such a model; None if it can."""
    if library() is None:
        return MISSING
    if config.positions == "rotary":
        return "it has no rotary positions"
    if not config.causal:
        return "it runs causal models only"
    return None


def check(config: Config) -> Library:
    """The library, for a model that it can run."""
    if reason := reason_against(config):
        raise HandloomError(f"the native engine cannot run this model: {reason}; use torch")
    found = library()
    assert found is not None
    return found


def threads() -> int:
    """One a core, unless OMP_NUM_THREADS says how many; never more than MOST."""
    told = os.environ.get("OMP_NUM_THREADS", "")
    if told.isdigit() and int(told):
        return min(MOST, int(told))
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def lanes(config: Config) -> int:
    """Into how many parts a batch is cut, each with a gradient of its own: by the size of the model alone, so that what
    is learnt does not depend on the machine."""
    size = sum(prod(shape) for _, shape in shapes(config))
    return 8 if size <= 4_000_000 else 4 if size <= 32_000_000 else 2


def describe() -> str:
    """The engine in a few words."""
    found = library()
    assert found is not None
    cores = threads()
    return f"vectors of {found.width()}, {cores} thread{'s' if cores > 1 else ''}"


class Runner:
    """A model, ready to be run."""

    def __init__(self, model: Model) -> None:
        self.library, self.config = check(model.config), model.config
        arrays = Arrays(self.library, model.config)
        weights = arrays.joined(dict(model.flat))
        positions, struct = fixed_positions(model.config), config_struct(model.config)
        self.handle = held(self.library.runner(byref(struct), pointer(weights), pointer(positions), threads()))

    def __del__(self) -> None:
        if getattr(self, "handle", None):
            self.library.runner_free(self.handle)

    def logits(self, ids: Array, last: int) -> Array:
        """Of the last positions of rows (B, T)."""
        rows, length = ids.shape
        out = np.empty((rows, min(last, length), self.config.vocab), np.float32)
        fine(self.library.logits(self.handle, rows, length, pointer(np.ascontiguousarray(ids)), last, pointer(out)))
        return out

    def decode(
        self,
        texts: Texts,
        limits: Sequence[int],
        how: Draw,
        uniforms: Array,
        report: Callable[[int], None],
    ) -> list[list[int]]:
        """The new tokens of rows, chosen by these numbers, (rows, largest limit)."""
        stop = np.zeros(self.config.vocab, np.uint8)
        stop[list(how.stops)] = 1
        choice = ChoiceStruct(how.temperature, how.top_k or 0, how.top_p or 0.0)
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
                self.handle, byref(prompts), byref(choice), byref(progress), pointer(out), pointer(counts)
            )

        if not fine(watched(work, progress, report)):
            raise HandloomError("the model's logits are not finite numbers; its weights are too large")
        return [out[i, :count].tolist() for i, count in enumerate(counts.tolist())]


def held(handle: int | None) -> int:
    if not handle:
        raise HandloomError("there is not enough memory for this model")
    return handle


def fine(result: int) -> int:
    if result < 0:
        raise HandloomError("there is not enough memory to run this model on so much at once")
    return result


def forward(model: Model, tokens: Any, want: Want = (), edits: Edits | None = None) -> tuple[Array, Trace]:
    """Run a model on tokens (..., T). Gives the logits (..., T, V); no sites."""
    if want or edits:
        raise HandloomError("the native engine looks at no sites and takes no edits; use the reference or torch")
    ids = np.asarray(check_tokens(model.config, tokens), np.int64)
    flat = ids.reshape(-1, ids.shape[-1])
    return Runner(model).logits(flat, ids.shape[-1]).reshape(*ids.shape, model.config.vocab), Trace(ids)


class Decoder:
    """What `decoding.py` asks of an engine, for what `decode` does not do: formats."""

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
        """The logits (..., T, V) of windows (..., T), run from the beginning; those of the last positions, if told."""
        if edits:
            raise HandloomError("the native engine takes no edits; use the reference or torch")
        ids = check_tokens(self.config, windows)
        out = self.runner.logits(ids.reshape(-1, ids.shape[-1]), last or ids.shape[-1])
        return out.reshape(*ids.shape[:-1], *out.shape[1:]).astype(np.float64)


@contextmanager
def workers(useful: int) -> Iterator[int]:
    """How many Decoders may run at once: one, which has all threads."""
    yield 1


def decode(
    model: Model, texts: Texts, limits: Sequence[int], how: Draw, report: Callable[[int], None]
) -> list[list[int]]:
    """The new tokens of all rows, drawn as in `decoding.py`: row i by the numbers of the generator (seed, i)."""
    runner, said, most = Runner(model), [], max(limits, default=0)
    for part in grouped(len(texts), AT_ONCE // max(1, most)):
        uniforms = np.empty((len(part), most))
        for row, i in enumerate(part if how.temperature else ()):
            np.random.default_rng((how.seed, i)).random(out=uniforms[row])
        said += runner.decode([texts[i] for i in part], [limits[i] for i in part], how, uniforms, report)
    return said


def grouped(count: int, size: int) -> Iterator[range]:
    for first in range(0, count, max(1, size)):
        yield range(first, min(count, first + max(1, size)))


def watched(work: Callable[[], int], progress: ProgressStruct, report: Callable[[int], None]) -> int:
    """Have it done in another thread, so that this one can tell how far it is, and be interrupted."""
    from concurrent.futures import ThreadPoolExecutor, wait

    told = 0
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(work)
        try:
            while not wait([future], 0.05).done:
                done = progress.done
                report(done - told)
                told = done
            report(progress.done - told)
        except BaseException:
            progress.halt = 1
            raise
        return future.result()
