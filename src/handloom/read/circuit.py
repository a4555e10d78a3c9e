"""The true circuit of a model, found by cutting edges: which of them its answers need.

    found = circuit(hl.program("search"))
    print(found)                     # 16 real of 42 edges, 256 pairs; the real edges alone keep every answer

An edge of the graph (graph.py) is *real* if cutting it alone changes an answer on some pair of inputs. That is a
definition, not an estimate, and its evidence is the share of pairs. What is called unreal may still be real on inputs
that were not drawn: after 0 of n pairs, its share is below 3/n with 95 % confidence. The circuit is *certified* if the
real edges alone, with all others cut at once, keep every answer on other pairs than those it was found on. Where a task
has few inputs, all pairs are gone through (`exhaustive`).

Where parts do the same work twice, an edge may be real and not needed, or needed and not real. The *core* has the edges
of every minimal set that greedy pruning finds, in several orders. An edge is *impossible* if the weights leave no way
for it: what the source writes, the receiver's weights do not read, and no norm stands between that could see it.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from handloom.core import Model
from handloom.core.callbacks import Progress
from handloom.core.finding import find
from handloom.core.registry import offered
from handloom.read.compiled_truth import Stated, stated_edges
from handloom.read.graph import Edge, Graph
from handloom.read.impossible import impossible_edges
from handloom.read.inputs import PairBatch, Pairs, every_pair, pairs_of
from handloom.tasks import Learnable, task_of
from handloom.tasks import task as task_named

ORDERS = 3  # in which edges are pruned, for the core
CORE_PAIRS = 64  # pairs on which they are
PAIRS, FEWEST = 256, 16  # pairs of inputs, if the model is small, and if it is large
AFFORDABLE = 3e11  # multiplications to spend on cutting edges
MOST_CUTS = 500_000  # edges times pairs up to which all pairs are gone through


@dataclass(frozen=True)
class EdgeEvidence:
    """An edge, the share of pairs on which cutting it alone changes an answer, and what follows."""

    source: str
    target: str
    share: float
    real: bool
    core: bool | None  # None if it was not looked for
    impossible: bool

    @property
    def edge(self) -> Edge:
        return self.source, self.target

    @property
    def percent(self) -> str:
        return "<1%" if 0 < self.share < 0.01 else f"{self.share:.0%}"

    def __str__(self) -> str:
        return f"{self.source} → {self.target} ({self.percent})"


@dataclass(frozen=True)
class Circuit:
    """The edges of a model with the evidence for each. `kept` is the share of `held_out` pairs on which the real edges
    alone keep every answer; `stated` are the edges that the compiler states, if it made the model."""

    edges: tuple[EdgeEvidence, ...]
    pairs: int
    exhaustive: bool
    kept: float
    held_out: int
    stated: Stated | None = None

    @property
    def certified(self) -> bool:
        return self.kept == 1.0

    @property
    def real(self) -> frozenset[Edge]:
        return frozenset(one.edge for one in self.edges if one.real)

    @property
    def core(self) -> frozenset[Edge] | None:
        """The edges of every minimal set; None if the model is too large to look for these."""
        if any(one.core is None for one in self.edges):
            return None
        return frozenset(one.edge for one in self.edges if one.core)

    @property
    def impossible(self) -> frozenset[Edge]:
        return frozenset(one.edge for one in self.edges if one.impossible)

    def disagreements(self) -> tuple[list[Edge], list[Edge]]:
        """Edges that the compiler states and that are not real, and real ones that it does not state."""
        if self.stated is None:
            return [], []
        order = [one.edge for one in self.edges]
        unreal = [edge for edge in order if edge in self.stated.edges - self.real]
        return unreal, [edge for edge in order if edge in self.real - self.stated.edges - self.stated.cancelled]

    def __str__(self) -> str:
        return "\n".join((self.summary(), *self.lines(), *self.comparison()))

    def summary(self) -> str:
        how = f"all {self.pairs:,} pairs of inputs" if self.exhaustive else f"{self.pairs:,} pairs of inputs"
        core = "" if self.core is None else f"; {len(self.core)} in the core"
        found = f"{len(self.real)} real of {len(self.edges)} edges, on {how}{core}"
        if len(self.real) == len(self.edges):
            return f"{found}: every edge is real"
        verdict = "certified" if self.certified else "not certified"
        others = "them" if self.exhaustive else f"{self.held_out:,} other pairs"
        share = "all" if self.certified else f"{self.kept:.3g}"
        return f"{found}; {verdict}: the real edges alone keep the model's answers on {share} of {others}"

    def lines(self) -> Iterable[str]:
        """The real edges, one line per receiver."""
        for target in dict.fromkeys(one.target for one in self.edges):
            read = [one for one in self.edges if one.target == target and one.real]
            if read:
                yield f"  {target:8} ← " + ", ".join(f"{one.source} {one.percent}" for one in read)

    def comparison(self) -> Iterable[str]:
        if self.stated is None:
            return
        unreal, unstated = self.disagreements()
        if not unreal and not unstated:
            yield "the compiler states the same edges"
        for edges, words in ((unreal, "the compiler states, no pair needs"), (unstated, "the compiler does not state")):
            if edges:
                yield f"{words}: " + ", ".join(f"{source} → {target}" for source, target in edges)

    def to_json(self) -> dict[str, Any]:
        keys = ("source", "target", "real", "share", "core", "impossible")
        unreal, unstated = self.disagreements()
        return {
            "edges": [{key: getattr(one, key) for key in keys} for one in self.edges],
            "certified": self.certified,
            "kept": self.kept,
            "pairs": self.pairs,
            "held_out": self.held_out,
            "exhaustive": self.exhaustive,
            "compiler": None if self.stated is None else {"unreal": unreal, "unstated": unstated},
        }

    def _repr_html_(self) -> str | None:
        """What a notebook shows."""
        return offered("html")(self)


def circuit(
    model: Model | str,
    task: Learnable | str | None = None,
    pairs: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Circuit:
    """The circuit of a model, or of the model of a name, for a task, by default its own. By default there are 256 pairs
    of inputs, and fewer for a large model, whose core is not looked for."""
    found, folder = find(model)
    task = task_named(task) if isinstance(task, str) else task or task_of(found, folder)
    graph = Graph(found)
    number = pairs or affordable_pairs(graph)
    drawn = every_pair_in_time(graph, task) or pairs_of(found, task, number, seed)
    held_out = drawn if drawn.exhaustive else pairs_of(found, task, number, seed + 1)
    shares = shares_changed(graph, drawn, seed, progress)
    real = frozenset(edge for edge, share in shares.items() if share > 0)
    core = core_of(graph, drawn.first(CORE_PAIRS), real, seed) if affordable_pairs(graph) == PAIRS else None
    impossible = impossible_edges(graph)
    edges = tuple(
        EdgeEvidence(*edge, share, edge in real, None if core is None else edge in core, edge in impossible)
        for edge, share in shares.items()
    )
    kept = share_kept(graph, held_out, frozenset(graph.edges) - real, seed + 1)
    return Circuit(edges, len(drawn), drawn.exhaustive, kept, len(held_out), stated_edges(found))


def affordable_pairs(graph: Graph) -> int:
    """The usual number of pairs, or as many as can be cut in about 20 seconds, at least FEWEST."""
    c = graph.config
    cost = len(graph.edges) * c.layers * c.block * c.d_model * (4 * c.heads * c.d_head + 2 * c.neurons + c.block)
    return max(FEWEST, min(PAIRS, int(AFFORDABLE / max(1, cost))))


def every_pair_in_time(graph: Graph, task: Learnable | None) -> Pairs | None:
    """All pairs of inputs, if cutting every edge on each of them takes seconds."""
    every = every_pair(graph.model, task)
    return every if every and 0 < len(every) * len(graph.edges) <= MOST_CUTS else None


def shares_changed(graph: Graph, pairs: Pairs, seed: int = 0, progress: Progress | None = None) -> dict[Edge, float]:
    """For each edge the share of pairs on which cutting it alone changes an answer."""
    changed = dict.fromkeys(graph.edges, 0)
    done = 0
    for batch in pairs:
        other = graph.other_terms(batch, seed)
        plain = graph.answers(batch, [frozenset()], other)[0]
        for group in graph.by_receiver(graph.edges):
            after = graph.answers(batch, [{edge} for edge in group], other)
            for edge, count in zip(group, rows_changed(batch, after != plain), strict=True):
                changed[edge] += count
            done += len(group)
            if progress:
                progress(done, len(graph.edges) * len(pairs.batches))
    return {edge: count / len(pairs) for edge, count in changed.items()}


def rows_changed(batch: PairBatch, places: Any) -> list[int]:
    """In how many rows some answer differs, for each set of cuts; places (m, n) are those asked, row by row."""
    starts = np.concatenate([[0], np.cumsum(batch.asked.sum(1))[:-1]])
    return [int(count) for count in np.logical_or.reduceat(places, starts, axis=1).sum(1)]


def share_kept(graph: Graph, pairs: Pairs, cut: frozenset[Edge], seed: int = 0) -> float:
    """The share of pairs on which every answer stays the same if these edges are cut at once."""
    changed = 0
    for batch in pairs:
        other = graph.other_terms(batch, seed)
        plain, after = graph.answers(batch, [frozenset(), cut], other)
        changed += rows_changed(batch, (after != plain)[None])[0]
    return 1 - changed / len(pairs)


# the core


def core_of(graph: Graph, pairs: Pairs, real: frozenset[Edge], seed: int = 0, orders: int = ORDERS) -> frozenset[Edge]:
    """The edges of every minimal set. Unreal edges are pruned first, all at once if that works."""
    others = [(batch, graph.other_terms(batch, seed)) for batch in pairs]
    plain = [graph.answers(batch, [frozenset()], other)[0] for batch, other in others]

    def keeps(cut: frozenset[Edge]) -> bool:
        return all(
            (graph.answers(batch, [cut], other)[0] == right).all()
            for (batch, other), right in zip(others, plain, strict=True)
        )

    rng = np.random.default_rng(seed)
    sets = [frozenset(graph.edges)]
    for _ in range(orders):
        cut = frozenset[Edge]()
        for edges in (sorted(frozenset(graph.edges) - real), sorted(real)):
            cut = cut_more(cut, [edges[i] for i in rng.permutation(len(edges))], keeps)
        sets.append(sets[0] - cut)
    return frozenset.intersection(*sets)


def cut_more(cut: frozenset[Edge], edges: list[Edge], keeps: Callable[[frozenset[Edge]], bool]) -> frozenset[Edge]:
    """What is cut, and what can be cut besides of some edges in their order; as many as possible at once."""
    if not edges:
        return cut
    if keeps(cut | frozenset(edges)):
        return cut | frozenset(edges)
    if len(edges) == 1:
        return cut
    half = len(edges) // 2
    return cut_more(cut_more(cut, edges[:half], keeps), edges[half:], keeps)
