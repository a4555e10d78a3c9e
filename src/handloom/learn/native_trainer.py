"""The native trainer: the Trainer of the C++ engine, for the standard family of transformers.

A batch is given as the numbers of its strings; the engine cuts it up itself (core/native/trainer.h). The number of
lanes follows from the model's size alone, so that a run does not depend on the number of cores.
"""

from ctypes import byref, c_double
from math import isfinite

import numpy as np

from handloom.core import Config, native
from handloom.core.arrays import Array, Arrays
from handloom.core.native.layout import AdamWStruct, Layout, StringsStruct, config_struct, fixed_positions
from handloom.core.native.library import pointer
from handloom.learn.data import Strings
from handloom.learn.settings import Settings


class NativeTrainer:
    """Trains all weights of a transformer, from given weights and, in a resumed run, given moments."""

    def __init__(self, config: Config, arrays: Arrays, settings: Settings, moments: Arrays | None = None) -> None:
        self.library, self.settings = native.library_for(config), settings
        self.layout, self.steps = Layout(self.library, config), 0
        adamw = AdamWStruct(*settings.betas, settings.decay, settings.clip)
        struct, positions = config_struct(config), fixed_positions(config)
        self.handle = native.held(
            self.library.trainer(
                byref(struct),
                byref(adamw),
                settings.lanes or native.lanes(config),
                native.thread_count(),
                pointer(positions),
            )
        )
        self.weights, self.gradients, self.m, self.v = (
            self.layout.views(self.flat(name)) for name in ("weights", "gradient", "m", "v")
        )
        self.fill(self.weights, arrays)
        if moments:
            self.steps = int(moments["steps"][0])
            for letter, views in (("m", self.m), ("v", self.v)):
                self.fill(views, {name: moments[f"{letter}.{name}"] for name in views})
        self.library.trainer_refresh(self.handle)

    def __del__(self) -> None:
        if getattr(self, "handle", None):
            self.library.trainer_free(self.handle)

    def flat(self, name: str) -> Array:
        """The engine's own memory as an array; it must not outlive the trainer."""
        where = getattr(self.library, f"trainer_{name}")(self.handle)
        return np.ctypeslib.as_array(where, (self.layout.size,))

    @staticmethod
    def fill(views: Arrays, arrays: Arrays) -> None:
        for name, view in views.items():
            view[...] = arrays[name]

    def step(self, strings: Strings, rows: Array, rng: np.random.Generator, rate: float) -> tuple[float, int]:
        """Train on these rows; returns the mean loss per token, before the change, and the number of tokens. If the
        loss is not finite, returns NaN and changes nothing."""
        loss = c_double()
        native.fine(
            self.library.trainer_step(
                self.handle, byref(struct_of(strings)), pointer(rows), len(rows), rate, self.steps + 1, byref(loss)
            )
        )
        self.steps += isfinite(loss.value)
        return loss.value, strings.predicted(rows)

    def differentiate(self, strings: Strings, rows: Array) -> tuple[float, Arrays]:
        """The mean loss per token of these rows, and its gradient."""
        loss = c_double()
        native.fine(
            self.library.trainer_differentiate(
                self.handle, byref(struct_of(strings)), pointer(rows), len(rows), byref(loss)
            )
        )
        return loss.value, {name: view.copy() for name, view in self.gradients.items()}

    def loss(self, strings: Strings) -> float:
        """The mean loss per token of all strings, without training."""
        loss = c_double()
        native.fine(self.library.trainer_loss(self.handle, byref(struct_of(strings)), len(strings), byref(loss)))
        return loss.value

    def arrays(self) -> Arrays:
        """The current weights, all of them."""
        return {name: np.array(view, order="C") for name, view in self.weights.items()}

    def moments(self) -> Arrays:
        """The state of AdamW: running means of gradients (m.…) and of their squares (v.…)."""
        named = {f"m.{name}": view for name, view in self.m.items()} | {f"v.{n}": view for n, view in self.v.items()}
        return {name: np.array(view, order="C") for name, view in named.items()} | {"steps": np.array([self.steps])}


def struct_of(strings: Strings) -> StringsStruct:
    return StringsStruct(*map(pointer, (strings.ids, strings.starts, strings.asked, strings.targets)))
