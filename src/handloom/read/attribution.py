"""Attribution patching: an estimate, from one gradient, of what every edge or part does for the answer. On torch.

    scores = edge_attribution(model, pairs_of(model))
    scores["embed", "1.0.v"]                # how the metric changes if this edge gets the other value; below 0 it helps
    edge_attribution(model, pairs, steps=5)                 # integrated gradients: better where softmax is saturated
    node_attribution(model, pairs)["1.0"]                   # the same for all that a head writes

The score of an edge is Σ (other − clean value of the source) · (gradient of the metric by what the receiver reads), at
the clean run (EAP, Syed et al. 2023); with `steps` = m the mean gradient of m runs, whose embeddings go from the other
ones to the clean ones, m of m being clean (EAP-IG, Hanna et al. 2024). Signs are those of `metric.py`; sources,
receivers and their other values those of `graph.py`, with `pos` shuffled.

One backward pass is enough for all receivers. Autograd gives the gradient by each query, key, value, neuron and logit,
as they are linear in what the norm gives. What remains is to go back through one matrix and the norm:

    y = W x̂ + c,  x̂ = P x / s            P takes away the mean (layer norm), s is the scale
    ∂m/∂x = (P Wᵀ g − x̂ ⟨g, y − c⟩ / D) / s        with g = ∂m/∂y
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from handloom.core import HandloomError, Model, Trace, choose_engine
from handloom.core.arrays import Array
from handloom.core.checks import whole
from handloom.core.finding import find
from handloom.core.params import Params
from handloom.read.ablation import PartEffects
from handloom.read.edge_scores import EdgeScores
from handloom.read.graph import LOGITS, Graph, shuffled_places
from handloom.read.inputs import PairBatch, Pairs
from handloom.read.metric import as_batches

if TYPE_CHECKING:
    from torch import Tensor

AT_ONCE = 2_000_000  # numbers that the sources write, computed together
Parts = dict[str, tuple["Tensor", "Tensor | None"]]  # sites, with the weights (R, D, K) and biases of what is there
MEANING = "change of the metric if the edge gets the other value"


def edge_attribution(
    model: Model | str, pairs: "Pairs | PairBatch", steps: int = 1, seed: int = 0, dtype: str = "float64"
) -> EdgeScores:
    """A number for each edge of the Graph: the change of the metric that a gradient predicts if the edge gets its value
    of the other run. `seed` shuffles the positions that `pos` gets."""
    model = find(model).model
    run = Attribution(model, whole("steps", steps, 1), dtype)
    return EdgeScores(run.scores(pairs, seed), MEANING, f"EAP-IG, {steps} steps" if steps > 1 else "EAP")


def node_attribution(
    model: Model | str, pairs: "Pairs | PairBatch", steps: int = 1, seed: int = 0, dtype: str = "float64"
) -> PartEffects:
    """The same for all that a source writes: the sum over its edges."""
    model = find(model).model
    run = Attribution(model, whole("steps", steps, 1), dtype)
    sums = dict.fromkeys(run.graph.sources, 0.0)
    for (source, _), score in run.scores(pairs, seed).items():
        sums[source] += score
    return PartEffects(sums, {}, run.metric, f"attribution with {steps} step{'s' if steps > 1 else ''}")


class Receivers(NamedTuple):
    """R receivers that read one stream: the sites of their values y (R, N, K), which are linear in what a norm gives,
    with W (R, K, D), in which gain and mean are folded, and c (R, K)."""

    names: list[str]
    sites: list[str]
    read: str  # the site of the stream in front of the norm
    W: "Tensor"
    c: "Tensor"
    sources: int  # how many are before them


class Attribution:
    """The gradients of one model, weights ready."""

    def __init__(self, model: Model, steps: int, dtype: str = "float64") -> None:
        choose_engine("torch")  # says what is missing
        from handloom.read.partial_runs import prepared

        self.graph, self.config, self.steps = Graph(model), model.config, steps
        if model.config.attention == "hard":
            raise HandloomError(
                "attribution: hard attention has no gradient through its pattern (expected another attention); "
                "use ablate or patch"
            )
        if self.config.experts and (self.config.parallel or self.config.norm == "none"):
            raise HandloomError(
                "attribution: a mixture of experts without a norm of its own reads the stream twice, to choose and to "
                "compute (expected pre-norm sublayers, not parallel); use ablate or patch"
            )
        self.p = prepared(model, dtype)
        self.receivers = list(self.all_receivers())
        self.metric = 0.0

    # what reads

    def all_receivers(self) -> Iterator[Receivers]:
        c = self.config
        for i, p in enumerate(self.p["layers"]):
            if c.heads:
                counts = {"q": c.heads, "k": c.groups, "v": c.groups}
                names = [f"{i}.{h}.{part}" for part, count in counts.items() for h in range(count)]
                parts = {f"{i}.{part}": (p[f"W_{part.upper()}"], p.get(f"b_{part.upper()}")) for part in "qkv"}
                yield self.receivers_of(names, f"{i}.resid_pre", parts, p.get("ln1"))
            for name in self.graph.mlps(i):
                if c.parallel:  # the norm is read by heads too
                    parts = self.hidden(i, p)
                    yield self.receivers_of([name] * len(parts), f"{i}.resid_pre", parts, p.get("ln1"))
                else:
                    parts = self.behind(f"{i}.ln2", p.get("ln2")) or self.hidden(i, p)
                    yield self.receivers_of([name] * len(parts), f"{i}.resid_mid", parts, p.get("ln2"))
        W, norm = self.p["W_E"].T if c.tied else self.p["W_U"], self.p.get("ln_final")
        parts = self.behind("ln_final", norm) or {"logits": (W[None], self.p.get("b_U"))}
        yield self.receivers_of([LOGITS], "resid_final", parts, norm)

    def behind(self, site: str, norm: Params | None) -> "Parts":
        """What alone reads a norm may be taken to be the norm itself; nothing without norms."""
        import torch

        return {} if norm is None else {site: (torch.eye(self.config.d_model).to(norm["w"])[None], None)}

    def hidden(self, i: int, p: Params) -> "Parts":
        """The sites of an MLP that read the stream, and their weights."""
        sites = {"gate": "mlp_pre", "in": "mlp_pre_linear"} if self.config.gated else {"in": "mlp_pre"}
        return {f"{i}.{site}": (p[f"W_{part}"][None], p.get(f"b_{part}")) for part, site in sites.items()}

    def receivers_of(self, names: list[str], read: str, parts: "Parts", norm: Params | None) -> Receivers:
        """With the norm's gain, bias and mean in W and c."""
        import torch

        W = torch.cat([W for W, _ in parts.values()])  # (R, D, K)
        zero = W.new_zeros(W.shape[2])
        c = torch.cat([(zero if b is None else b).expand(len(own), -1) for own, b in parts.values()])
        if norm is not None:
            c = c + (norm["b"] @ W if "b" in norm else 0.0)
            W = norm["w"][:, None] * W
            W = W - W.mean(1, keepdim=True) if self.config.norm == "layer" else W
        before = len(self.graph.before(names[0]))
        return Receivers(names, list(parts), read, W.transpose(1, 2).contiguous(), c, before)

    # runs

    def scores(self, pairs: "Pairs | PairBatch", seed: int) -> dict[tuple[str, str], float]:
        """The scores of all edges, per place where an answer is asked."""
        sums = dict.fromkeys(self.graph.edges, 0.0)
        asked, self.metric = 0, 0.0
        for batch in as_batches(pairs):
            asked += int(batch.asked.sum())
            order = shuffled_places(batch, seed)
            rows = max(1, AT_ONCE // (len(self.graph.sources) * batch.clean.shape[1] * self.config.d_model))
            for first in range(0, len(batch.clean), rows):
                some = slice(first, first + rows)
                part = PairBatch(batch.clean[some], batch.other[some], batch.answers[some])
                for names, found in self.products(part, order[some]):
                    for r, receiver in enumerate(names):
                        for source, score in zip(self.graph.sources, found[:, r].tolist(), strict=False):
                            sums[source, receiver] += score
        if not asked:
            raise HandloomError("attribution: no place of the pairs has an answer (expected one or more); give answers")
        self.metric /= asked
        return {edge: score / asked for edge, score in sums.items()}

    def products(self, batch: PairBatch, order: Array) -> Iterator[tuple[list[str], "Tensor"]]:
        """The products of differences and gradients (sources, R), summed over rows and positions, for R receivers."""
        import torch

        with torch.no_grad():
            _, other = self.compute(batch, batch.other, self.written)
        changes = None
        for step in range(self.steps, 0, -1):  # the first run is the clean one
            run, gradients = self.backward(batch, other["embed"], step / self.steps)
            with torch.no_grad():
                changes = self.changes(run, other, order) if changes is None else changes
                for some in self.receivers:
                    y, g = (torch.cat([by_head(values[site]) for site in some.sites]) for values in (run, gradients))
                    n = gradients[some.sites[0]].shape[-2]  # behind the last attention only the last positions are run
                    back = pulled_back(some, y, g, self.normed(run[some.read][:, -n:]))
                    yield some.names, changes[: some.sources, :, -n:].flatten(1) @ back.flatten(1).T / self.steps

    def compute(
        self, batch: PairBatch, ids: Array, want: Iterable[str], edits: Mapping[str, Any] | None = None
    ) -> tuple["Tensor", Trace]:
        """A run, behind the last attention only from the first position on that is asked."""
        from handloom.core import torch_engine

        last = ids.shape[1] - int(batch.asked.any(0).argmax())
        return torch_engine.compute(self.config, self.p, ids, list(want), edits, last=last)

    @cached_property
    def written(self) -> list[str]:
        """The sites of what the sources write, heads before their last matrix."""
        begin = ["embed", *("pos_embed" for source in self.graph.sources if source == "pos")]
        names = [*(["z"] if self.config.heads else []), *(["mlp_out"] if self.config.d_ff else [])]
        return [*begin, *(f"{i}.{name}" for i in range(self.config.layers) for name in names)]

    def backward(
        self, batch: PairBatch, other: "Tensor", share: float
    ) -> tuple[dict[str, "Tensor"], dict[str, "Tensor"]]:
        """A run with embeddings between the other ones and the clean ones, share 1, and the gradient of the summed
        metric by what every receiver computes."""
        import torch

        def between(embed: "Tensor") -> "Tensor":
            return (embed if share == 1.0 else torch.lerp(other, embed, share)).requires_grad_()

        inputs = [site for some in self.receivers for site in some.sites]
        want = {*self.written, *inputs, *(some.read for some in self.receivers)}
        logits, run = self.compute(batch, batch.clean, want, {"embed": between})
        asked = torch.as_tensor(batch.asked[:, -logits.shape[1] :], device=logits.device)
        right = torch.as_tensor(batch.answers[batch.asked], device=logits.device)
        metric = summed_margins(logits[asked], right)
        self.metric += float(metric.detach()) if share == 1.0 else 0.0
        gradients = torch.autograd.grad(metric, [run[site] for site in inputs])
        return {site: value.detach() for site, value in run.items()}, dict(zip(inputs, gradients, strict=True))

    def changes(self, clean: Mapping[str, "Tensor"], other: Mapping[str, "Tensor"], order: Array) -> "Tensor":
        """What each source writes in the other run minus what it writes in the clean one, (sources, B, T, D). Where the
        last MLP was not run it is 0: nobody reads it there."""
        import torch

        B, T, D = other["embed"].shape
        found = other["embed"].new_zeros(len(self.graph.sources), B, T, D)
        found[0] = other["embed"] - clean["embed"]
        if "pos_embed" in clean:
            pos = clean["pos_embed"]
            found[1] = pos.gather(1, torch.as_tensor(order, device=pos.device)[..., None].expand_as(pos)) - pos
        for i, p in enumerate(self.p["layers"]):
            for first in self.graph.heads(i)[:1]:
                z = by_head(other[f"{i}.z"] - clean[f"{i}.z"])  # (H, N, K)
                at = self.graph.sources.index(first)
                torch.bmm(z, p["W_O"], out=found[at : at + len(z)].view(len(z), B * T, D))
            for name in self.graph.mlps(i):
                change = other[f"{i}.mlp_out"] - clean[f"{i}.mlp_out"]
                found[self.graph.sources.index(name), :, -change.shape[1] :] = change
        return found

    def normed(self, x: "Tensor") -> tuple["Tensor", "Tensor"] | None:
        """What a norm without its gain makes of a stream, (N, D), and 1 over its scale, (N, 1)."""
        import torch

        if self.config.norm == "none":
            return None
        x = x.flatten(0, -2)
        x = x - x.mean(-1, keepdim=True) if self.config.norm == "layer" else x
        scale = (x.square().mean(-1, keepdim=True) + (self.config.eps or torch.finfo(x.dtype).tiny)).rsqrt()
        return x * scale, scale


def by_head(value: "Tensor") -> "Tensor":
    """(B, H, T, K) as (H, B·T, K), and (B, T, K) as (1, B·T, K)."""
    if value.ndim == 3:
        return value.flatten(0, 1)[None]
    return value.transpose(0, 1).flatten(1, 2)


def pulled_back(some: Receivers, y: "Tensor", g: "Tensor", norm: tuple["Tensor", "Tensor"] | None) -> "Tensor":
    """The gradient (R, N, D) by the stream that is read, from that by the values y (R, N, K) computed from it. Both are
    used up."""
    import torch

    if norm is None:
        return torch.bmm(g, some.W)
    x, scale = norm
    g.mul_(scale)
    along = y.mul_(g).sum(-1, keepdim=True) - g @ some.c[:, :, None]  # ⟨g, y − c⟩ / s
    return torch.bmm(g, some.W).addcmul_(along, x, value=-1.0 / x.shape[-1])


def summed_margins(logits: "Tensor", right: "Tensor") -> "Tensor":
    """`metric.margins`, summed, as a function that autograd follows."""
    of_right = logits.gather(1, right[:, None])[:, 0]
    others = logits.scatter(1, right[:, None], -float("inf")).max(-1).values
    return (of_right - others).sum()
