"""The compiled engine, found and loaded: of the builds that were made when handloom was installed, the one with the
widest vectors that this processor has. HANDLOOM_NATIVE=plain, avx2 or avx512 in the environment chooses another that it
can run. Nothing is loaded before it is asked for."""

import ctypes
import os
from ctypes import POINTER, c_double, c_float, c_int32, c_int64, c_void_p
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import Any

from handloom.core.arrays import Array
from handloom.core.errors import HandloomError, shown

BUILDS = ("plain", "avx2", "avx512")  # as `handloom_best` counts them


class ConfigStruct(ctypes.Structure):
    """As `Config` in layout.h."""

    _fields_ = [
        *((name, c_int32) for name in ["vocab", "block", "width", "layers", "heads", "head_width", "hidden"]),
        *((name, c_int32) for name in ["norm", "post", "activation", "tied", "table"]),
        *((name, c_int32) for name in ["attn_bias", "mlp_bias", "norm_bias", "unembed_bias"]),
        ("eps", c_float),
    ]


class AdamWStruct(ctypes.Structure):
    _fields_ = [(name, c_double) for name in ("beta1", "beta2", "decay", "clip")]


class StringsStruct(ctypes.Structure):
    _fields_ = [(name, c_void_p) for name in ("ids", "starts", "asked")]


class ChoiceStruct(ctypes.Structure):
    _fields_ = [("temperature", c_double), ("top_k", c_int64), ("top_p", c_double)]


class PromptsStruct(ctypes.Structure):
    _fields_ = [
        ("count", c_int64),
        *((name, c_void_p) for name in ("ids", "starts", "limits", "stops", "uniforms")),
        ("most", c_int64),
    ]


class ProgressStruct(ctypes.Structure):
    _fields_ = [("done", c_int64), ("halt", c_int64)]


FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {  # what each gives, and takes
    "best": (c_int32, []),
    "width": (c_int32, []),
    "layout": (c_int64, [POINTER(ConfigStruct), c_void_p, POINTER(c_int64)]),
    "trainer": (c_void_p, [POINTER(ConfigStruct), POINTER(AdamWStruct), c_int32, c_int32, c_void_p]),
    "trainer_free": (None, [c_void_p]),
    "trainer_weights": (POINTER(c_float), [c_void_p]),
    "trainer_gradient": (POINTER(c_float), [c_void_p]),
    "trainer_m": (POINTER(c_float), [c_void_p]),
    "trainer_v": (POINTER(c_float), [c_void_p]),
    "trainer_refresh": (None, [c_void_p]),
    "trainer_step": (
        c_int32,
        [c_void_p, POINTER(StringsStruct), c_void_p, c_int64, c_double, c_int64, POINTER(c_double)],
    ),
    "trainer_differentiate": (
        c_int32,
        [c_void_p, POINTER(StringsStruct), c_void_p, c_int64, POINTER(c_double)],
    ),
    "trainer_loss": (c_int32, [c_void_p, POINTER(StringsStruct), c_int64, POINTER(c_double)]),
    "runner": (c_void_p, [POINTER(ConfigStruct), c_void_p, c_void_p, c_int32]),
    "runner_free": (None, [c_void_p]),
    "logits": (c_int32, [c_void_p, c_int64, c_int64, c_void_p, c_int64, c_void_p]),
    "decode": (
        c_int32,
        [c_void_p, POINTER(PromptsStruct), POINTER(ChoiceStruct), POINTER(ProgressStruct), c_void_p, c_void_p],
    ),
    "slots": (c_void_p, [c_void_p, c_int32, c_int32]),
    "slots_free": (None, [c_void_p]),
    "slots_step": (c_int32, [c_void_p, c_int32, c_void_p, c_void_p, c_int32, c_void_p]),
}


class Library:
    """The functions of one build, by name."""

    def __init__(self, path: Path) -> None:
        self.path = path
        loaded = ctypes.CDLL(str(path))
        for name, (gives, takes) in FUNCTIONS.items():
            function = getattr(loaded, f"handloom_{name}")
            function.restype, function.argtypes = gives, takes
            setattr(self, name, function)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)


def library() -> Library | None:
    """The build that HANDLOOM_NATIVE names, or else the best there is; None if there is none."""
    usable = builds()
    build = os.environ.get("HANDLOOM_NATIVE") or next(reversed(usable), None)
    if build is None:
        return None
    if build not in usable:
        there = f"expected {' or '.join(usable)}" if usable else "none was built when handloom was installed"
        raise HandloomError(f"HANDLOOM_NATIVE={shown(build)}: no build that this machine can run ({there}); unset it")
    return loaded(build)


@cache
def builds() -> tuple[str, ...]:
    """The builds that are there and that this machine can run, the best last."""
    plain = loaded("plain")
    return tuple(build for build in BUILDS[: plain.best() + 1] if loaded(build)) if plain else ()


@cache
def loaded(build: str) -> Library | None:
    path = built(build)
    try:
        return Library(path) if path else None
    except (OSError, AttributeError):  # built for another machine, or by another version
        return None


def built(build: str) -> Path | None:
    here = Path(__file__).parent
    return next((p for suffix in EXTENSION_SUFFIXES if (p := here / f"_{build}{suffix}").is_file()), None)


def pointer(array: Array | None) -> int | None:
    """Where an array lies; it must be contiguous, and held as long as it is used."""
    if array is None:
        return None
    assert array.flags.c_contiguous
    return array.ctypes.data
