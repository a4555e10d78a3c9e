"""Models as ONNX files, for onnxruntime in Python, in JavaScript and elsewhere.

    hl.export(model, "adder.onnx")                               # tokens (batch, length) → logits (batch, length, V)
    hl.export(model, "adder.onnx", want=["0.pattern"])           # and what the heads of layer 0 attend to

The file has the weights, the graph (`onnx_graph.py`) and, as JSON in the metadata entry `handloom`, the Config, the
vocabulary and the notes, so that a reader can turn text into tokens and back. Writing needs the package onnx, and no
torch. With onnxruntime the graph is run before it is written (`onnx_check.py`).
"""

import json
import os
from pathlib import Path
from typing import Any

from handloom import __version__
from handloom.core import HandloomError, Model, sites
from handloom.core.files import ENTRY, VERSION, as_path, check_place, check_suffix, write_atomically
from handloom.core.sites import match
from handloom.core.trace import Want, as_list
from handloom.share.onnx_check import check_onnx
from handloom.share.rows import known_task_of
from handloom.share.truth_file import TRUTH, truth_text

ONNX_FILE = ".onnx"
OPSET, IR_VERSION = 13, 7  # as old as the operators allow, so that old runtimes read the file
MOST_BYTES = 2**31 - 2**20  # a protobuf message holds 2 GiB; some of it for all but the weights


def write_onnx(
    model: Model, path: str | os.PathLike[str], want: Want = (), dtype: Any = "float32", beside: Path | None = None
) -> int:
    """Write a model as an ONNX file, whose name ends in .onnx. Its outputs are the logits and the sites that `want`
    names. `beside` is where a user's own task may be. Gives the number of inputs on which onnxruntime predicted what
    the model does, 0 if it is not installed. If it predicts anything else, nothing is written. If the notes have the
    truth about the model, it is written beside it, as x.truth.json."""
    path = as_path(path)
    check_place(path)
    check_suffix(path, "an ONNX file", ONNX_FILE)
    rounded = model.astype(dtype)
    data = onnx_bytes(rounded, want)
    checked = check_onnx(data, model, rounded.dtype, known_task_of(model, beside))
    truth = truth_text(model, rounded)
    write_atomically(path, data)
    if truth is not None:
        write_atomically(truth_path(path), truth.encode())
    return checked


def truth_path(path: Path) -> Path:
    """The file beside x.onnx with the true circuit of its model, x.truth.json."""
    return path.with_suffix(f".{TRUTH}")


def onnx_bytes(model: Model, want: Want = ()) -> bytes:
    """The content of an ONNX file in the model's own dtype. One model always makes the same bytes."""
    known = sites(model.config)
    if model.config.attention == "least-squares":
        raise HandloomError(
            "the model has least-squares attention, and ONNX solves no equations (expected another attention); "
            "keep the model file"
        )
    wanted = dict.fromkeys(["logits", *(site for pattern in as_list(want) for site in match(pattern, known))])
    if (size := sum(array.nbytes for array in model.flat.values())) > MOST_BYTES:
        raise HandloomError(
            f"the weights take {size / 2**30:.1f} GiB (expected up to 2, the most that an ONNX file holds)"
        )
    try:
        from onnx import helper

        from handloom.share.onnx_graph import transformer_graph
    except ModuleNotFoundError as error:
        raise HandloomError(
            f"writing an ONNX file needs {error.name}, which is not installed: pip install 'handloom[share]'"
        ) from error
    proto = helper.make_model(
        transformer_graph(model, list(wanted)),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="handloom",
        producer_version=__version__,
        doc_string=f"{model!r}; task: {model.notes.get('task', 'not known')}",
    )
    about = {"version": VERSION, "config": model.config.to_json(), "vocab": model.vocab.to_json()}
    entry = json.dumps(about | {"notes": dict(model.notes)}, sort_keys=True)
    helper.set_model_props(proto, {ENTRY: entry})
    return proto.SerializeToString(deterministic=True)
