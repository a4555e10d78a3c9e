"""Exported folders in TransformerLens: it boots them, and what it caches equals our Trace at every common site.

`make peers` runs this, in an environment of its own. The lines and the table of names are those of docs/share.md.
"""

import re
from pathlib import Path

import numpy as np
import pytest
import torch
from transformer_lens.model_bridge import TransformerBridge

import handloom as hl

PAGE = (Path(__file__).parents[2] / "docs" / "share.md").read_text()
SITES = re.findall(r"^\| `([\w.]+)` \| `([\w.]+)` \| ([A-Z1 ]*)\|$", PAGE, re.MULTILINE)  # ours, theirs, their shape


def test_the_lines_of_the_documentation_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"```py\n(.*?)```", PAGE, re.DOTALL)
    exec(block, {})


def test_the_table_of_the_documentation_has_every_site_but_one():
    config = hl.Config(vocab=3, block=4, d_model=4, layers=1, heads=2, d_head=2, d_ff=3)
    assert {ours for ours, _, _ in SITES} == set(hl.sites(config)) - {"0.result"}  # which it does not cache by default


def trained_like(dtype):
    config = hl.Config(vocab=11, block=12, d_model=16, layers=3, heads=4, d_head=4, d_ff=20)
    model = hl.Model(config, hl.params.random(config, seed=1, scale=0.4), hl.Vocab.numbers(11))
    return model.astype(dtype)


def booted(model, folder, dtype):
    """A model's folder in TransformerLens, without processing, and as handloom opens it."""
    hl.export(model, folder, dtype=dtype)
    return TransformerBridge.boot_transformers(str(folder), dtype=getattr(torch, dtype)), hl.load(folder)


def as_ours(value, shape):
    """A cached value as an array with the axes of ours."""
    array = value[0].detach().double().numpy()
    return {"": array, "T 1": array[..., 0], "T H K": array.swapaxes(0, 1)}[shape.strip()]


@pytest.mark.parametrize(("dtype", "close"), [("float32", 1e-4), ("float64", 1e-9)])
@pytest.mark.parametrize("name", ["trained-like", "min:n=6", "lookup"])
def test_every_common_site_equals_our_trace(name, dtype, close, tmp_path):
    model = trained_like(dtype) if name == "trained-like" else hl.program(name)
    bridge, opened = booted(model, tmp_path / "model", dtype)
    if name == "trained-like":
        ids = np.random.default_rng(0).integers(0, 11, 9).tolist()
    else:
        question, answer = hl.task_of(opened).pair(np.random.default_rng(0))
        ids = [*question, *answer[:-1]]
    trace = hl.trace(opened.astype("float64"), ids)
    with torch.no_grad():
        _, cache = bridge.run_with_cache(torch.tensor([ids]))
    for i in range(opened.config.layers):
        for ours, theirs, shape in SITES:
            site = re.sub(r"^0\.", f"{i}.", ours)
            expected = np.array(trace[site])
            found = as_ours(cache[theirs.replace("blocks.0.", f"blocks.{i}.")], shape)
            if ours == "logits":
                found = found[..., : expected.shape[-1]]  # the folder has one more token, <unk>
            if ours == "0.scores":  # theirs are after the mask
                assert (found[:, *np.triu_indices(len(ids), 1)] < -1e30).all()
                found, expected = np.tril(found), np.tril(expected)
            assert found.shape == expected.shape, site
            assert np.abs(found - expected).max() <= close * max(1.0, np.abs(expected).max()), site


def test_normalized_of_transformer_lens_is_before_gain_and_bias(tmp_path):
    model, gain = trained_like("float64"), np.linspace(0.5, 2.0, 16)
    model = model.with_(params=model.flat | {"layers.0.ln1.w": gain, "layers.0.ln1.b": gain[::-1] - 1.0})
    bridge, opened = booted(model, tmp_path / "model", "float64")
    trace = hl.trace(opened, [3, 1, 4])
    with torch.no_grad():
        _, cache = bridge.run_with_cache(torch.tensor([[3, 1, 4]]))
    normalized, norm = as_ours(cache["blocks.0.ln1.hook_normalized"], ""), opened.params["layers"][0]["ln1"]
    assert np.abs(normalized * norm["w"] + norm["b"] - trace["0.ln1"]).max() < 1e-9


def test_a_folded_and_centred_bridge_answers_the_same(tmp_path):
    bridge, opened = booted(hl.program("min:n=6"), tmp_path / "min", "float32")
    task = hl.task_of(opened)
    rng = np.random.default_rng(1)
    pairs = [task.pair(rng) for _ in range(50)]
    bridge.enable_compatibility_mode()
    for question, answer in pairs:
        with torch.no_grad():
            logits = bridge(torch.tensor([question]))
        assert logits[0, -1].argmax().item() == answer[0]
