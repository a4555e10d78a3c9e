"""Exporting: one door for all formats, `export(model, path, to=...)`.

    result = export("addition:digits=3", "adder", to="gpt2")      # a folder for transformers
    export(model, "adder.onnx"); export(model, "adder.taotp")     # the name tells the format

The result has the files written, how many inputs were checked, and on how many of them the outputs differ.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from handloom.core import HandloomError, Model
from handloom.core.errors import shown
from handloom.core.files import MODEL_FILE, as_path
from handloom.core.finding import CHECKPOINTS, FoundModel, find
from handloom.core.registry import offered
from handloom.core.trace import Want
from handloom.share.gpt2_folder import write_gpt2

ONNX, TAOTP = ".onnx", ".taotp"
FILES_ELSEWHERE = (MODEL_FILE, *CHECKPOINTS, ".gguf", ".json", ".txt", ".zip")  # no names for a folder


@dataclass(frozen=True)
class Exported:
    """`files` were written. `checked` inputs were run, and on `different` of them the exported model predicts other
    tokens than the model. `found` says so in words, with the certificate, and `opening` how to open it."""

    files: tuple[Path, ...]
    checked: int
    different: int
    found: str = field(repr=False)
    opening: str = field(repr=False)

    def __str__(self) -> str:
        width = max(len(str(file)) for file in self.files)
        listed = [f"{file!s:<{width}}  {file.stat().st_size:>11,} bytes" for file in self.files if file.exists()]
        return "\n".join([*listed, f"checked: {self.found}", f"to open: {self.opening}"])

    def to_json(self) -> dict[str, Any]:
        return {"files": [str(file) for file in self.files], "checked": self.checked, "different": self.different}


def export(
    model: Model | str | os.PathLike[str],
    path: str | os.PathLike[str],
    to: str | None = None,
    dtype: str | None = None,
    want: Want = (),
) -> Exported:
    """Write a model, or the model of a name, for other tools: `to` is gpt2 (a folder that transformers opens), onnx or
    taotp; by default the path tells. `dtype` is float32 or float64; by default gpt2 is float32 if logits are close in
    it. `want` names sites that become outputs of an ONNX file, such as "0.pattern". What is written is first checked
    against the model and its task. A model that the format cannot hold, or that is not right in it, raises an error,
    and nothing is written."""
    place = as_path(path)
    kind = check_format(place, to)
    if dtype not in (None, "float32", "float64"):
        raise HandloomError(f"dtype={shown(dtype)} must be float32 or float64")
    if want and kind != "onnx":
        raise HandloomError(f"want={shown(want)} names outputs of an ONNX file, and this is {kind}; leave want out")
    return FORMATS[kind](find(model), place, dtype, want)


def check_format(path: Path, to: str | None) -> str:
    """The format that is asked for; the name of a file must end as that kind does."""
    told = {ONNX: "onnx", TAOTP: "taotp"}.get(path.suffix.lower(), "gpt2")
    if path.suffix.lower() in FILES_ELSEWHERE:
        raise HandloomError(
            f"{path}: its name is that of a file (expected a folder, or a file that ends in {ONNX} or {TAOTP}); "
            f"name it {path.stem}"
        )
    if to is None:
        return told
    if not isinstance(to, str) or to not in FORMATS:
        raise HandloomError(f"no format {shown(to)} to export to; the formats are {', '.join(FORMATS)}")
    if to != told:
        expected = f"a file that ends in .{to}" if to != "gpt2" else "a folder"
        raise HandloomError(
            f"{path}: its name is that of {told} (expected {expected}); name it {path.stem}"
            + (f".{to}" if to != "gpt2" else "")
        )
    return to


def to_gpt2(found: FoundModel, path: Path, dtype: str | None, _: Want) -> Exported:
    files, agreement = write_gpt2(found.model, path, found.folder, dtype)
    opening = f'AutoModelForCausalLM.from_pretrained("{path}"), AutoTokenizer.from_pretrained("{path}")'
    return Exported(files, agreement.checked, agreement.different, str(agreement), opening)


def to_onnx(found: FoundModel, path: Path, dtype: str | None, want: Want) -> Exported:
    from handloom.share.onnx_file import truth_path, write_onnx

    checked = write_onnx(found.model, path, want, dtype or "float32", found.folder)
    told = f"the same predictions in onnxruntime on {checked:,} inputs" if checked else "not run, without onnxruntime"
    files = (path, truth_path(path)) if "truth" in found.model.notes else (path,)
    return Exported(files, checked, 0, told, f'onnxruntime.InferenceSession("{path}")')


def to_taotp(found: FoundModel, path: Path, dtype: str | None, _: Want) -> Exported:
    offered("save_taotp")(found.model.astype(dtype or found.model.dtype), path)
    return Exported((path,), 0, 0, "the text reads as the same model, exactly", f'hl.load("{path}")')


FORMATS: dict[str, Callable[[FoundModel, Path, str | None, Want], Exported]] = {
    "gpt2": to_gpt2,
    "onnx": to_onnx,
    "taotp": to_taotp,
}
