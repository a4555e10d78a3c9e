"""Which search is for which problem: among unions of orbits where sets are forbidden, annealing where there is a score.

Both are one interface: `run(seed, steps, start, stop)` gives the best that was Found. The same seed, steps and start
give the same, however the time is cut up and whatever else runs beside.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from handloom.discover.problem import Problem
from handloom.discover.search import orbit_search
from handloom.discover.search.anneal import Annealer
from handloom.discover.search.conflicts import Conflicts, conflicts
from handloom.discover.search.result import Found
from handloom.discover.search.symmetry import NONE, Orbits, orbits_of, symmetries_of
from handloom.discover.search.triples import Broken, TooLarge
from handloom.discover.spaces import Construction

CHUNK = 0.05  # seconds between two looks at whether to stop


class Search(Protocol):
    def run(self, seed: int, steps: int, start: Construction | None, stop: Callable[[], bool]) -> Found:
        """The best of so many steps from a start, or from nothing; fewer steps if told to stop."""


class OrbitSearch:
    """Search among the legal unions of orbits. It may run in several threads at once."""

    def __init__(self, orbits: Orbits, tables: Conflicts) -> None:
        self.orbits, self.tables = orbits, tables

    def run(
        self, seed: int, steps: int, start: Construction | None = None, stop: Callable[[], bool] = lambda: False
    ) -> Found:
        state = orbit_search.begin(self.tables, seed, self.begun(start or ()))
        done, chunk = 0, 100
        while done < steps and not stop():
            chunk = min(chunk, steps - done)
            began = time.perf_counter()
            orbit_search.run(self.tables, state, chunk)
            done += chunk
            chunk = max(10, int(chunk * min(10.0, CHUNK / max(time.perf_counter() - began, 1e-6))))
        return Found(self.union(state.best), int(state.numbers[orbit_search.BEST]), done)

    def begun(self, start: Construction) -> list[int]:
        """The orbits of which the start has something, those first of which it has most."""
        inside = np.bincount(self.orbits.of[list(start)], minlength=len(self.orbits.members)) / self.orbits.weights
        order = np.argsort(-inside, kind="stable")
        return [int(orbit) for orbit in order[: np.count_nonzero(inside)]]

    def union(self, chosen: Any) -> Construction:
        parts = [self.orbits.members[orbit] for orbit in np.nonzero(chosen)[0]]
        return tuple(sorted(np.concatenate(parts).tolist())) if parts else ()

    def kept(self, construction: Construction) -> float:
        """How much of a construction is whole orbits."""
        if not construction:
            return 0.0
        inside = np.bincount(self.orbits.of[list(construction)], minlength=len(self.orbits.members))
        return float(inside[inside == self.orbits.weights].sum() / len(construction))


def size(chosen: Any) -> Any:
    """How many are chosen, as a score."""
    return chosen.sum()


def names(problem: Problem) -> list[str]:
    """The symmetries under which a problem may be searched, the largest groups first: their tables are made soonest."""
    if problem.score is not None:
        return [NONE]
    known = symmetries_of(problem)
    return sorted([NONE, *known], key=lambda name: len(orbits_of(problem, name).members))


def search_for(problem: Problem, symmetry: str, stop: Callable[[], bool] = lambda: False) -> Search | None:
    """The search for a problem under a symmetry; None if nothing can be chosen under it, if it turns out not to
    hold, if its tables would be too large, or if told to stop. Without a symmetry there is always one."""
    if problem.score is not None:
        return Annealer(problem)
    orbits = orbits_of(problem, symmetry)
    try:
        tables = conflicts(problem, orbits, stop)
    except Broken:
        return None
    except TooLarge:
        return Annealer(replace(problem, score=size)) if symmetry == NONE else None
    if tables is None or (symmetry != NONE and int((~tables.never).sum()) < 2):
        return None
    return OrbitSearch(orbits, tables)
