"""Counting a model as The Art of Transformer Programming does (its section 1.3), so that sizes can be compared.

Every entry of the embeddings, of the positions and of the layers counts, zero or not. A table that serves as embedding
and unembedding counts once, and so do two equal tables. Norm gains and biases do not count, nor do positions that are
computed rather than stored. Three numbers: all entries, the non-zero ones, and the number of different values (zero is
one of them). `trainable` is the number of values that an optimiser would see, norms included. `active` is the part of
`total` that a position uses: with experts, those of as many as it chooses.
"""

from dataclasses import dataclass

import numpy as np

from handloom.core.model import Model
from handloom.core.params import is_norm

EXPERTS = ("W_in", "b_in", "W_out")  # their first axis is E, the experts


@dataclass(frozen=True)
class ParameterCount:
    total: int
    nonzero: int
    unique: int
    trainable: int
    active: int


def count(model: Model) -> ParameterCount:
    """The size of a model, four ways."""
    arrays = model.flat
    left_out = {"W_U"} if not model.config.tied and np.array_equal(arrays["W_U"], arrays["W_E"].T) else set()
    counted = np.concatenate([a.ravel() for name, a in arrays.items() if not is_norm(name) and name not in left_out])
    counted.sort()  # in place: np.unique would copy a large model three times more
    return ParameterCount(
        total=counted.size,
        nonzero=int(np.count_nonzero(counted)),
        unique=1 + int(np.count_nonzero(counted[1:] != counted[:-1])),
        trainable=sum(array.size for array in arrays.values()),
        active=counted.size - idle(model),
    )


def idle(model: Model) -> int:
    """The number of entries of experts that a position does not choose."""
    c = model.config
    all_of_them = sum(layer[name].size for layer in model.params["layers"] for name in EXPERTS if name in layer)
    return all_of_them // c.experts * (c.experts - c.top) if c.experts else 0
