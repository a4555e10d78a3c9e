"""Certifying: a model is run on the inputs of its task and checked against the oracle.

    >>> print(certify("min:n=5"))
    right on all 3,905 inputs (exhaustive), float64, smallest margin 0.4

An output is right if greedy decoding gives the oracle's answer and nothing else. One run checks that: with the right
answer fed as input, the model must predict each of its tokens next.
"""

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from handloom.core import Config, HandloomError, Model, count, reference
from handloom.core.arrays import Array
from handloom.core.callbacks import Progress
from handloom.core.checks import whole
from handloom.core.engines import Decoder, choose_engine
from handloom.core.errors import in_users_code, shown, told
from handloom.core.finding import find
from handloom.core.registry import offered
from handloom.core.transforms import shuffle
from handloom.tasks import catalogue
from handloom.tasks.certificate import ORDERS, Certificate, Prove
from handloom.tasks.of_model import task_of
from handloom.tasks.task import Ids, Task, whole_within

ALL = 2_000_000  # up to this many inputs, all are run,
WORK = 4 * 10**11  # if that takes minutes at most: inputs times parameters, with the effort of the oracle
LITTLE = 5 * 10**7  # inputs times positions times parameters: a second, in which torch would not even be loaded
SAMPLES = 10_000
FEW = 10_000  # hard inputs that are measured before all are run
REORDERED = 200  # inputs run in other orders of summation
MEMORY = 2**18  # numbers in the largest array of one run: larger ones are no faster
NO_INPUTS = "the task could not make its inputs"


def certify(
    model: Model | str | os.PathLike[str],
    task: Task | str | None = None,
    dtype: str | None = None,
    samples: int | None = None,
    everything: bool = False,
    seed: int = 0,
    progress: Progress | None = None,
) -> Certificate:
    """Hold a model against a task, by default the one that its notes name. A compiled program is proven right for all
    its inputs, if it can be. Otherwise every input is run; if there are more than two million, or the model is large,
    its program's own proof is tried, if it has one. Failing that, or with `samples`, that many inputs are run: the hard
    ones, then random ones. `everything` runs all inputs, however long it takes. Model and task are values or names:
    `certify("addition:digits=2")`."""
    model, folder = find(model)
    prove = offered("prover_of")(model) if task is None and samples is None else None
    task = task_to_check(model, task, folder)
    model = in_dtype(model, dtype)
    total = None if task.count is None else whole("the task's count", task.count, 1)
    few = total is not None and total <= ALL and total * (count(model).total + task.effort) <= WORK
    quick = "compiled" in model.notes  # a proof takes less than to run many inputs
    if prove and (quick or not few) and not everything and (proof := proven(prove, model, total, progress)):
        return proof
    if task.every is not None and total is not None and (everything or (samples is None and few)):
        method, most, inputs = "exhaustive", total, every_input(task)
        for prompt in islice(some_inputs(task), FEW):  # the longest are among them: they need not come last
            check_fits(model, prompt, answered(task, prompt))
    else:
        most = whole_within("samples", SAMPLES if samples is None else samples, 1, 10**9)
        rng = np.random.default_rng(whole("seed", seed, 0))
        method, inputs = "sampled", islice(some_inputs(task, rng), most)
    certificate = tried(model, task, method, inputs, most, progress or (lambda done, most: None))
    if not certificate.right or certificate.ties:
        return certificate
    return replace(certificate, orders=wrong_orders(model, task, min(most, REORDERED)))


def task_to_check(model: Model, task: Task | str | None, folder: Path | None) -> Task:
    """The task to check a model against, if that is possible."""
    chosen: Any = catalogue.task(task) if isinstance(task, str) else task or task_of(model, folder)
    if chosen is None:
        text = "the model's notes name no task, so that it is not known; name it, as in addition:digits=2"
        raise HandloomError(text, ("name task", ""))
    if not isinstance(chosen, Task):
        text = "a task of strings has no questions with right answers to certify; judge samples instead"
        raise HandloomError(text, ("judge samples", ""))
    if tuple(model.vocab.tokens) != tuple(chosen.vocab.tokens):
        raise HandloomError(
            f"the model's tokens are not the task's: {model.vocab.sample()} against {chosen.vocab.sample()}"
        )
    if chosen.near is not None:
        raise HandloomError("this task accepts answers near the right one, and a certificate counts only exact ones")
    return chosen


def proven(prove: Prove, model: Model, total: int | None, progress: Progress | None) -> Certificate | None:
    """The program's own proof, in the model's dtype. A model without a proof may still be right."""
    try:
        proof = prove(model, progress)
    except HandloomError:
        return None
    return proof if proof.inputs == total and proof.dtype == str(model.dtype) else None


def tried(model: Model, task: Task, method: str, inputs: Iterable[Ids], most: int, progress: Progress) -> Certificate:
    """The certificate of a model that is run on these inputs, of which there should be `most`."""
    decoder, rounding = decoder_of(model, most), rounding_of(model)
    done, wrong, ties, margin, first = 0, 0, 0, np.inf, None
    for prompts, answers in batches(model, task, inputs):
        ran = run(decoder, as_tokens(task, prompts), as_tokens(task, answers), rounding)
        bad = (ran.output != answers).any(-1)
        done, wrong, ties = done + len(prompts), wrong + int(bad.sum()), ties + int(ran.tied.sum())
        margin = min(margin, float(ran.margins.min()))
        if first is None and bad.any():
            i = int(bad.argmax())
            first = explained(task, prompts[i], ran.output[i].tolist(), answers[i])
        progress(done, most)
    if done != most:
        raise HandloomError(f"the task's count is {most:,} inputs, and it gave {done:,}; correct its count")
    dtype = str(model.dtype)
    return Certificate(method, done, not wrong, margin, dtype, wrong=wrong, ties=ties, counterexample=first)


