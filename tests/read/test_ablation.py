"""Ablation: parts that a program does not use change nothing, those it needs do, and the three ways differ as said."""

import numpy as np
import pytest

import handloom as hl
from draws import random_model
from handloom.core import Config, HandloomError
from handloom.core.reference import forward
from handloom.read import ablate
from handloom.read.inputs import PairBatch, pairs_of
from handloom.read.metric import margins


@pytest.fixture(scope="module")
def model():
    return random_model(Config(vocab=7, block=6, d_model=8, layers=2, heads=2, d_head=4, d_ff=5), 1, 0.4)


@pytest.fixture(scope="module")
def batch():
    rng = np.random.default_rng(0)
    answers = rng.integers(0, 7, (4, 6))
    answers[:, :3] = -1
    return PairBatch(rng.integers(0, 7, (4, 6)), rng.integers(0, 7, (4, 6)), answers)


def metric(model, batch, edits=None):
    logits = forward(model, batch.clean, edits=edits)[0][batch.asked]
    return margins(logits, batch.answers[batch.asked]).mean()


def test_the_heads_a_program_needs_are_those_its_answers_lose():
    found = ablate(hl.program("search"), pairs=pairs_of(hl.program("search"), count=64))
    assert found.right["1.0"] < 0.5
    assert found["1.0"] < -1.0  # it helps
    assert found["1.1"] == pytest.approx(0.0, abs=1e-9)  # it writes nothing
    assert found.right["1.1"] == 1.0


@pytest.mark.parametrize("engine", ["reference", "torch"])
@pytest.mark.parametrize(
    ("part", "site", "where"),
    [
        ("1.0", "1.result", (slice(None), 0)),
        ("0.mlp", "0.mlp_out", ...),
        ("0.mlp.3", "0.mlp_post", (..., 3)),
        ("1.pattern", "1.pattern", ...),
    ],
)
def test_a_part_is_replaced_by_zero_its_mean_or_its_other_value(model, batch, engine, part, site, where):
    clean, other = (forward(model, ids, [site])[1][site] for ids in (batch.clean, batch.other))
    mean = np.broadcast_to(np.concatenate([clean, other]).mean(0), clean.shape)
    for how, instead in (("zero", 0 * clean), ("mean", mean), ("resample", other)):
        value = clean.copy()
        value[where] = instead[where]
        found = ablate(model, part, batch, how, engine)
        assert found.metric == pytest.approx(metric(model, batch))
        assert found[part] == pytest.approx(metric(model, batch, {site: edited(where, value)}) - found.metric)


def edited(where, value):
    def edit(now):
        now[where] = value[where]
        return now

    return edit


def test_resampling_from_the_same_input_changes_nothing(model, batch):
    same = PairBatch(batch.clean, batch.clean, batch.answers)
    assert max(map(abs, ablate(model, ["*.mlp", "0.1"], same, "resample").values())) < 1e-12
    assert max(map(abs, ablate(model, "*.mlp", same, "zero").values())) > 0.01


def test_parts_by_pattern(model, batch):
    assert list(ablate(model, None, batch)) == ["0.0", "0.1", "0.mlp", "1.0", "1.1", "1.mlp"]
    assert list(ablate(model, "1.mlp.*", batch)) == [f"1.mlp.{n}" for n in range(5)]
    assert list(ablate(model, ["*.attn_out", "1.0"], batch)) == ["0.attn_out", "1.attn_out", "1.0"]
    with pytest.raises(HandloomError, match=r"no part '7.0' in this model; its parts are 0.0, 0.1"):
        ablate(model, "7.0", batch)
    with pytest.raises(HandloomError, match="expected zero, mean, resample"):
        ablate(model, None, batch, "noise")


def test_effects_print_draw_and_become_json(model, batch):
    found = ablate(model, None, batch, "mean")
    first, second = str(found).splitlines()[:2]
    assert first.startswith("mean ablation: change of the metric, which is")
    assert second.split()[0] == found.top(1)[0][0]
    assert found.to_json()["parts"][0].keys() == {"part", "change", "right"}
    assert "<svg" in found._repr_html_()
