"""Counting a model as The Art of Transformer Programming does (its section 1.3), so that sizes can be compared.

Every entry of the embeddings, of the positions and of the layers counts, zero or not. A table that serves as embedding
and unembedding counts once, and so do two equal tables. Norm gains and biases do not count, nor do positions that are
computed rather than stored. Three numbers: all entries, the non-zero ones, and the number of different values (zero is
one of them). `trainable` is the number of values that an optimiser would see, norms included.
"""

from dataclasses import dataclass

import numpy as np

from handloom.core.model import Model
from handloom.core.params import is_norm


@dataclass(frozen=True)
class ParameterCount:
    total: int
    nonzero: int
    unique: int
    trainable: int


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
    )
