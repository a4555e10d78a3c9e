"""How far a run of discovery is: what whoever watches it is told, several times a second."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

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
    lines: tuple[Mapping[str, Any], ...] = ()  # what metrics.jsonl has so far
    steps: int = 0  # of search
    picture: tuple[Space, Construction] | None = None  # of the best


def came_from(origin: Mapping[str, Any] | None) -> str:
    """Where something came from, in a few words.

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
