"""Activation patching and path patching: which values of a run on one input restore its answer in a run on another.

    found = patch(model, clean="1 2 3 4 1 2 3", other="5 6 7 8 5 6 7", sites="*.resid_pre")
    print(found)                        # layers × positions: 1 restores the clean answer, 0 does nothing
    patch(model, clean, other, sites="*.z").effects["1.z"]                      # (H, T): also head by head
    path_patch(model, clean, other)["embed", "1.0.v"]                           # one source into one receiver

A patch runs the model on the other input, with the clean value at one place. The place is a position of a site, at
sites with heads also one head; or an edge of the Graph, a term of what one receiver reads. `metric.py` says what an
effect is. The metric is read at the last position. (Vig et al. 2020, Meng et al. 2022, Wang et al. 2023.)

All patches are run in batches. With torch they start where they change something (`partial_runs.py`).
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from importlib.util import find_spec
from typing import Any

import numpy as np

from handloom.core import HandloomError, Model, choose_engine
from handloom.core.arrays import Array
from handloom.core.errors import shown
from handloom.core.finding import find
from handloom.core.reference import forward
from handloom.core.registry import offered
from handloom.core.sites import match, sites
from handloom.core.trace import as_list
from handloom.read.attention import FEW
from handloom.read.edge_scores import EdgeScores
from handloom.read.graph import Edge, Graph
from handloom.read.inputs import PairBatch, Pairs
from handloom.read.metric import Text, Token, as_batches, margins, share_restored, text_pair
from handloom.read.part_names import token_names
from handloom.read.target import id_of_token

AT_ONCE = 500_000  # numbers of the stream in a batch of runs on the reference
DTYPES = ("float32", "float64")


@dataclass(frozen=True, eq=False)
class Patching:
    """The effects of patches, by site: (T,), or at sites with heads (H, T)."""

    effects: Mapping[str, Array]
    tokens: tuple[tuple[str, ...], tuple[str, ...]]  # of the clean input and of the other
    answer: str
    against: str | None  # what the answer is compared with; None: the largest other logit
    clean: float  # the metric of the clean run, and of the other
    other: float

    @cached_property
    def rows(self) -> dict[str, Array]:
        """Effects (T,) by name: "1.resid_pre", and where there are heads "1.0.z" for head 1.0."""
        found: dict[str, Array] = {}
        for site, values in self.effects.items():
            layer, _, name = site.partition(".")
            each = {f"{layer}.{h}.{name}": row for h, row in enumerate(values)} if values.ndim > 1 else {site: values}
            found |= each
        return found

    def __str__(self) -> str:
        against = self.against or "the largest other"
        what = f"{self.answer} over {against}: {self.clean:.4g} on the clean input, {self.other:.4g} on the other"
        names = [one if one == two else f"{one}/{two}" for one, two in zip(*self.tokens, strict=True)]
        cells = [names, *([f"{effect:.2f}" for effect in row] for row in self.rows.values())]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        left = max(map(len, self.rows))
        lines = (
            f"{name:{left}}  " + " ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True))
            for name, row in zip(["", *self.rows], cells, strict=True)
        )
        return "\n".join([what, *(line.rstrip() for line in lines)])

    def to_json(self) -> dict[str, Any]:
        return {
            "clean": list(self.tokens[0]),
            "other": list(self.tokens[1]),
            "answer": self.answer,
            "against": self.against,
            "metric": {"clean": self.clean, "other": self.other},
            "effects": {site: values.tolist() for site, values in self.effects.items()},
        }

    def _repr_html_(self) -> str | None:
        """What a notebook shows."""
        return offered("html")(self)


def patch(
    model: Model | str,
    clean: Text,
    other: Text,
    sites: str | Iterable[str] = "*.resid_pre",
    answer: Token | None = None,
    against: Token | None = None,
    engine: str | None = None,
    dtype: str = "float64",
) -> Patching:
    """Put the value of a run on `clean` into a run on `other`, at every position of the sites, one at a time.

    The metric is the logit of `answer`, by default the clean run's own prediction, minus the largest other logit or
    that of `against`. Inputs must have equal numbers of tokens. By default torch computes it, if there is enough to
    compute; the reference always computes in float64."""
    model = find(model).model
    batch = text_pair(model, clean, other, answer)
    right, least = int(batch.answers[0, -1]), None if against is None else id_of_token(model, against)
    names, letters = token_names(model), matched(model, sites)
    logits = logits_of_patches(model, batch, letters, engine, dtype)
    metrics = {site: margins(values, right, least) for site, values in logits.items()}
    of_clean, of_other = (
        float(margins(forward(model, row)[0][0, -1], right, least)) for row in (batch.clean, batch.other)
    )
    return Patching(
        {site: share_restored(values, of_clean, of_other) for site, values in metrics.items()},
        (tuple(names[i] for i in batch.clean[0]), tuple(names[i] for i in batch.other[0])),
        names[right],
        None if least is None else names[least],
        of_clean,
        of_other,
    )


def matched(model: Model, patterns: str | Iterable[str]) -> dict[str, str]:
    """The sites that names or patterns stand for, in the order of a run, and their letters."""
    known = sites(model.config)
    chosen = {site for pattern in as_list(patterns) for site in match(pattern, known)}
    return {site: letters for site, letters in known.items() if site in chosen}


def logits_of_patches(
    model: Model, batch: PairBatch, letters: Mapping[str, str], engine: str | None = None, dtype: str = "float64"
) -> dict[str, Array]:
    """The logits (T, V) or (H, T, V) at the last position, by site, for a patch in each cell."""
    if dtype not in DTYPES:
        raise HandloomError(f"dtype={shown(dtype)}: expected float32 or float64; choose one")
    size = {"T": batch.clean.shape[1], "H": model.config.heads, "G": model.config.groups}
    shapes = {site: [size[letter] for letter in one if letter in size] for site, one in letters.items()}
    cells = [(site, *cell) for site, shape in shapes.items() for cell in cells_of(shape)]
    engine = engine or engine_for(size["T"] * len(cells))
    choose_engine(engine)  # says what is missing
    runs: Any
    if engine == "torch":
        from handloom.read.partial_runs import PartialRuns

        runs = PartialRuns(model, batch.clean[0], batch.other[0], list(letters), dtype)
    else:
        runs = WholeRuns(model, batch.clean[0], batch.other[0], list(letters))
    ends = np.cumsum([math.prod(shape) for shape in shapes.values()])
    parts = np.split(runs.logits(cells), ends[:-1])
    return {site: part.reshape(*shapes[site], -1) for site, part in zip(letters, parts, strict=True)}


def engine_for(positions: int) -> str:
    """The engine for runs of this many positions in all."""
    return "torch" if positions > FEW and find_spec("torch") else "reference"


def cells_of(shape: list[int]) -> Iterator[tuple[int, int | None]]:
    """The cells of a site (T,) or (H, T): every position, of every head."""
    for *head, position in np.ndindex(*shape):
        yield position, head[0] if head else None


class WholeRuns:
    """Patches on the reference: whole runs, in batches. The same as `PartialRuns`, slower."""

    def __init__(self, model: Model, clean: Array, other: Array, patched: list[str]) -> None:
        self.model, self.ids = model.astype(np.float64), other
        self.clean = forward(self.model, clean, patched)[1]

    def logits(self, cells: Sequence[tuple[str, int, int | None]]) -> Array:
        """The logits (cells, V) at the last position."""
        each = max(1, AT_ONCE // (self.ids.size * self.model.config.d_model))
        return np.concatenate([self.run(cells[c : c + each]) for c in range(0, len(cells), each)])

    def run(self, cells: Sequence[tuple[str, int, int | None]]) -> Array:
        rows = np.broadcast_to(self.ids, (len(cells), self.ids.size))
        edits = {site: partial(self.edit, site, cells) for site, _, _ in cells}
        return np.asarray(forward(self.model, rows, edits=edits)[0][:, -1])

    def edit(self, site: str, cells: Sequence[tuple[str, int, int | None]], value: Array) -> Array:
        for row, (patched, position, head) in enumerate(cells):  # value: (R, T, …) or (R, H, T, …)
            if patched == site:
                where = (position,) if head is None else (head, position)
                value[row][where] = self.clean[site][where]
        return value


def path_patch(
    model: Model | str,
    clean: Text | None = None,
    other: Text | None = None,
    answer: Token | None = None,
    edges: Iterable[Edge] | None = None,
    pairs: "Pairs | PairBatch | None" = None,
) -> EdgeScores:
    """Put the clean value of one source into what one receiver of the other run reads, for every edge of the Graph or
    those given; everything behind the receiver runs on. For two texts, or over pairs of inputs.

    The effects are shares of the mean metric. Two inputs have the same positions, so that `pos` restores nothing."""
    model = find(model).model
    if pairs is None:
        if clean is None or other is None:
            raise HandloomError("path patching: one of the inputs is missing; give clean and other, or pairs")
        pairs = text_pair(model, clean, other, answer)
    graph = Graph(model)
    chosen = list(graph.edges if edges is None else checked(graph, edges))
    sums = sum((metric_sums(graph, batch, chosen) for batch in as_batches(pairs)), np.zeros(len(chosen) + 2))
    asked = sum(int(batch.asked.sum()) for batch in as_batches(pairs))
    *patched, of_other, of_clean = sums / asked
    effects = share_restored(np.array(patched), of_clean, of_other)
    return EdgeScores(dict(zip(chosen, effects.tolist(), strict=True)), "effect of the patched edge", "path patching")


def metric_sums(graph: Graph, batch: PairBatch, edges: list[Edge]) -> Array:
    """The metric summed over places, of the run on the other input with each edge patched, with none, and of the clean
    run."""
    terms = graph.terms(batch.clean)
    reverse = PairBatch(batch.other, batch.clean, batch.answers)
    right = batch.answers[batch.asked]
    logits = graph.logits(reverse, [{edge} for edge in edges] + [set()], terms)
    clean = forward(graph.model, batch.clean)[0][batch.asked]
    return np.append(margins(logits, right).sum(-1), margins(clean, right).sum())


def checked(graph: Graph, edges: Iterable[Edge]) -> Iterator[Edge]:
    known = set(graph.edges)
    for edge in edges:
        if tuple(edge) not in known:
            raise HandloomError(
                f"edge {shown(edge)}: not in the graph of this model (sources {', '.join(graph.sources[:3])} …, "
                f"receivers {', '.join(graph.receivers[:3])} …); choose from Graph(model).edges"
            )
        yield edge[0], edge[1]
