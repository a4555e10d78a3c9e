"""What a run reports: to its watcher, several times per second; and in its metrics, statistics of scores."""

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from handloom.discover.problem import Number
from handloom.discover.spaces import Construction, Space

Stage = Literal["preparing", "searching", "learning", "sampling", "improving", "done"]


@dataclass(frozen=True)
class DiscoveryReport:
    """One moment of a run. As text it is one line."""

    problem: str
    stage: Stage
    seconds: float = 0.0  # since the run began
    limit: float | None = None  # seconds it may take
    generation: int = 0
    best: int | float | None = None
    best_known: int | float | None = None
    origin: Mapping[str, Any] | None = None  # how the best was found
    record_count: int = 0
    stage_done: float = 0.0  # from 0 to 1
    loss: float | None = None
    lines: tuple[Mapping[str, Any], ...] = ()  # of metrics.jsonl so far
    steps: int = 0  # of search
    picture: tuple[Space, Construction] | None = None  # of the best
    minimise: bool = False  # whether small scores are better

    def __str__(self) -> str:
        known = "" if self.best_known is None else f" (best known: {self.best_known:,})"
        best = "nothing found yet" if self.best is None else f"best {self.best:,}{known}"
        return (
            f"{self.seconds:.0f} s: generation {self.generation}, {self.stage}, {best},"
            f" {self.record_count:,} record{'s' * (self.record_count != 1)}"
        )


def statistics_of(scores: Sequence[Number], minimise: bool = False) -> dict[str, Any] | None:
    """The numbers below the histograms of Wagner's talk; None for no scores. Where they are to be small, the top fifth
    are the smallest.

    >>> statistics_of([1, 2, 3, 4, 10])["top_fifth"], statistics_of([1, 2, 3, 4, 10], minimise=True)["top_fifth"]
    (10, 1)
    """
    if not scores:
        return None
    top = sorted(scores, reverse=not minimise)[: max(1, len(scores) // 5)]
    return {
        "count": len(scores),
        "mean": statistics.fmean(scores),
        "median": statistics.median(scores),
        "top_fifth": statistics.mean(top),
        "min" if minimise else "max": top[0],
        "histogram": {str(score): count for score, count in sorted(Counter(map(rounded, scores)).items())},
    }


def rounded(score: Number) -> Number:
    """Scores that are not whole are grouped by their first three digits."""
    return score if isinstance(score, int) else float(f"{score:.3g}")
