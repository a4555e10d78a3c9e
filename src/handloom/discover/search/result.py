"""The interface of every search, and what it returns."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from handloom.discover.problem import Number
from handloom.discover.spaces import Construction

Stop = Callable[[], bool]  # asked now and then; True ends a search


def never_stop() -> bool:
    return False


@dataclass(frozen=True)
class SearchResult:
    """The best construction of a search, its exact score, the steps made, and a note for the user."""

    construction: Construction
    score: Number
    steps: int
    note: str | None = None


class Search(Protocol):
    """The same seed, steps and start give the same result, however the time is divided and whatever else runs."""

    def run(self, seed: int, steps: int, start: Construction | None = None, stop: Stop = never_stop) -> SearchResult:
        """The best of that many steps from a start, or from nothing; fewer steps if `stop` says so."""
