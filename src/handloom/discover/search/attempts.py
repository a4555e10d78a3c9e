"""Attempts: one search of a problem each, under a symmetry, from a start or from nothing.

    >>> from handloom.discover.catalogue import problem_named
    >>> problem = problem_named("four-cycle-free:n=6")
    >>> Searches(problem, ["none"]).attempt(Attempt("none", seed=0, steps=500)).result.score
    7

Which search a problem gets: among unions of orbits where sets are forbidden (orbit_search.py), annealing where there is
a score, or where the tables of what is forbidden would be too large (anneal.py).
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from handloom.discover.problem import Number, Problem
from handloom.discover.search.anneal import Annealer
from handloom.discover.search.conflicts import DEFAULT, conflicts
from handloom.discover.search.orbit_search import OrbitSearch
from handloom.discover.search.result import Search, SearchResult, Stop, never_stop
from handloom.discover.search.symmetry import NONE, orbits_of, symmetries_of
from handloom.discover.search.triples import Broken, TableLimits, TooLarge
from handloom.discover.spaces import Construction

ANY = "any"  # the symmetry of an attempt: the one that most of its start has
WHOLE = 0.7  # share of a start that must be whole orbits for its search to keep the symmetry


@dataclass(frozen=True)
class Attempt:
    """One search: under which symmetry (or ANY), from what, for how long."""

    symmetry: str
    seed: int
    steps: int
    start: Construction | None = None
    least: Number | None = None  # what scores less cannot enter the pool: its construction is not returned


@dataclass(frozen=True)
class Outcome:
    """The result of an attempt; with a start, also the score of its legal part before the search."""

    result: SearchResult
    symmetry: str
    before: Number | None = None
    legal: bool = False  # whether the whole start was legal


class Searches:
    """A problem's searches by symmetry, each made when it is first needed. Threads may share them."""

    def __init__(self, problem: Problem, symmetries: Sequence[str], limits: TableLimits = DEFAULT) -> None:
        self.problem, self.symmetries, self.limits = problem, tuple(symmetries), limits
        self.made: dict[str, Search | None] = {}
        self.lock = threading.Lock()

    def under(self, symmetry: str, stop: Stop = never_stop) -> Search | None:
        """The search under a symmetry; None if there is none, or if `stop` ended its making."""
        if symmetry not in self.made:  # threads that need a finished one do not wait for one in the making
            with self.lock:
                if symmetry not in self.made:
                    search = search_for(self.problem, symmetry, stop, self.limits)
                    if search is None and stop():
                        return None
                    self.made[symmetry] = search
        return self.made[symmetry]

    def attempt(self, task: Attempt, stop: Stop = never_stop) -> Outcome | None:
        """None if there is no search under its symmetry."""
        outcome = self.outcome(task, stop)
        if outcome is None or task.least is None or outcome.result.score >= task.least:
            return outcome
        return replace(outcome, result=replace(outcome.result, construction=()))

    def outcome(self, task: Attempt, stop: Stop) -> Outcome | None:
        """With its construction, whatever it scores."""
        plain = self.under(NONE, stop) if task.start is not None else None
        lost = task.symmetry == NONE and task.start is not None and not isinstance(plain, OrbitSearch)  # has no tables
        symmetry = self.nearest(task.start, stop) if task.symmetry == ANY or lost else task.symmetry
        search = self.under(symmetry, stop)
        if search is None:
            return None
        if task.start is None:
            return Outcome(search.run(task.seed, task.steps, None, stop), symmetry)
        if plain is None:
            return None
        before = plain.run(task.seed, 0, task.start, stop)
        after = search.run(task.seed, task.steps, task.start, stop)
        legal = tuple(sorted(before.construction)) == tuple(sorted(task.start))
        better = after if after.score >= before.score else before
        result = SearchResult(better.construction, better.score, after.steps, after.note)
        return Outcome(result, symmetry, before.score, legal)

    def nearest(self, start: Construction | None, stop: Stop) -> str:
        """The symmetry that most of a start has, if that is much, or if without one there are no tables."""
        best, most = NONE, WHOLE if isinstance(self.under(NONE, stop), OrbitSearch) else 0.0
        for name in self.symmetries:
            search = self.under(name, stop) if name != NONE and start else None
            if isinstance(search, OrbitSearch) and (share := search.whole_share(start or ())) > most:
                best, most = name, share
        return best


def symmetry_names(problem: Problem) -> list[str]:
    """The symmetries under which a problem can be searched, the largest groups first: their tables are made soonest."""
    if problem.score is not None:
        return [NONE]
    known = symmetries_of(problem)
    return sorted([NONE, *known], key=lambda name: len(orbits_of(problem, name).members))


def search_for(
    problem: Problem, symmetry: str, stop: Stop = never_stop, limits: TableLimits = DEFAULT
) -> Search | None:
    """The search for a problem under a symmetry. None if nothing can be chosen under it, if the problem turns out not
    to have it, if its tables would be too large, or if `stop` says so. Without a symmetry there is always a search."""
    if problem.score is not None:
        return Annealer(problem)
    orbits = orbits_of(problem, symmetry)
    try:
        tables = conflicts(problem, orbits, stop, limits)
    except Broken:
        return None
    except TooLarge:
        return Annealer(replace(problem, score=number_chosen)) if symmetry == NONE else None
    if tables is None or (symmetry != NONE and int((~tables.never).sum()) < 2):
        return None
    return OrbitSearch(orbits, tables)


def number_chosen(chosen: Any) -> Any:
    """The number of chosen elements, as a score."""
    return chosen.sum()
