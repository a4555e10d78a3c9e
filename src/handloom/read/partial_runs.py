"""Runs of a part of a model: they start at the layer and the position where a patch changes something. On torch.

    runs = PartialRuns(model, clean, other, ["0.z"])
    runs.logits("0.z", cells)          # (cells, V): what the last position predicts, for each patched (position, head)

A run on the other input is stored once. A patch at a position of a layer leaves all earlier layers as they are and, in a
causal model, all earlier positions too. Only the rest is run: from that layer, from the first patched position on, with
the stored keys and values of those before it. Behind the attention of a layer only the patched position changes, so that
the rest of this layer is run for it alone; of the last layer only what the last position reads.

The layers themselves are those of `core/torch_engine.py`, which this file calls with a cache of its own.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from handloom.core import Model, torch_engine
from handloom.core.arrays import Array
from handloom.core.sites import sites
from handloom.core.trace import Tap

Cell = tuple[int, int | None]  # a position, and at sites with heads a head
POSITIONS_AT_ONCE = 1024  # rows × positions of a run: more no longer fit the processor's cache at the usual sizes
FEWEST_AT_ONCE = 8  # rows of a run, below which starting each operation takes longer than computing it
READ_BY_OTHERS = ("resid_pre", "ln1", "ln1_scale", "q", "k", "v", "rot_q", "rot_k", "scores", "pattern")


class PartialRuns:
    """Runs on the other input, with values of the clean one at one place each. Both inputs are (T,)."""

    def __init__(self, model: Model, clean: Array, other: Array, patched: Sequence[str], dtype: str) -> None:
        self.config, self.T = model.config, len(clean)
        self.letters = sites(model.config)
        self.p = torch_engine.tensors(model, getattr(torch, dtype))
        self.p["layers"] = [{**p, "fused": torch_engine.fused(p)} for p in self.p["layers"]]  # type: ignore[index]
        self.key = "rot_k" if self.config.positions == "rotary" else "k"
        names = ("resid_pre", "z", self.key, "v") if self.config.heads else ("resid_pre",)
        stored = {f"{i}.{name}" for i in range(self.config.layers) for name in names}
        with torch.no_grad():
            want = stored | set(patched) | {"resid_final", "logits"}
            _, trace = torch_engine.compute(self.config, self.p, np.stack([clean, other]), want)
        self.clean = {site: value[0] for site, value in trace.items()}
        self.other = {site: value[1] for site, value in trace.items()}

    def logits(self, site: str, cells: Sequence[Cell]) -> Array:
        """The logits (cells, V) at the last position, if the site has the clean value there."""
        found = self.other["logits"][-1].repeat(len(cells), 1)
        with torch.no_grad():
            for chosen, start in self.groups(site, cells):
                found[chosen] = self.run(site, [cells[c] for c in chosen], start)
        return found.double().cpu().numpy()

    def groups(self, site: str, cells: Sequence[Cell]) -> Iterator[tuple[list[int], int]]:
        """Which cells are run together, and from which position. Cells that cannot reach the last position are left
        out."""
        order = sorted((c for c in range(len(cells)) if self.reaches_the_end(site, cells[c][0])), key=cells.__getitem__)
        while order:
            start = cells[order[0]][0] if self.config.causal else 0
            rows = max(FEWEST_AT_ONCE, POSITIONS_AT_ONCE // (self.T - start))
            yield order[:rows], start
            order = order[rows:]

    def reaches_the_end(self, site: str, position: int) -> bool:
        layer, _, name = site.rpartition(".")
        last = not layer and not name.endswith("embed") or (layer and int(layer) == self.config.layers - 1)
        return position == self.T - 1 or not last or self.is_read_by_others(name)

    def is_read_by_others(self, name: str) -> bool:
        """Whether the attention of the same layer reads a site."""
        return name in READ_BY_OTHERS and not (self.config.place == "post" and name.startswith("ln"))

    def run(self, site: str, cells: Sequence[Cell], start: int) -> Tensor:
        """The logits (R, V) of R cells, of which the first is at `start`."""
        layer, _, name = site.rpartition(".")
        at = torch.tensor([position for position, _ in cells], device=self.other["logits"].device)
        patch = Patch(site, self.letters[site], self.clean[site], cells, at)
        if not layer:
            return self.run_outside(name, patch, start)
        if name == "resid_pre":
            return self.run_from(int(layer), self.clean[site][at], at, start)
        if self.is_read_by_others(name):
            return self.run_from(int(layer), None, at, start, patch)
        written = self.run_behind_attention(int(layer), patch)[:, 0]
        return self.run_from(int(layer) + 1, written, at, start)

    def run_outside(self, name: str, patch: "Patch", start: int) -> Tensor:
        """Patches before the first layer and behind the last one."""
        if name.endswith("embed"):
            begin = self.other["0.resid_pre" if self.config.layers else "resid_final"]
            moved = begin[patch.at] + (self.clean[name] - self.other[name])[patch.at]
            return self.run_from(0, moved, patch.at, start)
        x = self.other["resid_final"][-1:].repeat(len(patch.at), 1, 1)
        return self.read_off(x, self.tap({name: patch.into(self.T - 1)}))

    def run_behind_attention(self, i: int, patch: "Patch") -> Tensor:
        """The stream (R, 1, D) behind layer i at the patched position of each row. What the heads attend to is that of
        the stored run; each row has a cache of nothing."""
        edits: dict[str, Any] = {}
        if self.config.heads:
            z = self.other[f"{i}.z"].transpose(0, 1)[patch.at][:, :, None]  # (R, H, 1, K)
            edits[f"{i}.z"] = lambda _: patch.one(z.clone()) if patch.site == f"{i}.z" else z
        edits.setdefault(patch.site, patch.one)
        x = self.other[f"{i}.resid_pre"][patch.at][:, None]
        nothing = Stored(patch.at[:, None], None, None, 2)
        return torch_engine.transformer_layer(self.config, self.p["layers"][i], x, i, self.tap(edits), nothing, None)

    def run_from(
        self, i: int, written: Tensor | None, at: Tensor, start: int, patch: "Patch | None" = None
    ) -> Tensor:
        """The logits (R, V) if the stream before layer i has `written` (R, D) at a position of each row, or if a site of
        that layer is patched."""
        if i == self.config.layers:
            x = self.other["resid_final"][-1:].repeat(len(at), 1, 1)
            ends = at == self.T - 1
            x[ends, 0] = written[ends] if written is not None else x[ends, 0]
            return self.read_off(x, self.tap({}))
        x = self.other[f"{i}.resid_pre"][start:].repeat(len(at), 1, 1)  # (R, n, D)
        if written is not None:
            x[torch.arange(len(at), device=at.device), at - start] = written
        for j in range(i, self.config.layers - 1):
            tap = self.tap({patch.site: patch.into(start)} if patch and j == i else {})
            x = torch_engine.transformer_layer(self.config, self.p["layers"][j], x, j, tap, self.stored(j, start), None)
        return self.run_last(x, start, patch if i == self.config.layers - 1 else None)

    def run_last(self, x: Tensor, start: int, patch: "Patch | None") -> Tensor:
        """The last layer, of which only the last position is needed: it reads the keys and values of all."""
        i = self.config.layers - 1
        past = self.stored(i, start)
        if self.config.heads:
            past = self.keys_and_values(x, self.tap({patch.site: patch.into(start)} if patch else {}), past)
        tap = self.tap({patch.site: patch.into(self.T - 1)} if patch else {})
        p = self.p["layers"][i]
        return self.read_off(torch_engine.transformer_layer(self.config, p, x[:, -1:], i, tap, past, None), tap)

    def keys_and_values(self, x: Tensor, tap: Tap, past: "Stored") -> "Stored":
        """Those of the last layer, in a cache for its last position."""
        i = self.config.layers - 1
        p = self.p["layers"][i]
        if self.config.place == "pre":
            x = torch_engine.norm(self.config, p.get("ln1"), x, f"{i}.ln1", tap)
        _, k, v = torch_engine.project(self.config, p, x)
        k, v = tap(f"{i}.k", k), tap(f"{i}.v", v)
        if self.config.positions == "rotary":
            k = tap(f"{i}.rot_k", torch_engine.rotate(k, *torch_engine.turns(self.config, x, past)))
        k, v, _ = past.extend(i, k, v)
        return Stored(past.positions[-1:], k, v, self.T, whole=True)

    def stored(self, i: int, start: int) -> "Stored":
        """The keys and values of layer i before a position."""
        positions = torch.arange(start, self.T, device=self.other["logits"].device)
        before = [self.other[f"{i}.{name}"][:, :start] if self.config.heads else None for name in (self.key, "v")]
        mask = None
        if self.config.causal:
            mask = torch.arange(self.T, device=positions.device) <= positions[:, None]
        return Stored(positions, *before, self.T, mask)

    def read_off(self, x: Tensor, tap: Tap) -> Tensor:
        """The logits (R, V) of the stream (R, 1, D) at the last position."""
        x = tap("resid_final", x)
        x = torch_engine.norm(self.config, self.p.get("ln_final"), x, "ln_final", tap)
        W = self.p["W_E"].T if self.config.tied else self.p["W_U"]
        return tap("logits", x @ W + self.p.get("b_U", 0.0))[:, 0]

    def tap(self, edits: dict[str, Callable[[Tensor], Tensor]]) -> Tap:
        return Tap(self.config, (), (), edits, torch_engine.cast, torch.clone)


class Patch:
    """The clean values of a site in some cells, one for each row of a batch."""

    def __init__(self, site: str, letters: str, clean: Tensor, cells: Sequence[Cell], at: Tensor) -> None:
        self.site, self.at = site, at
        self.heads = None
        if letters[0] in "HG":
            self.heads = torch.tensor([head for _, head in cells], device=at.device)
            self.values = clean[self.heads, at]
        else:
            self.values = clean[at]

    def into(self, start: int) -> Callable[[Tensor], Tensor]:
        """An edit of a run that starts at a position."""

        def edit(value: Tensor) -> Tensor:  # (R, n, …) or (R, H, n, …)
            rows = (self.at >= start).nonzero()[:, 0]
            return self.put(value, rows, self.at[rows] - start)

        return edit

    def one(self, value: Tensor) -> Tensor:
        """An edit of a run in which each row has its own position alone."""
        return self.put(value, torch.arange(len(value), device=value.device), torch.zeros_like(self.at))

    def put(self, value: Tensor, rows: Tensor, places: Tensor) -> Tensor:
        index = (rows, places) if self.heads is None else (rows, self.heads[rows], places)
        value[index] = self.values[rows]
        return value


class Stored:
    """What the torch engine takes as a cache: keys and values (G, S, K) of earlier positions, equal for all rows; or,
    if `whole`, those of all positions, of each row its own. With none, a position sees itself alone."""

    def __init__(
        self,
        positions: Tensor,
        k: Tensor | None,
        v: Tensor | None,
        total: int,
        mask: Tensor | None = None,
        whole: bool = False,
    ) -> None:
        self.positions, self.k, self.v = positions, k, v
        self.total, self.mask, self.whole = total, mask, whole

    def extend(self, i: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        if self.k is None or self.v is None:
            return k, v, None
        if self.whole:
            return self.k, self.v, None
        rows = len(k)
        return (
            torch.cat([self.k.expand(rows, -1, -1, -1), k], -2),
            torch.cat([self.v.expand(rows, -1, -1, -1), v], -2),
            self.mask,
        )
