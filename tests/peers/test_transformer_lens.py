"""Exported folders in TransformerLens: it boots them, and what it caches equals our Trace at every common site.

`make peers` runs this, in an environment of its own.
"""

import numpy as np
import pytest
import torch
from transformer_lens.model_bridge import TransformerBridge
from transformers import AutoModelForCausalLM, AutoTokenizer

import handloom as hl

OF_A_LAYER = {  # ours: theirs, and whether heads are the third axis there and the first here
    "resid_pre": ("hook_in", False),
    "q": ("attn.hook_q", True),
    "k": ("attn.hook_k", True),
    "v": ("attn.hook_v", True),
    "pattern": ("attn.hook_pattern", False),
    "z": ("attn.hook_z", True),
    "attn_out": ("attn.hook_out", False),
    "mlp_pre": ("mlp.hook_pre", False),
    "mlp_post": ("mlp.hook_post", False),
    "mlp_out": ("mlp.hook_out", False),
    "resid_post": ("hook_out", False),
}
PROGRAMS = {"min:n=6": "3 1 4", "search": None, "lookup": None, "addition:digits=2": "45+78="}


def trained_like(dtype):
    config = hl.Config(vocab=11, block=12, d_model=16, layers=3, heads=4, d_head=4, d_ff=20)
    model = hl.Model(config, hl.params.random(config, seed=1, scale=0.4), hl.Vocab.numbers(11))
    return model.astype(dtype)


def booted(model, folder, dtype):
    """A model's folder in TransformerLens, without processing, and as handloom opens it."""
    hl.export(model, folder, dtype=dtype)
    exact = getattr(torch, dtype)
    module = AutoModelForCausalLM.from_pretrained(folder, dtype=exact, attn_implementation="eager")
    bridge = TransformerBridge.boot_transformers(
        str(folder), hf_model=module, tokenizer=AutoTokenizer.from_pretrained(folder), dtype=exact
    )
    return bridge, hl.load(folder)


@pytest.mark.parametrize(("dtype", "close"), [("float32", 1e-4), ("float64", 1e-9)])
@pytest.mark.parametrize("name", ["trained-like", "min:n=6", "lookup"])
def test_every_common_site_equals_our_trace(name, dtype, close, tmp_path):
    model = trained_like(dtype) if name == "trained-like" else hl.program(name)
    bridge, opened = booted(model, tmp_path / "model", dtype)
    if name == "trained-like":
        ids = np.random.default_rng(0).integers(0, 11, 9).tolist()
    else:
        task = hl.task_of(opened)
        question, answer = task.pair(np.random.default_rng(0))
        ids = [*question, *answer[:-1]]
    trace = hl.trace(opened.astype("float64"), ids)
    with torch.no_grad():
        logits, cache = bridge.run_with_cache(torch.tensor([ids]))
    compared = {"logits": (trace["logits"], logits)}
    for i in range(opened.config.layers):
        for ours, (theirs, by_head) in OF_A_LAYER.items():
            value = cache[f"blocks.{i}.{theirs}"]
            compared[f"{i}.{ours}"] = trace[f"{i}.{ours}"], value.transpose(1, 2) if by_head else value
    for site, (ours, theirs) in compared.items():
        theirs = theirs[0].detach().double().numpy()
        theirs = theirs[..., : np.shape(ours)[-1]]  # the folder has one more token, <unk>
        assert np.abs(ours - theirs).max() <= close * max(1.0, np.abs(ours).max()), site


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
