"""The graph of a transformer: who writes into the residual stream, who reads it, and runs in which edges are cut.

    graph = Graph(model)
    graph.edges[0]                                     # ('embed', '0.0.q')
    graph.answers(batch, [{("embed", "0.0.q")}])       # tokens predicted if head 0.0's query reads other embeddings

Sources are the embeddings of tokens (`embed`) and positions (`pos`), every head (`1.0`) and every MLP (`1.mlp`).
Receivers are the queries, keys and values of every head (`1.0.q`), every MLP and the logits. What a receiver reads is
the sum of all earlier sources, behind a norm. To cut an edge is to replace this one term of this one sum by that of a
run on another input; the norm divides by what is then there, and everything behind it runs on. If several edges are
cut, what is not cut carries the values of this run, not of the clean one. (These are the semantics of ACDC, Conmy et
al. 2023, and of edge attribution, Syed et al. 2023. Biases are constant, and no edges.)

Two inputs have the same positions, so another input's `pos` would be no change: a cut `pos` has its rows shuffled.
Post-norm models are refused: there the stream itself is rescaled, and has no fixed terms.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from handloom.core import HandloomError, Model
from handloom.core.arrays import Array
from handloom.core.params import Params
from handloom.core.reference import forward, mlp, norm, pattern_of, turn_pairs
from handloom.core.trace import Tap
from handloom.read.frozen import check_skips
from handloom.read.inputs import PairBatch

Edge = tuple[str, str]  # source, receiver
Cut = AbstractSet[Edge]
LOGITS = "logits"
AT_ONCE = 2_000_000  # numbers of the stream computed together


@dataclass(frozen=True)
class Terms:
    """What each source wrote in the run so far, (m, B, T, D), and what it writes in the other run, (B, T, D)."""

    now: dict[str, Array]
    other: dict[str, Array]


class Graph:
    """The graph of a model, and the model's weights in float64."""

    def __init__(self, model: Model) -> None:
        if model.config.place == "post" and model.config.norm != "none":
            raise HandloomError(
                "the graph of a post-norm model: its stream has no fixed terms; choose a pre-norm model"
            )
        check_skips(model, "the graph")
        self.model = model.astype(np.float64)
        self.config = model.config
        self.silent = Tap(model.config, (), (), None, lambda new, old: new, np.copy)  # records and edits nothing

    @cached_property
    def sources(self) -> tuple[str, ...]:
        """The sources in the order of a run."""
        begin = ["embed", *(["pos"] if self.config.positions in ("table", "sinusoid") else [])]
        return (*begin, *(name for i in range(self.config.layers) for name in (*self.heads(i), *self.mlps(i))))

    @cached_property
    def edges(self) -> tuple[Edge, ...]:
        """Every source with every later receiver, receivers in the order of a run."""
        return tuple((source, receiver) for receiver in self.receivers for source in self.before(receiver))

    @cached_property
    def receivers(self) -> tuple[str, ...]:
        layers = range(self.config.layers)
        return (*(name for i in layers for name in (*self.reads_of_heads(i), *self.mlps(i))), LOGITS)

    def heads(self, i: int) -> list[str]:
        return [f"{i}.{h}" for h in range(self.config.heads)]

    def mlps(self, i: int) -> list[str]:
        return [f"{i}.mlp"] if self.config.d_ff else []

    def reads_of_heads(self, i: int) -> list[str]:
        """The queries of each head, and keys and values, which heads may share."""
        shared = self.config.kv_heads or self.config.heads
        count = {"q": self.config.heads, "k": shared, "v": shared}
        return [f"{i}.{h}.{part}" for h in range(self.config.heads) for part in "qkv" if h < count[part]]

    def before(self, receiver: str) -> list[str]:
        """The sources that a receiver reads."""
        if receiver == LOGITS:
            return list(self.sources)
        layer, _, part = receiver.partition(".")
        behind_heads = part == "mlp" and not self.config.parallel
        return [s for s in self.sources if "." not in s or written_before(s, int(layer), behind_heads)]

    # runs

    def terms(self, ids: Array) -> dict[str, Array]:
        """What each source writes in a plain run on ids (B, T)."""
        want = ["embed", *("pos_embed" for s in self.sources if s == "pos")]
        want += [f"{i}.result" for i in range(self.config.layers) if self.config.heads]
        want += [f"{i}.mlp_out" for i in range(self.config.layers) if self.config.d_ff]
        _, trace = forward(self.model, ids, want)
        found: dict[str, Array] = {"embed": trace["embed"]}
        if "pos" in self.sources:
            found["pos"] = trace["pos_embed"]
        for i in range(self.config.layers):
            found |= {name: trace[f"{i}.result"][:, h] for h, name in enumerate(self.heads(i))}
            found |= dict.fromkeys(self.mlps(i), trace.get(f"{i}.mlp_out"))
        return found

    def other_terms(self, batch: PairBatch, seed: int = 0) -> dict[str, Array]:
        """What each source writes in the other runs; positions are shuffled, in each row in its own way."""
        found = self.terms(batch.other)
        if "pos" in found:
            order = shuffled_places(batch, seed)
            found["pos"] = np.take_along_axis(found["pos"], order[:, :, None], axis=1)
        return found

    def logits(self, batch: PairBatch, cuts: Sequence[Cut], other: Mapping[str, Array]) -> Array:
        """The logits (cuts, n, V) at the n places where an answer is asked, for each set of cut edges."""
        run = CutRun(self, batch, other)
        each = max(1, AT_ONCE // (batch.clean.size * max(self.config.d_model, batch.clean.shape[1])))
        return np.concatenate([run(cuts[i : i + each]) for i in range(0, len(cuts), each)])

    def answers(self, batch: PairBatch, cuts: Sequence[Cut], other: Mapping[str, Array] | None = None) -> Array:
        """The tokens (cuts, n) that are predicted where an answer is asked."""
        found: Array = self.logits(batch, cuts, self.other_terms(batch) if other is None else other).argmax(-1)
        return found

    def by_receiver(self, edges: Iterable[Edge]) -> Iterator[list[Edge]]:
        """Edges in groups: all that cut edges of one group change is computed once, however many they are."""
        chosen = set(edges)
        for receiver in self.receivers:
            if group := [(s, receiver) for s in self.before(receiver) if (s, receiver) in chosen]:
                yield group


def shuffled_places(batch: PairBatch, seed: int) -> Array:
    """The positions that a cut `pos` gets, (B, T): in each row all of them, in an order of its own."""
    order: Array = np.random.default_rng(seed).permuted(np.indices(batch.clean.shape)[1], axis=1)
    return order


def written_before(source: str, layer: int, behind_heads: bool) -> bool:
    """Whether a head or MLP writes before a layer is read, or before an MLP behind the heads of the layer reads."""
    its, _, part = source.partition(".")
    return int(its) < layer or (int(its) == layer and behind_heads and part != "mlp")


class CutRun:
    """Runs on one batch with edges cut. Arrays have the sets of cuts in front, (m, B, T, …); where all sets have the
    same values, m is 1: what lies before the first cut is computed once. Behind the last keys and values there are only
    the positions at which some row is asked."""

    def __init__(self, graph: Graph, batch: PairBatch, other: Mapping[str, Array]) -> None:
        self.graph, self.config, self.p = graph, graph.config, graph.model.params
        self.columns = np.flatnonzero(batch.asked.any(0))
        self.asked = batch.asked[:, self.columns]
        self.other = other
        plain = graph.terms(batch.clean)
        self.begin: dict[str, Array] = {name: term[None] for name, term in plain.items() if name in ("embed", "pos")}

    def __call__(self, cuts: Sequence[Cut]) -> Array:
        """The logits (m, n, V) for m sets of cuts."""
        terms = Terms(dict(self.begin), dict(self.other))
        x = sum(self.begin.values(), np.zeros(1))
        for i, layer in enumerate(self.p["layers"]):
            last = i == self.config.layers - 1
            x, added = self.attend(i, layer, x, terms, cuts, last)
            x = x + added + self.compute(i, layer, x if self.config.parallel else x + added, terms, cuts)
        if not self.config.layers:
            x = self.narrowed(x, terms)
        x = self.seen(LOGITS, x, terms, cuts)[:, self.asked]  # (m, n, D)
        x = self.normed(self.p.get("ln_final"), x)
        logits = x @ (self.p["W_E"].T if self.config.tied else self.p["W_U"]) + self.p.get("b_U", 0.0)
        return np.broadcast_to(logits, (len(cuts), *logits.shape[1:]))

    def narrowed(self, x: Array, terms: Terms) -> Array:
        """The stream where it is asked for, and its terms there."""
        for values in (terms.now, terms.other):
            values.update({name: value[..., self.columns, :] for name, value in values.items()})
        return x[..., self.columns, :]

    def seen(self, receiver: str, x: Array, terms: Terms, cuts: Sequence[Cut]) -> Array:
        """What a receiver reads: the stream, with other terms in place of those that are cut."""
        for source in self.graph.before(receiver):
            chosen = np.array([(source, receiver) in cut for cut in cuts])
            if chosen.any():
                swap = terms.other[source] - terms.now[source]
                x = x + (swap if chosen.all() else np.where(chosen[:, None, None, None], swap, 0.0))
        return x

    def normed(self, p: Params | None, x: Array) -> Array:
        return norm(self.config, p, x, "", self.graph.silent)

    def attend(self, i: int, p: Params, x: Array, terms: Terms, cuts: Sequence[Cut], last: bool) -> tuple[Array, Array]:
        """The stream before the layer, in the last one only where it is asked for, and what attention adds to it."""
        reads = self.reads(i, p, x, terms, cuts)
        if last:
            x = self.narrowed(x, terms)
            reads |= {key: value[..., self.columns, :] for key, value in reads.items() if key[0] == "q"}
        rows = self.columns if last else np.arange(x.shape[-2])
        added = p.get("b_O", 0.0)
        for h, name in enumerate(self.graph.heads(i)):
            g = h // self.config.per_group if self.config.kv_heads else h
            terms.now[name] = self.head(reads["q", h], reads["k", g], reads["v", g], rows) @ p["W_O"][h]
            added = added + terms.now[name]
        return x, added

    def reads(self, i: int, p: Params, x: Array, terms: Terms, cuts: Sequence[Cut]) -> dict[tuple[str, int], Array]:
        """Queries, keys and values of every head, (m, B, T, K) each."""
        plain, found = self.normed(p.get("ln1"), x), {}
        for receiver in self.graph.reads_of_heads(i):
            swapped = self.seen(receiver, x, terms, cuts)
            _, own, part = receiver.split(".")
            behind = plain if swapped is x else self.normed(p.get("ln1"), swapped)
            W, b = p[f"W_{part.upper()}"][int(own)], p.get(f"b_{part.upper()}")
            found[part, int(own)] = behind @ W + (0.0 if b is None else b[int(own)])
            if part != "v" and self.config.positions == "rotary":
                found[part, int(own)] = turn_pairs(found[part, int(own)], 0, self.config.rotary_base)
        return found

    def head(self, q: Array, k: Array, v: Array, rows: Array) -> Array:
        """What a head takes at some rows, (m, B, rows, K)."""
        scores = q @ np.swapaxes(k, -1, -2) / math.sqrt(self.config.d_head)
        seen = np.arange(k.shape[-2]) <= rows[:, None] if self.config.causal else None
        z: Array = pattern_of(self.config, scores, k, seen) @ v
        return z

    def compute(self, i: int, p: Params, x: Array, terms: Terms, cuts: Sequence[Cut]) -> Array:
        """What the MLP adds."""
        if not self.config.d_ff:
            return np.asarray(p.get("b_out", 0.0))
        name = f"{i}.mlp"
        read = self.normed(p.get("ln1" if self.config.parallel else "ln2"), self.seen(name, x, terms, cuts))
        terms.now[name] = mlp(self.config, p, read, i, self.graph.silent)
        return terms.now[name]
