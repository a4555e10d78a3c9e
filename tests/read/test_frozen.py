"""A frozen run is the run: its parts sum to what the run had, and covectors move backwards by the transpose."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from draws import SKIPS, assert_close, configs, models_and_tokens, random_model
from handloom.core import Config, params, trace
from handloom.read.frozen import run_frozen

GPT2 = Config(vocab=5, block=6, d_model=8, layers=2, heads=2, d_head=4, d_ff=8)


def what_was_read(model, run):
    """What each sublayer and the unembedding read in a run."""
    config = model.config
    for i in range(config.layers):
        sublayers = [("ln1", "resid_pre"), ("ln2", "resid_mid")]
        for norm, stream in sublayers[:1] if config.parallel else sublayers:
            behind = f"{i}.{norm}" if config.place == "pre" else ""
            yield run[behind if behind in run else f"{i}.{stream}"]
    yield run["ln_final" if "ln_final" in run else "resid_final"]


@given(models_and_tokens(**SKIPS), st.booleans())
def test_the_parts_of_every_stream_sum_to_it(drawn, through_gates):
    model, tokens = drawn
    frozen, _ = run_frozen(model, tokens, through_gates)
    read = list(what_was_read(model, trace(model, tokens)))
    parts = list(frozen.reads())
    assert len(parts) == len(read)
    for one, whole in zip(parts, read, strict=True):
        assert_close(sum(one.values()), whole, 1e-12)


@given(configs(**SKIPS, layers=1), st.integers(0, 1000))
def test_a_covector_moves_backwards_by_the_transpose(config, seed):
    """⟨g, head(x)⟩ = ⟨back(g), x⟩, with the head's formula written out here."""
    model = random_model(config, seed)
    frozen, run = run_frozen(model, [0] * config.block, through_gates=True)
    rng = np.random.default_rng(seed)
    x, g = rng.normal(size=(2, config.block, config.d_model))
    p = model.params["layers"][0]
    for sublayer in frozen.sublayers:
        assert_close((sublayer.before.back(g) * x).sum(), (g * sublayer.before.linear(x)).sum(), 1e-12)
        for name in sublayer.steps:
            read = sublayer.before.linear(x)
            if name.endswith("mlp"):
                linear = run["0.mlp_pre"] if not config.gated else None
                gates = sublayer.steps[name].gates
                if linear is not None:
                    assert_close(gates * linear, run["0.mlp_post"], 1e-12)
                neurons = params.one_mlp(config, p)
                wrote = (read @ neurons["W_in"] * gates) @ neurons["W_out"]
            else:
                h = int(name[2:])
                wrote = run["0.pattern"][h] @ read @ p["W_V"][h // config.per_group] @ p["W_O"][h]
            assert_close((sublayer.back(name, g) * x).sum(), (g * wrote).sum(), 1e-12)


def test_a_batch_is_frozen_as_its_rows_are():
    model = random_model(GPT2, 3)
    rows = np.random.default_rng(0).integers(0, 5, (3, 6))
    together = list(run_frozen(model, rows)[0].reads())
    for b, row in enumerate(rows):
        for one, alone in zip(together, run_frozen(model, row)[0].reads(), strict=True):
            for name, x in alone.items():
                assert_close(one[name][b], x, 1e-12)
