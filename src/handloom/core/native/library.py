"""Finds and loads the compiled engine: of the builds that were made when handloom was installed, the one with the
widest vectors that this processor has. HANDLOOM_NATIVE=plain, avx2 or avx512 in the environment chooses another that
it can run. A build of another version of the contract (`layout.py`) is not used. Nothing is loaded before it is
needed."""

import ctypes
import os
from ctypes import POINTER, c_double, c_float, c_int32, c_int64, c_void_p
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import Any

from handloom.core.arrays import Array
from handloom.core.errors import HandloomError, shown
from handloom.core.native.layout import (
    VERSION,
    AdamWStruct,
    ConfigStruct,
    ProgressStruct,
    PromptsStruct,
    SamplingStruct,
    StringsStruct,
)

BUILDS = ("plain", "avx2", "avx512")  # as `handloom_best` counts them

MISSING = "it was not built when handloom was installed; with g++ or clang++ at hand, install handloom again"
OUTDATED = "it was built by another version of handloom; install handloom again, with g++ or clang++ at hand"

FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {  # of engine.cpp: the type of the result, and those of the arguments
    "best": (c_int32, []),
    "vector_width": (c_int32, []),
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
        [c_void_p, POINTER(PromptsStruct), POINTER(SamplingStruct), POINTER(ProgressStruct), c_void_p, c_void_p],
    ),
    "slots": (c_void_p, [c_void_p, c_int32, c_int32]),
    "slots_free": (None, [c_void_p]),
    "slots_step": (c_int32, [c_void_p, c_int32, c_void_p, c_void_p, c_int32, c_void_p]),
}


class OtherVersion(Exception):
    """The library was built for another version of the contract."""


class Library:
    """The functions of one build, by name."""

    def __init__(self, path: Path) -> None:
        self.path = path
        loaded = ctypes.CDLL(str(path))
        version = getattr(loaded, "handloom_layout_version", None)  # before version 1 there was none
        if version is None or version() != VERSION:
            raise OtherVersion(path)
        for name, (result, arguments) in FUNCTIONS.items():
            function = getattr(loaded, f"handloom_{name}")
            function.restype, function.argtypes = result, arguments
            setattr(self, name, function)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)


def library() -> Library | None:
    """The build that HANDLOOM_NATIVE names, or else the best one; None if there is none, and `reason_missing` says
    why."""
    usable = builds()
    build = os.environ.get("HANDLOOM_NATIVE") or next(reversed(usable), None)
    if build is None:
        return None
    if build not in usable:
        expected = f"expected {' or '.join(usable)}" if usable else reason_missing()
        raise HandloomError(
            f"HANDLOOM_NATIVE={shown(build)}: no build that this machine can run ({expected}); unset it"
        )
    return loaded(build)


def reason_missing() -> str:
    """Why there is no build that this machine can run, not even the plain one."""
    try:
        if path := built("plain"):
            Library(path)
    except OtherVersion:
        return OUTDATED
    except OSError:  # built for another machine
        pass
    return MISSING


@cache
def builds() -> tuple[str, ...]:
    """The builds that were made and that this machine can run, the best last."""
    plain = loaded("plain")
    return tuple(build for build in BUILDS[: plain.best() + 1] if loaded(build)) if plain else ()


@cache
def loaded(build: str) -> Library | None:
    path = built(build)
    try:
        return Library(path) if path else None
    except (OSError, OtherVersion):
        return None


def built(build: str) -> Path | None:
    here = Path(__file__).parent
    return next((p for suffix in EXTENSION_SUFFIXES if (p := here / f"_{build}{suffix}").is_file()), None)


def pointer(array: Array | None) -> int | None:
    """The address of an array, which must be contiguous and outlive the use of the address."""
    if array is None:
        return None
    assert array.flags.c_contiguous
    return array.ctypes.data
