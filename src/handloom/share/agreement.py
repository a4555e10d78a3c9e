"""Agreement: an exported model is held against the model it came from and its task, before anything is written.

It is run in its own dtype, by NumPy, on inputs of the task with their right answers, or else on rows of tokens. If the
model is right on these inputs, the exported one must be too: with a margin above rounding, and in other orders of
summation, since other libraries add in other orders. Otherwise both must predict the same tokens, except on up to one
row in a hundred, where rounding decides between two tokens.
"""

from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from handloom.core import HandloomError, Model, count, reference
from handloom.core.arrays import Array
from handloom.core.errors import shown
from handloom.tasks import Certificate, Language, Task, certify
from handloom.tasks.certify import answered, some_inputs
from handloom.tasks.language import example_of
from handloom.tasks.task import Ids

INPUTS = 1_000
WORK = 10**7  # inputs times positions times parameters: a fifth of a second
LONGEST_WORK = 2 * 10**9  # tokens of the longest row times parameters
DECIDED_BY_ROUNDING = 0.01  # the greatest part of rows that may be
STREAM = ("*.resid_pre", "*.resid_mid", "resid_final")


@dataclass(frozen=True)
class Row:
    """Tokens, and how many of the last of them predict something that counts."""

    tokens: Ids
    last: int


@dataclass(frozen=True)
class Agreement:
    """How many inputs were run, on how many of them the exported model predicted other tokens, and its certificate, if
    its task has right answers."""

    checked: int
    different: int
    certificate: Certificate | None = None

    def __str__(self) -> str:
        if self.certificate and self.certificate.right:
            return str(self.certificate)
        same = f"the same predictions as handloom's on {self.checked - self.different:,} of {self.checked:,} inputs"
        return f"{same}; {self.certificate}" if self.certificate else same


def check_agreement(model: Model, exported: Model, task: Task | Language | None) -> Agreement:
    """Run both; an error if the exported model is not the same for all that can be told."""
    with np.errstate(all="ignore"):  # weights may be too large for float32: the logits tell
        ours = certificate_of(model, task)
        theirs = certificate_of(exported, task) if ours else None
        if ours and theirs and ours.right and not ours.ties:
            if not theirs.right or theirs.ties or theirs.orders:
                raise HandloomError(f"in {exported.dtype} the exported weights are {theirs}")
            return Agreement(theirs.inputs, 0, theirs)
        if ours and ours.ties > DECIDED_BY_ROUNDING * ours.inputs:
            raise HandloomError(f"rounding errors decide what the model predicts on {ours.ties:,} inputs ({ours})")
        found = compare(model, exported, rows_for(model, task))
    return replace(found, certificate=theirs)


def certificate_of(model: Model, task: Task | Language | None) -> Certificate | None:
    """The certificate of a model in its own dtype, of so many inputs that it takes a moment; None if its task has no
    certificates. The exported model has one more token than the task."""
    if not isinstance(task, Task) or model.vocab.tokens[: len(task.vocab)] != task.vocab.tokens:
        return None
    most = inputs_of(model)
    samples = None if task.count is not None and task.count <= most else most
    with suppress(HandloomError):  # the task takes answers near the right one, or does not fit into the block
        return certify(model, replace(task, vocab=model.vocab), samples=samples)
    return None


def inputs_of(model: Model) -> int:
    """How many inputs take a moment."""
    return min(INPUTS, max(1, WORK // (model.config.block * count(model).total)))


def rows_for(model: Model, task: Task | Language | None) -> list[Row]:
    """Rows of tokens to run: of the task, or else random ones. One model always has the same."""
    config, rng, rows = model.config, np.random.default_rng(0), []
    longest = min(config.block, max(1, LONGEST_WORK // count(model).total))
    if task is not None and model.vocab.tokens[: len(task.vocab)] == task.vocab.tokens:
        for _ in range(inputs_of(model)):
            question, answer = example_of(task, rng)
            rows.append(Row([*question, *answer[:-1]], len(answer)))
        if isinstance(task, Task):
            hard = [(prompt, answered(task, prompt)) for prompt in islice(some_inputs(task), len(rows) // 2)]
            rows[: len(hard)] = [Row([*prompt, *answer[:-1]], len(answer)) for prompt, answer in hard]
    fitting = [row for row in rows if len(row.tokens) <= longest]
    if fitting:
        return fitting
    lengths = rng.integers(1, longest + 1, inputs_of(model)).tolist()
    return [Row(rng.integers(0, config.vocab, length).tolist(), length) for length in lengths]


def compare(model: Model, exported: Model, rows: list[Row]) -> Agreement:
    """On how many rows the two predict different tokens; an error if these are more than rounding decides."""
    groups = defaultdict(list)
    for row in rows:
        groups[len(row.tokens), row.last].append(row.tokens)
    different, first = 0, None
    for (_, last), tokens in groups.items():
        ours, theirs = predicted(model, tokens, last, np.float64), predicted(exported, tokens, last, exported.dtype)
        bad = (ours != theirs).any(-1)
        different += int(bad.sum())
        if bad.any() and first is None:
            first = model.vocab.decode(tokens[int(bad.argmax())])
    if different > DECIDED_BY_ROUNDING * len(rows):
        raise HandloomError(
            f"in {exported.dtype} the exported weights predict other tokens than the model on {different:,} of "
            f"{len(rows):,} inputs, such as {shown(first)}"
        )
    return Agreement(len(rows), different)


def predicted(model: Model, tokens: list[Ids], last: int, dtype: "np.dtype[np.floating] | type") -> Array:
    """The likeliest next tokens, (B, last)."""
    likeliest: Array = reference.Decoder(model, dtype).rerun(tokens, last=last).argmax(-1)
    return likeliest


def stream_length(model: Model, task: Task | Language | None) -> float:
    """The greatest length of the residual stream, at any position of some rows."""
    longest = 0.0
    for row in rows_for(model, task):
        sites = reference.forward(model, row.tokens, want=STREAM)[1]
        longest = max(longest, *(float(np.linalg.norm(x, axis=-1).max()) for x in sites.values()))
    return longest
