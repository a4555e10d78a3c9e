"""Attention patterns of every head, averaged over many strings.

rows = strings_for(model, task, 200, seed=0)
mean_attention(model, rows)  # (layers, heads, T, T)
"""

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

from handloom.core import HandloomError, Model, choose_engine, generate
from handloom.core.arrays import Array
from handloom.core.callbacks import Progress
from handloom.core.checks import check_tokens
from handloom.core.engines import usual_engine
from handloom.core.seeds import Elsewhere, generator
from handloom.tasks import Language, Learnable
from handloom.tasks.language import example_of

AT_ONCE = 4_000_000  # numbers of patterns computed together
FEW = 5_000  # tokens up to which loading torch takes longer than it saves


def mean_attention(
    model: Model,
    rows: Sequence[Sequence[int]],
    engine: str | None = None,
    progress: Progress | None = None,
    at_once: int = AT_ONCE,
) -> Array:
    """The patterns (layers, heads, T, T), averaged over strings of token ids; where lengths differ, each cell over the
    strings that have it. `at_once` is the number of pattern entries computed together."""
    check_heads(model)
    if not rows:
        raise HandloomError("there are no strings to average over; give at least one")
    ids = [check_tokens(model.config, row) for row in rows]
    module = choose_engine(engine or fast_engine(model, sum(map(len, ids))))
    layers, heads, longest = model.config.layers, model.config.heads, max(map(len, ids))
    total = np.zeros((layers, heads, longest, longest))
    counts = np.zeros((longest, longest))
    done = 0
    for length in sorted({len(row) for row in ids}):
        same = np.stack([row for row in ids if len(row) == length])
        most = max(1, at_once // (layers * heads * length * length))
        for group in np.split(same, range(most, len(same), most)):
            trace = module.forward(model, group, "*.pattern")[1]
            for layer in range(layers):
                total[layer, :, :length, :length] += to_numpy(trace[f"{layer}.pattern"]).sum(0)
            counts[:length, :length] += len(group)
            done += len(group)
            if progress:
                progress(done, len(ids))
    return total / counts


def check_heads(model: Model) -> None:
    if not model.config.layers or not model.config.heads:
        raise HandloomError("this model has no attention heads, and so no patterns; choose another")


def check_averages(model: Model, subject: str) -> None:
    """Refuse heads whose patterns are no shares of attention."""
    if not model.config.averages:
        raise HandloomError(
            f"{subject}: patterns of {model.config.attention} attention are no shares (expected softmax or hard "
            "attention); look at the patterns of a trace"
        )


def fast_engine(model: Model, tokens: int) -> str:
    return "torch" if tokens > FEW and find_spec("torch") else usual_engine(model)


def to_numpy(value: Any) -> Array:
    """An engine's array as NumPy's."""
    return np.asarray(value.cpu() if hasattr(value, "cpu") else value, np.float64)


def strings_for(
    model: Model, task: Learnable | None, count: int, seed: int, progress: Progress | None = None
) -> list[list[int]]:
    """Strings that a model reads. Of a Task: questions and their answers, as far as they are read. Otherwise its own
    samples; or, if it sees both ways and cannot be sampled, strings of the Language."""
    rng, block = np.random.default_rng(seed), model.config.block
    begins = model.vocab.bos is not None and model.config.causal
    if task is not None and not (isinstance(task, Language) and begins):
        pairs = [task.pair(rng) for _ in range(count)]
        return [[*asked, *(answer[:-1] if model.config.causal else answer)][:block] for asked, answer in pairs]
    if not begins:
        raise HandloomError("this model has no token to begin with, and its task is not known; give texts")
    bos = model.vocab.id(model.vocab.bos or "")
    samples = generate(model, [[bos]] * count, temperature=1.0, seed=seed, engine="auto", progress=progress)
    eos = model.vocab.ids.get(model.vocab.eos or "")
    return [[bos, *(row[:-1] if row[-1:] == [eos] else row)][:block] for row in samples]


def right_strings(task: Learnable, model: Model, count: int, seed: int) -> list[list[int]]:
    """Whole strings of a task, up to one token more than the model can read."""
    rng = generator(seed, Elsewhere.ABLATION)
    pairs = [example_of(task, rng) for _ in range(count)]
    return [[*asked, *answer][: model.config.block + 1] for asked, answer in pairs]
