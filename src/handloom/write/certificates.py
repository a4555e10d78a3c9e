"""Certificates: what was checked of a model against its task, and how it came out.

    >>> from handloom.write import program
    >>> print(certify(program("min:n=5")))
    right on all 3,905 inputs (exhaustive), float64, smallest margin 0.4

An input is right if greedy decoding says the oracle's answer and nothing else. That is checked in one run: with the
right answer fed as input, the model must want each of its tokens next. The margin is the least by which the logit of a
right token exceeded that of the next best; 0 is a tie, which greedy decoding gives to the token with the lower id.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import chain, islice
from typing import Any

import numpy as np

from handloom.core import HandloomError, Model
from handloom.core.config import whole
from handloom.core.engines import Decoder, choose_engine
from handloom.core.errors import shown
from handloom.tasks import Task
from handloom.write.programs import task_of

ALL = 2_000_000  # up to so many inputs, all are tried
SAMPLES = 10_000
MEMORY = 2**25  # numbers in the largest array of one run

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Certificate:
    """`method` is exhaustive (every input was run), proof (an argument, which `how` names, covers them all) or sampled
    (the hard cases and random ones). `wrong` is the first input that came out wrong, with what was said and what was
    right."""

    method: str
    inputs: int
    right: bool
    margin: float
    dtype: str
    how: str = ""
    wrong: tuple[str, str, str] | None = None

    def __str__(self) -> str:
        which = "sampled inputs" if self.method == "sampled" else "inputs"
        every = "" if self.method == "sampled" else "all "
        method = f"{self.method}: {self.how}" if self.how else self.method
        if self.right:
            return (
                f"right on {every}{self.inputs:,} {which} ({method}), {self.dtype}, smallest margin {self.margin:.2g}"
            )
        given, said, expected = self.wrong or ("", "", "")
        return f"WRONG: {given!r} gave {said!r}, and right is {expected!r} ({method}, {self.dtype})"

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def certify(
    model: Model,
    task: Task | None = None,
    dtype: str | None = None,
    samples: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Certificate:
    """Run a model on every input of a task (its program's, unless told), or, where there are more than two million or
    `samples` says how many, on the hard ones and then on random ones."""
    task = task or task_of(model)
    if task is None:
        raise HandloomError("the model's notes name no program, so that its task is not known; say which it is")
    if tuple(model.vocab.tokens) != tuple(task.vocab.tokens):
        raise HandloomError(
            f"the model's tokens are not the task's: {model.vocab.sample()} against {task.vocab.sample()}"
        )
    model, decoder = prepare(model, dtype)
    if samples is None and task.every is not None and task.count is not None and task.count <= ALL:
        method, most, inputs = "exhaustive", task.count, iter(task.every())
    else:
        most = whole("samples", SAMPLES if samples is None else samples, 1)
        rng = np.random.default_rng(whole("seed", seed, 0))
        method = "sampled"
        inputs = islice(chain(task.hard(), iter(lambda: task.draw(rng), None)), most)
    done, margin = 0, np.inf
    for prompts, answers in batches(model, task, inputs):
        margins, said = run(decoder, prompts, answers)
        done += len(prompts)
        margin = min(margin, float(margins.min()))
        if progress:
            progress(done, most)
        if (wrong := (said != answers).any(-1)).any():
            first = int(wrong.argmax())
            words = tuple(task.vocab.decode(ids) for ids in (prompts[first], said[first], answers[first]))
            return Certificate(method, done, False, float(margins[first]), str(model.dtype), wrong=words)  # type: ignore[arg-type]
    return Certificate(method, done, True, margin, str(model.dtype))


def prepare(model: Model, dtype: str | None) -> tuple[Model, Decoder]:
    """The model in the wanted dtype and something to run it in that dtype: torch, or the reference for float64."""
    if dtype not in (None, "float32", "float64"):
        raise HandloomError(f"dtype={shown(dtype)} must be float32 or float64")
    model = model.astype(dtype or model.dtype)
    try:
        return model, choose_engine("torch").Decoder(model)
    except HandloomError:
        if model.dtype == np.float32:
            raise
        return model, choose_engine("reference").Decoder(model)


def batches(model: Model, task: Task, inputs: Iterable[list[int]]) -> Iterator[tuple[list[list[int]], list[list[int]]]]:
    """Inputs with their answers, those of one length together."""
    c = model.config
    waiting: dict[tuple[int, int], tuple[list[list[int]], list[list[int]]]] = {}
    for prompt in inputs:
        answer = task.oracle(prompt)
        assert answer, f"the task does not take its own input {prompt}"
        prompts, answers = waiting.setdefault((len(prompt), len(answer)), ([], []))
        prompts.append(prompt)
        answers.append(answer)
        T = len(prompt) + len(answer) - 1
        if len(prompts) * T * max(c.vocab, c.d_ff, c.heads * T, c.d_model) >= MEMORY:
            yield waiting.pop((len(prompt), len(answer)))
    yield from waiting.values()


def run(decoder: Decoder, prompts: list[list[int]], answers: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    """For every input the smallest margin of its answer's tokens, and what was said instead or as well."""
    start, right = len(prompts[0]) - 1, np.array(answers)
    whole = np.concatenate([np.array(prompts), right[:, :-1]], axis=1)
    logits = decoder.rerun(whole)[:, start:]  # (B, answer, V)
    said = logits.argmax(-1)
    wanted = np.take_along_axis(logits, right[..., None], -1)[..., 0]
    np.put_along_axis(logits, right[..., None], -np.inf, -1)
    return (wanted - logits.max(-1)).min(-1), said
