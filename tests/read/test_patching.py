"""Patching: one sign convention, batched runs equal to runs one by one, edges equal to what the graph cuts."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import handloom as hl
from draws import assert_close, configs, random_model
from handloom.core import Config, HandloomError, sites
from handloom.core.reference import forward
from handloom.read import partial_runs, patch, path_patch
from handloom.read.graph import Graph
from handloom.read.inputs import PairBatch, pairs_of
from handloom.read.metric import margins, share_restored
from handloom.read.patching import logits_of_patches

CLEAN, OTHER = "1 2 3 4 1 2 3", "5 6 7 8 5 6 7"
BOTH_ENGINES = pytest.mark.parametrize("engine", ["reference", "torch"])


def one_by_one(model, clean, other, site, where):
    """The logits at the last position of a run on `other` with the clean value in one place."""
    value = forward(model, clean, [site])[1][site]

    def edit(now):
        now[where] = value[where]
        return now

    return forward(model, other, edits={site: edit})[0][-1]


@settings(max_examples=15, deadline=None)
@given(configs(), st.integers(0, 99), st.sampled_from(["reference", "torch"]), st.sampled_from([1, 8, 512]))
def test_patches_in_batches_equal_patches_one_by_one_at_every_site_of_every_config(config, seed, engine, at_once):
    model, rng = random_model(config, seed), np.random.default_rng(seed)
    clean, other = rng.integers(0, config.vocab, (2, int(rng.integers(1, config.block + 1))))
    batch = PairBatch(clean[None], other[None], np.zeros_like(clean)[None])
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(partial_runs, "POSITIONS_AT_ONCE", at_once)
        changed.setattr(partial_runs, "FEWEST_AT_ONCE", 1)
        found = logits_of_patches(model, batch, sites(config), engine)
    for site in rng.choice(list(sites(config)), 4):
        *shape, _ = found[site].shape
        where = tuple(int(rng.integers(0, size)) for size in shape)
        assert_close(found[site][where], one_by_one(model, clean, other, site, where), 1e-12)


def test_float32_differs_by_rounding_only():
    config = Config(vocab=9, block=24, d_model=16, layers=3, heads=2, d_head=8, d_ff=32)
    model, rng = random_model(config, scale=0.3), np.random.default_rng(0)
    clean, other = rng.integers(0, 9, (2, 24)).tolist()
    found = [
        patch(model, clean, other, ["*.resid_pre", "*.z"], engine="torch", dtype=d) for d in ("float32", "float64")
    ]
    exact = found[1].clean - found[1].other
    for site, effects in found[1].effects.items():
        assert_close(found[0].effects[site] * exact, effects * exact, 1e-5)


@BOTH_ENGINES
def test_a_patch_of_everything_restores_and_of_nothing_does_nothing(engine):
    model = hl.program("search")
    found = patch(model, CLEAN, OTHER, ["embed", "*.resid_pre", "resid_final", "logits"], engine=engine)
    assert found.answer == "4"
    assert found.clean > 0 > found.other
    for site in ("resid_final", "logits"):
        assert found.effects[site][-1] == pytest.approx(1.0)
        assert np.abs(found.effects[site][:-1]).max() < 1e-9
    assert_close(found.effects["0.resid_pre"], found.effects["embed"], 1e-9)  # positions are the same
    same = patch(model, CLEAN, OTHER.replace("5", "1", 1), "0.resid_pre", engine=engine).effects["0.resid_pre"]
    assert same[0] == pytest.approx(0.0, abs=1e-9)  # the inputs agree there


def test_the_token_that_is_copied_restores_itself():
    """search answers the token behind the earlier copy of its last ones: 1 2 3 4 1 2 3 → 4."""
    found = patch(hl.program("search"), CLEAN, "1 2 3 8 1 2 3", "0.resid_pre").effects["0.resid_pre"]
    assert found[3] == pytest.approx(1.0)
    assert np.abs(np.delete(found, 3)).max() < 1e-9


def test_signs_of_effects():
    assert share_restored(np.array([3.0, -1.0, -2.0]), 3.0, -1.0).tolist() == [1.0, 0.0, -0.25]
    logits = np.array([[2.0, 5.0, 1.0]])
    assert margins(logits, 0).tolist() == [-3.0]
    assert margins(logits, 1).tolist() == [3.0]
    assert margins(logits, 0, against=2).tolist() == [1.0]


def test_the_metric_can_compare_with_a_given_token():
    model = hl.program("search")
    logits = [forward(model, model.vocab.encode(text))[0][-1] for text in (CLEAN, OTHER)]
    found = patch(model, CLEAN, OTHER, "resid_final", answer="4", against="8")
    a, b = model.vocab.id("4"), model.vocab.id("8")
    assert [found.clean, found.other] == pytest.approx([row[a] - row[b] for row in logits])
    assert found.against == "8"


def test_heads_have_rows_of_their_own_in_text_and_json():
    found = patch(hl.program("search"), CLEAN, OTHER, ["*.z", "0.resid_mid"])
    H, T = found.effects["1.z"].shape
    assert list(found.rows)[:2] == ["0.0.z", "0.1.z"]
    assert len(str(found).splitlines()) == 2 + 2 * H + 1
    values = json.loads(json.dumps(found.to_json()))
    assert np.array(values["effects"]["1.z"]).shape == (H, T)
    assert "<svg" in found._repr_html_()


def test_inputs_that_cannot_be_compared_are_refused_with_the_remedy():
    model = hl.program("search")
    with pytest.raises(HandloomError, match=r"7 tokens against 6 .*choose inputs with equal numbers of tokens"):
        patch(model, CLEAN, "5 6 7 8 5 6")
    with pytest.raises(HandloomError, match=r"on both inputs .*choose inputs whose answers differ"):
        patch(model, CLEAN, CLEAN)
    with pytest.raises(HandloomError, match=r"no site '\*.nothing' in this model; its sites are embed"):
        patch(model, CLEAN, OTHER, "*.nothing")
    with pytest.raises(HandloomError, match="expected float32 or float64"):
        patch(model, CLEAN, OTHER, dtype="float16")
    with pytest.raises(HandloomError, match=r"edge .*not in the graph"):
        path_patch(model, CLEAN, OTHER, edges=[("1.0", "0.0.q")])
    with pytest.raises(HandloomError, match="give clean and other, or pairs"):
        path_patch(model, CLEAN)


def test_path_patching_the_only_receiver_equals_patching_the_site():
    """Of a model without layers the logits are all that reads: the edge embed → logits is the site."""
    model = random_model(Config(vocab=5, block=4, d_model=6))
    clean, other = [1, 2, 3], [3, 0, 4]
    edges = path_patch(model, clean, other)
    assert edges["embed", "logits"] == pytest.approx(1.0)
    assert edges["pos", "logits"] == pytest.approx(0.0, abs=1e-12)


def test_path_patching_equals_an_edit_of_what_one_head_reads():
    """The query of head 1.0 with the clean value of head 0.1: the same by an edit of the site q."""
    config = Config(vocab=7, block=6, d_model=8, layers=2, heads=2, d_head=4, d_ff=5, norm="none")
    model, (clean, other) = random_model(config, 3, 0.4), ([1, 2, 3, 4, 5], [6, 5, 0, 1, 2])
    terms = [Graph(model).terms(np.array([row]))["0.1"][0] for row in (clean, other)]
    change = (terms[0] - terms[1]) @ model.params["layers"][1]["W_Q"][0]

    def edit(q):
        q[0] += change
        return q

    right = int(forward(model, clean)[0][-1].argmax())
    metrics = [
        margins(logits[0][-1], right)
        for logits in (forward(model, clean), forward(model, other), forward(model, other, edits={"1.q": edit}))
    ]
    found = path_patch(model, clean, other, edges=[("0.1", "1.0.q")])
    assert found["0.1", "1.0.q"] == pytest.approx((metrics[2] - metrics[1]) / (metrics[0] - metrics[1]))


def test_path_patching_over_pairs_covers_every_edge():
    model = hl.program("min:n=3")
    found = path_patch(model, pairs=pairs_of(model, count=8))
    assert list(found) == list(Graph(model).edges)
    assert str(found).startswith("path patching: effect of the patched edge\n")
    assert found.to_json()["edges"][0].keys() == {"source", "target", "score"}
    assert "<svg" in found._repr_html_()
