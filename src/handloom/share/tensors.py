"""The tensors of weight files, read one at a time.

    tensors = open_tensors(Path("gpt2"))
    tensors.shape("wte.weight")         # from the header: nothing is read
    tensors["wte.weight"]               # an array of its own, float32 (float64 stays float64)

A folder has its weights in model.safetensors, in several files with an index (model.safetensors.index.json), or in the
same forms of pytorch_model.bin. The bytes of a safetensors tensor are read straight into the array, so that a model
takes little more memory than its file. Files of torch are opened with weights_only: tensors are read, and no code runs.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from handloom.core.arrays import Array, Arrays
from handloom.core.checks import parse_json
from handloom.core.errors import HandloomError, one_line, shown
from handloom.core.files import check_ordinary, read_model, what_is

WEIGHTS = ("model.safetensors", "pytorch_model.bin")  # of a folder, in this order; or NAME.index.json with shards
DTYPES = {"F16": "<f2", "BF16": "<u2", "F32": "<f4", "F64": "<f8"}  # NumPy has no bfloat16: its bits
LARGEST_TEXT = 64 * 2**20  # bytes of a JSON or text file that is read


@dataclass(frozen=True)
class Stored:
    """A tensor in a file: its shape, and a function that reads it as an array of its own."""

    shape: tuple[int, ...]
    read: Callable[[], Array]


class Tensors(Mapping[str, Array]):
    """Tensors by name. Each is read when it is asked for, and kept by nobody else."""

    def __init__(self, stored: Mapping[str, Stored]) -> None:
        self.stored = dict(stored)

    def __getitem__(self, name: str) -> Array:
        if name not in self.stored:
            raise HandloomError(f"tensor {shown(name)} is missing from the weights; copy all of the model's files")
        return self.stored[name].read()

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a tensor, which must be there."""
        if name not in self.stored:
            raise HandloomError(f"tensor {shown(name)} is missing from the weights; copy all of the model's files")
        return self.stored[name].shape

    def __iter__(self) -> Iterator[str]:
        return iter(self.stored)

    def __len__(self) -> int:
        return len(self.stored)

    def __contains__(self, name: object) -> bool:
        return name in self.stored

    def renamed(self, new_name: Callable[[str], str | None]) -> "Tensors":
        """The tensors under other names, without those whose name becomes None."""
        named = ((new_name(name), one) for name, one in self.stored.items())
        return Tensors({name: one for name, one in named if name is not None})


def open_tensors(folder: Path) -> Tensors:
    """The tensors of a folder, whichever files they are in."""
    for name in WEIGHTS:
        if what_is(folder / name) == "file":
            return open_file(folder / name)
        if what_is(folder / f"{name}.index.json") == "file":
            return open_shards(folder, f"{name}.index.json")
    raise HandloomError(f"{folder} has a config.json and no weights (expected {' or '.join(WEIGHTS)}); copy them too")


def open_file(path: Path) -> Tensors:
    """The tensors of one file: safetensors, or a state dict of torch."""
    if path.suffix == ".safetensors":
        return Tensors(read_model(path, lambda file: stored_in(path, file)))
    return as_tensors(load_torch(path))


def open_shards(folder: Path, index: str) -> Tensors:
    """The tensors of several files, as their index lists them."""
    places = read_json(folder / index).get("weight_map")
    if not isinstance(places, dict) or not all(isinstance(file, str) for file in places.values()):
        raise HandloomError(f"{folder / index}: no weight_map from tensors to files in it; copy the index again")
    shards = {}
    for file in dict.fromkeys(places.values()):
        if Path(file).name != file or what_is(folder / file) != "file":
            raise HandloomError(
                f"{folder}: the file {shown(file)} of its index is missing; copy all files of the model"
            )
        shards[file] = open_file(folder / file)
    if lost := [name for name, file in places.items() if name not in shards[file]]:
        raise HandloomError(f"{folder / places[lost[0]]}: the tensor {shown(lost[0])} is missing; copy the file again")
    return Tensors({name: shards[file].stored[name] for name, file in places.items()})


