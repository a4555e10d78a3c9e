"""The lens ends in the model's own output; direct attribution sums to the target, neuron by neuron."""

import json

import numpy as np
import pytest
from hypothesis import given, settings

import handloom as hl
from draws import SKIPS, assert_close, models_and_tokens, random_model
from handloom.core import Config, HandloomError, trace
from handloom.core.reference import forward, softmax

MODELS = 500
REPEATED = "4 0 8 0 1 3 0 8 0"


@settings(max_examples=MODELS)
@given(models_and_tokens(**SKIPS))
def test_direct_attribution_sums_to_its_target_for_every_model(drawn):
    model, tokens = drawn
    found = hl.read.direct_attribution(model, tokens)
    logits, _ = forward(model, tokens)
    scale = max(1.0, np.abs(logits).max())
    assert sum(found.parts.values()) == pytest.approx(logits[-1].max() - logits[-1].mean(), abs=1e-12 * scale)
    assert set(found.neurons) == {name for name in found.parts if name.endswith("mlp")}
    for name, values in found.neurons.items():
        assert values.sum() == pytest.approx(found.parts[name], abs=1e-12 * scale)
    json.dumps([found.to_json(), str(found)], allow_nan=False)


def test_the_attribution_of_a_part_is_what_the_logits_lose_without_it():
    """In a model without norms, where nothing reads the part but the unembedding."""
    config = Config(vocab=5, block=4, d_model=6, layers=1, heads=2, d_head=3, d_ff=7, norm="none", biases=())
    model, ids = random_model(config, 5), [3, 1, 4, 2]
    found = hl.read.direct_attribution(model, ids, answer=2, against=0, position=1)

    def without(site, place):
        def edit(x):
            x[place] = 0.0
            return x

        logits, _ = forward(model, ids, edits={site: edit})
        return found.target.total - (logits[1, 2] - logits[1, 0])

    assert found.parts["0.mlp"] == pytest.approx(without("0.mlp_out", ...), rel=1e-9)
    assert found.neurons["0.mlp"][3] == pytest.approx(without("0.mlp_post", (..., 3)), rel=1e-9)
    wide = Config(**config.__dict__ | {"d_ff": 0})
    model = random_model(wide, 6)
    found = hl.read.direct_attribution(model, ids, answer=2, against=0, position=1)
    assert found.parts["0.1"] == pytest.approx(without("0.result", 1), rel=1e-9)


@given(models_and_tokens())
def test_the_lens_ends_in_the_output_of_every_model(drawn):
    model, tokens = drawn
    logits, _ = forward(model, tokens)
    found, last = hl.read.lens(model, tokens), int(logits[-1].argmax())
    assert_close(found.probability[-1], softmax(logits).max(-1), 1e-12)
    assert found.predicted[-1][-1] == model.vocab.tokens[last]
    of_last = hl.read.lens(model, tokens, answer=last)
    assert_close(of_last.probability[-1], softmax(logits)[:, last], 1e-12)
    assert {token for row in of_last.predicted for token in row} == {model.vocab.tokens[last]}
    json.dumps([found.to_json(), str(found)], allow_nan=False)


def test_the_lens_reads_every_stream_through_the_last_norm():
    config = Config(vocab=5, block=4, d_model=6, layers=2, heads=2, d_head=3, d_ff=7)
    model, ids = random_model(config, 5), [3, 1, 4, 2]
    found = hl.read.lens(model, ids)
    assert found.sites == ("0.resid_pre", "0.resid_mid", "0.resid_post", "1.resid_mid", "1.resid_post")
    for n, site in enumerate(found.sites):
        stream = trace(model, ids, site)[site]
        logits, _ = forward(model, ids, edits={"resid_final": stream})
        assert_close(found.probability[n], softmax(logits).max(-1), 1e-12)


def test_the_token_of_search_appears_behind_its_last_head():
    found = hl.read.lens(hl.program("search"), REPEATED)
    assert found.predicted[-1][-1] == "1" != found.predicted[-2][-1]
    assert str(found).splitlines()[1].startswith("1.resid_post")
    assert (
        max(hl.read.direct_attribution(hl.program("search"), REPEATED).parts.items(), key=lambda part: part[1])[0]
        == "1.0"
    )
    with pytest.raises(HandloomError, match="'x' is not in the vocabulary"):
        hl.read.lens(hl.program("search"), REPEATED, answer="x")
