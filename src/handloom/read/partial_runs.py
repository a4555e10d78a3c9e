"""Runs of a part of a model: they start at the layer and the position where a patch changes something. On torch.

    runs = PartialRuns(model, clean, other, ["0.z"], "float64")
    runs.logits([("0.z", 3, 1)])       # (1, V): what the last position predicts with head 0.1's clean z at position 3

A run on the other input is stored once. A patch at a position of a layer leaves all earlier layers as they are and, in
a causal model, all earlier positions too. Only the rest is run: from that layer, from the first patched position on,
with the stored keys and values of those before it. Patches of about the same position are rows of one batch, which a
row joins at its layer. Behind the attention of a layer only the patched position changes, so that the rest of this
layer is run for it alone; of the last layer only what the last position reads.

The layers themselves are those of `core/torch_engine.py`, which this file calls with a cache of its own.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, cast

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from handloom.core import Model, torch_engine
from handloom.core.arrays import Array
from handloom.core.params import Params
from handloom.core.sites import sites
from handloom.core.trace import Tap

Cell = tuple[str, int, int | None]  # a site, a position, and at sites with heads a head
Edits = dict[str, Callable[[Tensor], Tensor]]
POSITIONS_AT_ONCE = 768  # rows × positions of a batch: more no longer fit the processor's cache at the usual sizes
FEWEST_AT_ONCE = 32  # rows of a batch, below which starting each operation takes longer than computing it
KEPT = 16 << 20  # bytes; memory that the system provides afresh costs a seventh of the time of many small runs
READ_BY_OTHERS = ("resid_pre", "ln1", "ln1_scale", "q", "k", "v", "rot_q", "rot_k", "scores", "pattern")


class Entry(NamedTuple):
    """Rows that join a batch before a layer: which of its cells, and what changes. Either the stream has `written`
    (R, D) at the patched positions, or a site of the layer is patched."""

    rows: list[int]
    at: Tensor
    written: Tensor | None
    patch: "Patch | None" = None


class PartialRuns:
    """Runs on the other input, with values of the clean one at one place each. Both inputs are (T,)."""

    def __init__(self, model: Model, clean: Array, other: Array, patched: Sequence[str], dtype: str) -> None:
        self.config, self.T = model.config, len(clean)
        self.letters = sites(model.config)
        self.p = prepared(model, dtype)
        self.device = self.p["W_E"].device
        self.key = "rot_k" if self.config.positions == "rotary" else "k"
        names = ("resid_pre", "z", self.key, "v") if self.config.heads else ("resid_pre",)
        stored = {f"{i}.{name}" for i in range(self.config.layers) for name in names}
        with torch.inference_mode():
            want = stored | set(patched) | {"resid_final", "logits"}
            _, trace = torch_engine.compute(self.config, self.p, np.stack([clean, other]), want)
        self.clean = {site: value[0] for site, value in trace.items()}
        self.other = {site: value[1] for site, value in trace.items()}

    def logits(self, cells: Sequence[Cell]) -> Array:
        """The logits (cells, V) at the last position, for the clean value in each cell."""
        found = self.other["logits"][-1].repeat(len(cells), 1)
        with torch.inference_mode():
            for chosen, start in self.groups(cells):
                found[chosen] = self.run([cells[c] for c in chosen], start)
        return found.double().cpu().numpy()

    def groups(self, cells: Sequence[Cell]) -> Iterator[tuple[list[int], int]]:
        """Which cells are run together, and from which position. Cells that cannot reach the last position are left
        out."""
        anywhere = {site for site in {site for site, _, _ in cells} if self.reaches_the_end(site)}
        last = self.T - 1
        order = [c for c, (site, position, _) in enumerate(cells) if position == last or site in anywhere]
        order.sort(key=lambda c: cells[c][1])
        while order:
            start = cells[order[0]][1] if self.config.causal else 0
            rows = max(FEWEST_AT_ONCE, POSITIONS_AT_ONCE // (self.T - start))
            yield order[:rows], start
            order = order[rows:]

    def reaches_the_end(self, site: str) -> bool:
        """Whether a patch at any position can change the last one: behind the last attention it cannot."""
        layer, _, name = site.rpartition(".")
        last = int(layer) == self.config.layers - 1 if layer else not name.endswith("embed")
        return not last or self.is_read_by_others(name)

    def is_read_by_others(self, name: str) -> bool:
        """Whether the attention of the same layer reads a site."""
        return name in READ_BY_OTHERS and not (self.config.place == "post" and name.startswith("ln"))

    def run(self, cells: Sequence[Cell], start: int) -> Tensor:
        """The logits (R, V) of R cells, of which none is before `start`."""
        found = self.other["logits"][-1].repeat(len(cells), 1)
        joining = self.joining(cells)
        x = self.other["resid_final"].new_empty(0, self.T - start, self.config.d_model)
        order: list[int] = []
        positions = torch.arange(start, self.T, device=self.device)
        seen = torch.arange(self.T, device=self.device) <= positions[:, None] if self.config.causal else None
        for i in range(self.config.layers):
            patches: Patches = []
            for entry in joining.get(i, ()):
                patches += [(entry.patch, len(order))] if entry.patch else []
                order += entry.rows
                x = torch.cat([x, self.stream(i, entry, start)])
            past = self.stored(i, positions, seen, start)
            if order and i < self.config.layers - 1:
                x = self.layer(x, i, edits(patches, start), past)
            elif order:
                found[order] = self.run_last(x, past, start, patches)
        for entry in joining.get(self.config.layers, ()):
            found[entry.rows] = self.run_end(entry)
        return found

    def joining(self, cells: Sequence[Cell]) -> dict[int, list[Entry]]:
        """The rows of each patched site, by the layer that they join before."""
        of_site: dict[str, list[int]] = {}
        for row, (site, _, _) in enumerate(cells):
            of_site.setdefault(site, []).append(row)
        found: dict[int, list[Entry]] = {}
        for site, rows in of_site.items():
            layer, entry = self.entry(rows, Patch(self.letters[site], self.clean[site], [cells[row] for row in rows]))
            found.setdefault(layer, []).append(entry)
        return found

    def entry(self, rows: list[int], patch: "Patch") -> tuple[int, Entry]:
        """Where the rows of a patch join a batch, and with what."""
        layer, _, name = patch.site.rpartition(".")
        if not layer and not name.endswith("embed"):
            return self.config.layers, Entry(rows, patch.at, None, patch)
        if not layer:
            begin = self.other["0.resid_pre" if self.config.layers else "resid_final"]
            return 0, Entry(rows, patch.at, (begin + self.clean[name] - self.other[name])[patch.at])
        if name == "resid_pre":
            return int(layer), Entry(rows, patch.at, patch.values)
        if self.is_read_by_others(name):
            return int(layer), Entry(rows, patch.at, None, patch)
        return int(layer) + 1, Entry(rows, patch.at, self.run_behind_attention(int(layer), patch))

    def stream(self, i: int, entry: Entry, start: int) -> Tensor:
        """The stream (R, n, D) before layer i from a position on."""
        x = self.other[f"{i}.resid_pre"][start:].repeat(len(entry.rows), 1, 1)
        if entry.written is not None:
            x[torch.arange(len(x), device=self.device), entry.at - start] = entry.written
        return x

    def run_behind_attention(self, i: int, patch: "Patch") -> Tensor:
        """The stream (R, D) behind layer i at the patched position of each row. What the heads attend to is that of
        the stored run, whatever this run attends to."""
        changes: dict[str, Any] = {}
        if self.config.heads:
            z = self.other[f"{i}.z"].transpose(0, 1)[patch.at][:, :, None]  # (R, H, 1, K)
            changes[f"{i}.z"] = lambda _: patch.alone(z.clone()) if patch.site == f"{i}.z" else z
        changes.setdefault(patch.site, patch.alone)
        x = self.other[f"{i}.resid_pre"][patch.at][:, None]
        return self.layer(x, i, changes, Stored(patch.at[:, None], None, None, 2))[:, 0]

    def run_last(self, x: Tensor, past: "Stored", start: int, patches: "Patches") -> Tensor:
        """The logits (R, V). Of the last layer only the last position is needed, which reads the keys and values of
        all."""
        if self.config.heads:
            past = self.keys_and_values(x, self.tap(edits(patches, start)), past)
        x = self.layer(x[:, -1:], self.config.layers - 1, edits(patches, self.T - 1), past)
        return self.read_off(x, self.tap({}))

    def keys_and_values(self, x: Tensor, tap: Tap, past: "Stored") -> "Stored":
        """Those of the last layer (R, G, T, K), in a cache for its last position."""
        i = self.config.layers - 1
        p = self.p["layers"][i]
        if self.config.place == "pre":
            x = torch_engine.normed(self.config, p.get("ln1"), x, f"{i}.ln1", tap)
        W, b = p["fused"]
        begin = self.config.heads * self.config.d_head  # behind the queries
        both = F.linear(x, W[begin:], None if b is None else b[begin:]).unflatten(-1, (-1, self.config.d_head))
        k, v = (part.transpose(-3, -2) for part in both.chunk(2, -2))
        k, v = tap(f"{i}.k", k), tap(f"{i}.v", v)
        if self.config.positions == "rotary":
            k = tap(f"{i}.rot_k", torch_engine.rotated(k, *torch_engine.turns(self.config, x, cast(Any, past))))
        k, v, _ = past.extend(i, k, v)
        return Stored(past.positions[-1:], k, v, self.T, whole=True)

    def run_end(self, entry: Entry) -> Tensor:
        """The logits (R, V) of patches behind the last layer, at the last position."""
        x = self.other["resid_final"][-1:].repeat(len(entry.rows), 1, 1)
        if entry.written is not None:
            x = torch.where((entry.at == self.T - 1)[:, None, None], entry.written[:, None], x)
        return self.read_off(x, self.tap(edits([(entry.patch, 0)] if entry.patch else [], self.T - 1)))

    def read_off(self, x: Tensor, tap: Tap) -> Tensor:
        """The logits (R, V) of the stream (R, 1, D) at the last position."""
        x = torch_engine.normed(self.config, self.p.get("ln_final"), tap("resid_final", x), "ln_final", tap)
        W = self.p["W_E"].T if self.config.tied else self.p["W_U"]
        return tap("logits", x @ W + self.p.get("b_U", 0.0))[:, 0]

    def layer(self, x: Tensor, i: int, changes: Edits, past: "Stored") -> Tensor:
        p, tap = self.p["layers"][i], self.tap(changes)
        return torch_engine.transformer_layer(self.config, p, x, i, tap, cast(Any, past), None)

    def tap(self, changes: Edits) -> Tap:
        return Tap(self.config, (), (), changes, torch_engine.cast, torch.clone)

    def stored(self, i: int, positions: Tensor, seen: Tensor | None, start: int) -> "Stored":
        """The keys and values of layer i before a position."""
        if not self.config.heads:
            return Stored(positions, None, None, self.T)
        k, v = (self.other[f"{i}.{name}"][:, :start] for name in (self.key, "v"))
        return Stored(positions, k, v, self.T, seen)


@lru_cache(maxsize=1)
def prepared(model: Model, dtype: str) -> Params:
    """The weights as tensors, ready for many runs; those of the model used last are kept."""
    torch.empty(KEPT, dtype=torch.uint8)  # never touched: from now on glibc keeps freed memory up to twice this size
    p = torch_engine.tensors(model, getattr(torch, dtype))
    for layer in p["layers"]:
        layer["fused"] = torch_engine.fused_weights(layer)
    return p


class Patch:
    """The clean values of a site in some cells, one for each of R rows."""

    def __init__(self, letters: str, clean: Tensor, cells: Sequence[Cell]) -> None:
        self.site = cells[0][0]
        self.at = torch.tensor([position for _, position, _ in cells], device=clean.device)
        self.heads = None
        if letters[0] in "HG":
            self.heads = torch.tensor([head for _, _, head in cells], device=clean.device)
        self.values = clean[self.at] if self.heads is None else clean[self.heads, self.at]

    def edit(self, start: int, before: int) -> Callable[[Tensor], Tensor]:
        """An edit of a batch (…, n, …) that starts at a position, in which other rows come before these."""
        rows = (self.at >= start).nonzero()[:, 0]
        return lambda value: self.put(value, rows, before + rows, self.at[rows] - start)

    def alone(self, value: Tensor) -> Tensor:
        """An edit of a batch in which each row has its own position alone."""
        rows = torch.arange(len(value), device=value.device)
        return self.put(value, rows, rows, torch.zeros_like(rows))

    def put(self, value: Tensor, mine: Tensor, rows: Tensor, places: Tensor) -> Tensor:
        index = (rows, places) if self.heads is None else (rows, self.heads[mine], places)
        value[index] = self.values[mine]
        return value


Patches = list[tuple[Patch, int]]  # each with the number of rows before its own


def edits(patches: Patches, start: int) -> Edits:
    return {patch.site: patch.edit(start, before) for patch, before in patches}


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
        return torch.cat([each(self.k, k), k], -2), torch.cat([each(self.v, v), v], -2), self.mask


def each(stored: Tensor, like: Tensor) -> Tensor:
    """The same for every row."""
    return stored.expand(len(like), -1, -1, -1)
