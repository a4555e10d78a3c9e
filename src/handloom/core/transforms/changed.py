"""What all transforms share: which arrays meet the residual stream, and a Model with some of its arrays changed."""

from dataclasses import replace
from typing import Any

from handloom.core.model import Model

Flat = dict[str, Any]

# the last part of a parameter's name says how it meets the residual stream
WRITERS = {"W_E", "W_pos", "W_O", "b_O", "W_out", "b_out"}  # their last axis is D
READERS = {"W_Q", "W_K", "W_V", "W_gate", "W_in", "W_U"}  # their last but one is D

KEYS_AND_VALUES = {"W_K", "W_V", "b_K", "b_V"}  # their first axis is G, the heads that have them


def changed(model: Model, by: str, flat: Flat, **fields: Any) -> Model:
    """The model with other arrays and some fields of its Config replaced; its notes say by what."""
    notes = {**model.notes, "changed": [*model.notes.get("changed", []), by]}
    return model.with_(config=replace(model.config, **fields), params=flat, notes=notes)


def part(name: str) -> str:
    """`layers.0.W_Q` → `W_Q`."""
    return name.rpartition(".")[2]
