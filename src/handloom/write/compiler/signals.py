"""Signals: what one part of a model adds to the residual stream, as a table of a few variables of the program."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from handloom.core.arrays import Array
from handloom.write.compiler.values import Plain, Value

Cases = dict[tuple[Plain, ...], int]  # what some variables are → a row


@dataclass(frozen=True)
class Signal:
    """In each case of some variables, amounts of some vectors, and how wrong each dimension can be; and both at the
    first token."""

    key: tuple[Value, ...]
    cases: Cases
    amounts: Array  # (n, J)
    vectors: Array  # (J, D)
    first: Array  # (J,)
    errors: Array  # (n, D)
    first_error: Array  # (D,)

    def most_wrong(self) -> Array:
        """The largest error of each dimension, (D,)."""
        worst: Array = np.maximum(self.errors.max(0, initial=0.0), self.first_error)
        return worst

    def rows(self, keys: Sequence[Value], cases: Sequence[tuple[Plain, ...]]) -> list[int] | None:
        """The row in each of these cases of some keys; None if they do not determine it."""
        place = {one: i for i, one in enumerate(keys)}
        if not set(self.key) <= set(place):
            return None
        at = [place[one] for one in self.key]
        rows = [self.cases.get(tuple(case[i] for i in at)) for case in cases]
        known = [row for row in rows if row is not None]
        return known if len(known) == len(rows) else None

    def without(self, d: int) -> "Signal":
        """The signal with nothing written in a dimension."""
        vectors, errors, first_error = self.vectors.copy(), self.errors.copy(), self.first_error.copy()
        vectors[:, d], errors[:, d], first_error[d] = 0.0, 0.0, 0.0
        return replace(self, vectors=vectors, errors=errors, first_error=first_error)
