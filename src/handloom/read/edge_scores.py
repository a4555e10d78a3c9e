"""Numbers for the edges of a Graph, from path patching or attribution: a mapping that prints and draws itself."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from handloom.core.registry import offered
from handloom.read.graph import Edge

MOST = 20  # edges that are printed


@dataclass(frozen=True, eq=False)
class EdgeScores(Mapping[Edge, float]):
    """A number for each edge (source, receiver)."""

    scores: Mapping[Edge, float]
    meaning: str  # of the numbers, in words
    method: str

    def __getitem__(self, edge: Edge) -> float:
        return self.scores[edge]

    def __iter__(self) -> Iterator[Edge]:
        return iter(self.scores)

    def __len__(self) -> int:
        return len(self.scores)

    def top(self, count: int = MOST) -> list[tuple[Edge, float]]:
        """The edges with the largest numbers, of either sign, largest first."""
        return sorted(self.scores.items(), key=lambda one: (-abs(one[1]), one[0]))[:count]

    def __str__(self) -> str:
        shown = self.top()
        width = max((len(f"{source} → {receiver}") for (source, receiver), _ in shown), default=0)
        lines = [f"{f'{source} → {receiver}':{width}}  {number:9.4f}" for (source, receiver), number in shown]
        more = [f"… and {len(self) - len(shown)} edges more"] if len(self) > len(shown) else []
        return "\n".join([f"{self.method}: {self.meaning}", *lines, *more])

    def to_json(self) -> dict[str, Any]:
        edges = [{"source": s, "target": r, "score": number} for (s, r), number in self.scores.items()]
        return {"method": self.method, "meaning": self.meaning, "edges": edges}

    def _repr_html_(self) -> str | None:
        """What a notebook shows."""
        return offered("html")(self)
