"""The pool: the best constructions of a run, each once, from which the model learns and search begins again."""

import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from handloom.discover.problem import Number
from handloom.discover.spaces import Construction


@dataclass(frozen=True)
class Member:
    """A construction in its canonical form, and when it came."""

    construction: Construction
    score: Number
    generation: int


class Pool:
    """At most `keep` members, the best first; of equal ones the newest, so that the pool goes on changing."""

    def __init__(self, keep: int, canonical: Callable[[Construction], Construction]) -> None:
        self.keep, self.canonical = keep, canonical
        self.members: dict[Construction, Member] = {}

    def add(self, construction: Construction, score: Number, generation: int) -> Member | None:
        """The new member; None if it is there already."""
        form = self.canonical(construction)
        if form in self.members:
            return None
        member = self.members[form] = Member(form, score, generation)
        return member

    def trim(self) -> None:
        """Keep only the best."""
        self.members = {member.construction: member for member in self.best()}

    def best(self) -> list[Member]:
        order = sorted(self.members.values(), key=lambda member: (member.score, member.generation), reverse=True)
        return order[: self.keep]

    def to_json(self) -> list[list[Any]]:
        return [[list(member.construction), member.score, member.generation] for member in self.best()]

    def restore(self, saved: Iterable[Sequence[Any]]) -> None:
        for construction, score, generation in saved:
            form = tuple(construction)
            self.members[form] = Member(form, score, generation)


def statistics_of(scores: Sequence[Number]) -> dict[str, Any] | None:
    """The numbers of the talk's histograms; None of nothing.

    >>> statistics_of([1, 2, 3, 4, 10])["top_fifth"]
    10
    """
    if not scores:
        return None
    top = sorted(scores, reverse=True)[: max(1, len(scores) // 5)]
    return {
        "count": len(scores),
        "mean": statistics.fmean(scores),
        "median": statistics.median(scores),
        "top_fifth": statistics.mean(top),
        "max": top[0],
        "histogram": {str(score): count for score, count in sorted(Counter(map(rounded, scores)).items())},
    }


def rounded(score: Number) -> Number:
    """Scores that are not whole are counted together to three digits."""
    return score if isinstance(score, int) else float(f"{score:.3g}")
