"""The nouns of the lab: a Claim, the Checks of one run of its experiment (a Finding), the Conclusion over all seeds.

    >>> held = Finding([Check("overlap", 0.99, least=0.97), Check("noise", 0.2, least=0.97, control=True)])
    >>> verdict_of([held, held, held])
    'holds'
    >>> verdict_of([held, Finding([Check("overlap", 0.5, least=0.97), Check("noise", 0.2, least=0.97, control=True)])])
    'holds in part'

An experiment is a module with a `CLAIM`, a function `run` from a Lab to the Finding of one seed, and a function
`picture` from the series of all seeds to panels. Its bounds stand in the module before it runs, and the verdict follows
from them by rule:

- *holds*: every check is within its bounds with every seed;
- *holds in part*: some are;
- *does not hold*: none is;
- *says nothing*: a control, a set-up in which the claim must fail, is within its bounds too;
- *open*: a check could not be made in the time it had.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, TypeVar

import numpy as np

from handloom.core import HandloomError, Model
from handloom.core.errors import shown

Series = Mapping[str, Any]  # what a picture needs of one seed: numbers, texts, lists and objects, as JSON has them
Verdict = Literal["holds", "holds in part", "does not hold", "says nothing", "open"]
Value = TypeVar("Value")

SEEDS = 3  # the fewest that give a verdict in the records


@dataclass(frozen=True, kw_only=True)
class Claim:
    """What is said, by whom, and how long it takes to try."""

    name: str  # as in `handloom lab NAME`
    says: str  # one sentence that can be wrong
    source: str  # authors and year
    seed: str  # whose slides name it
    number: str  # the claimed number, or what is claimed in few words
    quick: float  # CPU seconds of one seed, about
    full: float
    papers: tuple[str, ...] = ()  # numbers on arXiv


@dataclass(frozen=True)
class Check:
    """A measured value and the bounds within which the claim puts it. A control has the claim's bounds, and must be
    outside of them."""

    name: str
    value: float | None  # None: there was no time to measure it
    least: float | None = None
    most: float | None = None
    said: float | None = None  # the number in the source
    control: bool = False
    form: str = ".3g"

    def __post_init__(self) -> None:
        if self.least is None and self.most is None:
            raise HandloomError(f"check {shown(self.name)}: no bounds (expected least or most); give one")
        if self.value is not None:
            object.__setattr__(self, "value", float(self.value))

    @property
    def within(self) -> bool | None:
        """Whether the value is within the bounds; None if there is no value. NaN is not."""
        if self.value is None:
            return None
        low = -np.inf if self.least is None else self.least
        high = np.inf if self.most is None else self.most
        return bool(low <= self.value <= high)

    @property
    def bounds(self) -> str:
        """The bounds in words: ≥ 0.97, ≤ 1e-09, 0.99 to 1.01."""
        if self.least is None or self.most is None:
            return f"≥ {self.form_of(self.least)}" if self.most is None else f"≤ {self.form_of(self.most)}"
        return f"{self.form_of(self.least)} to {self.form_of(self.most)}"

    def form_of(self, value: float | None) -> str:
        return "none" if value is None else format(value, self.form).replace("%", " %")


@dataclass(frozen=True)
class Finding:
    """What a run of an experiment with one seed found."""

    checks: Sequence[Check]
    series: Series = field(default_factory=dict)
    models: Mapping[str, Model] = field(default_factory=dict)  # kept as files by full runs


@dataclass(frozen=True)
class Lab:
    """What an experiment is given: the seed, whether it has seconds or minutes, whom to tell of its progress."""

    seed: int = 0
    quick: bool = True
    judge: str | None = None  # of a game: a file of weights, or a program
    progress: Callable[[int, int], None] = lambda done, most: None

    def pick(self, quick: Value, full: Value) -> Value:
        """A size that depends on the time there is."""
        return quick if self.quick else full

    def in_time(self, check: Check) -> Check:
        """The check; in a quick run without its value if that is out of bounds, since more training may change it."""
        return check if check.within or not self.quick else replace(check, value=None)

    def rng(self, *use: int) -> np.random.Generator:
        """A generator that depends on the seed and on these numbers."""
        return np.random.default_rng([self.seed, *use])


def verdict_of(findings: Sequence[Finding]) -> Verdict:
    """The verdict over all seeds, by the rule at the top of this file."""
    controls = [check.within for finding in findings for check in finding.checks if check.control]
    claimed = [check.within for finding in findings for check in finding.checks if not check.control]
    if True in controls:
        return "says nothing"
    if None in controls or None in claimed or not claimed:
        return "open"
    if all(claimed):
        return "holds"
    return "holds in part" if any(claimed) else "does not hold"


@dataclass(frozen=True)
class Result:
    """One check over all seeds."""

    name: str
    values: tuple[float | None, ...]
    bounds: str
    passed: int  # with how many seeds it is within its bounds
    control: bool
    said: float | None
    form: str

    @property
    def found(self) -> str:
        """The values in words: 0.993, or 0.991 to 0.994 over the seeds."""
        known = [value for value in self.values if value is not None]
        if not known:
            return "not measured"
        least, most = (format(end(known), self.form).replace("%", " %") for end in (min, max))
        return least if least == most else f"{least} to {most}"

    @property
    def open(self) -> bool:
        """Whether there was no time to measure it, with some seed."""
        return None in self.values

    @property
    def good(self) -> bool:
        """Whether it came out as the claim has it, with every seed."""
        return self.passed == (0 if self.control else len(self.values)) and not self.open


@dataclass(frozen=True)
class Conclusion:
    """The findings of an experiment over all seeds, and the verdict."""

    claim: Claim
    verdict: Verdict
    results: tuple[Result, ...]
    seconds: float  # of CPU time, all seeds together
    quick: bool
    seeds: tuple[int, ...]
    series: tuple[Series, ...] = ()

    @classmethod
    def of(
        cls, claim: Claim, findings: Sequence[Finding], seeds: Sequence[int], seconds: float, quick: bool
    ) -> "Conclusion":
        series = tuple(finding.series for finding in findings)
        return cls(claim, verdict_of(findings), results_of(findings), seconds, quick, tuple(seeds), series)

    @property
    def found(self) -> str:
        """The two first checks in words."""
        return found_in_words([(one.name, one.found) for one in self.results if not one.control])

    @property
    def how(self) -> str:
        """With how many seeds, in which form and time."""
        count = len(self.seeds)
        seeds = f"{count} seeds" if count >= SEEDS else f"{count} of the {SEEDS} seeds that a verdict takes"
        return f"{seeds}, {'quick' if self.quick else 'full'}, {self.seconds:.0f} s"

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.claim.name,
            "claim": self.claim.says,
            "said": self.claim.number,
            "found": self.found,
            "verdict": self.verdict,
            "seconds": round(self.seconds, 1),
            "quick": self.quick,
            "seeds": list(self.seeds),
            "checks": [asdict(one) | {"found": one.found, "good": one.good} for one in self.results],
        }

    def __str__(self) -> str:
        lines = [f"{self.claim.name}: {self.claim.says}", f"  said: {self.claim.number} ({self.claim.source})"]
        wide = max((len(one.name) for one in self.results), default=0)
        for one in self.results:
            mark = (
                " – " if one.open else ("ok " if one.good else "BAD") if one.control else "yes" if one.good else "no "
            )
            what = f"control, must not be {one.bounds}" if one.control else f"claimed {one.bounds}"
            lines.append(f"  {mark} {one.name:<{wide}}  {one.found}  ({what})")
        return "\n".join([*lines, f"  {self.verdict} ({self.how})"])


def found_in_words(checks: Sequence[tuple[str, str]]) -> str:
    """The first two of these names and values."""
    return "; ".join(f"{name}: {found}" for name, found in checks[:2])


def results_of(findings: Sequence[Finding]) -> tuple[Result, ...]:
    """The checks of all seeds, side by side. An experiment makes the same checks with every seed."""
    names = [[check.name for check in finding.checks] for finding in findings]
    if any(one != names[0] for one in names):
        raise HandloomError(f"an experiment must make the same checks with every seed, not {names[0]} and then others")
    return tuple(
        Result(
            name=one[0].name,
            values=tuple(check.value for check in one),
            bounds=one[0].bounds,
            passed=sum(check.within is True for check in one),
            control=one[0].control,
            said=one[0].said,
            form=one[0].form,
        )
        for one in zip(*(finding.checks for finding in findings), strict=True)
    )
