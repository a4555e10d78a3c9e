"""The progress of a run: what its watcher is shown several times per second, and where a construction came from."""

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from handloom.discover.problem import Number
from handloom.discover.spaces import Construction, Space

Stage = Literal["preparing", "searching", "learning", "sampling", "improving", "done"]


@dataclass(frozen=True)
class Progress:
    """One moment of a run."""

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


def came_from(origin: Mapping[str, Any] | None) -> str:
    """How a construction was found, in a few words.

    >>> came_from({"how": "search", "symmetry": "mirrors", "generation": 0, "seconds": 3.24})
    'search, mirrors, 3.2 s'
    >>> came_from({"how": "model", "symmetry": None, "generation": 4})
    'model, generation 4'
    """
    if not origin:
        return ""
    words = [str(origin.get("how") or "unknown")]
    if origin.get("symmetry") not in (None, "", "none"):
        words.append(str(origin["symmetry"]))
    if isinstance(generation := origin.get("generation"), int) and (generation or words[0] == "model"):
        words.append(f"generation {generation}")
    if isinstance(seconds := origin.get("seconds"), int | float):
        words.append(f"{seconds:.1f} s")
    return ", ".join(words)


def started_from(origin: Mapping[str, Any] | None) -> str:
    """What the search that found a construction started from, in a few words.

    >>> started_from({"how": "search", "start": None})
    'from nothing'
    >>> started_from({"how": "model", "start": {"from": "model", "score": 17}})
    'from a sample of the model, 17 before the search'
    >>> started_from({"how": "search", "start": {"from": "pool", "score": 26}, "parent": 12})
    'from record 12'
    >>> started_from({"how": "search"})  # written by a version that did not record it
    'from a start that was not recorded'
    """
    if not origin or origin.get("how") == "import":
        return ""
    start = origin.get("start", "unknown")
    if start is None:
        return "from nothing"
    if not isinstance(start, Mapping):
        return "from a start that was not recorded"
    if origin.get("parent") is not None:
        return f"from record {origin['parent']}"
    if start.get("from") == "model":
        return f"from a sample of the model, {start.get('score')} before the search"
    return f"from a construction of score {start.get('score')} in the pool"


def statistics_of(scores: Sequence[Number]) -> dict[str, Any] | None:
    """The numbers below the histograms of Wagner's talk; None for no scores.

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
    """Scores that are not whole are grouped by their first three digits."""
    return score if isinstance(score, int) else float(f"{score:.3g}")
