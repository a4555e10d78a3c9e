"""Reading: patching against patches one by one, attribution and patterns against plain runs and TransformerLens; and
parity with TransformerLens and transformers at every common site.

    python benchmarks/read.py                        speed of patching and attribution; needs torch
    .venv-peers/bin/python benchmarks/read.py --peers          all patterns beside TransformerLens, and parity

Times are CPU time of one thread, the sides in turn, the best of several rounds; ratios in one run are meaningful,
single numbers much less so. Parity is the largest difference at a site, as a share of the largest number there (or
of 1), over 50 random models of the GPT-2 layout in float64.
"""

import argparse
import re
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch

import handloom as hl
from handloom.core import Config, Model, Vocab, params, torch_engine
from handloom.core.arrays import Array
from handloom.read.attribution import Attribution
from handloom.read.inputs import NOT_ASKED, PairBatch
from handloom.read.partial_runs import PartialRuns, prepared

SIZES = {"4 layers, 64 wide, T 64": (4, 256, 64), "2 layers, attention only, T 40": (2, 0, 40)}
BARS = {"resid_pre": 8.0, "z": 10.0}
PAGE = Path(__file__).parents[1] / "docs" / "share.md"
SITE = re.compile(r"^\| `([\w.]+)` \| `([\w.]+)` \| ([A-Z1 ]*)\|$", re.MULTILINE)  # ours, theirs, their shape
MODELS = 50
IN_A_ROW = 3


