"""Certifying: a model is run on the inputs of its task and held against the oracle.

    >>> from handloom.write import program
    >>> print(certify(program("min:n=5")))
    right on all 3,905 inputs (exhaustive), float64, smallest margin 0.4

An input is right if greedy decoding says the oracle's answer and nothing else. That is checked in one run: with the
right answer fed as input, the model must want each of its tokens next.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

import numpy as np

from handloom.core import Config, HandloomError, Model, count
from handloom.core.config import whole
from handloom.core.engines import Decoder, choose_engine
from handloom.core.errors import shown, told
from handloom.core.memory import keep_freed_memory
from handloom.tasks import Task
from handloom.tasks.task import Ids, whole_within
from handloom.write.certificate import Certificate, Progress
from handloom.write.programs import prover_of, task_of

ALL = 2_000_000  # up to so many inputs all are tried,
WORK = 4 * 10**11  # if that takes minutes at most: inputs times parameters
SAMPLES = 10_000
FEW = 10_000  # hard inputs that are looked at before all are tried
MEMORY = 2**20  # numbers in the largest array of one run: larger ones are no faster


def certify(
    model: Model,
    task: Task | None = None,
    dtype: str | None = None,
    samples: int | None = None,
    everything: bool = False,
    seed: int = 0,
    progress: Progress | None = None,
) -> Certificate:
    """Run a model on every input of a task (its program's, unless told). Where there are more than two million, or the
    model is large, the program's own proof is tried, if it has one; it is about float64. Failing that, or if `samples`
    says how many, the hard inputs are run and then random ones. `everything` runs all inputs, however long it takes."""
    prove = prover_of(model) if task is None and samples is None else None
    task = task or task_of(model)
    if task is None:
        raise HandloomError(
            "the model's notes name no program, so that its task is not known; name it, as in --task addition:digits=2"
        )
    if tuple(model.vocab.tokens) != tuple(task.vocab.tokens):
        raise HandloomError(
            f"the model's tokens are not the task's: {model.vocab.sample()} against {task.vocab.sample()}"
        )
    if task.near is not None:
        raise HandloomError("this task takes answers that are near the right one, and here only exact ones count")
    model, decoder = prepare(model, dtype)
    total = None if task.count is None else whole("the task's count", task.count, 1)
    few = total is not None and total <= ALL and total * count(model).total <= WORK
    if prove and not few and not everything and model.dtype == np.float64:
        try:
            if (proof := prove(model, progress)).inputs == total:  # notes may name a task for longer numbers
                return proof
        except HandloomError:
            pass  # that there is no proof does not make it wrong
    if task.every is not None and total is not None and (everything or (samples is None and few)):
        method, most, inputs = "exhaustive", total, every_input(task)
        for prompt in islice(some_inputs(task), FEW):  # the longest are among them, and need not be waited for
            check_fits(model, prompt, answered(task, prompt))
    else:
        most = whole_within("samples", SAMPLES if samples is None else samples, 1, 10**9)
        rng = np.random.default_rng(whole("seed", seed, 0))
        method, inputs = "sampled", islice(some_inputs(task, rng), most)
    keep_freed_memory()
    done, margin = 0, np.inf
    for prompts, answers in batches(model, task, inputs):
        margins, said = run(decoder, as_tokens(task, prompts), as_tokens(task, answers))
        done += len(prompts)
        margin = min(margin, float(margins.min()))
        if progress:
            progress(done, most)
        if (wrong := (said != answers).any(-1)).any():
            first = int(wrong.argmax())
            words = explained(task, prompts[first], said[first].tolist(), answers[first])
            return Certificate(method, done, False, float(margins[first]), str(model.dtype), wrong=words)
    if done != most:
        raise HandloomError(f"the task says that it has {most:,} inputs, and gives {done:,}; correct its count")
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


def every_input(task: Task) -> Iterator[Ids]:
    assert task.every is not None
    with users_errors():
        yield from task.every()


def some_inputs(task: Task, rng: np.random.Generator | None = None) -> Iterator[Ids]:
    """The hard ones and then, with a generator, random ones without end."""
    with users_errors():
        yield from task.hard()
        while rng is not None:
            yield task.draw(rng)


@contextmanager
def users_errors() -> Iterator[None]:
    """Around functions of a task, which may be a user's own."""
    try:
        yield
    except HandloomError:
        raise
    except Exception as error:
        raise HandloomError(f"the task could not make its inputs: {told(error)}") from error


def batches(model: Model, task: Task, inputs: Iterable[list[int]]) -> Iterator[tuple[list[list[int]], list[list[int]]]]:
    """Inputs with their answers, those of one length together."""
    waiting: dict[tuple[int, int], tuple[list[list[int]], list[list[int]]]] = {}
    for prompt in inputs:
        answer = answered(task, prompt)
        check_fits(model, prompt, answer)
        prompts, answers = waiting.setdefault((len(prompt), len(answer)), ([], []))
        prompts.append(prompt)
        answers.append(answer)
        if len(prompts) * largest_array(model.config, len(prompt), len(answer)) >= MEMORY:
            yield waiting.pop((len(prompt), len(answer)))
    yield from waiting.values()


def check_fits(model: Model, prompt: Ids, answer: Ids) -> None:
    if (needed := len(prompt) + len(answer) - 1) > model.config.block:
        raise HandloomError(
            f"the model's block holds {model.config.block} tokens, and a question of this task with its answer "
            f"takes {needed}; name a task whose questions are shorter"
        )


def answered(task: Task, prompt: Ids) -> Ids:
    """The oracle's answer; a task may be a user's own."""
    if not is_row(prompt):
        raise HandloomError(f"an input of the task must be a list of token ids, and it gave {shown(prompt)}")
    try:
        answer = task.oracle(prompt)
    except Exception as error:
        raise HandloomError(f"the task could not answer {shown(prompt)}: {told(error)}") from error
    if answer is None or not is_row(answer):
        raise HandloomError(
            f"an answer must be a list of token ids, and to its own input {shown(prompt)} the task gave {shown(answer)}"
        )
    return answer


def is_row(ids: Any) -> bool:
    return isinstance(ids, list | tuple | np.ndarray) and len(ids) > 0


def as_tokens(task: Task, rows: list[Ids]) -> np.ndarray[Any, Any]:
    """Rows of equal length as an array, if all are tokens."""
    ids = np.array(rows)
    if ids.dtype.kind not in "iu" or ids.ndim != 2 or ids.min() < 0 or ids.max() >= len(task.vocab):
        raise HandloomError(
            f"the task's inputs and answers must be lists of token ids from 0 to {len(task.vocab) - 1}, and one is not"
        )
    return ids


def explained(task: Task, prompt: Ids, said: Ids, answer: Ids) -> tuple[str, str, str]:
    """What was asked, what was said up to the first token that is wrong (only so far did the model say it by itself),
    and what would have been right."""
    vocab, cut = task.vocab, next(i for i, (a, b) in enumerate(zip(said, answer, strict=True), 1) if a != b)
    goes_on = cut < len(answer) and vocab.tokens[said[cut - 1]] != vocab.eos
    return vocab.decode(prompt), vocab.decode(said[:cut]) + "…" * goes_on, vocab.decode(answer)


def largest_array(config: Config, prompt: int, answer: int) -> int:
    """How many numbers the largest array has for one input. The last layer's MLP sees the answer only."""
    T = prompt + answer - 1
    hidden = config.d_ff * (T if config.layers > 1 else answer)
    return max(hidden, T * config.heads * T, T * config.d_model, answer * config.vocab)


def run(
    decoder: Decoder, prompts: np.ndarray[Any, Any], right: np.ndarray[Any, Any]
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """For every input the smallest margin of its answer's tokens, and what was said instead or as well."""
    whole = np.concatenate([prompts, right[:, :-1]], axis=1)
    logits = decoder.rerun(whole, last=right.shape[1])  # (B, answer, V)
    said = logits.argmax(-1)
    wanted = np.take_along_axis(logits, right[..., None], -1)[..., 0]
    np.put_along_axis(logits, right[..., None], -np.inf, -1)
    return (wanted - logits.max(-1)).min(-1), said
