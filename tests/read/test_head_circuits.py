"""Circuits: with the scales of a run they are that run, scores and logits; and what is not defined is refused."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from draws import SKIPS, assert_close, configs, random_model
from handloom.core import Config, HandloomError, Model, Vocab, params, reference
from handloom.core.transforms import random_rotation, rotate
from handloom.read import head_circuits
from handloom.write import program

KINDS = {"layers": 1, "place": "pre", "d_ff": 0, "heads": 4}


def scales(trace, name, T):
    return trace[name][:, None] if name in trace else np.ones((T, 1))


@given(configs(**SKIPS, **KINDS), st.data())
@settings(max_examples=40)
def test_scores_of_the_first_layer_are_the_sum_of_qk_circuits(config, data):
    """(q_tokens / s + q_positions / s + q_bias) · (k_tokens / s + …): tokens, positions and biases, by all pairs."""
    model = random_model(config)
    ids = data.draw(st.lists(st.integers(0, config.vocab - 1), min_size=1, max_size=config.block))
    trace = reference.forward(model, ids, "*")[1]
    T = len(ids)
    scale = scales(trace, "0.ln1_scale", T)
    sources = {"tokens": ids, "positions": list(range(T)), "bias": [0] * T}
    if config.positions in ("none", "rotary"):
        del sources["positions"]
    found = head_circuits(model)
    for h in range(config.heads):
        total = np.zeros((T, T))
        for t, s in np.ndindex(T, T):
            for query, q_rows in sources.items():
                for key, k_rows in sources.items():
                    offset = t - s if config.positions == "rotary" else 0
                    entry = found[f"0.{h}"].qk(query, key, offset)[q_rows[t], k_rows[s]]
                    total[t, s] += (
                        entry / (scale[t, 0] if query != "bias" else 1) / (scale[s, 0] if key != "bias" else 1)
                    )
        assert_close(total, trace["0.scores"][h], 1e-10)


@given(configs(**SKIPS, **KINDS), st.data())
@settings(max_examples=40)
def test_what_a_head_adds_to_the_logits_is_its_ov_circuit_along_its_pattern(config, data):
    model = random_model(config)
    ids = data.draw(st.lists(st.integers(0, config.vocab - 1), min_size=1, max_size=config.block))
    T = len(ids)
    trace = reference.forward(model, ids, "*")[1]
    before, behind = scales(trace, "0.ln1_scale", T), scales(trace, "ln_final_scale", T)
    gain = model.params["ln_final"]["w"] if config.norm != "none" else 1.0
    U = model.params["W_E"].T if config.tied else model.params["W_U"]
    for h in range(config.heads):
        one = head_circuits(model)[f"0.{h}"]
        rows = one.ov("tokens")[ids] / before + one.ov("bias")
        if config.positions in ("table", "sinusoid"):
            rows = rows + one.ov("positions")[:T] / before
        written = trace["0.result"][h]
        written = written - written.mean(-1, keepdims=True) if config.norm == "layer" else written
        logits = (written * gain) @ U
        assert_close(trace["0.pattern"][h] @ rows / behind, (logits - logits.mean(-1, keepdims=True)) / behind, 1e-10)


@given(configs(**SKIPS, layers=2, heads=2, place="pre", norm="rms"))
@settings(max_examples=30)
def test_singular_values_and_eigenvalues_are_those_of_the_whole_matrices(config):
    for one in head_circuits(random_model(config)).heads.values():
        for whole, values in ((one.qk(), one.qk_singular_values), (one.ov(), one.ov_singular_values)):
            expected = np.linalg.svd(whole, compute_uv=False)
            few = min(len(expected), len(values))
            assert_close(values[:few], expected[:few], 1e-9)
            assert_close(expected[few:], np.zeros(len(expected) - few), 1e-9)
        assert one.ov_eigenvalues.sum().real == pytest.approx(np.trace(one.ov()), abs=1e-9)
        assert one.qk_eigenvalues.sum().real == pytest.approx(np.trace(one.qk()), abs=1e-9)


def test_a_head_that_copies_has_1_and_one_that_takes_away_has_minus_1():
    assert head_circuits(copier(1.0))["0.0"].copying == pytest.approx(1.0)
    assert head_circuits(copier(-1.0))["0.0"].copying == pytest.approx(-1.0)
    assert head_circuits(copier(0.0))["0.0"].copying == 0.0


def copier(sign, tokens=5):
    """What is looked at becomes more likely, or less."""
    config = Config(
        vocab=tokens, block=4, d_model=tokens, layers=1, heads=1, d_head=tokens, norm="none", biases=(), tied=False
    )
    arrays = params.random(config, seed=0)
    arrays["W_E"] = np.eye(tokens)
    arrays["W_U"] = np.eye(tokens)
    arrays["layers"][0]["W_V"][0] = np.eye(tokens)
    arrays["layers"][0]["W_O"][0] = sign * np.eye(tokens)
    return Model(config, arrays, Vocab.numbers(tokens))


def test_what_is_nothing_but_rounding_is_nothing():
    """The first heads of the search read positions and copy what the logits do not see."""
    found = head_circuits(program("search"))
    for head in ("0.0", "0.1", "1.1"):
        assert not found[head].ov().any()
        assert not found[head].qk().any()
        assert found[head].copying == found[head].matching == 0.0
    assert found["1.0"].copying == pytest.approx(1.0)
    assert head_circuits(program("book/search"))["1.1"].copying == pytest.approx(-1.0), "it takes away what was there"


def test_a_rotation_of_the_stream_changes_no_circuit():
    model = random_model(Config(vocab=7, block=5, d_model=8, layers=2, heads=2, d_head=3, norm="rms", tied=False))
    turned = rotate(model, random_rotation(8, seed=3))
    for head, one in head_circuits(model).heads.items():
        other = head_circuits(turned)[head]
        assert_close(other.qk(), one.qk(), 1e-9)
        assert_close(other.ov("positions"), one.ov("positions"), 1e-9)
        assert other.copying == pytest.approx(one.copying, abs=1e-9)


def test_what_is_not_defined_is_refused_in_one_line():
    rotary = head_circuits(
        random_model(Config(vocab=4, block=4, d_model=4, layers=1, heads=2, d_head=2, positions="rotary"))
    )
    assert rotary["0.1"].qk(offset=2).shape == (4, 4)
    with pytest.raises(HandloomError, match="the positions of this model turn queries and keys"):
        rotary["0.0"].qk("positions", "tokens")
    plain = head_circuits(random_model(Config(vocab=4, block=4, d_model=4, layers=1, heads=2, d_head=2)))
    with pytest.raises(HandloomError, match="expected 0: only rotary positions depend on it"):
        plain["0.0"].qk(offset=1)
    with pytest.raises(HandloomError, match=r"no source 'words' \(expected tokens, positions or bias\)"):
        plain["0.0"].ov("words")
    with pytest.raises(HandloomError, match=r"no head .* in this model"):
        plain["0.7"]
    with pytest.raises(HandloomError, match="stand behind its sublayers and rescale the stream itself"):
        head_circuits(random_model(Config(vocab=4, block=4, d_model=4, layers=1, heads=2, d_head=2, place="post")))


def test_heads_that_share_keys_and_values_have_circuits_of_their_own():
    config = Config(vocab=4, block=4, d_model=4, layers=1, heads=4, d_head=2, kv_heads=2)
    found = head_circuits(random_model(config))
    assert not np.allclose(found["0.0"].qk(), found["0.1"].qk())
    assert np.allclose(found["0.0"].reads("K", "tokens"), found["0.1"].reads("K", "tokens"))
    assert not np.allclose(found["0.1"].reads("K", "tokens"), found["0.2"].reads("K", "tokens"))


def test_the_result_prints_and_becomes_json():
    found = head_circuits("search")
    assert str(found).splitlines()[3].startswith("1.0      1.00      0.00")
    assert [one["head"] for one in json.loads(json.dumps(found.to_json()))] == ["0.0", "0.1", "1.0", "1.1"]