def wrong_orders(model: Model, task: Task, count: int) -> int:
    """In how many other orders of summation the output for any of `count` inputs is wrong. The model is shuffled, which
    changes only the order in which numbers are added, as other processors do."""
    inputs, wrong = list(islice(some_inputs(task, np.random.default_rng(0)), count)), 0
    for seed in range(ORDERS):
        other = shuffle(model, seed)
        decoder = decoder_of(other, count)
        runs = (
            (run(decoder, np.array(prompts), np.array(right), 0.0), right)
            for prompts, right in batches(other, task, inputs)
        )
        wrong += any((ran.output != right).any() for ran, right in runs)
    return wrong


def in_dtype(model: Model, dtype: str | None) -> Model:
    if dtype not in (None, "float32", "float64"):
        raise HandloomError(f"dtype={shown(dtype)} must be float32 or float64")
    return model.astype(dtype or model.dtype)


def decoder_of(model: Model, inputs: int) -> Decoder:
    """What runs a model on that many inputs in its dtype: torch, or the reference if there is little to do or no
    torch."""
    if inputs * model.config.block * count(model).total > LITTLE and find_spec("torch"):
        return choose_engine("torch").Decoder(model)
    return reference.decoder_in_its_dtype(model)


def every_input(task: Task) -> Iterator[Ids]:
    assert task.every is not None
    with in_users_code(NO_INPUTS):
        yield from task.every()


def some_inputs(task: Task, rng: np.random.Generator | None = None) -> Iterator[Ids]:
    """The hard inputs and then, with a generator, random ones without end."""
    with in_users_code(NO_INPUTS):
        yield from task.hard()
        while rng is not None:
            yield task.draw(rng)


def batches(model: Model, task: Task, inputs: Iterable[list[int]]) -> Iterator[tuple[list[list[int]], list[list[int]]]]:
    """Inputs with their answers, those of equal length together."""
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
            f"takes {needed}; name a task with shorter questions"
        )


def answered(task: Task, prompt: Ids) -> Ids:
    """The oracle's answer; a task may be a user's own."""
    if not is_row(prompt):
        raise HandloomError(f"an input of the task must be a list of token ids, and it gave {shown(prompt)}")
    try:
        answer = task.oracle(prompt)
    except Exception as error:
        why = str(error) if isinstance(error, HandloomError) else told(error)
        raise HandloomError(f"the task could not answer {shown(prompt)}: {why}") from error
    if answer is None or not is_row(answer):
        raise HandloomError(
            f"an answer must be a list of token ids, and to its own input {shown(prompt)} the task gave {shown(answer)}"
        )
    return answer


def is_row(ids: Any) -> bool:
    return isinstance(ids, list | tuple | np.ndarray) and len(ids) > 0


def as_tokens(task: Task, rows: list[Ids]) -> Array:
    """Rows of equal length as an array, if all are tokens."""
    ids = np.array(rows)
    if ids.dtype.kind not in "iu" or ids.ndim != 2 or ids.min() < 0 or ids.max() >= len(task.vocab):
        raise HandloomError(
            f"the task's inputs and answers must be lists of token ids from 0 to {len(task.vocab) - 1}, and one is not"
        )
    return ids


def explained(task: Task, prompt: Ids, output: Ids, answer: Ids) -> tuple[str, str, str]:
    """The prompt, the output up to its first wrong token (what follows was predicted after the right answer, not after
    the model's own), and the right answer."""
    vocab, cut = task.vocab, next(i for i, (a, b) in enumerate(zip(output, answer, strict=True), 1) if a != b)
    unfinished = cut < len(answer) and vocab.tokens[output[cut - 1]] != vocab.eos
    return vocab.decode(prompt), vocab.decode(output[:cut]) + "…" * unfinished, vocab.decode(answer)


def largest_array(config: Config, prompt: int, answer: int) -> int:
    """The size of the largest array for one input. The last layer's MLP runs on the answer only."""
    T = prompt + answer - 1
    hidden = config.neurons * (T if config.layers > 1 else answer)
    return max(hidden, T * config.heads * T, T * config.d_model, answer * config.vocab)


class Ran(NamedTuple):
    """Per input: the smallest margin of its answer's tokens, whether rounding errors decide it, and the output."""

    margins: Array  # (B,)
    tied: Array  # (B,)
    output: Array  # (B, answer)


def run(decoder: Decoder, prompts: Array, right: Array, rounding: float) -> Ran:
    """Run all prompts at once. Two logits are tied if they differ by no more than `rounding` of the largest one."""
    whole = np.concatenate([prompts, right[:, :-1]], axis=1)
    with np.errstate(over="ignore", invalid="ignore"):  # a number too large for float32 gives a wrong output
        logits = decoder.rerun(whole, last=right.shape[1])  # (B, answer, V)
    output, size = logits.argmax(-1), np.abs(logits).max(-1)
    wanted = np.take_along_axis(logits, right[..., None], -1)[..., 0]
    np.put_along_axis(logits, right[..., None], -np.inf, -1)
    margins, noise = wanted - logits.max(-1), rounding * size
    tied = (margins >= -noise).all(-1) & (margins <= noise).any(-1)
    return Ran(margins.min(-1), tied, output)


def rounding_of(model: Model) -> float:
    """By what part of itself the last product, a sum of d_model terms, may round a logit. (If earlier layers amplify
    rounding errors, as the book's constants of 1e8 do, this is too little: see the margin.)"""
    return model.config.d_model * float(np.finfo(model.dtype).eps)