def stored_in(path: Path, file: Any) -> dict[str, Stored]:
    """The tensors of an open safetensors file, whose header the library has checked."""
    shapes = {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118
    with open(path, "rb") as header:
        length = int.from_bytes(header.read(8), "little")
        entries = parse_json(header.read(length))
    return {name: stored_at(path, name, entries[name], shape, 8 + length) for name, shape in shapes.items()}


def stored_at(path: Path, name: str, entry: dict[str, Any], shape: tuple[int, ...], start: int) -> Stored:
    """A tensor as its entry in the header describes it."""

    def read() -> Array:
        if entry["dtype"] not in DTYPES:
            kinds = ", ".join(DTYPES)
            raise HandloomError(
                f"{path}: tensor {shown(name)} is {entry['dtype']} (expected {kinds}); convert it first"
            )
        return as_float(read_bytes(path, start + entry["data_offsets"][0], shape, entry["dtype"]), entry["dtype"])

    return Stored(shape, read)


def read_bytes(path: Path, start: int, shape: tuple[int, ...], kind: str) -> Array:
    array = np.empty(shape, DTYPES[kind])
    with open(path, "rb") as file:
        file.seek(start)
        if array.size and file.readinto(array.data.cast("B")) != array.nbytes:
            raise HandloomError(f"{path} is cut short; copy it again")
    return array


def as_float(array: Array, kind: str) -> Array:
    """float64 as it is, everything else as float32; a bfloat16 is the upper half of one."""
    if kind != "BF16":
        return array.astype(np.float64 if kind == "F64" else np.float32, copy=False)
    wide = np.empty(array.shape, np.float32)
    np.left_shift(array, 16, out=wide.view(np.uint32), dtype=np.uint32)
    return wide


def load_torch(path: Path) -> Any:
    """What a file of torch.save holds, if it is made of tensors and plain values. Anything else would run code."""
    check_ordinary(path)
    if what_is(path) != "file":
        raise HandloomError(f"{path}: no such file")
    if not os.access(path, os.R_OK):
        raise HandloomError(f"{path} cannot be read: permission denied")
    try:
        import torch
    except ImportError as error:
        raise HandloomError(
            f"{path}: reading it needs torch, which is not installed: pip install 'handloom[learn]'"
        ) from error
    try:
        with open(path, "rb") as file:
            mapped = file.read(4) == b"PK\x03\x04"  # the format of torch 1.6 and newer, read as it is needed
        return torch.load(path, map_location="cpu", weights_only=True, mmap=mapped)
    except Exception as error:
        if "Weights only load failed" in str(error) or "weights_only" in str(error):
            why = "it holds more than tensors and plain values, and opening it could run code"
        else:
            why = f"it is cut short, damaged or not a file of torch.save ({one_line(error)})"
        raise HandloomError(f"{path} cannot be read: {why}; save its state dict with safetensors") from error


def as_tensors(state: Any) -> Tensors:
    """A state dict of torch, whose tensors become arrays when they are asked for."""
    if not isinstance(state, Mapping) or not all(isinstance(name, str) for name in state):
        raise HandloomError("the file of torch has no state dict in it (expected tensors by name); save the state dict")

    def stored(tensor: Any) -> Stored:
        def read() -> Array:
            wide = tensor.double() if str(tensor.dtype) == "torch.float64" else tensor.float()
            return np.array(wide.numpy())

        return Stored(tuple(tensor.shape), read)

    return Tensors({name: stored(tensor.detach()) for name, tensor in state.items() if hasattr(tensor, "detach")})


def same_dtype(arrays: Arrays) -> Arrays:
    """All arrays of one dtype, float64 if one of them is; read-only, so that a Model takes them as they are."""
    dtype = np.result_type(*arrays.values())
    for name in arrays:
        array = arrays[name].astype(dtype, copy=False)
        arrays[name] = array if array.base is None else array.copy()
        arrays[name].flags.writeable = False
    return arrays


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file."""
    text = read_text(path)
    try:
        values = parse_json(text)
    except ValueError as error:
        raise HandloomError(f"{path} is not JSON ({one_line(error)}); copy it again") from error
    if not isinstance(values, dict):
        raise HandloomError(f"{path} holds {shown(values)} (expected an object); copy it again")
    return values


def read_text(path: Path) -> str:
    """The text of a small file."""
    check_ordinary(path)
    try:
        if path.stat().st_size > LARGEST_TEXT:
            raise HandloomError(f"{path} has more than {LARGEST_TEXT // 2**20} MB, too many for a file of its name")
        return path.read_bytes().decode()
    except OSError as error:
        raise HandloomError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise HandloomError(f"{path} is not text in UTF-8; copy it again") from error
