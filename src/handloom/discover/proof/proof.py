"""A Proof: an upper bound for a problem, how it was found, and whether a construction reaches it."""

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class SolverRun:
    """One run of the solver: what it was given, and the bound it proved, None if it did not end in time."""

    encoding: str
    seed: int
    bound: int | None
    seconds: float

    def __str__(self) -> str:
        return f"{self.encoding}, seed {self.seed}"


@dataclass(frozen=True)
class Optima:
    """The number of optimal constructions, and of those that differ by more than a symmetry."""

    total: int
    classes: int
    symmetries: str  # which were counted as the same
    seconds: float

    def __str__(self) -> str:
        return f"{self.total:,} optimal constructions, {self.classes:,} up to {self.symmetries}"


@dataclass(frozen=True)
class Proof:
    """No construction has more than `bound` elements; `best` is the most of a verified one, and `construction` that
    one. `seconds` is the time until the bound was proved, `again` the second run, with another encoding and seed."""

    problem: str
    best: int
    bound: int
    seconds: float
    first: SolverRun
    again: SolverRun | None = None
    construction: Any = None
    count: Optima | None = None
    note: str = ""  # what was not done, and why
    interrupted: bool = False  # by Ctrl-C
    trivial: bool = False  # whether the bound is the number of all elements, for want of a proof
    sets: int = 0  # how many are forbidden
    digest: str = ""  # of these

    @property
    def optimal(self) -> bool:
        return self.best == self.bound

    @property
    def checked(self) -> bool:
        """Whether the second run has proved the bound too."""
        return self.again is not None and self.again.bound == self.bound

    def __str__(self) -> str:
        if self.trivial:
            return f"{self.problem}: no bound yet; the best is {self.best} of {self.bound} elements, verified"
        if self.optimal:
            said = f"{self.problem}: {self.best} is optimal, proved in {brief(self.seconds)} ({self.first})"
        else:
            said = f"{self.problem}: at most {self.bound}, proved in {brief(self.seconds)} ({self.first})"
        if self.checked and self.again:
            said += f" and again in {brief(self.again.seconds)} ({self.again})"
        if not self.optimal:
            said += f"; the best is {self.best}, verified"
        return "; ".join(filter(None, [said, str(self.count or ""), self.note]))

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"optimal": self.optimal, "checked": self.checked}


def brief(seconds: float) -> str:
    """A time in few digits: 0.8 s, 12 s, 5 min.

    >>> brief(0.84), brief(12.4), brief(300), brief(9000)
    ('0.8 s', '12 s', '5 min', '2.5 h')
    """
    if seconds < 100:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


@dataclass(frozen=True)
class Progress:
    """Where a proof is: after how many seconds, at what, with which best and which bound."""

    problem: str
    seconds: float
    doing: str
    best: int | None
    bound: int | None

    def __str__(self) -> str:
        bound = "no bound yet" if self.bound is None else f"at most {self.bound}"
        best = "" if self.best is None else f", best {self.best}"
        return f"{self.problem}: {brief(self.seconds)}, {self.doing}: {bound}{best}"
