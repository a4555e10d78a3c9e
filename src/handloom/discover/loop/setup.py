"""The set-up of a run: everything that it is given and that does not change while it runs."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from handloom.core import HandloomError
from handloom.core.errors import shown
from handloom.discover.loop.executors import WORKERS
from handloom.discover.loop.plan import AUTO, ORBITS, Plan
from handloom.discover.loop.report import DiscoveryReport
from handloom.discover.loop.starts import Start
from handloom.discover.problem import Number, Problem
from handloom.discover.records.store import Store
from handloom.discover.search.attempts import symmetry_names
from handloom.discover.search.symmetry import NONE
from handloom.runs import Folder, check_device

Watch = Callable[[DiscoveryReport], None]


def ignore(progress: DiscoveryReport) -> None:
    """Nobody watches."""


@dataclass(frozen=True, kw_only=True)
class Setup:
    """A problem, a plan for its generations, where to keep what is found, when to stop, and who computes."""

    problem: Problem
    plan: Plan
    store: Store
    folder: Folder | None = None
    seconds: float | None = None  # the limits, with those before it was resumed
    generations: int | None = None
    until: Number | None = None  # the score at which to stop
    on: str = "threads"  # who searches (executors.py)
    device: str = "cpu"  # where the model is trained
    now: Callable[[], float] = time.monotonic  # the clock
    began: float | None = None  # by this clock; by default, when the workers are ready
    watch: Watch = ignore
    starts: tuple[Start, ...] = ()  # what searches of the first generation start from, besides nothing

    def __post_init__(self) -> None:
        check_device(self.device)
        if self.on not in WORKERS:
            raise HandloomError(f"no workers called {shown(self.on)}; there are {' and '.join(WORKERS)}")
        known = symmetry_names(self.problem)
        if self.plan.symmetry not in (AUTO, *known):
            raise HandloomError(
                f"{self.problem} has no symmetry {shown(self.plan.symmetry)}; it has {', '.join(known)}, or auto"
            )
        if self.plan.model and self.plan.tokens == ORBITS and (why := self.without_orbits(known)):
            raise HandloomError(f"tokens=orbits: {why}; leave it to auto")

    def without_orbits(self, known: Sequence[str]) -> str | None:
        """Why constructions cannot be written by orbits; None if they can, once some with a symmetry were found."""
        if known == [NONE]:
            return f"{self.problem} is not searched under any symmetry"
        if self.plan.symmetry == NONE:
            return "symmetry=none finds no constructions with a symmetry"
        return f"smaller={self.plan.smaller} mixes sizes, which have other orbits" if self.plan.smaller else None

    @cached_property
    def symmetries(self) -> list[str]:
        """Those under which to search."""
        return symmetry_names(self.problem) if self.plan.symmetry == AUTO else [self.plan.symmetry]
