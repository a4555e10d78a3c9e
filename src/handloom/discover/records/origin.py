"""Where a construction came from, in a few words: what found it, and what the search started from."""

from collections.abc import Mapping
from typing import Any

PROPOSED = {  # what a proposal is, by who made it
    "model": "a sample of the model",
    "random": "random elements",
    "marginals": "elements as frequent as in the pool",
    "redrawn": "a construction of the pool, a fifth drawn again",
}


def came_from(origin: Mapping[str, Any] | None) -> str:
    """How a construction was found, in a few words.

    >>> came_from({"how": "search", "symmetry": "mirrors", "generation": 0, "seconds": 3.24})
    'search, mirrors, 3.2 s'
    >>> came_from({"how": "model", "symmetry": None, "generation": 4})
    'model, generation 4'
    """
    if not origin:
        return ""
    how = str(origin.get("how") or "unknown")
    words = ["the start that was given" if how == "start" else how]
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
    >>> started_from({"how": "search", "start": {"from": "smaller", "problem": "isosceles:n=15", "record": 9}})
    'from record 9 of isosceles:n=15'
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
    if (words := given_start(start)) is not None:
        return words
    if origin.get("parent") is not None:
        return f"from record {origin['parent']}"
    if (proposal := PROPOSED.get(str(start.get("from")))) is not None:
        return f"from {proposal}, {start.get('score')} before the search"
    return f"from a construction of score {start.get('score')} in the pool"


def given_start(start: Mapping[str, Any]) -> str | None:
    """What the user had a search start from; None for a start that the run found itself.

    >>> given_start({"from": "file", "file": "mine.txt"})
    'from mine.txt'
    """
    match start.get("from"):
        case "file":
            return f"from {start.get('file')}"
        case "records":
            return f"from record {start.get('record')}"
        case "smaller":
            return f"from record {start.get('record')} of {start.get('problem')}"
    return None
