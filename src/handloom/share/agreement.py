"""Agreement: an exported model is held against the model it came from and its task, before anything is written.

It is run in its own dtype, by NumPy, on inputs of the task with their right answers, or else on rows of tokens. If the
model is right on these, the exported one must be too: with a margin above rounding, and in other orders of summation,
since other libraries add in other orders. The same holds for a program, whether it is right or not: where it is wrong,
rounding may decide. Otherwise, as of a trained model, both must predict the same tokens, except on up to one row in a
hundred, where rounding decides between two tokens.
"""

import math
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from handloom.core import HandloomError, Model, reference, sites
from handloom.core.arrays import Array
from handloom.core.errors import shown
from handloom.share.rows import FEWER, Row, inputs_of, rows_for
from handloom.tasks import Certificate, Language, Task, certify
from handloom.tasks.task import Ids

DECIDED_BY_ROUNDING = 0.01  # the greatest part of rows that may be
BLUR = 2.0  # a rounding error, in units of eps: libraries sum in other orders
MULTIPLIED = ("ln1", "ln2", "ln_final", ".q", ".pattern", ".z", ".mlp_post")  # sites
CLOSE = 2e-5  # float32 will do if no logit has an error of more than this part of the largest in its row


@dataclass(frozen=True)
class Agreement:
    """How many inputs were run, on how many of them the exported model predicted other tokens, by how much its logits
    were off (as a part of the largest), and its certificate, if its task has right answers."""

    checked: int
    different: int
    off: float
    first: str | None  # of the inputs on which they differ
    certificate: Certificate | None = None

    def __str__(self) -> str:
        same = (
            f"{self.checked - self.different:,} of {self.checked:,} outputs as handloom's, logits within {self.off:.0e}"
        )
        return f"{self.certificate}; {same}" if self.certificate else same


def check_agreement(model: Model, exported: Model, task: Task | Language | None, close: float = math.inf) -> Agreement:
    """Run both; an error if the exported model predicts something else, if rounding decides what it predicts, or if a
    logit is off by more than `close`, as a part of the largest in its row."""
    with np.errstate(all="ignore"):  # weights may be too large for float32: the logits tell
        found, right = compare(model, exported, rows_for(model, task))
        if found.off > close:
            raise HandloomError(f"in {exported.dtype} logits are off by up to {found.off:.0e} of the largest")
        certificate = certificate_of(exported, task)
        strict = right or (certificate is not None and model.notes.get("made") in ("written", "compiled"))
        tolerated = 0.0 if strict else DECIDED_BY_ROUNDING
    if certificate and unsure(certificate) > tolerated * certificate.inputs:
        raise HandloomError(
            f"in {exported.dtype} rounding errors decide what the exported weights predict: {certificate}"
        )
    if found.different > tolerated * found.checked:
        raise HandloomError(
            f"in {exported.dtype} the exported weights predict other tokens than the model on {found.different:,} of "
            f"{found.checked:,} inputs, such as {shown(found.first)}"
        )
    if certificate and strict and not certificate.right:
        raise HandloomError(f"in {exported.dtype} the exported weights are {certificate}")
    return replace(found, certificate=certificate)


def unsure(certificate: Certificate) -> int:
    """On how many inputs rounding errors decide, as far as that is known."""
    return certificate.ties + (certificate.inputs if certificate.orders else 0)


def certificate_of(model: Model, task: Task | Language | None) -> Certificate | None:
    """The certificate of an exported model in its own dtype, of so many inputs that it takes a moment; None if its task
    has no certificates. The model has one more token than the task."""
    if not isinstance(task, Task) or model.vocab.tokens[: len(task.vocab)] != task.vocab.tokens:
        return None
    most = inputs_of(model)
    samples = None if task.count is not None and task.count <= most else most
    with suppress(HandloomError):  # the task accepts answers near the right one, or does not fit into the block
        return certify(model, replace(task, vocab=model.vocab), samples=samples)
    return None


def compare(model: Model, exported: Model, rows: list[Row]) -> tuple[Agreement, bool]:
    """On how many rows the two predict different tokens, and whether the model is right on all of them."""
    groups = defaultdict(list)
    for row in rows:
        groups[len(row.tokens), row.last].append(row)
    off, first = 0.0, None
    different, right = 0, True
    for (_, last), some in groups.items():
        tokens = [row.tokens for row in some]
        ours, theirs = run_both(model, exported, tokens, last)
        predicted = ours.argmax(-1)
        bad = (predicted != theirs.argmax(-1)).any(-1) | (predicted != blurred(exported, tokens, last)).any(-1)  # (B,)
        apart = np.abs(ours - theirs[..., : model.config.vocab]).max((-1, -2)) / np.abs(ours).max((-1, -2))
        off = max(off, float(np.nan_to_num(apart, nan=np.inf).max()))
        different += int(bad.sum())
        right &= all(row.answer == ids for row, ids in zip(some, predicted.tolist(), strict=True))
        if bad.any() and first is None:
            first = model.vocab.decode(tokens[int(bad.argmax())])
    return Agreement(len(rows), different, off, first), right


def run_both(model: Model, exported: Model, tokens: list[Ids], last: int) -> tuple[Array, Array]:
    """The logits (B, last, V) of the model, and of the exported one in its dtype."""
    ours = reference.forward(model, tokens)[0]
    theirs = reference.forward(exported, tokens, dtype=exported.dtype)[0]
    return ours[:, -last:], theirs[:, -last:]


def blurred(exported: Model, tokens: list[Ids], last: int) -> Array:
    """What the exported model predicts, (B, last), if everything that it multiplies with weights has a rounding error
    of its dtype, and the logits one of float32: so `generate` of transformers takes them, whatever the weights are."""
    rng = np.random.default_rng(0)

    def blur(x: Array, dtype: Any = exported.dtype) -> Array:
        blurry: Array = x * (1.0 + BLUR * float(np.finfo(dtype).eps) * rng.standard_normal(x.shape))
        return blurry

    edits = dict.fromkeys((site for site in sites(exported.config) if site.endswith(MULTIPLIED)), blur)
    logits = reference.forward(exported, tokens, edits=edits)[0][:, -last:]
    return blur(logits, np.float32).argmax(-1)


def stream_length(model: Model, task: Task | Language | None) -> float:
    """The greatest length of the residual stream, at any position of some rows."""
    want = [site for site in sites(model.config) if site.endswith(("resid_pre", "resid_mid", "resid_final"))]
    traces = [reference.forward(model, row.tokens, want)[1] for row in rows_for(model, task)[:FEWER]]
    return max(float(np.linalg.norm(x, axis=-1).max()) for trace in traces for x in trace.values())
