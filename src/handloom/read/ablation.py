"""Ablation: what the metric loses if a part of the model is switched off.

    found = ablate(model)                                   # every head and MLP, on pairs of the model's task
    found["1.0"], found.right["1.0"]                        # change of the metric; share of the answers still right
    ablate(model, "0.mlp.*", how="mean")                    # the neurons of an MLP
    ablate(model, ["1.pattern", "0.mlp"], pairs, how="resample")                # any site, at all positions

`zero` puts 0 in place of what the part writes, `mean` its mean over all inputs at that position, `resample` its value
on the other input of the pair. A part is a head ("1.0": its row of `result`), an MLP ("0.mlp": `mlp_out`), a neuron
("0.mlp.5": `mlp_post`) or a site. `metric.py` has the signs: below 0 the part helps.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from handloom.core import HandloomError, Model, choose_engine
from handloom.core.arrays import Array
from handloom.core.errors import shown
from handloom.core.finding import find
from handloom.core.registry import offered
from handloom.core.sites import sites
from handloom.core.trace import as_list
from handloom.read.attention import fast_engine, to_numpy
from handloom.read.inputs import PairBatch, Pairs, pairs_of
from handloom.read.metric import as_batches, margins

WAYS = ("zero", "mean", "resample")
MOST = 40  # parts that are printed
Place = tuple[str, int | None]  # a site, and which of its heads or neurons


@dataclass(frozen=True, eq=False)
class PartEffects(Mapping[str, float]):
    """The change of the metric by part, measured or estimated; below 0 the part helps."""

    changes: Mapping[str, float]
    right: Mapping[str, float]  # the share of the answers that stay right, where it was measured
    metric: float  # of the clean runs
    how: str

    def __getitem__(self, part: str) -> float:
        return self.changes[part]

    def __iter__(self) -> Iterator[str]:
        return iter(self.changes)

    def __len__(self) -> int:
        return len(self.changes)

    def top(self, count: int = MOST) -> list[tuple[str, float]]:
        """The parts with the largest changes, of either sign, largest first."""
        return sorted(self.changes.items(), key=lambda one: (-abs(one[1]), one[0]))[:count]

    def __str__(self) -> str:
        shown_parts = self.top()
        width = max((len(part) for part, _ in shown_parts), default=0)
        lines = [
            f"{part:{width}}  {change:9.4f}" + (f"  {self.right[part]:4.0%} right" if part in self.right else "")
            for part, change in shown_parts
        ]
        more = [f"… and {len(self) - len(shown_parts)} parts more"] if len(self) > len(shown_parts) else []
        return "\n".join([f"{self.how}: change of the metric, which is {self.metric:.4g}", *lines, *more])

    def to_json(self) -> dict[str, Any]:
        parts = [
            {"part": part, "change": change} | ({"right": self.right[part]} if part in self.right else {})
            for part, change in self.changes.items()
        ]
        return {"how": self.how, "metric": self.metric, "parts": parts}

    def _repr_html_(self) -> str | None:
        """What a notebook shows."""
        return offered("html")(self)


def ablate(
    model: Model | str,
    parts: str | Iterable[str] | None = None,
    pairs: "Pairs | PairBatch | None" = None,
    how: str = "zero",
    engine: str | None = None,
) -> PartEffects:
    """Switch off each part alone, by default every head and MLP, in runs on the clean inputs of the pairs, by default
    drawn from the model's task."""
    model = find(model).model
    if how not in WAYS:
        raise HandloomError(f"how={shown(how)}: expected {', '.join(WAYS)}; choose one")
    batches = as_batches(pairs_of(model) if pairs is None else pairs)
    places = parts_of(model, parts)
    module = choose_engine(engine or fast_engine(model, len(places) * sum(batch.clean.size for batch in batches)))
    sums = np.zeros((len(places) + 1, 2))
    for batch in batches:
        sums += BatchAblation(model, module, batch, sorted({site for site, _ in places.values()})).sums(places, how)
    asked = sum(int(batch.asked.sum()) for batch in batches)
    (before, _), *after = (sums / max(1, asked)).tolist()
    return PartEffects(
        {part: metric - before for part, (metric, _) in zip(places, after, strict=True)},
        {part: right for part, (_, right) in zip(places, after, strict=True)},
        before,
        f"{how} ablation",
    )


def parts_of(model: Model, parts: str | Iterable[str] | None) -> dict[str, Place]:
    """Where each part is, in the order of a run: heads, MLPs, neurons and sites by name or pattern; a pattern with two
    dots, such as 0.mlp.*, means neurons."""
    c = model.config
    usual: dict[str, Place] = {}
    neurons: dict[str, Place] = {}
    for i in range(c.layers):
        usual |= {f"{i}.{h}": (f"{i}.result", h) for h in range(c.heads)}
        usual |= {f"{i}.mlp": (f"{i}.mlp_out", None)} if c.d_ff else {}
        neurons |= {f"{i}.mlp.{n}": (f"{i}.mlp_post", n) for n in range(c.neurons)}
    if parts is None:
        return usual
    named = usual | {site: (site, None) for site in sites(c)}
    found: dict[str, Place] = {}
    for pattern in as_list(parts):
        known = neurons if str(pattern).count(".") > 1 else named
        chosen = {part: place for part, place in known.items() if fnmatchcase(part, str(pattern))}
        if not chosen:
            raise HandloomError(
                f"no part {shown(pattern)} in this model; its parts are {', '.join(list(usual)[:4]) or 'none'} …, "
                f"neurons such as 0.mlp.0, and sites such as {', '.join(list(sites(c))[-3:])}"
            )
        found |= chosen
    return found


class BatchAblation:
    """Runs on the clean rows of one batch, with what they and the other rows have at some sites."""

    def __init__(self, model: Model, module: Any, batch: PairBatch, wanted: list[str]) -> None:
        self.model, self.module, self.batch = model, module, batch
        self.clean, self.other = (module.forward(model, ids, wanted)[1] for ids in (batch.clean, batch.other))

    def sums(self, places: Mapping[str, Place], how: str) -> Array:
        """The metric and the number of right answers, summed over the places asked: of the plain run, and with each
        part switched off (parts + 1, 2)."""
        return np.stack([self.run(None), *(self.run({site: self.edit(site, of, how)}) for site, of in places.values())])

    def run(self, edits: Mapping[str, Any] | None) -> Array:
        logits = to_numpy(self.module.forward(self.model, self.batch.clean, (), edits)[0])[self.batch.asked]
        found = margins(logits, self.batch.answers[self.batch.asked])
        return np.array([found.sum(), (found > 0).sum()])

    def edit(self, site: str, of: int | None, how: str) -> Callable[[Any], Any]:
        where: Any = slice(None)
        if of is not None:  # a head of (B, H, T, D), or a neuron of (B, T, F)
            where = (slice(None), of) if site.endswith(".result") else (..., of)
        instead = self.instead(site, how)

        def edited(value: Any) -> Any:
            value[where] = 0.0 if instead is None else instead[where]
            return value

        return edited

    def instead(self, site: str, how: str) -> Any:
        """What comes in place of a site (B, …), or None for 0."""
        if how == "zero":
            return None
        if how == "resample":
            return self.other[site]
        mean = (self.clean[site] + self.other[site]).mean(0) / 2
        return mean[None] + 0 * self.clean[site]
