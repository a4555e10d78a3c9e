"""Checking an ONNX file before it is written: onnxruntime must predict the tokens that the reference predicts.

Both run inputs of the model's task and compare the likeliest token at every position of the answer; or if the task is
not known, random tokens, and every position. A right answer must be the same. Anything else may differ where rounding
decides: where the token's margin is not far above what changes if a rounding error is added to every weight and every
value of a run.
"""

from importlib.util import find_spec
from typing import Any

import numpy as np

from handloom.core import HandloomError, Model, reference
from handloom.core.arrays import Array
from handloom.share.rows import Row, rows_for
from handloom.tasks import Language, Task

MOST = 100  # inputs
DRAWS = 8  # of rounding errors
FAR = 100  # times as much as rounding changes is far above it


def check_onnx(data: bytes, model: Model, dtype: np.dtype[Any], task: Task | Language | None) -> int:
    """Run the graph in an ONNX file, written in that dtype. Gives the number of inputs, 0 without onnxruntime; an error
    if it predicts other tokens than the model."""
    if not find_spec("onnxruntime"):
        return 0
    from onnxruntime import InferenceSession, SessionOptions  # type: ignore[import-untyped]

    options = SessionOptions()
    options.log_severity_level = 3  # no warnings
    session = InferenceSession(data, options, providers=["CPUExecutionProvider"])
    rows, eps = rows_for(model, task, MOST), float(np.finfo(dtype).eps)
    outputs = (session.run(["logits"], {"tokens": np.array([row.tokens])})[0][0] for row in rows)
    different = sum(differs(model, row, logits, eps) for row, logits in zip(rows, outputs, strict=True))
    if different:
        remedy = "export it in float64" if dtype == np.float32 else "rounding errors decide what the model predicts"
        inputs = f"{different} of {len(rows)} inputs"
        raise HandloomError(f"in {dtype} onnxruntime predicts other tokens than the model on {inputs}; {remedy}")
    return len(rows)


def differs(model: Model, row: Row, output: Array, eps: float) -> bool:
    """Whether logits (T, V) that were computed with relative errors of about eps predict anything else than the model,
    and not by rounding alone."""
    logits = reference.forward(model, row.tokens)[0]
    expected = logits.argmax(-1)
    wrong = output.argmax(-1) != expected  # (T,)
    wrong[: -row.last] = False
    if row.answer is not None and (wrong[-row.last :] & (expected[-row.last :] == row.answer)).any():
        return True
    return bool(wrong.any() and (wrong & (margins(logits) > FAR * rounding_of_logits(model, row, logits, eps))).any())


def margins(logits: Array) -> Array:
    """By how much the likeliest token is above the next."""
    ranked = np.sort(logits, axis=-1)
    return ranked[..., -1] - ranked[..., -2]


def rounding_of_logits(model: Model, row: Row, logits: Array, eps: float) -> Array:
    """The most that a logit changes at each position (T,), in some draws of rounding errors."""
    rng, most = np.random.default_rng(0), np.zeros(len(row.tokens))

    def disturb(value: Array) -> Array:
        return value * (1.0 + eps * rng.standard_normal(value.shape))

    for _ in range(DRAWS):
        disturbed = model.with_(params={name: disturb(array) for name, array in model.flat.items()})
        moved = reference.forward(disturbed, row.tokens, edits={"*": disturb})[0]
        most = np.maximum(most, np.abs(moved - logits).max(-1))
    return most