def best(sides: Mapping[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """The least CPU time of each side, in ms, measured in turn, each a few times in a row: what comes first after
    another side pays for memory that the other gave back."""
    times: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(rounds):
        for name, side in [one for one in sides.items() for _ in range(IN_A_ROW)]:
            began = time.process_time()
            side()
            times[name].append(1000 * (time.process_time() - began))
    return {name: min(taken) for name, taken in times.items()}


def random_model(layers: int, d_ff: int, T: int) -> Model:
    config = Config(vocab=32, block=T, d_model=64, layers=layers, heads=4, d_head=16, d_ff=d_ff)
    return Model(config, params.random(config, seed=0, scale=0.2), Vocab.numbers(32))


# patching


def one_by_one(model: Model, p: Any, clean: Array, other: Array, cells: list[Any]) -> Array:
    """Each patch as a run of its own, with weights ready."""
    found = []
    with torch.no_grad():
        _, trace = torch_engine.compute(model.config, p, clean, sorted({site for site, _, _ in cells}))
        for site, position, head in cells:

            def edit(
                value: Any, where: Any = (position,) if head is None else (head, position), site: str = site
            ) -> Any:
                value[where] = trace[site][where]
                return value

            found.append(torch_engine.compute(model.config, p, other, edits={site: edit})[0][-1])
    return torch.stack(found).double().numpy()


def patching(rounds: int) -> None:
    for name, (layers, d_ff, T) in SIZES.items():
        for kind, bar in BARS.items():
            for dtype, close in (("float32", 1e-5), ("float64", 1e-12)):
                model, rng = random_model(layers, d_ff, T), np.random.default_rng(0)
                clean, other = rng.integers(0, 32, (2, T))
                heads: Any = [None] if kind == "resid_pre" else range(4)
                cells = [(f"{i}.{kind}", t, h) for i in range(layers) for h in heads for t in range(T)]
                compare_patching(f"{name}, {kind}, {dtype}", model, clean, other, cells, dtype, close, bar, rounds)


def compare_patching(
    name: str,
    model: Model,
    clean: Array,
    other: Array,
    cells: list[Any],
    dtype: str,
    close: float,
    bar: float,
    rounds: int,
) -> None:
    ready, fused = torch_engine.tensors(model, getattr(torch, dtype)), prepared(model, dtype)
    patched = sorted({site for site, _, _ in cells})
    sides = {
        "ready": lambda: one_by_one(model, ready, clean, other, cells),
        "fused": lambda: one_by_one(model, fused, clean, other, cells),
        "ours": lambda: PartialRuns(model, clean, other, patched, dtype).logits(cells),
    }
    slow, fast = sides["fused"](), sides["ours"]()
    difference = np.abs(slow - fast).max() / np.abs(slow).max()
    found = best(sides, rounds)
    print(
        f"patching, {name}: {found['ready'] / found['ours']:.1f} times one by one (bar {bar:.0f}), "
        f"{found['fused'] / found['ours']:.1f} with queries, keys and values in one matrix there too; "
        f"difference {difference:.1e} (bar {close:.0e})",
        flush=True,
    )


# attribution and patterns


def attribution(rounds: int) -> None:
    model, rng = random_model(4, 256, 64), np.random.default_rng(0)
    clean, other = rng.integers(0, 32, (2, 64, 64))
    answers = np.full((64, 64), NOT_ASKED)
    answers[:, -1] = 3
    batch = PairBatch(clean, other, answers)
    for dtype in ("float64", "float32"):
        run = Attribution(model, 1, dtype)
        sides: dict[str, Callable[[], Any]] = {"plain": partial(plain, run.config, run.p, clean)}
        sides["edges"] = partial(run.scores, batch, 0)
        found = best(sides, rounds)
        print(
            f"edge attribution, {len(run.graph.edges)} edges, {dtype}: {found['edges'] / found['plain']:.2f} plain "
            "runs (bar 4)",
            flush=True,
        )


def plain(config: Config, p: Any, ids: Array, want: Any = ()) -> None:
    with torch.no_grad():
        torch_engine.compute(config, p, ids, want)


def patterns(folder: Path, rounds: int) -> None:
    """All patterns against the own plain run and against TransformerLens."""
    model, ids = random_model(4, 256, 64), np.random.default_rng(0).integers(0, 32, (64, 64))
    hl.export(model, folder, dtype="float32")
    bridge, tokens = booted(folder, torch.float32), torch.tensor(ids)
    opened = hl.load(folder)
    p = prepared(opened, "float32")

    def theirs() -> None:
        with torch.no_grad():
            bridge.run_with_cache(tokens, names_filter=lambda name: name.endswith("hook_pattern"))

    sides = {
        "plain": lambda: plain(opened.config, p, ids),
        "patterns": lambda: plain(opened.config, p, ids, "*.pattern"),
        "theirs": theirs,
    }
    found = best(sides, rounds)
    print(
        f"all patterns, float32: {found['patterns'] / found['plain']:.2f} of the plain run (bar 1.25), "
        f"{found['patterns'] / found['theirs']:.2f} of TransformerLens (bar 0.75)",
        flush=True,
    )


# parity


def booted(folder: Path, dtype: Any) -> Any:
    bridge = import_module("transformer_lens.model_bridge").TransformerBridge
    return bridge.boot_transformers(str(folder), dtype=dtype)


def drawn_model(seed: int) -> Model:
    """A random model whose Config the GPT-2 layout holds, gains and biases random too."""
    rng = np.random.default_rng(seed)
    heads, d_head = int(rng.integers(1, 5)), int(rng.integers(2, 9))
    config = Config(
        vocab=int(rng.integers(5, 20)),
        block=int(rng.integers(4, 16)),
        d_model=heads * d_head,
        layers=int(rng.integers(1, 4)),
        heads=heads,
        d_head=d_head,
        d_ff=int(rng.integers(3, 33)),
        activation=["relu", "gelu", "gelu_tanh", "silu"][seed % 4],  # type: ignore[arg-type]
        tied=bool(rng.integers(2)),
        eps=[1e-5, 1e-3][seed % 2],
    )

    def make(name: str, shape: tuple[int, ...]) -> Array:
        return rng.normal(0.0, 0.4, shape) + float(params.is_gain(name))

    return Model(config, params.build(config, make), Vocab.numbers(config.vocab))


def difference(found: Array, expected: Array) -> float:
    return float(np.abs(found - expected).max() / max(1.0, np.abs(expected).max()))


def bridge_difference(folder: Path, model: Model, ids: list[int]) -> dict[str, float]:
    """The largest difference to TransformerLens at each common site."""
    trace = hl.trace(model, ids)
    with torch.no_grad():
        _, cache = booted(folder, torch.float64).run_with_cache(torch.tensor([ids]))
    found: dict[str, float] = {}
    for i in range(model.config.layers):
        for ours, theirs, shape in SITE.findall(PAGE.read_text()):
            site = re.sub(r"^0\.", f"{i}.", ours)
            array = cache[theirs.replace("blocks.0.", f"blocks.{i}.")][0].detach().double().numpy()
            array = {"": array, "T 1": array[..., 0], "T H K": array.swapaxes(0, 1)}[shape.strip()]
            expected = np.array(trace[site])
            if ours == "0.scores":  # theirs are after the mask
                array, expected = np.tril(array), np.tril(expected)
            found[ours] = max(found.get(ours, 0.0), difference(array[..., : expected.shape[-1]], expected))
    return found


def gpt2_difference(folder: Path, model: Model, ids: list[int]) -> float:
    """The largest difference to transformers: logits, patterns, and the stream before each layer."""
    gpt2 = import_module("transformers").GPT2LMHeadModel
    theirs = gpt2.from_pretrained(str(folder), dtype=torch.float64, attn_implementation="eager").eval()
    with torch.no_grad():
        out = theirs(torch.tensor([ids]), output_attentions=True, output_hidden_states=True)
    trace = hl.trace(model, ids)
    pairs = [(out.logits[0, :, : model.config.vocab], trace["logits"]), (out.hidden_states[-1][0], trace["ln_final"])]
    for i in range(model.config.layers):
        pairs += [(out.attentions[i][0], trace[f"{i}.pattern"]), (out.hidden_states[i][0], trace[f"{i}.resid_pre"])]
    return max(difference(one.numpy(), np.array(two)) for one, two in pairs)


def parity(folder: Path, count: int) -> None:
    worst: dict[str, float] = {}
    of_gpt2 = 0.0
    for seed in range(count):
        at = folder / str(seed)
        hl.export(drawn_model(seed), at, dtype="float64")
        model = hl.load(at)
        ids = np.random.default_rng(seed).integers(0, model.config.vocab - 1, model.config.block).tolist()
        for site, one in bridge_difference(at, model, ids).items():
            worst[site] = max(worst.get(site, 0.0), one)
        of_gpt2 = max(of_gpt2, gpt2_difference(at, model, ids))
    site = max(worst, key=worst.__getitem__)
    print(
        f"parity over {count} models, float64: TransformerLens {worst[site]:.1e} at {len(worst)} kinds of sites, the "
        f"largest at {site}; GPT2LMHeadModel {of_gpt2:.1e} (bar 1e-12)",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", action="store_true", help="against TransformerLens and transformers")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--models", type=int, default=MODELS)
    given = parser.parse_args()
    torch.set_num_threads(1)
    if not given.peers:
        patching(given.rounds)
        attribution(2 * given.rounds)
        return
    import_module("transformers.utils.logging").disable_progress_bar()
    with tempfile.TemporaryDirectory() as folder:
        patterns(Path(folder) / "patterns", 4 * given.rounds)
        parity(Path(folder), given.models)


if __name__ == "__main__":
    main()
